//! Words of a record, as its JSON has them.

/// A word of the record as its JSON has it; empty when it is none.
pub(crate) fn word(value: serde_json::Result<serde_json::Value>) -> String {
    match value {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
