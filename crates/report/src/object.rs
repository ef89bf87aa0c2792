//! A record as one JSON object: what stands in the text and on the page stands there too.

use crate::standing::Standing;
use dropline_record::Record;
use serde_json::{Value, json};

/// The record's data as one object, each answer with the doubt that denies it, or null.
pub fn object(record: &Record) -> Value {
    let mut object = record.to_object();
    let answers = record.answers().unwrap_or_default();
    let goals = object.get_mut("goals").and_then(Value::as_array_mut).into_iter().flatten();
    for (goal, answer) in goals.zip(&answers) {
        goal["doubt"] = match Standing::of(record, answer).denied() {
            Some(denied) => {
                json!({ "why": denied.why, "low_pps": denied.low_pps, "high_pps": denied.high_pps })
            }
            None => Value::Null,
        };
    }
    object
}
