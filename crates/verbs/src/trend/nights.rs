//! The nights that may be compared with one another, in order of time.

use crate::indexed::UNFINISHED;
use crate::series::Series;
use dropline_archive::clock;
use dropline_record::{GoalLine, IndexLine, IndexedGoal, LoadUnit, PointLine};
use dropline_stats::special::normal_quantile;
use dropline_stats::trend;
use std::collections::BTreeMap;

/// What one search says of one goal.
#[derive(Clone, Debug)]
pub(super) struct Night {
    pub(super) series: Series,
    pub(super) at: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) goal: GoalLine,
    pub(super) load_unit: LoadUnit,
    source: String,
    seconds: i64,
    low: Option<f64>,
    value: f64,
    high: Option<f64>,
    level: Option<f64>,
    /// What is a mark where it changes, by name.
    around: [(&'static str, String); 4],
}

impl Night {
    /// One for each goal of which a search says where the limit is, and why there is none of the others.
    pub(super) fn all(source: &str, line: &IndexLine) -> (Vec<Self>, Vec<String>) {
        if line.algorithm.is_none() {
            return (Vec::new(), vec![format!("it was made by dropline {} and is not a search", line.kind)]);
        }
        if !line.finished {
            return (Vec::new(), vec![UNFINISHED.into()]);
        }
        let Some(seconds) = clock::unix_s(&line.started) else {
            let why = format!("it does not say when it began: {:?} is not a date", line.started);
            return (Vec::new(), vec![why]);
        };
        let (mut nights, mut without) = (Vec::new(), Vec::new());
        for goal in &line.goals {
            match (goal.limit_pps, &goal.why_not) {
                (Some(value), _) => nights.push(Self::of(line, goal, source, seconds, value)),
                (None, why) => {
                    without.push(format!("{}: {}", goal.goal, why.as_deref().unwrap_or(UNKNOWN)));
                }
            }
        }
        (nights, without)
    }

    fn of(line: &IndexLine, goal: &IndexedGoal, source: &str, seconds: i64, value: f64) -> Self {
        Self {
            series: Series::of(line, goal),
            at: line.started.clone(),
            labels: line.labels.clone(),
            load_unit: line.load_unit,
            source: source.to_owned(),
            seconds,
            low: goal.lower_pps,
            value,
            high: goal.upper_pps,
            level: goal.level,
            around: [
                ("kernel", known(&line.kernel)),
                ("governor", known(&line.governor)),
                ("turbo", known(&line.turbo)),
                ("SMT", known(&line.smt)),
            ],
            goal: goal.asked.clone(),
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    pub(super) fn point(&self) -> PointLine {
        PointLine {
            at: self.at.clone(),
            source: self.source.clone(),
            low: self.low,
            value: self.value,
            high: self.high,
            labels: self.labels.clone(),
        }
    }

    /// The standard error that an interval of this level comes from; bounds without one do not say.
    fn error(&self) -> Option<f64> {
        let reach = normal_quantile(f64::midpoint(1.0, self.level?));
        Some((self.high? - self.low?) / (2.0 * reach)).filter(|error| *error > 0.0)
    }
}

const UNKNOWN: &str = "unknown";

fn known(word: &Option<String>) -> String {
    word.clone().unwrap_or_else(|| UNKNOWN.into())
}

/// Those of one history.
pub(super) struct Nights {
    pub(super) nights: Vec<Night>,
}

impl Nights {
    /// Nights put together by what may not differ.
    pub(super) fn all(nights: Vec<Night>) -> Vec<Self> {
        let mut by_series: BTreeMap<Series, Vec<Night>> = BTreeMap::new();
        for night in nights {
            by_series.entry(night.series.clone()).or_default().push(night);
        }
        let of = |mut nights: Vec<Night>| {
            nights.sort_by(|one, other| (one.seconds, &one.source).cmp(&(other.seconds, &other.source)));
            Self { nights }
        };
        by_series.into_values().map(of).collect()
    }

    pub(super) fn id(&self) -> String {
        self.nights[0].series.id()
    }

    /// Nights with which something around the target changed, and what.
    pub(super) fn marks(&self) -> impl Iterator<Item = (usize, String)> {
        self.nights.windows(2).enumerate().filter_map(|(index, pair)| {
            let both = pair[0].around.iter().zip(&pair[1].around);
            let changed: Vec<String> = both
                .filter(|(before, after)| before != after)
                .map(|((name, before), (_, after))| format!("{name} {before} → {after}"))
                .collect();
            (!changed.is_empty()).then(|| (index + 1, changed.join(", ")))
        })
    }

    pub(super) fn nights_as_numbers(&self) -> Vec<trend::Night> {
        let mut nights: Vec<trend::Night> = self
            .nights
            .iter()
            .map(|night| trend::Night {
                day: (night.seconds - self.nights[0].seconds) as f64 / 86_400.0,
                value: night.value,
                error: night.error(),
                is_marked: false,
            })
            .collect();
        self.marks().for_each(|(night, _)| nights[night].is_marked = true);
        nights
    }
}
