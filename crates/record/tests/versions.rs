//! Records of every version stay readable. A record that an older version wrote is never made again.

use dropline_record::Record;
use dropline_record::schema::Line;
use serde_json::Value;
use std::path::Path;

#[test]
fn a_record_of_version_1_reads_as_it_was_written() {
    let text = include_str!("records/dropline-1.jsonl");
    // It was shortened by hand to four of its twenty trials, and a reader says so.
    let why = Record::read(text).unwrap_err().to_string();
    assert!(why.contains("line 6 of the record contradicts the trials before it"), "{why}");
    let (trials, result) = text.trim_end().rsplit_once('\n').unwrap();
    let record = Record::read(trials).unwrap();
    assert_eq!(record.header.schema, "dropline/1");
    assert_eq!(record.trials.len(), 4);
    let trials: Vec<_> = record.trials.iter().map(|line| line.trial().unwrap()).collect();
    assert!(
        trials.iter().all(|trial| trial.offered == trial.forwarded + trial.lost() + trial.generator_lost)
    );
    assert_eq!(trials[0].input.load.as_millipps(), 20_000_000);
    let delays = trials[0].delay.histogram.as_ref().unwrap();
    assert_eq!(delays.count(), trials[0].forwarded);
    let Ok(Line::Result(result)) = serde_json::from_str(result) else { panic!("it ends with its result") };
    assert_eq!((result.goals[0].lower_pps, result.goals[1].goal.loss_ratio), (Some(1819.903), 0.01));
}

/// A record of each kind, as a version wrote it, and what it has that others have not: a key of its trials.
const KEPT: [(&str, usize, &[&str]); 17] = [
    ("abba", 20, &["disturbance", "lost_at"]),
    ("dns", 1, &["replies", "watched"]),
    ("flowgraph", 1, &["passages"]),
    ("graph", 1, &["graph", "passages"]),
    ("jack", 1, &["cycles"]),
    ("link", 1, &["arrivals", "lost_at"]),
    ("resumed", 5, &[]),
    ("search-binary", 6, &[]),
    ("search-certified", 9, &[]),
    ("search-credible", 6, &[]),
    ("search-delay", 4, &["delay_ns"]),
    ("search-mdr", 6, &[]),
    ("search-mlr", 8, &[]),
    ("trial-sim", 1, &[]),
    ("trial-udp", 1, &["packets", "slices"]),
    ("trial-wakeup", 1, &["woken"]),
    ("watch", 1, &["watched"]),
];

#[test]
#[expect(clippy::disallowed_methods, reason = "what is tested is the repository's files")]
fn a_kept_record_of_each_kind_says_what_it_said() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/2026-11-27");
    for (name, trials, keys) in KEPT {
        let text = std::fs::read_to_string(kept.join(format!("{name}.jsonl"))).unwrap();
        let record = Record::read(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(record.trials.len(), trials, "{name}");
        for line in &record.trials {
            let trial = line.trial().unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(trial.offered, trial.forwarded + trial.lost() + trial.generator_lost, "{name}");
        }
        let written = record.to_lines();
        assert_eq!(written.lines().count(), text.lines().count(), "{name}");
        for (written, line) in written.lines().zip(text.lines()) {
            let [written, line]: [Value; 2] = [written, line].map(|line| serde_json::from_str(line).unwrap());
            assert!(holds(&written, &line), "{name}:\n{line}\nbecame\n{written}");
        }
        let last: Value =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).rfind(is_trial).unwrap();
        for key in keys {
            assert!(!last[key].is_null(), "{name} has no {key}");
        }
    }
}

fn is_trial(line: &Value) -> bool {
    line["line"] == "trial"
}

/// Whether all that one says is in the other: what a later version says besides is no loss.
fn holds(all: &Value, part: &Value) -> bool {
    match (all, part) {
        (Value::Object(all), Value::Object(part)) => {
            part.iter().all(|(key, part)| holds(all.get(key).unwrap_or(&Value::Null), part))
        }
        (Value::Array(all), Value::Array(part)) => {
            all.len() == part.len() && all.iter().zip(part).all(|(all, part)| holds(all, part))
        }
        _ => all == part,
    }
}
