//! What jackd says: its complaints, and where each jackd of this machine enters itself.

use dropline_printable::lines;
use std::io::BufRead;

/// How the names of servers of ours begin.
pub(crate) const OURS: &str = "dropline-";
/// Lines of a complaint that are kept.
const LINES: usize = 6;

/// The first lines that it writes. All are read, for one that writes into a full pipe stands still.
pub fn complaint(stderr: impl BufRead) -> String {
    let mut kept: Vec<String> = Vec::new();
    for line in lines(stderr) {
        let line = line.trim();
        if !line.is_empty() && kept.len() < LINES {
            kept.push(line.to_owned());
        }
    }
    kept.join("; ")
}

/// This user's servers in jackd's registry that are ours, by process and name: they stand there as the number of the
/// process and `jack-USER:NAME:`, which ends with a zero.
pub fn ours(registry: &[u8], user: u32) -> Vec<(u32, String)> {
    let before = format!("jack-{user}:").into_bytes();
    let entry = |at: usize| {
        let process: [u8; 4] = registry[at.checked_sub(4)?..at].try_into().ok()?;
        let name = registry[at + before.len()..].split(|byte| *byte == 0).next()?;
        let name = std::str::from_utf8(name).ok()?.strip_suffix(':')?;
        name.starts_with(OURS).then(|| (u32::from_ne_bytes(process), name.to_owned()))
    };
    let begins = |(at, window): (usize, &[u8])| (window == before).then_some(at);
    registry.windows(before.len()).enumerate().filter_map(begins).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An entry as jackd 1.9.21 writes it: the process, the name in 256 bytes, and what follows.
    fn entry(process: u32, name: &str) -> Vec<u8> {
        let mut bytes = process.to_ne_bytes().to_vec();
        bytes.extend(name.as_bytes());
        bytes.resize(268, 0);
        bytes
    }

    #[test]
    fn only_servers_of_ours_and_of_this_user_lose_their_place() {
        let registry = [
            b"KCAJ\0\0\0\0\x01\0\0\0X\x14\x01\0".to_vec(),
            entry(4254, "jack-0:dropline-3764-0:"),
            entry(27_150, "jack-0:default:"),
            entry(27_151, "jack-1000:dropline-9-0:"),
            // The last byte of a process's number may be a letter.
            entry(0x6a6a_6a6a, "jack-0:dropline-test:"),
            entry(0, ""),
        ]
        .concat();
        let of = |user| ours(&registry, user);
        assert_eq!(of(0), [(4254, "dropline-3764-0".into()), (0x6a6a_6a6a, "dropline-test".into())]);
        assert_eq!(of(1000), [(27_151, "dropline-9-0".into())]);
    }

    proptest! {
        #[test]
        fn any_bytes_give_only_names_that_stand_in_them(
            mut bytes: Vec<u8>,
            process: u32,
            name in "dropline-[a-z0-9-]{0,12}",
            at: prop::sample::Index,
        ) {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, entry(process, &format!("jack-7:{name}:")));
            let found = ours(&bytes, 7);
            prop_assert!(found.contains(&(process, name)));
            for (process, name) in found {
                let whole = [&process.to_ne_bytes()[..], format!("jack-7:{name}:").as_bytes()].concat();
                prop_assert!(bytes.windows(whole.len()).any(|window| window == whole));
            }
        }
    }
}
