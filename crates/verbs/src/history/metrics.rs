//! A history as OpenMetrics text: what each search found at its time, and the changes among these.

use crate::series::Series;
use dropline_archive::clock;
use dropline_openmetrics::{Exposition, Labels};
use dropline_record::{IndexLine, IndexedGoal, SeriesLine, Trends, word_of};
use std::collections::{BTreeMap, BTreeSet};

/// A number of a goal.
struct Bound {
    name: &'static str,
    help: &'static str,
    value: fn(&IndexedGoal) -> Option<f64>,
}

const BOUNDS: [Bound; 4] = [
    Bound {
        name: "lower",
        help: "Lower bound of the load that achieves the goal.",
        value: |goal| goal.lower_pps,
    },
    Bound {
        name: "median",
        help: "Median of an interval; absent where the algorithm states bounds.",
        value: |goal| goal.median_pps,
    },
    Bound {
        name: "upper",
        help: "Upper bound of the load that achieves the goal.",
        value: |goal| goal.upper_pps,
    },
    Bound {
        name: "limit",
        help: "The limit that is followed over time; absent where there is none.",
        value: |goal| goal.limit_pps,
    },
];

/// Samples of one family by their labels, then by their milliseconds: each has one value at a time, so that what began in the same
/// second as another stands a millisecond after it.
#[derive(Default)]
struct Samples(BTreeMap<Labels, BTreeMap<i64, f64>>);

impl Samples {
    fn add(&mut self, labels: Labels, second: i64, value: f64) {
        let values = self.0.entry(labels).or_default();
        let free = (second * 1000..).find(|at| !values.contains_key(at));
        values.extend(free.map(|at| (at, value)));
    }

    fn write(self, text: &mut Exposition, name: &str, unit: Option<&str>, help: &str) {
        if self.0.is_empty() {
            return;
        }
        text.begin(name, "gauge", unit, help);
        for (labels, values) in self.0 {
            values.into_iter().for_each(|(at_ms, value)| text.sample_at(name, &labels, value, at_ms));
        }
    }
}

/// The records that are searches, and what changed in them.
pub(super) fn text(records: &[IndexLine], trends: &Trends) -> String {
    let mut text = Exposition::default();
    let goals = || {
        let dated = records.iter().filter_map(|line| Some((line, clock::unix_s(&line.started)?)));
        dated.flat_map(|(line, second)| line.goals.iter().map(move |goal| (line, goal, second)))
    };
    let units: BTreeSet<&str> = records.iter().map(|line| line.load_unit.word()).collect();
    for unit in units.iter().map(|unit| format!("{unit}_per_second")) {
        for Bound { name, help, value } in &BOUNDS {
            let mut samples = Samples::default();
            for (line, goal, second) in goals() {
                if let Some(value) = value(goal).filter(|_| unit.starts_with(line.load_unit.word())) {
                    samples.add(labels(line, goal), second, value);
                }
            }
            samples.write(&mut text, &format!("dropline_history_{name}_{unit}"), Some(&unit), help);
        }
    }
    let mut results = Samples::default();
    for (line, goal, second) in goals() {
        let labels = labels(line, goal).into_iter().chain([("result", word_of(&goal.result))]);
        results.add(labels.collect(), second, 1.0);
    }
    results.write(&mut text, "dropline_history_result", None, "1 for the kind of answer that a goal got.");
    let mut changes = Samples::default();
    trends.series.iter().for_each(|series| add_changes(series, &mut changes));
    let help = "How much a limit changed here or drifted to here, as a ratio less 1.";
    changes.write(&mut text, "dropline_history_change_ratio", Some("ratio"), help);
    text.finish()
}

fn labels(line: &IndexLine, goal: &IndexedGoal) -> Labels {
    labels_of(&line.target, &goal.goal, &line.machine, Series::of(line, goal).id())
}

/// What no two samples of different histories share is their series.
fn labels_of(target: &str, goal: &str, machine: &str, series: String) -> Labels {
    let [target, goal, machine] = [target, goal, machine].map(str::to_owned);
    vec![("target", target), ("goal", goal), ("machine", machine), ("series", series)]
}

fn add_changes(series: &SeriesLine, samples: &mut Samples) {
    let mut add =
        |kind: &str, at: &str, size: f64, id: &str, verdict: String, more: [bool; 2], commits: String| {
            let Some(second) = clock::unix_s(at) else { return };
            let mut labels = labels_of(&series.target, &series.goal, &series.machine, series.id.clone());
            let [suspected, acknowledged] = more.map(|so| if so { "yes" } else { "no" }.to_owned());
            labels.extend([
                ("kind", kind.to_owned()),
                ("id", id.to_owned()),
                ("verdict", verdict),
                ("suspected", suspected),
                ("acknowledged", acknowledged),
                ("commits", commits),
            ]);
            samples.add(labels, second, size);
        };
    for line in &series.changes {
        let commits = line.commits.iter().flatten().cloned().collect::<Vec<_>>().join("..");
        let more = [line.suspected, line.acknowledged];
        add("change", &line.at, line.size, &line.id, word_of(&line.verdict), more, commits);
    }
    for line in &series.drifts {
        let more = [false, line.acknowledged];
        let kind = if line.behind { "behind" } else { "drift" };
        add(kind, &line.to, line.size, &line.id, word_of(&line.verdict), more, String::new());
    }
}
