//! A record's text.

use super::text;
use dropline_record::Record;

/// What was read is written and read again as it was, and every trial in it can be judged.
pub fn check(bytes: &[u8]) {
    let text = text(bytes);
    let Ok(record) = Record::read(&text) else { return };
    let written = record.to_lines();
    let again = Record::read(&written).expect("what was written can be read");
    let as_written = Record { reading: Vec::new(), ..record };
    assert_eq!(again, as_written, "reading what was written changed it");
    assert_eq!(again.to_lines(), written, "writing it again changed it");
    let _ = as_written.to_object();
    for line in &as_written.trials {
        if let Ok(trial) = line.trial() {
            assert!(trial.lost() <= trial.offered);
            assert!(trial.undelivered().is_none_or(|undelivered| Some(undelivered) <= trial.intended));
        }
    }
}
