//! A record as one JSON object: what stands in the text and on the page stands there too.

use crate::verdict_word::Standing;
use dropline_record::{Record, ResultWord};
use serde_json::{Value, json};

/// Makes answers that a caveat denies what they are then: an interval that is not precise. Who reads the result alone is not misled.
pub fn give_way(record: &mut Record) {
    let answers = record.answers().unwrap_or_default();
    let denied: Vec<bool> =
        answers.iter().map(|answer| Standing::of(record, answer).denied().is_some()).collect();
    let goals = record.result.iter_mut().flat_map(|result| &mut result.goals);
    for (answer, _) in goals.zip(denied).filter(|(_, denied)| *denied) {
        if matches!(answer.result, ResultWord::Narrow | ResultWord::AtMaximum) {
            answer.result = ResultWord::Wide;
        }
    }
}

/// The record's data as one object, each answer with the doubt that denies it, or null.
pub fn object(record: &Record) -> Value {
    let mut object = record.to_object();
    let answers = record.answers().unwrap_or_default();
    let goals = object.get_mut("goals").and_then(Value::as_array_mut).into_iter().flatten();
    for (goal, answer) in goals.zip(&answers) {
        let is_sure = matches!(answer.result, ResultWord::Narrow | ResultWord::AtMaximum);
        goal["doubt"] = match Standing::of(record, answer).denied() {
            Some(denied) => {
                if is_sure {
                    goal["result"] = json!(ResultWord::Wide);
                }
                json!({ "why": denied.why, "low_pps": denied.low_pps, "high_pps": denied.high_pps })
            }
            None => Value::Null,
        };
    }
    object
}
