//! The instructions of the programs, as clang made them of `bpf/judge.c` and `bpf/sender.c`, each for either version of IP.

use crate::maps::Maps;
use crate::sys::{Map, Program};
use std::io;

/// At the interface where frames come out.
const JUDGE: &[u8] = include_bytes!("../bpf/judge.bpf");
const JUDGE_6: &[u8] = include_bytes!("../bpf/judge6.bpf");
/// What makes frames and sends them.
const SENDER: &[u8] = include_bytes!("../bpf/sender.bpf");
const SENDER_6: &[u8] = include_bytes!("../bpf/sender6.bpf");

/// What sends packets of ours back.
const REFLECTOR: &[u8] = include_bytes!("../bpf/reflector.bpf");

/// The upper halves of the numbers that stand for maps in `bpf/layout.h`.
const CONTROL: u32 = 0x5ead_0001;
const SLOTS: u32 = 0x5ead_0002;
const DEVICE: u32 = 0x5ead_0003;

/// Loads the judge of the trials that have these maps.
///
/// # Errors
/// If this user or this kernel may not.
pub(crate) fn judge(maps: &Maps) -> io::Result<Program> {
    let [control, slots] = maps.numbers();
    load(if maps.is_ipv6() { JUDGE_6 } else { JUDGE }, [(CONTROL, control), (SLOTS, slots)])
}

/// Loads the sender of these trials, and of the interface by which frames leave.
///
/// # Errors
/// As of the judge.
pub(crate) fn sender(maps: &Maps, device: &Map) -> io::Result<Program> {
    let [control, slots] = maps.numbers();
    load(
        if maps.is_ipv6() { SENDER_6 } else { SENDER },
        [(CONTROL, control), (SLOTS, slots), (DEVICE, device.number())],
    )
}

/// Loads the reflector that has this page.
///
/// # Errors
/// As of the judge.
pub(crate) fn reflector(page: &Map) -> io::Result<Program> {
    load(REFLECTOR, [(CONTROL, page.number())])
}

fn load<const N: usize>(code: &[u8], maps: [(u32, u32); N]) -> io::Result<Program> {
    Program::load(&with_maps(code, &maps))
}

/// Instructions of eight bytes in which the numbers that stand for maps became maps: for each, what stands for it, and the number of
/// its file.
fn with_maps(code: &[u8], maps: &[(u32, u32)]) -> Vec<u64> {
    /// An instruction of two parts that loads 64 bits, the lower half in the first.
    const LOAD: u8 = 0x18;
    /// What the second register then says: a map, or a place in the value of one.
    const MAP: u64 = 1 << 12;
    const IN_VALUE: u64 = 2 << 12;
    let (words, _) = code.as_chunks::<8>();
    let mut instructions: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let mut at = 0;
    while at + 1 < instructions.len() {
        if instructions[at] as u8 != LOAD {
            at += 1;
            continue;
        }
        let (lower, upper) = ((instructions[at] >> 32) as u32, (instructions[at + 1] >> 32) as u32);
        if let Some(&(stands, number)) = maps.iter().find(|(stands, _)| *stands == upper) {
            let (kind, offset) = if stands == CONTROL { (IN_VALUE, lower) } else { (MAP, 0) };
            instructions[at] = instructions[at] & 0x0fff | kind | u64::from(number) << 32;
            instructions[at + 1] = u64::from(offset) << 32;
        }
        at += 2;
    }
    instructions
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn a_number_that_stands_for_a_map_becomes_one_and_no_other_does() {
        // r1 = control + 0x14; r2 = slots; r3 = 5 (a number like any other); exit.
        let load = |register: u8, value: u64| {
            let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
            [[0x18, register, 0, 0, a, b, c, d], [0, 0, 0, 0, e, f, g, h]].concat()
        };
        let code = [
            load(1, 0x5ead_0001_0000_0014),
            load(2, 0x5ead_0002_0000_0000),
            load(3, 5),
            vec![0x95, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let named: Vec<[u8; 8]> =
            with_maps(&code, &[(CONTROL, 7), (SLOTS, 9)]).into_iter().map(u64::to_le_bytes).collect();
        assert_eq!(
            named,
            [
                [0x18, 0x21, 0, 0, 7, 0, 0, 0],
                [0, 0, 0, 0, 0x14, 0, 0, 0],
                [0x18, 0x12, 0, 0, 9, 0, 0, 0],
                [0; 8],
                [0x18, 3, 0, 0, 5, 0, 0, 0],
                [0; 8],
                [0x95, 0, 0, 0, 0, 0, 0, 0],
            ]
        );
    }

    /// What the compiler of another year makes of it differs, and means the same: then the kernel's own look at the program is what
    /// holds (`make test-link`).
    #[test]
    fn instructions_are_those_of_their_sources() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
        let version = Command::new("clang").arg("--version").output();
        let is_of_bookworm =
            version.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("version 14.0.6"));
        if !is_of_bookworm || Command::new("llvm-objcopy").arg("--version").output().is_err() {
            eprintln!("skipped: clang 14.0.6 and llvm-objcopy are not here");
            return;
        }
        let built = tempfile::tempdir().unwrap();
        let status = Command::new(directory.join("build.sh")).arg(built.path()).status().unwrap();
        assert!(status.success());
        for (name, kept) in [
            ("judge.bpf", JUDGE),
            ("judge6.bpf", JUDGE_6),
            ("sender.bpf", SENDER),
            ("sender6.bpf", SENDER_6),
            ("reflector.bpf", REFLECTOR),
        ] {
            let made = std::fs::read(built.path().join(name)).unwrap();
            assert!(made == kept, "{name} is not what its source makes: run crates/fastpath/bpf/build.sh");
        }
    }
}
