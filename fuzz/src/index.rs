//! The index of a history, which a clone or another program may bring.

use dropline_record::IndexLine;

/// What is read is written as it was read.
pub fn check(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<IndexLine>(line) else { continue };
        let written = serde_json::to_string(&line).expect("an index line is JSON");
        assert_eq!(serde_json::from_str::<IndexLine>(&written).ok(), Some(line));
    }
}
