//! OpenMetrics 1.0 text of a record: load, loss, bounds and delays, for whoever draws them over days.
//!
//! A finished measurement counts no further, so its counts are gauges. Buckets are the same for every record, so that
//! delays of several add up.

use crate::import::{ImportError, Imported, own_record};
use dropline_archive::clock;
use dropline_openmetrics::{Exposition, Labels, middle_seconds};
use dropline_record::{
    AnswerLine, CaveatLine, GoalLine, Purpose, ReasonWord, Record, ResultWord, TrialLine, word_of,
};
use std::collections::BTreeMap;

/// A number that each trial has, or may have.
struct OfTrial {
    /// Behind `dropline_`; `{}` is what the load counts.
    name: &'static str,
    /// What the name ends with.
    unit: &'static str,
    help: &'static str,
    value: fn(&TrialLine) -> Option<f64>,
}

const OF_TRIALS: [OfTrial; 14] = [
    OfTrial {
        name: "intended_load_{}_per_second",
        unit: "{}_per_second",
        help: "Load asked for.",
        value: |trial| Some(trial.intended_load_pps),
    },
    OfTrial {
        name: "offered_load_{}_per_second",
        unit: "{}_per_second",
        help: "Load that left the sender.",
        value: |trial| Some(trial.offered_load_pps),
    },
    OfTrial {
        name: "forwarding_rate_{}_per_second",
        unit: "{}_per_second",
        help: "Forwarding rate (RFC 9971).",
        value: |trial| Some(trial.forwarding_rate_pps),
    },
    OfTrial {
        name: "duration_seconds",
        unit: "seconds",
        help: "How long was sent.",
        value: |trial| Some(trial.duration_s),
    },
    OfTrial {
        name: "intended_{}",
        unit: "{}",
        help: "What the load asked for.",
        value: |trial| trial.intended.map(|count| count.0 as f64),
    },
    OfTrial {
        name: "offered_{}",
        unit: "{}",
        help: "What left the sender: the denominator of the loss ratio.",
        value: |trial| Some(trial.offered.0 as f64),
    },
    OfTrial {
        name: "forwarded_{}",
        unit: "{}",
        help: "What came back in time, each counted once.",
        value: |trial| Some(trial.forwarded.0 as f64),
    },
    OfTrial {
        name: "generator_lost_{}",
        unit: "{}",
        help: "Replies that our own socket dropped: no loss of the target.",
        value: |trial| Some(trial.generator_lost.0 as f64),
    },
    OfTrial {
        name: "duplicated_{}",
        unit: "{}",
        help: "Further copies.",
        value: |trial| trial.duplicated.map(|count| count.0 as f64),
    },
    OfTrial {
        name: "reordered_{}",
        unit: "{}",
        help: "What came back behind a later one.",
        value: |trial| trial.reordered.map(|count| count.0 as f64),
    },
    OfTrial {
        name: "late_{}",
        unit: "{}",
        help: "What came back of earlier trials.",
        value: |trial| trial.late.map(|count| count.0 as f64),
    },
    OfTrial {
        name: "loss_ratio",
        unit: "ratio",
        help: "Lost of offered; absent when nothing was offered.",
        value: |trial| trial.loss_ratio,
    },
    OfTrial {
        name: "trial_loss_ratio",
        unit: "ratio",
        help: "Trial loss ratio (RFC 9971): not forwarded of intended.",
        value: |trial| trial.trial_loss_ratio,
    },
    OfTrial {
        name: "elapsed_seconds",
        unit: "seconds",
        help: "What the trial cost, waits included.",
        value: |trial| Some(trial.elapsed_s),
    },
];

/// The trials at a load that somebody asked for; a search's own trials are evidence for its goals, which are here.
///
/// # Errors
/// If a histogram of the record is broken.
pub fn of_record(record: &Record) -> Result<String, ImportError> {
    let mut text = Exposition::default();
    let unit = record.header.load_unit.word();
    about(&mut text, record);
    goals(&mut text, record, unit);
    let shown: Vec<&TrialLine> = record
        .trials
        .iter()
        .filter(|trial| matches!(trial.purpose, Purpose::Trial | Purpose::DelayAt))
        .collect();
    for family in &OF_TRIALS {
        let name = format!("dropline_{}", family.name.replace("{}", unit));
        let samples = shown.iter().filter_map(|trial| Some((of_trial(trial), (family.value)(trial)?)));
        text.gauges(&name, &family.unit.replace("{}", unit), family.help, samples);
    }
    let lost = shown.iter().flat_map(|trial| {
        let unknown = || BTreeMap::from([("not_accounted".to_owned(), trial.lost)]);
        let places = trial.lost_at.clone().unwrap_or_else(unknown);
        places.into_iter().map(|(place, count)| {
            let mut labels = of_trial(trial);
            labels.push(("place", place));
            (labels, count.0 as f64)
        })
    });
    let help = "Lost by place: the numerator of the loss ratio.";
    text.gauges(&format!("dropline_lost_{unit}"), unit, help, lost);
    delays(&mut text, &shown)?;
    Ok(text.finish())
}

/// What was imported: a histogram, a label for each part.
pub fn of_imported(imported: &[Imported]) -> String {
    let mut text = Exposition::default();
    text.begin(DELAYS, "histogram", Some("seconds"), "Times that were imported, to three digits.");
    for part in imported {
        // A file of one distribution has no name for it.
        let labels: Labels =
            Some(("part", part.name.clone())).filter(|(_, name)| !name.is_empty()).into_iter().collect();
        text.histogram(DELAYS, &labels, &part.counted, middle_seconds(&part.counted));
    }
    text.finish()
}

const DELAYS: &str = "dropline_delay_seconds";
const DELAYS_HELP: &str = "Delays from when each was due, to three digits.";

fn of_trial(trial: &TrialLine) -> Labels {
    vec![
        ("target", trial.target.clone()),
        ("trial", trial.number.to_string()),
        ("purpose", word_of(&trial.purpose)),
    ]
}

fn about(text: &mut Exposition, record: &Record) {
    let header = &record.header;
    let target = || ("target", header.target.clone());
    let environment = &header.environment;
    let info = vec![
        target(),
        ("verb", header.verb.clone()),
        ("started", header.started.clone()),
        ("arrival", header.profile.arrival.clone()),
        ("packet_bytes", header.profile.packet_bytes.to_string()),
        ("version", environment.dropline.clone()),
        ("kernel", environment.kernel.clone().unwrap_or_default()),
        ("cpu", environment.cpu.clone().unwrap_or_default()),
    ];
    text.gauges("dropline_record_info", "", "What was measured, and where.", [(info, 1.0)]);
    let started = clock::unix_s(&header.started).map(|seconds| (vec![target()], seconds as f64));
    text.gauges("dropline_record_started_seconds", "seconds", "When it began, since 1970.", started);
    let mut trials: BTreeMap<String, u64> = BTreeMap::new();
    record.trials.iter().for_each(|trial| *trials.entry(word_of(&trial.purpose)).or_default() += 1);
    let trials =
        trials.into_iter().map(|(purpose, count)| (vec![target(), ("purpose", purpose)], count as f64));
    text.gauges("dropline_trials", "", "Finished trials by what they were for.", trials);
    let mut caveats: BTreeMap<String, u64> = BTreeMap::new();
    let of_trials = || record.trials.iter().flat_map(|trial| &trial.caveats);
    // A result repeats what its trials have.
    let is_own = |caveat: &&CaveatLine| !of_trials().any(|other| other.code == caveat.code);
    let of_result = record.result.iter().flat_map(|result| &result.caveats).filter(is_own);
    let all = of_trials().chain(of_result).chain(&record.reading);
    all.for_each(|CaveatLine { code, .. }| *caveats.entry(code.clone()).or_default() += 1);
    let caveats = caveats.into_iter().map(|(code, count)| (vec![target(), ("code", code)], count as f64));
    text.gauges("dropline_caveats", "", "Doubts by their code: how often each was said.", caveats);
}

/// What a search knows of a goal.
struct Known {
    labels: Labels,
    lower: Option<f64>,
    median: Option<f64>,
    upper: Option<f64>,
    conditional_throughput: Option<f64>,
    result: String,
    why: String,
}

impl Known {
    /// An answer; of one that is doubted the loads that are open.
    fn of(labels: Labels, record: &Record, answer: &AnswerLine) -> Self {
        let stated = Self {
            labels,
            lower: answer.lower_pps,
            median: answer.median_pps,
            upper: answer.upper_pps,
            conditional_throughput: answer.conditional_throughput_pps,
            result: word_of(&answer.result),
            why: answer.why.map_or_else(String::new, |why| why.to_string()),
        };
        match dropline_report::denied(record, answer) {
            None => stated,
            Some(denied) => Self {
                lower: denied.low_pps,
                median: None,
                upper: denied.high_pps,
                conditional_throughput: None,
                result: "doubted".into(),
                why: denied.why.into(),
                ..stated
            },
        }
    }
}

/// Bounds and answers: of the result, else what was known when the search was cut off.
fn goals(text: &mut Exposition, record: &Record, unit: &str) {
    let labels = |index: usize, goal: &GoalLine| {
        let mut labels = vec![
            ("target", record.header.target.clone()),
            ("goal", (index + 1).to_string()),
            ("loss_ratio", goal.loss_ratio.to_string()),
        ];
        // What comes back later counts as lost: another goal, though the ratio is the same.
        labels.extend(goal.within_s.map(|bound| ("within_seconds", bound.to_string())));
        labels
    };
    let known: Vec<Known> = match (&record.result, &record.header.search) {
        (Some(result), _) => {
            let answers = result.goals.iter().enumerate();
            answers.map(|(index, answer)| Known::of(labels(index, &answer.goal), record, answer)).collect()
        }
        (None, Some(search)) => {
            let last = record.trials.iter().rev().find(|trial| !trial.bounds.is_empty());
            let bounds = last.map_or(&[][..], |trial| &trial.bounds);
            let goals = search.goals.iter().zip(bounds).enumerate();
            goals
                .map(|(index, (goal, bounds))| Known {
                    labels: labels(index, goal),
                    lower: bounds.lower_pps,
                    median: bounds.median_pps,
                    upper: bounds.upper_pps,
                    conditional_throughput: None,
                    result: word_of(&ResultWord::Irregular),
                    why: ReasonWord::Unfinished.to_string(),
                })
                .collect()
        }
        (None, None) => Vec::new(),
    };
    type Value = fn(&Known) -> Option<f64>;
    let bounds: [(&str, &str, Value); 4] = [
        ("lower", "Lower bound of the load that achieves the goal.", |goal| goal.lower),
        ("median", "Median of an interval; absent where the algorithm states bounds.", |goal| goal.median),
        ("upper", "Upper bound of the load that achieves the goal.", |goal| goal.upper),
        ("conditional_throughput", "Conditional throughput (RFC 9971).", |goal| goal.conditional_throughput),
    ];
    for (name, help, value) in bounds {
        let samples = known.iter().filter_map(|goal| Some((goal.labels.clone(), value(goal)?)));
        text.gauges(
            &format!("dropline_goal_{name}_{unit}_per_second"),
            &format!("{unit}_per_second"),
            help,
            samples,
        );
    }
    let results = known.iter().map(|goal| {
        let more = [("result", goal.result.clone()), ("why", goal.why.clone())];
        (goal.labels.iter().cloned().chain(more).collect(), 1.0)
    });
    text.gauges("dropline_goal_result", "", "1 for the kind of answer that a goal got.", results);
}

fn delays(text: &mut Exposition, trials: &[&TrialLine]) -> Result<(), ImportError> {
    let measured = || trials.iter().filter_map(|trial| Some((*trial, trial.delay_ns.as_ref()?)));
    if measured().next().is_none() {
        return Ok(());
    }
    text.begin(DELAYS, "histogram", Some("seconds"), DELAYS_HELP);
    for (trial, delay) in measured() {
        let counted = own_record::counted(delay)?;
        let sum = exact_sum_seconds(trial, delay.count.0).or_else(|| middle_seconds(&counted));
        text.histogram(DELAYS, &of_trial(trial), &counted, sum);
    }
    let name = "dropline_delay_percentile_seconds";
    text.begin(name, "summary", Some("seconds"), "Percentiles that the count supports; not to be averaged.");
    for (trial, delay) in measured() {
        let percentiles = [
            ("0.5", delay.p50),
            ("0.9", delay.p90),
            ("0.99", delay.p99),
            ("0.999", delay.p99_9),
            ("1.0", delay.max),
        ];
        for (quantile, value) in percentiles {
            let Some(value) = value else { continue };
            let mut labels = of_trial(trial);
            labels.push(("quantile", quantile.into()));
            text.sample_of(name, &labels, value as f64 / 1e9);
        }
    }
    Ok(())
}

/// The sum that the time slices kept, where they hold every delay.
fn exact_sum_seconds(trial: &TrialLine, count: u64) -> Option<f64> {
    let slices = || trial.slices.iter().filter_map(|slice| slice.delay_ns.as_ref());
    let sliced: u128 = slices().map(|delay| u128::from(delay.count.0)).sum();
    let sum: f64 = slices().map(|delay| delay.sum.0 as f64).sum();
    (sliced == u128::from(count)).then_some(sum / 1e9)
}
