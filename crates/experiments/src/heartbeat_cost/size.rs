//! Bytes of code and RAM, deepest frame and number of instructions, machine by machine.

use super::harness::Interface;
use super::machine::{FLAGS, MACHINES, Machine};
use super::object::Object;
use super::program::{ProgramError, run};
use serde::Serialize;
use std::path::Path;

/// The size of one source on one machine, optimised for size. What could not be found out is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// The machine.
    pub machine: &'static str,
    /// The compiler's own words about its version.
    pub compiler: Option<String>,
    /// Code and constants of all functions.
    pub all_flash_bytes: Option<u64>,
    /// Of the function that handles a packet, and what it calls here; of all where none is known.
    pub flash_bytes: Option<u64>,
    /// The same as position-independent code.
    pub pic_flash_bytes: Option<u64>,
    /// With what it needs of the compiler's and the C library; null where it needs something and that library
    /// is shared, or not there.
    pub linked_flash_bytes: Option<u64>,
    /// Symbols that the object asks for.
    pub undefined: Vec<String>,
    /// Symbols that its user must still bring after linking.
    pub left_to_user: Vec<String>,
    /// Its own variables.
    pub ram_bytes: Option<u64>,
    /// Largest frame of one of these functions.
    pub frame_bytes: Option<u64>,
    /// Machine instructions.
    pub instructions: Option<u64>,
    /// Why it has no numbers.
    pub why_not: Option<String>,
}

/// Sizes on all machines; `progress` is told which.
pub fn sizes(source: &Path, bench: &Path, progress: &mut dyn FnMut(&str)) -> Vec<Size> {
    MACHINES
        .iter()
        .map(|machine| {
            progress(&format!("size on {}", machine.name));
            size(source, machine, bench).unwrap_or_else(|why| Size {
                machine: machine.name,
                why_not: Some(why.to_string()),
                ..Size::default()
            })
        })
        .collect()
}

fn size(source: &Path, machine: &Machine, bench: &Path) -> Result<Size, ProgramError> {
    let all = compile(source, machine, bench, &["-fstack-usage"], "size.o")?;
    let version = run(bench, machine.compiler, &["--version"])?.out;
    let entry = Interface::of(&all).map(Interface::entry);
    let alone = join(machine, bench, entry, &[], ["size.o", "alone.o"])?;
    let linked = if alone.undefined.is_empty() {
        Some(alone.clone())
    } else if machine.library.is_empty() {
        None
    } else {
        join(machine, bench, entry, machine.library, ["size.o", "linked.o"]).ok()
    };
    let pic = compile(source, machine, bench, &["-fPIC"], "pic.o")
        .and_then(|_| join(machine, bench, entry, &[], ["pic.o", "pic-alone.o"]));
    let disassembly = run(bench, machine.objdump, &["--disassemble", "--no-show-raw-insn", "alone.o"]);
    let frames = std::fs::read_to_string(bench.join("size.su")).unwrap_or_default();
    let last = linked.as_ref().unwrap_or(&alone);
    Ok(Size {
        machine: machine.name,
        compiler: version.lines().next().map(str::to_owned),
        all_flash_bytes: Some(all.flash()),
        flash_bytes: Some(alone.flash()),
        pic_flash_bytes: pic.ok().map(|pic| pic.flash()),
        linked_flash_bytes: linked.as_ref().map(Object::flash),
        left_to_user: left_to_user(last, linked.is_some()),
        ram_bytes: Some(last.ram()),
        frame_bytes: largest_frame(&frames, &alone.functions),
        instructions: disassembly.ok().map(|printed| instructions(&printed.out)),
        undefined: alone.undefined,
        why_not: None,
    })
}

/// What its user must bring. After a link with the libraries, names that C reserves are the linker's own.
fn left_to_user(object: &Object, linked: bool) -> Vec<String> {
    object.undefined.iter().filter(|name| !(linked && name.starts_with("__"))).cloned().collect()
}

/// Compiles for size, each function in a section of its own.
fn compile(
    source: &Path,
    machine: &Machine,
    bench: &Path,
    more: &[&str],
    to: &str,
) -> Result<Object, ProgramError> {
    let source = source.to_string_lossy();
    let sections = ["-Os", "-c", "-ffunction-sections", "-fdata-sections"];
    let words = [&sections[..], &FLAGS, machine.flags, more, &["-o", to, source.as_ref()]].concat();
    run(bench, machine.compiler, &words)?;
    read(bench, machine.compiler, to)
}

/// Joins the object with what it needs of `library`, and leaves out what `entry` does not need.
fn join(
    machine: &Machine,
    bench: &Path,
    entry: Option<&str>,
    library: &[&str],
    [from, to]: [&str; 2],
) -> Result<Object, ProgramError> {
    let root = entry.map(|entry| format!("-Wl,--gc-sections,-u,{entry}"));
    let root: Vec<&str> = root.iter().map(String::as_str).collect();
    let words = [machine.flags, &["-r", "-nostdlib"], &root, &["-o", to, from], library].concat();
    run(bench, machine.compiler, &words)?;
    read(bench, machine.compiler, to)
}

fn read(bench: &Path, program: &str, name: &str) -> Result<Object, ProgramError> {
    let failed = |why: String| ProgramError::Failed { program: program.into(), why };
    let bytes = std::fs::read(bench.join(name)).map_err(|why| failed(format!("{name}: {why}")))?;
    Object::read(&bytes).map_err(|why| failed(format!("{name}: {why}")))
}

/// The largest number of a `.su` file, lines of `file:line:column:function<tab>bytes<tab>kind`, among these
/// functions.
fn largest_frame(text: &str, functions: &[String]) -> Option<u64> {
    let frame = |line: &str| {
        let (place, rest) = line.split_once('\t')?;
        let function = place.rsplit(':').next()?;
        functions.iter().any(|name| name == function).then_some(())?;
        rest.split('\t').next()?.parse().ok()
    };
    text.lines().filter_map(frame).max()
}

/// Lines of a disassembly that hold an instruction: an address, a tab, a mnemonic; data begins with a dot.
fn instructions(text: &str) -> u64 {
    let counts = |line: &&str| {
        let Some((address, rest)) = line.split_once(":\t") else { return false };
        let address = address.trim();
        !address.is_empty()
            && address.bytes().all(|digit| digit.is_ascii_hexdigit())
            && !rest.trim_start().starts_with('.')
    };
    text.lines().filter(counts).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_lines_with_an_address_and_data_are_none() {
        let text = "0000 <hb_handle>:\n   0:\tpush   %rbp\n   1:\tmov    %rsp,%rbp\n   a4:\t.word\t0x12\n\n";
        assert_eq!(instructions(text), 2);
    }

    #[test]
    fn the_largest_frame_is_found_and_none_is_none() {
        let text = "a.c:1:5:one\t16\tstatic\na.c:9:5:two\t208\tdynamic,bounded\n";
        let functions = ["one".to_owned(), "two".to_owned()];
        assert_eq!(largest_frame(text, &functions), Some(208));
        assert_eq!(largest_frame(text, &functions[..1]), Some(16));
        assert_eq!(largest_frame(text, &[]), None);
    }

    #[test]
    fn what_the_linker_brings_is_not_left_to_the_user() {
        let undefined = vec!["__data_end".to_owned(), "timestamp".to_owned()];
        let object = Object { undefined, ..Object::default() };
        assert_eq!(left_to_user(&object, true), ["timestamp"]);
        assert_eq!(left_to_user(&object, false).len(), 2);
    }

    #[test]
    fn only_what_the_entry_needs_is_its_size() {
        let bench = tempfile::tempdir().unwrap();
        let source = bench.path().join("two.c");
        let text = "static int one(int *x) { return x[1] ? 7 : x[2]; }\n\
                    int hb_handle(int *x) { return one(x); }\n\
                    int hb_other(int *x, int *y) { return x[1] * y[2] / y[3] + x[4] % y[5]; }\n";
        std::fs::write(&source, text).unwrap();
        let size = size(&source, &MACHINES[0], bench.path()).unwrap();
        assert!(size.flash_bytes.unwrap() < size.all_flash_bytes.unwrap(), "{size:?}");
        assert!(size.flash_bytes.unwrap() > 0);
    }

    #[test]
    fn the_hosts_compiler_gives_a_size_and_names_what_is_undefined() {
        let bench = tempfile::tempdir().unwrap();
        let source = bench.path().join("needs.c");
        std::fs::write(&source, "int other(int); int twice(int x) { return 2 * other(x); }").unwrap();
        let size = size(&source, &MACHINES[0], bench.path()).unwrap();
        assert_eq!((size.undefined, size.left_to_user), (vec!["other".to_owned()], vec!["other".to_owned()]));
        assert!(size.flash_bytes.is_some_and(|bytes| (5..40).contains(&bytes)), "{:?}", size.flash_bytes);
        assert!(size.instructions.is_some_and(|count| (3..8).contains(&count)), "{:?}", size.instructions);
        assert_eq!((size.ram_bytes, size.linked_flash_bytes), (Some(0), None));
        assert_eq!(size.frame_bytes, Some(16));
    }
}
