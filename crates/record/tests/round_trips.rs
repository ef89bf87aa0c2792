//! A trial that was read from its line is the one that was written: each field that the schema has gets a value that no
//! other field has, so one that is forgotten or exchanged with another comes back otherwise. Fields of a `Trial` that no
//! line has do not compile: `TrialLine::trial` names each of them.

use dropline_record::{CaveatLine, DelayLine, Purpose, TrialLine};
use dropline_stats::{Histogram, Recorder};
use dropline_trial::{Caveat, Delay};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Fields that follow from others, or that a line has beside its trial.
const NOT_OF_THE_TRIAL: [&str; 18] = [
    "offered_load_pps",
    "forwarding_rate_pps",
    "lost",
    "loss_ratio",
    "trial_loss_ratio",
    "phase",
    "course",
    "packets",
    "void",
    "bounds",
    "directions/0/lost",
    "directions/0/loss_ratio",
    "agents/0/lost",
    "disturbance/doubted",
    "arrivals/fidelity",
    "passages/level",
    "passages/pipes/0/granules_per_s",
    "slices/0/delay_ns/drops",
];

/// Makes values of a schema.
struct Values<'a> {
    definitions: &'a Value,
    /// The next number.
    next: u64,
    /// Which of the words of an enum is taken.
    word: usize,
    /// Whether what may be null is.
    none: bool,
}

impl Values<'_> {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn delay(&mut self) -> Histogram {
        let mut values = Histogram::new();
        values.record(self.number());
        values
    }

    fn of(&mut self, name: &str, schema: &Value) -> Value {
        let is_null = |schema: &Value| schema["type"] == "null";
        if let Some(all) = schema["anyOf"].as_array() {
            let other = all.iter().find(|one| !is_null(one)).unwrap();
            return if self.none && all.iter().any(is_null) { Value::Null } else { self.of(name, other) };
        }
        if let Some(reference) = schema["$ref"].as_str() {
            return match reference.rsplit('/').next().unwrap() {
                "CaveatLine" => self.caveat(),
                "DelayLine" => {
                    let delay = Delay { histogram: Some(self.delay()), ..Delay::default() };
                    serde_json::to_value(DelayLine::of(&delay)).unwrap()
                }
                "SliceDelayLine" => self.slice_delay(),
                other => self.of(name, &self.definitions[other]),
            };
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[self.word % words.len()].clone();
        }
        if let Some(words) = schema["oneOf"].as_array() {
            return words[self.word % words.len()]["const"].clone();
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) if self.none && kinds.contains(&json!("null")) => return Value::Null,
            Value::Array(kinds) => kinds[0].as_str().unwrap(),
            kind => kind.as_str().unwrap(),
        };
        match kinds {
            "boolean" => (self.word == 0).into(),
            "integer" => self.number().into(),
            "number" => (self.number() as f64 + 0.5).into(),
            "string" => match name {
                "stamp" => ["app", "kernel", "nic"][self.word % 3].into(),
                "delay_kind" => ["lateness", "one_way", "passage", "round_trip"][self.word % 4].into(),
                _ => format!("word {}", self.number()).into(),
            },
            "array" => match schema["prefixItems"].as_array() {
                Some(items) => items.iter().map(|item| self.of(name, item)).collect(),
                None => {
                    let length = schema["minItems"].as_u64().unwrap_or(1);
                    (0..length).map(|_| self.of(name, &schema["items"])).collect()
                }
            },
            "object" => match schema["properties"].as_object() {
                Some(fields) => fields.iter().map(|(name, of)| (name.clone(), self.of(name, of))).collect(),
                None => {
                    let value = self.of(name, &schema["additionalProperties"]);
                    Map::from_iter([(format!("place {}", self.number()), value)]).into()
                }
            },
            other => panic!("{name}: {other}"),
        }
    }

    /// Its words follow from its numbers.
    fn caveat(&mut self) -> Value {
        serde_json::to_value(CaveatLine::from(&Caveat::GeneratorLost { dropped: self.number() })).unwrap()
    }

    /// One delay: its numbers are held against its histogram.
    fn slice_delay(&mut self) -> Value {
        let value = self.number();
        let mut recorder = Recorder::new();
        recorder.record(value);
        let histogram = recorder.recorded().cells_to_v2_deflate();
        let mut number = || self.number();
        json!({
            "count": 1, "sum": number(), "sum_squared": number(), "min": value, "max": value,
            "negative": { "count": number(), "min": number() }, "missed": number(), "first": number(),
            "last": number(), "histogram": histogram,
        })
    }
}

/// The line of a trial to which one kind of target added something.
fn line(kind: &[&str], word: usize, none: bool) -> Value {
    let schema = serde_json::to_value(schemars::schema_for!(TrialLine)).unwrap();
    let mut values = Values { definitions: &schema["$defs"], next: 0, word, none: false };
    let mut line = Map::new();
    for (name, of) in schema["properties"].as_object().unwrap() {
        let of_a_kind = ["woken", "passages", "cycles", "directions", "graph", "replies", "reply_bytes"]
            .contains(&name.as_str());
        if of_a_kind && !kind.contains(&name.as_str()) {
            continue;
        }
        // What the kind of target added is there, and its fields are null.
        values.none = none && !of_a_kind && name != "slices";
        let mut value = values.of(name, of);
        if none
            && of_a_kind
            && let Some(reference) = of["anyOf"][0]["$ref"].as_str()
        {
            values.none = true;
            value = values.of(name, &schema["$defs"][reference.rsplit('/').next().unwrap()]);
        }
        line.insert(name.clone(), value);
    }
    line.into()
}

/// Every value in it that is no object and no array, by its path.
fn leaves(value: &Value, at: &str, found: &mut Vec<(String, Value)>) {
    let path = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| leaves(value, &path(name), found)),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(at, value)| leaves(value, &path(&at.to_string()), found));
        }
        // An absent field, and a column of nothing, say the same as null.
        Value::Null => {}
        other => found.push((at.into(), other.clone())),
    }
}

#[test]
fn each_field_of_each_kind_of_trial_reads_back_as_it_was_written() {
    let mut seen = BTreeSet::new();
    for kind in [
        &[][..],
        &["woken"],
        &["cycles"],
        &["directions"],
        &["passages"],
        &["replies", "reply_bytes"],
        &["graph", "passages"],
    ] {
        for (word, none) in [(0, false), (1, false), (2, false), (3, false), (0, true)] {
            let written = line(kind, word, none);
            let read: TrialLine = serde_json::from_value(written.clone()).unwrap();
            let trial = read.trial().unwrap();
            let purpose: Purpose = serde_json::from_value(written["purpose"].clone()).unwrap();
            let at = Duration::from_secs_f64(written["at_s"].as_f64().unwrap());
            let (target, arrival) =
                (written["target"].as_str().unwrap(), written["arrival"].as_str().unwrap());
            let again = TrialLine::new(&trial, target, arrival, purpose, at);
            let again = serde_json::to_value(again).unwrap();
            let is_of_the_trial = |path: &str| {
                let is = |name: &&str| path == *name || path.starts_with(&format!("{name}/"));
                // A trial without its last packets says so itself.
                !NOT_OF_THE_TRIAL.iter().any(is) && !path.starts_with("caveats/1")
            };
            let of = |value: &Value| {
                let mut found = Vec::new();
                leaves(value, "", &mut found);
                found.retain(|(path, _)| is_of_the_trial(path));
                found.sort_by(|(one, _), (other, _)| one.cmp(other));
                found
            };
            assert_eq!(of(&again), of(&written), "{kind:?} {word} {none}");
            seen.extend(of(&written).into_iter().map(|(path, _)| path));
        }
    }
    for path in
        ["woken/slices/0/steal_s", "cycles/beyond", "graph/residence/0/block", "passages/recorder/foreign"]
    {
        assert!(seen.contains(path), "{path} is not among the {} that were tried", seen.len());
    }
}
