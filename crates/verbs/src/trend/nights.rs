//! The nights that may be compared with one another, in order of time.

use crate::indexed::UNFINISHED;
use crate::measured::LEVEL;
use crate::series::{Series, measured, words};
use dropline_archive::clock;
use dropline_record::{
    GoalLine, IndexLine, IndexedGoal, LeftOutLine, LoadUnit, MeasuredLine, PointLine, Quantity,
};
use dropline_stats::special::normal_quantile;
use dropline_stats::trend::{self, FEWEST, YOUNG};
use std::collections::BTreeMap;

/// The label of a search that is no night: the ids of the changes that it confirms.
pub(super) const CONFIRMS: &str = "confirms";

/// Why a record has no night.
pub(super) struct Without {
    /// Of which histories it would be one, and when.
    pub(super) series: Vec<(Series, i64)>,
    pub(super) why: String,
}

/// On which side of a night's value the limit is, where one end of it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// It is the value or more.
    Above,
    /// It is the value or less.
    Below,
}

/// What one record says of one quantity: a search of a goal, trials of what came back and when.
#[derive(Clone, Debug)]
pub(super) struct Night {
    pub(super) series: Series,
    pub(super) at: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) quantity: Quantity,
    /// Of a limit.
    pub(super) goal: Option<GoalLine>,
    /// What is followed.
    pub(super) words: String,
    pub(super) load_unit: LoadUnit,
    source: String,
    seconds: i64,
    low: Option<f64>,
    value: f64,
    high: Option<f64>,
    level: Option<f64>,
    /// By what the reference was above its own median, and its standard error as a ratio.
    reference: Option<(f64, f64)>,
    /// What is a mark where it changes, by name.
    around: [(&'static str, String); 4],
}

impl Night {
    /// One for each quantity that a record states, if it is `wanted`, and why there is none of the others.
    pub(super) fn all(source: &str, line: &IndexLine, wanted: &[Quantity]) -> (Vec<Self>, Vec<Without>) {
        let of_all = |series, why: String| (Vec::new(), vec![Without { series, why }]);
        let is_wanted = |quantity: Quantity| wanted.is_empty() || wanted.contains(&quantity);
        let Some(seconds) = clock::unix_s(&line.started) else {
            return of_all(
                Vec::new(),
                format!("it does not say when it began: {:?} is not a date", line.started),
            );
        };
        // A search that was made again because of a change is no night.
        let silent = |series: Series| (!line.labels.contains_key(CONFIRMS)).then_some((series, seconds));
        if !line.finished {
            // A search that its target, or who stopped it, ended says no limit either.
            let goals = line.goals.iter().filter(|_| is_wanted(Quantity::Limit));
            return of_all(
                goals.filter_map(|goal| silent(Series::of(line, goal))).collect(),
                UNFINISHED.into(),
            );
        }
        let of = |series: Series| Self::of(line, series, source, seconds);
        let (mut nights, mut without) = (Vec::new(), Vec::new());
        for goal in line.goals.iter().filter(|_| is_wanted(Quantity::Limit)) {
            let series = Series::of(line, goal);
            match (goal.followed_pps(), &goal.why_not) {
                (Some(value), _) => nights.push(of(series).limit(goal, value)),
                (None, why) => {
                    let why = format!("{}: {}", goal.goal, why.as_deref().unwrap_or(UNKNOWN));
                    without.push(Without { series: silent(series).into_iter().collect(), why });
                }
            }
        }
        for found in measured(line).iter().filter(|found| is_wanted(found.quantity)) {
            nights.push(of(Series::measuring(line, found.quantity)).measured(found, line));
        }
        if nights.is_empty() && without.is_empty() {
            let why = line.trial.as_ref().and_then(|trial| trial.why_not.clone());
            let why = why.unwrap_or_else(|| "it states none of what was asked for".into());
            without.push(Without { series: Vec::new(), why });
        }
        (nights, without)
    }

    /// Without its value.
    fn of(line: &IndexLine, series: Series, source: &str, seconds: i64) -> Self {
        Self {
            series,
            at: line.started.clone(),
            labels: line.labels.clone(),
            quantity: Quantity::Limit,
            goal: None,
            words: String::new(),
            load_unit: line.load_unit,
            source: source.to_owned(),
            seconds,
            low: None,
            value: f64::NAN,
            high: None,
            level: None,
            reference: None,
            around: [
                ("kernel", known(&line.kernel)),
                ("governor", known(&line.governor)),
                ("turbo", known(&line.turbo)),
                ("SMT", known(&line.smt)),
            ],
        }
    }

    fn limit(self, goal: &IndexedGoal, value: f64) -> Self {
        let (low, high, level) = (goal.lower_pps, goal.upper_pps, goal.level);
        Self { goal: Some(goal.asked.clone()), words: goal.asked.words(), low, value, high, level, ..self }
    }

    fn measured(self, found: &MeasuredLine, line: &IndexLine) -> Self {
        let MeasuredLine { quantity, value, low, high } = *found;
        Self { quantity, words: words(line, quantity), low, value, high, level: Some(LEVEL), ..self }
    }

    /// What was found, without what the reference did.
    pub(super) fn value(&self) -> f64 {
        self.of_own(self.value)
    }

    fn of_own(&self, value: f64) -> f64 {
        value / self.reference.map_or(1.0, |(factor, _)| factor)
    }

    /// When it began, in seconds.
    pub(super) fn seconds(&self) -> i64 {
        self.seconds
    }

    fn open(&self) -> Option<Open> {
        match (self.low, self.high) {
            (Some(_), None) => Some(Open::Above),
            (None, Some(_)) => Some(Open::Below),
            _ => None,
        }
    }

    pub(super) fn point(&self) -> PointLine {
        PointLine {
            at: self.at.clone(),
            source: self.source.clone(),
            low: self.low.map(|low| self.of_own(low)),
            value: self.value(),
            high: self.high.map(|high| self.of_own(high)),
            reference: self.reference.map(|(factor, _)| factor),
            labels: self.labels.clone(),
        }
    }

    /// The standard error that an interval of this level comes from, as a ratio; bounds without one do not say.
    fn own_error(&self) -> Option<f64> {
        let reach = normal_quantile(f64::midpoint(1.0, self.level?));
        let error = (self.high? - self.low?) / (2.0 * reach * self.value);
        Some(error).filter(|error| *error > 0.0)
    }

    /// The same with that of the reference.
    fn error(&self) -> Option<f64> {
        let beside = self.reference.map_or(0.0, |(_, error)| error);
        Some(self.own_error()?.hypot(beside) * self.value())
    }
}

const UNKNOWN: &str = "unknown";
/// A state that was there in one of so many nights before is none that the target meets for the first time.
const LATELY: usize = 30;

fn known(word: &Option<String>) -> String {
    word.clone().unwrap_or_else(|| UNKNOWN.into())
}

/// Seconds within which a reference was measured beside a night.
const BESIDE: i64 = 43_200;

/// What follows within this share of the usual time between nights is the same night again.
const AGAIN: f64 = 0.1;
/// Searches that usually follow one another within so many seconds have no nights: records say in whole seconds when they began.
const NO_NIGHTS: i64 = 60;
/// The usual time between two nights: so large a share of them is closer. Who searches twice a night has two a night.
const USUAL: f64 = 0.4;

/// Each night once: of searches that were made again far sooner than nights follow one another, and of the same commit, the one in
/// the middle counts. A night that was bad five times is one bad night.
fn of_one_night(nights: &[Night], left_out: &mut Vec<LeftOutLine>) -> Vec<Night> {
    let mut gaps: Vec<i64> = nights.windows(2).map(|pair| pair[1].seconds - pair[0].seconds).collect();
    gaps.sort_unstable();
    let usual = gaps.get((USUAL * gaps.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0);
    let is_again = |one: &Night, other: &Night| {
        let commit = |night: &Night| night.labels.get("commit").cloned();
        let is_close = ((other.seconds - one.seconds) as f64) < AGAIN * usual as f64;
        usual >= NO_NIGHTS && is_close && commit(one) == commit(other)
    };
    let mut kept = Vec::with_capacity(nights.len());
    for mut again in nights.chunk_by(is_again).map(<[Night]>::to_vec) {
        again.sort_by(|one, other| one.value.total_cmp(&other.value));
        let middle = (again.len() - 1) / 2;
        for night in again.iter().enumerate().filter(|(at, _)| *at != middle).map(|(_, night)| night) {
            let words = &night.words;
            let why = format!("{words}: one of {} of one night, of which the middle one counts", again.len());
            left_out.push(LeftOutLine { source: night.source.clone(), why });
        }
        kept.push(again.swap_remove(middle));
    }
    kept
}

/// Those of one history.
pub(super) struct Nights {
    pub(super) nights: Vec<Night>,
}

impl Nights {
    /// Nights put together by what may not differ, each of them once, and what is left out for that.
    pub(super) fn all(nights: Vec<Night>) -> (Vec<Self>, Vec<LeftOutLine>) {
        let mut by_series: BTreeMap<Series, Vec<Night>> = BTreeMap::new();
        for night in nights {
            by_series.entry(night.series.clone()).or_default().push(night);
        }
        let mut left_out = Vec::new();
        let of = |mut nights: Vec<Night>| {
            nights.sort_by(|one, other| (one.seconds, &one.source).cmp(&(other.seconds, &other.source)));
            Self { nights: of_one_night(&nights, &mut left_out) }
        };
        let all = by_series.into_values().map(of).collect();
        (all, left_out)
    }

    pub(super) fn id(&self) -> String {
        self.nights[0].series.id()
    }

    /// Nights with which something around the target changed to what it was in none of the nights lately, and what. What could not be
    /// read in a night is taken to be as it was.
    pub(super) fn marks(&self) -> impl Iterator<Item = (usize, String)> {
        (1..self.nights.len()).filter_map(|night| {
            let around = &self.nights[night].around;
            let mut changed = Vec::new();
            for (at, (name, after)) in around.iter().enumerate() {
                let before = self.nights[..night].iter().rev().map(|night| night.around[at].1.as_str());
                let mut before = before.filter(|word| *word != UNKNOWN).take(LATELY).peekable();
                let Some(last) = before.peek().copied() else { continue };
                if after != UNKNOWN && before.all(|word| word != after) {
                    changed.push(format!("{name} {last} → {after}"));
                }
            }
            (!changed.is_empty()).then(|| (night, changed.join(", ")))
        })
    }

    /// What one end alone is known of most of these nights, if it is so.
    pub(super) fn open(&self, start: usize, end: usize) -> Option<Open> {
        let nights = &self.nights[start..end];
        let is_most = |open: &Open| {
            2 * nights.iter().filter(|night| night.open() == Some(*open)).count() > nights.len()
        };
        [Open::Above, Open::Below].into_iter().find(is_most)
    }

    /// Without nights on which the search failed at its lowest load and that are no level: they came and went in fewer than five nights, or
    /// are the newest and fewer than three. A limit that is that load or less says nothing of how far others scatter. When these were.
    pub(super) fn without_outages(&self) -> (Self, Vec<String>) {
        let is_dead = |night: &Night| night.open() == Some(Open::Below);
        let runs: Vec<&[Night]> = self.nights.chunk_by(|one, other| is_dead(one) == is_dead(other)).collect();
        let (mut nights, mut apart) = (Vec::new(), Vec::new());
        for (index, run) in runs.iter().enumerate() {
            let beside = [index.checked_sub(1).map(|before| runs[before]), runs.get(index + 1).copied()];
            let are_longer = beside.iter().flatten().all(|other| other.len() >= run.len());
            let fewest = if index + 1 == runs.len() { FEWEST } else { YOUNG };
            if is_dead(&run[0]) && run.len() < fewest && runs.len() > 1 && are_longer {
                apart.extend(run.iter().map(|night| night.at.clone()));
            } else {
                nights.extend_from_slice(run);
            }
        }
        (Self { nights }, apart)
    }

    /// How many searches after the newest night say no limit.
    pub(super) fn silent(&self, without: &[(Series, i64)]) -> u64 {
        let Some(newest) = self.nights.last() else { return 0 };
        let is_later =
            |(series, seconds): &&(Series, i64)| *series == newest.series && *seconds > newest.seconds;
        without.iter().filter(is_later).count() as u64
    }

    /// How many of the first `until` nights are later than this second.
    pub(super) fn after(&self, seconds: i64, until: usize) -> usize {
        self.nights[..until].iter().filter(|night| night.seconds > seconds).count()
    }

    pub(super) fn nights_as_numbers(&self) -> Vec<trend::Night> {
        // A night of which one end is known is as unsure as the others.
        let mut errors: Vec<f64> =
            self.nights.iter().filter_map(|night| Some(night.error()? / night.value())).collect();
        errors.sort_by(f64::total_cmp);
        let usual = errors.get(errors.len() / 2).copied();
        let mut nights: Vec<trend::Night> = self
            .nights
            .iter()
            .map(|night| trend::Night {
                day: (night.seconds - self.nights[0].seconds) as f64 / 86_400.0,
                value: night.value(),
                error: night
                    .error()
                    .or_else(|| Some(usual? * night.value()).filter(|_| night.open().is_some())),
                is_marked: false,
            })
            .collect();
        self.marks().for_each(|(night, _)| nights[night].is_marked = true);
        nights
    }

    /// Takes out what the histories of one target did, each from those that were measured beside it: on the same machine, by the same
    /// version, of the same quantity. The histories of the reference stay as they are.
    pub(super) fn beside(all: Vec<Self>, reference: &str) -> (Vec<Self>, Vec<LeftOutLine>) {
        let (references, mut others): (Vec<Self>, Vec<Self>) =
            all.into_iter().partition(|history| history.nights[0].series.target == reference);
        let mut left_out = Vec::new();
        for history in &mut others {
            let first = &history.nights[0];
            let is_alike = |other: &&Self| other.nights[0].series.differs_in_target_alone(&first.series);
            let is_near = |other: &&Self| {
                let other = &other.nights[0];
                other.quantity == first.quantity
                    && other.series.machine == first.series.machine
                    && other.series.dropline == first.series.dropline
            };
            let most = references.iter().filter(is_near).max_by_key(|other| other.nights.len());
            let beside = references.iter().find(is_alike).or(most);
            history.divide_by(beside, &mut left_out);
        }
        others.retain(|history| !history.nights.is_empty());
        others.extend(references);
        (others, left_out)
    }

    /// Each night by the one of the reference that is nearest, within half a day; those without one go.
    fn divide_by(&mut self, reference: Option<&Self>, left_out: &mut Vec<LeftOutLine>) {
        let beside = reference.map(|reference| reference.nights.as_slice()).unwrap_or_default();
        let mut values: Vec<f64> = beside.iter().map(|night| night.value).collect();
        values.sort_by(f64::total_cmp);
        let median = values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
        self.nights.retain_mut(|night| {
            let apart = |other: &&Night| (other.seconds - night.seconds).abs();
            let nearest = beside.iter().min_by_key(apart).filter(|other| apart(other) <= BESIDE);
            night.reference = nearest.map(|other| (other.value / median, other.own_error().unwrap_or(0.0)));
            if nearest.is_none() {
                let why = format!("{}: the reference was not measured within 12 hours of it", night.words);
                left_out.push(LeftOutLine { source: night.source.clone(), why });
            }
            nearest.is_some()
        });
    }
}
