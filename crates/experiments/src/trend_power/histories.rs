//! Histories whose truth is known: nights about a level, with what a night says of its own error.

use dropline_stats::trend::Night;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal, StudentT};
use serde::{Deserialize, Serialize};

/// Nights of a history.
pub(super) const NIGHTS: usize = 250;
/// A step that is to be found fast comes after so many nights.
pub(super) const BEFORE: usize = 100;
/// What most nights scatter about their level, as a ratio.
const SCATTER: f64 = 0.01;
/// The level of the first night.
const LEVEL: f64 = 8e6;
/// Days of a week.
const WEEK: usize = 7;

/// What a history is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    White,
    Ar3,
    Ar6,
    Ar9,
    Mixed,
    /// Mixed nights, each with the width of another one.
    Shuffled,
    /// Mixed nights without widths.
    Unsaid,
    Spikes,
    T3,
    Ramp,
    Variance,
    TwoNights,
    StepVariance,
    Three,
    Machines,
    Weekly,
    Interleaved,
    MissingWeeks,
    DriftingTails,
    OddHours,
    WanderingScatter,
    Coarse,
    BadSpells,
    Updates,
}

/// In which nothing changes but chance.
pub(super) const QUIET: [Kind; 9] = [
    Kind::White,
    Kind::Ar3,
    Kind::Ar6,
    Kind::Ar9,
    Kind::Mixed,
    Kind::Shuffled,
    Kind::Unsaid,
    Kind::Spikes,
    Kind::T3,
];
/// In which something happens.
pub(super) const EVENTFUL: [Kind; 6] =
    [Kind::White, Kind::Ramp, Kind::Variance, Kind::TwoNights, Kind::StepVariance, Kind::Three];
/// That had no part in making the detector: no step is in them that nobody knows of.
pub(super) const UNSEEN: [Kind; 5] =
    [Kind::Machines, Kind::Weekly, Kind::Interleaved, Kind::MissingWeeks, Kind::DriftingTails];

/// That were written when the detector was finished.
pub(super) const LATER: [Kind; 5] =
    [Kind::OddHours, Kind::WanderingScatter, Kind::Coarse, Kind::BadSpells, Kind::Updates];

/// Nights, and the first nights of levels that a detector should find.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) nights: Vec<Night>,
    pub(super) steps: Vec<usize>,
}

impl Kind {
    /// As the tables name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::White => "white",
            Self::Ar3 => "ar.3",
            Self::Ar6 => "ar.6",
            Self::Ar9 => "ar.9",
            Self::Mixed => "mixed",
            Self::Shuffled => "shuffled",
            Self::Unsaid => "unsaid",
            Self::Spikes => "spikes",
            Self::T3 => "t3",
            Self::Ramp => "ramp",
            Self::Variance => "variance",
            Self::TwoNights => "two nights",
            Self::StepVariance => "stepvar",
            Self::Three => "three",
            Self::Machines => "machines that change",
            Self::Weekly => "weekly rhythm",
            Self::Interleaved => "two machines, no key",
            Self::MissingWeeks => "missing weeks",
            Self::DriftingTails => "tails with drift",
            Self::OddHours => "odd hours",
            Self::WanderingScatter => "scatter that wanders",
            Self::Coarse => "coarse results",
            Self::BadSpells => "bad spells",
            Self::Updates => "kernel updates",
        }
    }

    /// The history of this seed; the same each time.
    pub(super) fn history(self, seed: u64) -> History {
        self.made(seed, NIGHTS)
    }

    /// The history of this seed with a step of this ratio less 1 after [`BEFORE`] nights, and so many nights after it.
    pub(super) fn stepped(self, seed: u64, size: f64, after: usize) -> History {
        let mut history = self.made(seed, BEFORE + after);
        step(&mut history.nights[BEFORE..], size);
        history.steps.push(BEFORE);
        history
    }

    fn made(self, seed: u64, count: usize) -> History {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        // Kinds of one seed have nothing in common.
        chance.set_stream(self as u64);
        let mut history = History { nights: self.noise(&mut chance, count), steps: Vec::new() };
        self.happen(&mut chance, &mut history);
        history
    }

    /// Nights about one level.
    fn noise(self, chance: &mut ChaCha8Rng, count: usize) -> Vec<Night> {
        let likeness = match self {
            Self::Ar3 => 0.3,
            Self::Ar6 | Self::MissingWeeks => 0.6,
            Self::Ar9 => 0.9,
            _ => 0.0,
        };
        let tails = StudentT::new(3.0).expect("three is above zero");
        let (mut state, mut day) = (normal(chance), 0.0);
        let mut nights = Vec::with_capacity(count);
        for index in 0..count {
            if index > 0 {
                let days = if self == Self::MissingWeeks { gap(chance) } else { 1.0 };
                let kept = f64::powf(likeness, days);
                state = kept * state + (1.0 - kept * kept).sqrt() * normal(chance);
                day += days;
            }
            let (off, error) = match self {
                Self::Mixed | Self::Shuffled | Self::Unsaid => {
                    let scatter = if chance.random_bool(0.7) { 0.003 } else { 0.025 };
                    (scatter * state, scatter)
                }
                Self::T3 | Self::DriftingTails => (SCATTER * tails.sample(chance) / f64::sqrt(3.0), SCATTER),
                Self::Spikes if chance.random_bool(0.02) => {
                    (-SCATTER * chance.random_range(6.0..30.0), SCATTER)
                }
                _ => (SCATTER * state, SCATTER),
            };
            let value = LEVEL * off.exp();
            nights.push(Night { day, value, error: Some(error * value), is_marked: false });
        }
        nights
    }

    /// What happens to the nights.
    fn happen(self, chance: &mut ChaCha8Rng, History { nights, steps }: &mut History) {
        let count = nights.len();
        match self {
            Self::White | Self::Ar3 | Self::Ar6 | Self::Ar9 | Self::Mixed | Self::Spikes | Self::T3 => {}
            Self::MissingWeeks => {}
            Self::Unsaid => nights.iter_mut().for_each(|night| night.error = None),
            Self::Shuffled => {
                for index in (1..count).rev() {
                    let other = chance.random_range(0..=index);
                    (nights[index].error, nights[other].error) = (nights[other].error, nights[index].error);
                }
            }
            Self::Ramp => line(nights, count * 2 / 5, 60, -0.05),
            Self::Variance => wider(&mut nights[count / 2..], 3.0),
            Self::TwoNights => {
                let at = chance.random_range(count / 4..count * 3 / 4);
                nights[at..at + 2].iter_mut().for_each(|night| night.value *= 0.95);
            }
            Self::StepVariance => {
                wider(&mut nights[count / 2..], 2.0);
                step(&mut nights[count / 2..], -0.03);
                steps.push(count / 2);
            }
            Self::Three => {
                for (share, size) in [(0.3, -0.02), (0.54, 0.03), (0.8, -0.02)] {
                    let at = (share * count as f64) as usize;
                    step(&mut nights[at..], size);
                    steps.push(at);
                }
            }
            Self::Machines => {
                // Another one every two months, give or take; each with a level and a scatter of its own.
                let mut at = chance.random_range(20..80);
                while at < count {
                    let next = (at + chance.random_range(5..90)).min(count);
                    wider(&mut nights[at..next], chance.random_range(0.5..2.0));
                    step(&mut nights[at..next], chance.random_range(-0.15..0.15));
                    nights[at].is_marked = true;
                    at = next;
                }
            }
            Self::Weekly => {
                let first = chance.random_range(0..WEEK);
                let is_weekend = |index: usize| (index + first) % WEEK < 2;
                let weekend = nights.iter_mut().enumerate().filter(|(index, _)| is_weekend(*index));
                weekend.for_each(|(_, night)| night.value *= 0.97);
            }
            Self::Interleaved => {
                let share = chance.random_range(0.2..0.8);
                nights.iter_mut().filter(|_| chance.random_bool(share)).for_each(|night| night.value *= 0.95);
            }
            Self::DriftingTails => line(nights, 0, count - 1, -0.05),
            Self::OddHours => {
                // Up to twenty searches a day, and a rhythm of the day.
                let mut day = 0.0;
                for night in nights.iter_mut() {
                    day += chance.random_range(0.05..0.6);
                    night.day = day;
                    night.value *= 1.0 - 0.01 * (day * std::f64::consts::TAU).sin();
                }
            }
            Self::WanderingScatter => {
                // Each night says half of how much more it scatters.
                let mut state = 0.0;
                for night in nights.iter_mut() {
                    state = 0.95 * state + 0.3 * normal(chance);
                    let times = f64::exp(state / 2.0);
                    wider(std::slice::from_mut(night), times);
                    night.error = night.error.map(|error| error / times.sqrt());
                }
            }
            Self::Coarse => {
                for night in nights.iter_mut() {
                    night.value = (night.value / (LEVEL * SCATTER)).round() * LEVEL * SCATTER;
                    night.error = None;
                }
            }
            Self::BadSpells => {
                // One to four nights 3 to 15 % low, as beside another job.
                let mut at = 0;
                while at < count {
                    if chance.random_bool(0.02) {
                        let end = (at + chance.random_range(1..=4)).min(count);
                        step(&mut nights[at..end], -chance.random_range(0.03..0.15));
                        at = end;
                    }
                    at += 1;
                }
            }
            Self::Updates => {
                // Every 3 to 20 nights; half of them change the level by up to 3 %.
                let mut at = chance.random_range(3..20);
                while at < count {
                    let next = (at + chance.random_range(3..20)).min(count);
                    nights[at].is_marked = true;
                    if chance.random_bool(0.5) {
                        step(&mut nights[at..next], chance.random_range(-0.03..0.03));
                    }
                    at = next;
                }
            }
        }
    }
}

/// Ten thousand nights, with a step every year and a half.
pub(super) fn long() -> History {
    let mut history = Kind::White.made(1, 10_000);
    for at in (500..10_000).step_by(500) {
        let size = if at % 1000 == 0 { 0.03 } else { -0.03 };
        step(&mut history.nights[at..], size);
        history.steps.push(at);
    }
    history
}

fn normal(chance: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(chance)
}

/// Days to the next night: now and then, weeks.
fn gap(chance: &mut ChaCha8Rng) -> f64 {
    if chance.random_bool(0.04) { (WEEK * chance.random_range(1..=3)) as f64 } else { 1.0 }
}

fn step(nights: &mut [Night], size: f64) {
    nights.iter_mut().for_each(|night| {
        night.value *= 1.0 + size;
        night.error = night.error.map(|error| error * (1.0 + size));
    });
}

/// A level that goes to another one in so many nights.
fn line(nights: &mut [Night], from: usize, over: usize, size: f64) {
    for (index, night) in nights.iter_mut().enumerate().skip(from) {
        night.value *= 1.0 + size * ((index - from) as f64 / over as f64).min(1.0);
    }
}

/// Each is so many times as far from the first level; their own errors say so.
fn wider(nights: &mut [Night], times: f64) {
    for night in nights {
        night.value = LEVEL * (night.value / LEVEL).powf(times);
        night.error = night.error.map(|error| error * times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_the_same_each_time_and_another_with_each_seed() {
        for kind in QUIET.into_iter().chain(EVENTFUL).chain(UNSEEN).chain(LATER) {
            let one = kind.history(7);
            assert_eq!(one.nights, kind.history(7).nights, "{}", kind.name());
            assert_ne!(one.nights, kind.history(8).nights, "{}", kind.name());
            assert_eq!(one.nights.len(), NIGHTS);
            assert!(one.nights.windows(2).all(|pair| pair[0].day < pair[1].day && pair[1].value > 0.0));
        }
    }

    #[test]
    fn a_step_is_where_and_as_large_as_it_is_said_to_be() {
        let (plain, stepped) = (Kind::White.stepped(3, 0.0, 30), Kind::White.stepped(3, -0.02, 30));
        assert_eq!((stepped.steps, stepped.nights.len()), (vec![BEFORE], BEFORE + 30));
        for (index, (one, other)) in plain.nights.iter().zip(&stepped.nights).enumerate() {
            let size = other.value / one.value - 1.0;
            assert!((size - if index < BEFORE { 0.0 } else { -0.02 }).abs() < 1e-12);
        }
        assert_eq!(Kind::Three.history(1).steps, [75, 135, 200]);
        assert_eq!(Kind::StepVariance.history(1).steps, [125]);
    }

    #[test]
    fn shuffled_widths_are_those_of_other_nights() {
        let errors = |kind: Kind| {
            let mut errors: Vec<f64> =
                kind.history(5).nights.iter().map(|night| night.error.unwrap() / night.value).collect();
            errors.sort_by(f64::total_cmp);
            errors
        };
        let few = errors(Kind::Shuffled).iter().filter(|error| **error < 0.01).count();
        assert!((140..210).contains(&few), "{few}");
        assert!(Kind::Unsaid.history(5).nights.iter().all(|night| night.error.is_none()));
    }
}
