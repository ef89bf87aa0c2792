//! Nights as logarithms with weights: what each night's own error is worth, and nights far off drawn in.

use super::Night;
use crate::sample::median;

/// What was made of the nights' own errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// They say which nights are good: nights count by them.
    Used,
    /// They are known, and all about the same.
    Alike,
    /// They differ, and do not say which nights scatter more: all nights count alike.
    NotFitting,
    /// Not every night has one: all nights count alike.
    Unknown,
}

/// A row of nights.
pub(super) struct Weighted {
    /// When, in days.
    pub(super) days: Vec<f64>,
    /// Logarithms of what was found, less that of the median.
    pub(super) seen: Vec<f64>,
    /// The same, nights that are far off drawn in.
    pub(super) values: Vec<f64>,
    /// Variances, but for a common factor; the median is about 1.
    pub(super) variances: Vec<f64>,
    /// Firsts of the nights that something was changed before and that are at another level since, and 0.
    pub(super) stretches: Vec<usize>,
    /// The other nights that something was changed before: nights on both sides agree.
    pub(super) passed: Vec<usize>,
    /// How far a night of variance 1 may be before it is drawn in.
    reach: f64,
    /// What was taken from the logarithms.
    pub(super) origin: f64,
    pub(super) widths: Widths,
    weight: Vec<f64>,
    weighted: Vec<f64>,
    squared: Vec<f64>,
}

/// Nights on either side of a running median.
const ASIDE: usize = 3;
/// A night farther from its neighbours than so many robust standard deviations is drawn in to there.
const FAR: f64 = 4.0;
/// At most so large a share of the nights is: more of them are scatter.
const FEW: f64 = 0.05;

impl Weighted {
    pub(super) fn of(nights: &[Night]) -> Self {
        let logs: Vec<f64> = nights.iter().map(|night| night.value.ln()).collect();
        let origin = median(&logs).unwrap_or(0.0);
        let seen: Vec<f64> = logs.iter().map(|log| log - origin).collect();
        let marks: Vec<usize> = (1..nights.len()).filter(|&night| nights[night].is_marked).collect();
        let (widths, variances) = variances(nights, &seen);
        let (apart, passed) = sides_of(&marks, &seen, &variances);
        let stretches: Vec<usize> = std::iter::once(0).chain(apart).collect();
        let (reach, values) = drawn_in(&seen, &variances, &stretches);
        let days = nights.iter().map(|night| night.day).collect();
        let mut row = Self {
            days,
            seen,
            values,
            variances,
            stretches,
            passed,
            reach,
            origin,
            widths,
            weight: Vec::new(),
            weighted: Vec::new(),
            squared: Vec::new(),
        };
        row.add_up();
        row
    }

    /// Draws nights in to the middle of these levels (each from its start to the next), and not to that of their neighbours: nights of
    /// a young level have neighbours of the old one.
    pub(super) fn draw_to(&mut self, levels: &[(usize, usize)]) {
        for &(start, end) in levels {
            let middle = median(&self.seen[start..end]).unwrap_or(0.0);
            for night in start..end {
                let reach = self.reach * self.variances[night].sqrt();
                self.values[night] = self.seen[night].clamp(middle - reach, middle + reach);
            }
        }
        self.add_up();
    }

    fn add_up(&mut self) {
        let row = self;
        (row.weight, row.weighted, row.squared) = (vec![0.0], vec![0.0], vec![0.0]);
        let (mut weight, mut weighted, mut squared) = (0.0, 0.0, 0.0);
        for (value, variance) in row.values.iter().zip(&row.variances) {
            weight += 1.0 / variance;
            weighted += value / variance;
            squared += value * value / variance;
            row.weight.push(weight);
            row.weighted.push(weighted);
            row.squared.push(squared);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Sum of the weights of nights `start..end`.
    pub(super) fn weight(&self, start: usize, end: usize) -> f64 {
        self.weight[end] - self.weight[start]
    }

    /// Their weighted mean.
    pub(super) fn mean(&self, start: usize, end: usize) -> f64 {
        (self.weighted[end] - self.weighted[start]) / self.weight(start, end)
    }

    /// The weighted sum of their squared distances from it.
    pub(super) fn cost(&self, start: usize, end: usize) -> f64 {
        let sum = self.weighted[end] - self.weighted[start];
        (self.squared[end] - self.squared[start] - sum * sum / self.weight(start, end)).max(0.0)
    }

    /// By how much two levels cost less than one.
    pub(super) fn gain(&self, start: usize, place: usize, end: usize) -> f64 {
        let (before, after) = (self.weight(start, place), self.weight(place, end));
        let step = (self.weighted[end] - self.weighted[place]) * before
            - (self.weighted[place] - self.weighted[start]) * after;
        // Of the means' difference the square, times both weights, through their sum.
        step * step / (before * after * (before + after))
    }
}

/// Shares of a variance that are the same for all nights; the rest is as their errors say.
const SHARES: [f64; 8] = [0.01, 0.03, 0.08, 0.2, 0.4, 0.6, 0.8, 1.0];
/// A logarithm of likelihoods by which errors must explain the differences better than equal ones.
const CONVINCING: f64 = 4.0;
/// Errors that differ by a smaller factor are alike.
const DIFFERENT: f64 = 1.3;
/// More differences are thinned out.
const MOST: usize = 1000;

/// Chooses how much the nights' own errors count, by how well they explain differences of neighbours: an error in
/// scale is harmless, errors that say nothing about their night lose.
fn variances(nights: &[Night], logs: &[f64]) -> (Widths, Vec<f64>) {
    let equal = vec![1.0; nights.len()];
    let relative = |night: &Night| night.error.map(|error| error / night.value);
    let errors: Option<Vec<f64>> = nights
        .iter()
        .map(|night| relative(night).filter(|error| error.is_finite() && *error > 0.0))
        .collect();
    let Some(errors) = errors else { return (Widths::Unknown, equal) };
    let mut sorted = errors.clone();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[sorted.len() / 20], sorted[sorted.len() - 1 - sorted.len() / 20]);
    if high < DIFFERENT * low {
        return (Widths::Alike, equal);
    }
    let typical = median(&errors).unwrap_or(1.0);
    let with = |share: f64| -> Vec<f64> {
        errors.iter().map(|error| (1.0 - share) * (error / typical).powi(2) + share).collect()
    };
    let stride = nights.len().div_ceil(MOST);
    let likelihood = |apart: usize, variances: &[f64]| {
        let is_one_machine =
            |night: &usize| (night - apart + 1..=*night).all(|night| !nights[night].is_marked);
        let pairs = (apart..nights.len()).step_by(stride).filter(is_one_machine);
        let of = |night: usize| {
            let variance = variances[night] + variances[night - apart];
            ((logs[night] - logs[night - apart]).powi(2) / variance, variance)
        };
        student_likelihood(&pairs.map(of).collect::<Vec<_>>())
    };
    // Neighbours, and those one night apart: of good and bad nights in turns all neighbours differ as much.
    let gains = [1, 2].map(|apart| {
        let found = SHARES.map(|share| likelihood(apart, &with(share)));
        found.map(|found_with| found_with - found[SHARES.len() - 1])
    });
    let all = gains.iter().flat_map(|gains| gains.iter().copied().enumerate());
    let (best, gain) = all.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0));
    if gain < CONVINCING {
        return (Widths::NotFitting, equal);
    }
    let mut variances = with(SHARES[best]);
    let middle = median(&variances).unwrap_or(1.0);
    variances.iter_mut().for_each(|variance| *variance /= middle);
    (Widths::Used, variances)
}

/// Degrees of freedom of the law that differences are held against: a step among them, or a spike, decides nothing.
const FREEDOM: f64 = 4.0;

/// The logarithm of the likelihood of (squared difference ÷ variance, variance), but for constants; with the best scale.
fn student_likelihood(differences: &[(f64, f64)]) -> f64 {
    let count = differences.len() as f64;
    let mut scale = differences.iter().map(|(square, _)| square).sum::<f64>() / count;
    if scale <= 0.0 || count == 0.0 {
        return 0.0;
    }
    for _ in 0..12 {
        let weighted = |&(square, _): &(f64, f64)| (FREEDOM + 1.0) / (FREEDOM + square / scale) * square;
        scale = (differences.iter().map(weighted).sum::<f64>() / count).max(f64::MIN_POSITIVE);
    }
    let of = |&(square, variance): &(f64, f64)| {
        -0.5 * (variance * scale).ln() - (FREEDOM + 1.0) / 2.0 * (square / scale / FREEDOM).ln_1p()
    };
    differences.iter().map(of).sum()
}

/// Nights next to a mark by which it is told whether the level behind it is another one.
const BESIDE: usize = 3;

/// Marks behind which the level is another one, and those on both sides of which it is the same.
fn sides_of(marks: &[usize], seen: &[f64], variances: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let step = |night: usize| {
        (seen[night] - seen[night - 1]).abs() / (variances[night] + variances[night - 1]).sqrt()
    };
    let steps: Vec<f64> = (1..seen.len()).map(step).collect();
    let deviation = 1.4826 * median(&steps).unwrap_or(0.0);
    let side = |from: usize, to: usize| {
        let weights: f64 = variances[from..to].iter().map(|variance| 1.0 / variance).sum();
        (middle(&seen[from..to]), 1.0 / weights)
    };
    let is_apart = |&mark: &usize| {
        let (before, of_before) = side(mark.saturating_sub(BESIDE), mark);
        let (after, of_after) = side(mark, (mark + BESIDE).min(seen.len()));
        (after - before).abs() > FAR * deviation * (of_before + of_after).sqrt()
    };
    marks.iter().partition(|mark| is_apart(mark))
}

/// How far a night of variance 1 may be from its neighbours, and values, those that are farther drawn in.
fn drawn_in(seen: &[f64], variances: &[f64], stretches: &[usize]) -> (f64, Vec<f64>) {
    let mut middles = Vec::with_capacity(seen.len());
    for (index, &start) in stretches.iter().enumerate() {
        let end = stretches.get(index + 1).copied().unwrap_or(seen.len());
        for night in start..end {
            let (from, to) = (night.saturating_sub(ASIDE).max(start), (night + ASIDE + 1).min(end));
            middles.push(middle(&seen[from..to]));
        }
    }
    let far: Vec<f64> =
        (0..seen.len()).map(|night| (seen[night] - middles[night]).abs() / variances[night].sqrt()).collect();
    // A quarter of the nights are their own median.
    let off: Vec<f64> = far.iter().copied().filter(|distance| *distance > 0.0).collect();
    if off.is_empty() {
        return (f64::INFINITY, seen.to_vec());
    }
    let mut sorted = far.clone();
    sorted.sort_by(f64::total_cmp);
    let few = sorted[((1.0 - FEW) * (sorted.len() - 1) as f64) as usize];
    let most = (FAR * 1.4826 * median(&off).unwrap_or(0.0)).max(few);
    let values = (0..seen.len()).map(|night| {
        let reach = most * variances[night].sqrt();
        seen[night].clamp(middles[night] - reach, middles[night] + reach)
    });
    (most, values.collect())
}

/// The median of at most seven values.
fn middle(values: &[f64]) -> f64 {
    let mut sorted = [0.0; 2 * ASIDE + 1];
    let sorted = &mut sorted[..values.len()];
    sorted.copy_from_slice(values);
    sorted.sort_by(f64::total_cmp);
    (sorted[(values.len() - 1) / 2] + sorted[values.len() / 2]) / 2.0
}
