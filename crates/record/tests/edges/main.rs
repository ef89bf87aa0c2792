//! Each rule at its edges: what a record may just say, and what it may not any more.

mod agreement;
mod answers;
mod bursts;
mod histories;
mod lines;

use dropline_record::{
    AnswerLine, GoalLine, Header, LimitsLine, ProfileLine, Purpose, Record, ResultLine, TrialLine,
};
use dropline_trial::{Rate, TrafficProfile, Trial, TrialInput, seed};
use serde_json::{Value, json};
use std::time::Duration;

/// One goal without loss, half as wide as its upper bound.
fn goal() -> GoalLine {
    serde_json::from_value(json!({
        "loss_ratio": 0.0, "exceed_ratio": 0.5, "trial_duration_s": 1.0, "initial_trial_duration_s": 1.0,
        "duration_sum_s": 1.0, "width": 0.5,
    }))
    .unwrap()
}

/// Of a bisection between 50 and 1000 packets a second.
fn header() -> Header {
    let search = json!({
        "algorithm": "binary", "preset": null, "goals": [goal()], "min_load_pps": 50.0, "max_load_pps": 1000.0,
        "budget_s": null, "max_trials": null, "effective_duration": "duration_s", "warm_up_s": 0.0, "delay_at": [],
    });
    serde_json::from_value(json!({
        "schema": "dropline/1", "verb": "search", "started": "2026-11-21T09:31:00Z", "target": "sim:hard",
        "target_note": null, "load_unit": "packets", "load_is": "the load of one interface",
        "profile": ProfileLine::from(&TrafficProfile::default()), "search": search, "generator": null,
        "generator_limit_pps": null, "environment": {},
    }))
    .unwrap()
}

/// A trial of a second at this load that lost so many.
fn trial(number: u64, load: u64, lost: u64) -> Trial {
    let input = TrialInput { load: Rate::from_millipps(load * 1000), duration: Duration::from_secs(1) };
    let forwarded = load - lost;
    Trial {
        intended: Some(load),
        offered: load,
        forwarded,
        ..Trial::new(number, input, seed::of_trial(TrafficProfile::default().seed, number))
    }
}

fn line(trial: &Trial, target: &str, at: Duration) -> TrialLine {
    TrialLine::new(trial, target, "constant", Purpose::Search, at)
}

/// A record of these trials, by load and loss.
fn record(trials: &[(u64, u64)]) -> Record {
    let mut record = Record::begin(header());
    for (number, &(load, lost)) in (1..).zip(trials) {
        let at = Duration::from_secs(number - 1);
        record.trials.push(line(&trial(number, load, lost), "sim:hard", at));
    }
    record
}

/// The same with an answer.
fn answered(trials: &[(u64, u64)], answer: &Value) -> Record {
    let mut record = record(trials);
    let mut whole = json!({
        "lower_pps": null, "upper_pps": null, "median_pps": null, "level": null, "conditional_throughput_pps": null,
        "why": null,
    });
    whole.as_object_mut().unwrap().extend(serde_json::to_value(goal()).unwrap().as_object().unwrap().clone());
    whole.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    let answer: AnswerLine = serde_json::from_value(whole).unwrap();
    let seconds = trials.len() as f64;
    let result = json!({
        "goals": [answer], "trial_seconds": seconds, "elapsed_s": seconds, "interrupted": false,
        "ended_by": "done", "caveats": [],
    });
    let result: ResultLine = serde_json::from_value(result).unwrap();
    record.result = Some(result);
    record
}

/// What is said against it; nothing where it is read.
fn against(record: &Record) -> String {
    Record::read(&record.to_lines()).err().map(|why| why.to_string()).unwrap_or_default()
}

/// What is said against a record after a change.
fn changed(record: &Record, change: impl FnOnce(&mut Record)) -> String {
    let mut record = record.clone();
    change(&mut record);
    against(&record)
}

fn limits(after_trial: u64, budget_s: Option<f64>, max_trials: Option<u64>) -> LimitsLine {
    LimitsLine { after_trial, budget_s, max_trials }
}
