//! The nights that may be compared with one another, in order of time.

use super::named::name;
use dropline_archive::clock;
use dropline_record::{
    AnswerLine, GoalLine, LoadUnit, PointLine, ProfileLine, Record, ResultWord, SearchLine,
};
use dropline_report::Denied;
use dropline_stats::special::normal_quantile;
use dropline_stats::trend;
use std::collections::BTreeMap;
use std::path::Path;

/// What may not differ within a history.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) target: String,
    /// The goal with all its attributes, the algorithm, the traffic profile but for its seed.
    asked: String,
    pub(super) machine: String,
    pub(super) dropline: String,
}

/// What one search says of one goal.
#[derive(Clone, Debug)]
pub(super) struct Night {
    pub(super) key: Key,
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
    pub(super) fn all(path: &Path, record: &Record) -> (Vec<Self>, Vec<String>) {
        match Measured::of(path, record) {
            Err(why) => (Vec::new(), vec![why]),
            Ok(measured) => {
                let (mut nights, mut without) = (Vec::new(), Vec::new());
                for answer in record.answers().unwrap_or_default() {
                    match limit(record, &answer) {
                        Ok(value) => nights.push(measured.night(answer, value)),
                        Err(why) => without.push(format!("{}: {why}", answer.goal.words())),
                    }
                }
                (nights, without)
            }
        }
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

/// A finished search: what all of its goals have in common.
struct Measured<'a> {
    record: &'a Record,
    search: &'a SearchLine,
    source: String,
    seconds: i64,
    machine: String,
}

impl<'a> Measured<'a> {
    fn of(path: &Path, record: &'a Record) -> Result<Self, String> {
        let header = &record.header;
        let Some(search) = &header.search else {
            return Err(format!("it was made by dropline {} and is not a search", header.verb));
        };
        if !record.is_finished() {
            return Err("the search did not come to its end; --resume does that".into());
        }
        let Some(seconds) = clock::unix_s(&header.started) else {
            return Err(format!("it does not say when it began: {:?} is not a date", header.started));
        };
        let environment = &header.environment;
        let cpus = environment.cpus.map_or_else(|| UNKNOWN.into(), |cpus| cpus.to_string());
        let virtualization = environment.virtualization.as_ref().map(|name| format!(", {name}"));
        let machine =
            format!("{}, {cpus} CPUs{}", known(&environment.cpu), virtualization.unwrap_or_default());
        Ok(Self { record, search, source: path.display().to_string(), seconds, machine })
    }

    fn night(&self, answer: AnswerLine, value: f64) -> Night {
        let header = &self.record.header;
        let environment = &header.environment;
        let profile = ProfileLine { seed: 0, ..header.profile.clone() };
        let asked = (&self.search.algorithm, self.search.level, &answer.goal, &profile);
        Night {
            key: Key {
                target: header.target.clone(),
                asked: serde_json::to_string(&asked).expect("a goal and a profile are JSON"),
                machine: self.machine.clone(),
                dropline: environment.dropline.clone(),
            },
            at: header.started.clone(),
            labels: environment.labels.clone(),
            load_unit: header.load_unit,
            source: self.source.clone(),
            seconds: self.seconds,
            low: answer.lower_pps,
            value,
            high: answer.upper_pps,
            level: answer.level,
            around: [
                ("kernel", known(&environment.kernel)),
                ("governor", known(&environment.governor)),
                ("turbo", known(&environment.turbo)),
                ("SMT", known(&environment.smt)),
            ],
            goal: answer.goal,
        }
    }
}

const UNKNOWN: &str = "unknown";

fn known(word: &Option<String>) -> String {
    word.clone().unwrap_or_else(|| UNKNOWN.into())
}

/// The number to compare, where it is a limit of the target that stands as it is stated.
fn limit(record: &Record, answer: &AnswerLine) -> Result<f64, String> {
    if answer.is_generators() {
        return Err("the generator or other programs were the limit, not the target".into());
    }
    if let Some(denied) = Denied::of(record, answer) {
        return Err(format!("its answer does not stand: {}", denied.why));
    }
    let is_bounds_apart = answer.level.is_none() && answer.result == ResultWord::Irregular;
    let value = answer.headline_pps().filter(|value| *value > 0.0);
    match value {
        Some(value) if !is_bounds_apart && answer.lower_pps.is_some() && answer.upper_pps.is_some() => {
            Ok(value)
        }
        _ => Err("it does not say where the limit is".into()),
    }
}

/// One history.
pub(super) struct History {
    pub(super) nights: Vec<Night>,
}

impl History {
    /// Nights put together by what may not differ.
    pub(super) fn all(nights: Vec<Night>) -> Vec<Self> {
        let mut by_key: BTreeMap<Key, Vec<Night>> = BTreeMap::new();
        for night in nights {
            by_key.entry(night.key.clone()).or_default().push(night);
        }
        let of = |mut nights: Vec<Night>| {
            nights.sort_by(|one, other| (one.seconds, &one.source).cmp(&(other.seconds, &other.source)));
            Self { nights }
        };
        by_key.into_values().map(of).collect()
    }

    pub(super) fn id(&self) -> String {
        let Key { target, asked, machine, dropline } = &self.nights[0].key;
        name(&[target, asked, machine, dropline])
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
