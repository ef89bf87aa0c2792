//! Trials as a table: a row a trial, units in the names.

use Of::{Integer, Number, Text};
use dropline_record::{Count, DelayLine, Record, Site, TrialLine, word_of};
use dropline_table::{Column, Values};
use std::collections::BTreeMap;

/// What a column holds of a trial.
enum Of {
    Integer(fn(&TrialLine) -> Option<u64>),
    Number(fn(&TrialLine) -> Option<f64>),
    Text(fn(&TrialLine) -> Option<String>),
}

/// The fields that every trial has, in the order of its JSON.
const FIELDS: [(&str, Of); 28] = [
    ("number", Integer(|trial| Some(trial.number))),
    ("purpose", Text(|trial| Some(word_of(&trial.purpose)))),
    ("phase", Text(|trial| trial.phase.clone())),
    ("at_s", Number(|trial| Some(trial.at_s))),
    ("target", Text(|trial| Some(trial.target.clone()))),
    ("intended_load_pps", Number(|trial| Some(trial.intended_load_pps))),
    ("offered_load_pps", Number(|trial| Some(trial.offered_load_pps))),
    ("forwarding_rate_pps", Number(|trial| Some(trial.forwarding_rate_pps))),
    ("intended_duration_s", Number(|trial| Some(trial.intended_duration_s))),
    ("duration_s", Number(|trial| Some(trial.duration_s))),
    ("elapsed_s", Number(|trial| Some(trial.elapsed_s))),
    ("arrival", Text(|trial| Some(trial.arrival.clone()))),
    ("seed", Text(|trial| Some(trial.seed.to_string()))),
    ("intended", Integer(|trial| counted(trial.intended))),
    ("offered", Integer(|trial| Some(trial.offered.0))),
    ("forwarded", Integer(|trial| Some(trial.forwarded.0))),
    ("lost", Integer(|trial| Some(trial.lost.0))),
    ("duplicated", Integer(|trial| counted(trial.duplicated))),
    ("reordered", Integer(|trial| counted(trial.reordered))),
    ("late", Integer(|trial| counted(trial.late))),
    ("reply_truncated", Integer(|trial| counted(trial.reply_truncated))),
    ("reply_extended", Integer(|trial| counted(trial.reply_extended))),
    ("reply_changed", Integer(|trial| counted(trial.reply_changed))),
    ("generator_lost", Integer(|trial| Some(trial.generator_lost.0))),
    ("loss_ratio", Number(|trial| trial.loss_ratio)),
    ("trial_loss_ratio", Number(|trial| trial.trial_loss_ratio)),
    ("stamp", Text(|trial| trial.stamp.map(|stamp| word_of(&stamp)))),
    ("delay_kind", Text(|trial| trial.delay_kind.map(|kind| word_of(&kind)))),
];

/// What a trial says of delays of a kind.
type OfDelay = fn(&DelayLine) -> Option<u64>;

const DELAYS: [(&str, OfDelay); 7] = [
    ("count", |delay| Some(delay.count.0)),
    ("min", |delay| delay.min),
    ("p50", |delay| delay.p50),
    ("p90", |delay| delay.p90),
    ("p99", |delay| delay.p99),
    ("p99_9", |delay| delay.p99_9),
    ("max", |delay| delay.max),
];

type DelayOf = fn(&TrialLine) -> Option<&DelayLine>;

const KINDS: [(&str, DelayOf); 3] = [
    ("delay_ns", |trial| trial.delay_ns.as_ref()),
    ("service_delay_ns", |trial| trial.service_delay_ns.as_ref()),
    ("lateness_ns", |trial| trial.lateness_ns.as_ref()),
];

/// The trials of a record as columns of the same length, with the fields of a trial's JSON; histograms and slices are
/// left out. What a trial does not know is absent.
pub fn trial_columns(record: &Record) -> Vec<Column> {
    let trials = &record.trials;
    let mut columns = Vec::new();
    let mut add = |name: String, values| columns.push(Column { name, values });
    for (name, of) in &FIELDS {
        let values = match of {
            Integer(of) => integers(trials, of),
            Number(of) => Values::Numbers(trials.iter().map(of).collect()),
            Text(of) => Values::Texts(trials.iter().map(of).collect()),
        };
        add((*name).into(), values);
    }
    for (kind, delay) in KINDS {
        for (name, of) in DELAYS {
            add(format!("{kind}_{name}"), integers(trials, |trial| delay(trial).and_then(of)));
        }
    }
    for place in named(trials, Site::all().map(Site::key), |trial| trial.lost_at.as_ref()) {
        let lost = |trial: &TrialLine| Some(trial.lost_at.as_ref()?.get(&place).map_or(0, |count| count.0));
        add(format!("lost_at_{place}"), integers(trials, lost));
    }
    let replies = named(trials, std::iter::empty(), |trial| trial.replies.as_ref());
    for class in &replies {
        let said = |trial: &TrialLine| Some(trial.replies.as_ref()?.get(class).map_or(0, |count| count.0));
        add(format!("replies_{class}"), integers(trials, said));
    }
    if !replies.is_empty() {
        add("reply_bytes".into(), integers(trials, |trial| counted(trial.reply_bytes)));
    }
    let goals = trials.iter().map(|trial| trial.bounds.len()).max().unwrap_or(0);
    for goal in 0..goals {
        let bounds = || trials.iter().map(move |trial| trial.bounds.get(goal).copied().unwrap_or_default());
        let name = |name| format!("goal_{}_{name}", goal + 1);
        add(name("lower_pps"), Values::Numbers(bounds().map(|of| of.lower_pps).collect()));
        let valid = |of: Option<f64>, valid| of.map(|_| valid);
        add(
            name("lower_valid"),
            Values::Truths(bounds().map(|of| valid(of.lower_pps, of.lower_valid)).collect()),
        );
        add(name("upper_pps"), Values::Numbers(bounds().map(|of| of.upper_pps).collect()));
        add(
            name("upper_valid"),
            Values::Truths(bounds().map(|of| valid(of.upper_pps, of.upper_valid)).collect()),
        );
        add(name("median_pps"), Values::Numbers(bounds().map(|of| of.median_pps).collect()));
    }
    let codes = |trial: &TrialLine| {
        let codes: Vec<&str> = trial.caveats.iter().map(|caveat| caveat.code.as_str()).collect();
        Some(codes.join(" "))
    };
    add("caveats".into(), Values::Texts(trials.iter().map(codes).collect()));
    columns
}

fn integers(trials: &[TrialLine], of: impl Fn(&TrialLine) -> Option<u64>) -> Values {
    // A table's whole numbers have a sign: what is too large for one is not known.
    Values::Integers(
        trials.iter().map(|trial| of(trial).and_then(|count| i64::try_from(count).ok())).collect(),
    )
}

fn counted(count: Option<Count>) -> Option<u64> {
    count.map(|count| count.0)
}

/// Every name that is known, and behind these what a record of a later version has.
fn named<'a>(
    trials: &'a [TrialLine],
    known: impl Iterator<Item = String>,
    of: impl Fn(&'a TrialLine) -> Option<&'a BTreeMap<String, Count>>,
) -> Vec<String> {
    let mut names: Vec<String> = known.collect();
    let mut others: Vec<&String> = trials.iter().filter_map(of).flat_map(BTreeMap::keys).collect();
    others.sort();
    others.dedup();
    let others: Vec<String> = others.into_iter().filter(|name| !names.contains(name)).cloned().collect();
    names.extend(others);
    names
}
