//! The changes that somebody knows of, beside the records.

use super::text;
use dropline_verbs::trend::Acknowledged;
use std::path::Path;

/// What is read is written as it was read.
pub fn check(bytes: &[u8]) {
    let place = Path::new("acknowledged.json");
    match Acknowledged::read(place, &text(bytes)) {
        Ok(known) => {
            let again = Acknowledged::read(place, &known.text());
            assert_eq!(again.ok(), Some(known));
        }
        Err(why) => assert_eq!(why.exit_code(), 4),
    }
}
