//! Names of histories and of their changes.

use dropline_record::IndexLine;

/// The name of the history that a goal of a search belongs to.
pub(super) fn series(line: &IndexLine, asked: &str) -> String {
    name(&[&line.target, asked, &line.machine, &line.dropline])
}

/// A name that is the same each time, on any machine: FNV-1a of the words.
pub(super) fn name(words: &[&str]) -> String {
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}
