//! Did it stay as it was? A trend or a step in a row of values, a time slice each, where neighbours may be alike.
//!
//! Ranks instead of values: one slice that is far off moves nothing. Both statistics divide by their own partial sums,
//! so that what neighbours have in common is in the divisor too (a trend: Kiefer, Vogelsang and Bunzel 2000; a step:
//! Shao and Zhang 2010, the largest over all places). They are held against autoregressions as alike as the values'
//! differences say, which neither a step nor a slow trend moves much.

use crate::chance::{p_value, seeded};
use crate::sample::median;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// Name of the estimator.
pub const ESTIMATOR: &str = "self-normalised trend and largest step of ranks, against autoregressions as alike as the values' \
     differences";
/// Fewer values say nothing about a course; more are put together.
pub const FEWEST: usize = 20;
/// More would cost their square.
pub const MOST: usize = 80;
/// What is rarer than this where nothing changes is called a change.
const LEVEL: f64 = 0.05;
/// Neighbours more alike than this are not told from a drift.
const ALIKE: f64 = 0.7;
/// A longer memory is not drawn.
const LONGEST: f64 = 0.95;
/// Values at either end that a step leaves at least.
const EDGE: usize = 4;
const DRAWS: u32 = 999;
const ENOUGH: u32 = 100;

/// What became of values over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Correlation of neighbours, from differences.
    pub likeness: f64,
    /// Change from the first value to the last, along the median slope (Theil 1950, Sen 1968).
    pub trend: f64,
    /// Chance of as straight a trend where nothing changes, corrected for the number of questions.
    pub trend_p: f64,
    /// The first value behind the largest step.
    pub step_at: usize,
    /// Medians before and from there on.
    pub before: f64,
    /// See `before`.
    pub after: f64,
    /// Chance of as large a step where nothing changes, corrected alike.
    pub step_p: f64,
    /// What that says.
    pub course: Course,
}

/// In a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// No change that chance does not explain.
    Steady,
    /// It goes one way.
    Trend,
    /// It jumps.
    Step,
    /// Neighbours are so alike that a change is not told from how it wanders.
    Undecided,
}

impl Drift {
    /// Of values at equal distances in time, one of so many `questions` asked of the same slices; `None` of fewer than
    /// 20, or of equal ones.
    ///
    /// # Panics
    /// If there are more than 80.
    pub fn of(values: &[f64], questions: u32, seed: u64) -> Option<Self> {
        assert!(values.len() <= MOST, "more values are put together before");
        if values.len() < FEWEST || values.iter().all(|value| *value == values[0]) {
            return None;
        }
        let ranks = ranks(values);
        let likeness = likeness(&ranks);
        let (trend_seen, step_seen) = (trend(&ranks), step(&ranks));
        let step_at = place_of_step(&ranks);
        let mut chance = seeded(seed);
        let mut drawn = |of: fn(&[f64]) -> f64, seen: f64| {
            let memory = likeness.clamp(0.0, LONGEST);
            let p = p_value(seen, DRAWS, ENOUGH, || {
                of(&self::ranks(&remembering(values.len(), memory, &mut chance)))
            });
            (2.0 * f64::from(questions) * p).min(1.0)
        };
        let trend_p = drawn(trend, trend_seen);
        let step_p = drawn(step, step_seen);
        let course = match (trend_p <= LEVEL, step_p <= LEVEL) {
            (false, false) if likeness > ALIKE => Course::Undecided,
            (false, false) => Course::Steady,
            (true, false) => Course::Trend,
            (false, true) => Course::Step,
            (true, true) if left_by_line(&ranks) < left_by_step(&ranks, step_at) => Course::Trend,
            (true, true) => Course::Step,
        };
        Some(Self {
            likeness,
            trend: slope(values)? * (values.len() - 1) as f64,
            trend_p,
            step_at,
            before: median(&values[..step_at])?,
            after: median(&values[step_at..])?,
            step_p,
            course,
        })
    }
}

/// Middle ranks, less their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for same in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = from as f64 + (same.len() - 1) as f64 / 2.0 - (values.len() - 1) as f64 / 2.0;
        same.iter().for_each(|&index| ranks[index] = middle);
        from += same.len();
    }
    ranks
}

/// Correlation ρ of an autoregression: its second differences vary 1 + ρ times as much as its first ones.
fn likeness(ranks: &[f64]) -> f64 {
    let mean = |lag: usize| {
        let squares = ranks.windows(lag + 1).map(|window| (window[lag] - window[0]).powi(2));
        squares.sum::<f64>() / (ranks.len() - lag) as f64
    };
    mean(2) / mean(1) - 1.0
}

/// Distances of the places from their middle.
fn places(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |place| place as f64 - (count - 1) as f64 / 2.0)
}

/// The slope of the ranks and the sum of squares of the places.
fn line(ranks: &[f64]) -> (f64, f64) {
    let along: f64 = places(ranks.len()).zip(ranks).map(|(place, rank)| place * rank).sum();
    let squares: f64 = places(ranks.len()).map(|place| place * place).sum();
    (along / squares, squares)
}

fn trend(ranks: &[f64]) -> f64 {
    let (slope, squares) = line(ranks);
    let (mut partial, mut sum) = (0.0, 0.0);
    for (place, rank) in places(ranks.len()).zip(ranks) {
        partial += place * (rank - slope * place);
        sum += partial * partial;
    }
    (slope * squares).powi(2) / (sum / ranks.len() as f64).max(f64::MIN_POSITIVE)
}

/// The largest step, wherever it is.
fn step(ranks: &[f64]) -> f64 {
    let n = ranks.len();
    let mut sums = vec![0.0; n + 1];
    for (index, rank) in ranks.iter().enumerate() {
        sums[index + 1] = sums[index] + rank;
    }
    let at = |cut: usize| {
        let (before, all) = (sums[cut], sums[n]);
        let left: f64 = (1..=cut).map(|i| (sums[i] - i as f64 / cut as f64 * before).powi(2)).sum();
        let right: f64 = (cut + 1..=n)
            .map(|i| (sums[i] - before - (i - cut) as f64 / (n - cut) as f64 * (all - before)).powi(2))
            .sum();
        let moved = before - cut as f64 / n as f64 * all;
        moved * moved / ((left + right) / n as f64).max(1e-9)
    };
    (EDGE..=n - EDGE).map(at).fold(0.0, f64::max)
}

/// The first value behind the step that leaves the least.
fn place_of_step(ranks: &[f64]) -> usize {
    let places = EDGE..=ranks.len() - EDGE;
    let left = |cut: &usize| left_by_step(ranks, *cut);
    places.min_by(|a, b| left(a).total_cmp(&left(b))).unwrap_or(EDGE)
}

fn left_by_line(ranks: &[f64]) -> f64 {
    let (slope, _) = line(ranks);
    places(ranks.len()).zip(ranks).map(|(place, rank)| (rank - slope * place).powi(2)).sum()
}

fn left_by_step(ranks: &[f64], cut: usize) -> f64 {
    let left = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|rank| (rank - mean).powi(2)).sum::<f64>()
    };
    left(&ranks[..cut]) + left(&ranks[cut..])
}

fn slope(values: &[f64]) -> Option<f64> {
    let slopes = (0..values.len()).flat_map(|first| {
        (first + 1..values.len())
            .map(move |second| (values[second] - values[first]) / (second - first) as f64)
    });
    median(&slopes.collect::<Vec<_>>())
}

/// An autoregression.
fn remembering(count: usize, memory: f64, chance: &mut ChaCha8Rng) -> Vec<f64> {
    let fresh = (1.0 - memory * memory).sqrt();
    let mut state: f64 = StandardNormal.sample(chance);
    (0..count)
        .map(|_| {
            let value = state;
            let news: f64 = StandardNormal.sample(chance);
            state = memory * state + fresh * news;
            value
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: u32 = 200;

    /// How often rows of 40 values with this memory, and this added to each, are called a change.
    fn changes(memory: f64, added: fn(usize) -> f64) -> u32 {
        let mut chance = seeded(11);
        let mut row = || {
            let values = remembering(40, memory, &mut chance);
            let moved: Vec<f64> = values.iter().enumerate().map(|(at, value)| value + added(at)).collect();
            let found = Drift::of(&moved, 1, 5).unwrap();
            u32::from(matches!(found.course, Course::Trend | Course::Step))
        };
        (0..ROWS).map(|_| row()).sum()
    }

    #[test]
    fn what_does_not_change_is_seldom_called_a_change_alike_or_not() {
        // Of 200 rows at 5 %, fewer than 18 in 99 of 100.
        for memory in [0.0, 0.3, 0.5] {
            let found = changes(memory, |_| 0.0);
            assert!(found <= 17, "memory {memory}: {found} of {ROWS}");
        }
    }

    #[test]
    fn steps_and_trends_of_two_or_three_deviations_are_found() {
        let step = changes(0.0, |at| if at >= 20 { 2.0 } else { 0.0 });
        let trend = changes(0.0, |at| 3.0 * at as f64 / 39.0);
        assert!(step >= 180 && trend >= 180, "{step} and {trend} of {ROWS}");
        let alike = changes(0.5, |at| if at >= 20 { 3.0 } else { 0.0 });
        assert!(alike >= 120, "{alike} of {ROWS}");
    }

    #[test]
    fn where_and_by_how_much_it_changed_is_said() {
        let noise = |at: usize| ((at * 7919) % 101) as f64 / 101.0;
        let stepped: Vec<f64> = (0..40).map(|at| noise(at) + if at >= 25 { 9.0 } else { 4.0 }).collect();
        let found = Drift::of(&stepped, 2, 1).unwrap();
        assert_eq!((found.course, found.step_at), (Course::Step, 25));
        assert!((found.after - found.before - 5.0).abs() < 0.4, "{found:?}");
        let rising: Vec<f64> = (0..40).map(|at| noise(at) + at as f64 / 10.0).collect();
        let found = Drift::of(&rising, 2, 1).unwrap();
        assert_eq!(found.course, Course::Trend);
        assert!((found.trend - 3.9).abs() < 0.4, "{found:?}");
    }

    #[test]
    fn what_only_wanders_is_undecided_and_too_little_is_no_answer() {
        let wave: Vec<f64> = (0..40).map(|at| (at as f64 / 5.0).sin()).collect();
        assert_eq!(Drift::of(&wave, 2, 1).unwrap().course, Course::Undecided);
        assert_eq!(Drift::of(&[1.0; 40], 2, 1), None);
        assert_eq!(Drift::of(&wave[..19], 2, 1), None);
    }
}
