//! Levels that went one way over many nights: a line explains them better than steps.

use super::levels::Levels;
use super::noise::Noise;
use super::tested::{LEVEL, Step};
use super::weighted::Weighted;
use crate::special::student_beyond;

/// A line from one level to another.
pub(super) struct Ramp {
    /// First night of the level before it.
    pub(super) first: usize,
    /// Behind the last night of the level after it.
    pub(super) end: usize,
    /// The last night of the level before.
    pub(super) from: usize,
    /// The first of the level after.
    pub(super) to: usize,
    /// The level before.
    pub(super) before: f64,
    /// By how much the level after is above it.
    pub(super) size: f64,
    /// Standard error of that.
    pub(super) error: f64,
}

/// A shorter one is a step.
const SHORTEST: usize = 10;
/// A line must be cheaper than one step by so many logarithms of the number of nights.
const CLEAR: f64 = 0.75;
/// Places along a row at which a line may begin or end.
const ENDS: usize = 16;

impl Ramp {
    /// Whether a change stands in its place.
    pub(super) fn holds(&self, change: usize) -> bool {
        self.first < change && change < self.end
    }

    /// Its level at a night; `None` outside of it.
    pub(super) fn level(&self, row: &Weighted, night: usize) -> Option<f64> {
        let is_within = self.first <= night && night < self.end;
        is_within.then(|| self.before + self.size * share(row, self.from, self.to, night))
    }
}

/// How far along a line a night is.
fn share(row: &Weighted, from: usize, to: usize, night: usize) -> f64 {
    ((row.days[night] - row.days[from]) / (row.days[to] - row.days[from])).clamp(0.0, 1.0)
}

/// The lines that explain changes one way better than steps do.
pub(super) fn found(row: &Weighted, levels: &Levels, noise: &Noise) -> Vec<Ramp> {
    let steps: Vec<(usize, bool)> =
        levels.changes().map(|place| (place, Step::of(row, levels, place, noise).size > 0.0)).collect();
    let follows =
        |one: &(usize, bool), other: &(usize, bool)| one.1 == other.1 && levels.end_of(one.0) == other.0;
    let mut ramps: Vec<Ramp> = Vec::new();
    for group in steps.chunk_by(follows) {
        let places: Vec<usize> = group.iter().map(|(place, _)| *place).collect();
        // A level that a line before ends on is not part of the next one.
        if ramps.last().is_some_and(|ramp| ramp.end > levels.start_before(places[0])) {
            continue;
        }
        ramps.extend(instead_of(row, levels, noise, &places));
    }
    ramps
}

/// A line has two places and a size: what it costs beside a change, which has one place.
const CHANGES: f64 = 2.0;

/// A line through a row in which no step was found, where it explains the nights so much better than one level, whatever neighbours have
/// in common, and what is left of the nights then: what goes on from the first night to the last has no level that steps could begin at.
pub(super) fn whole(row: &Weighted, levels: &Levels) -> Option<(Ramp, Noise)> {
    let nights = row.len();
    if levels.segments().count() > 1 || nights <= SHORTEST {
        return None;
    }
    let (_, from, to, before, size) = cheapest(row, (0, nights))?;
    let along = |night: usize| share(row, from, to, night);
    let residuals: Vec<f64> =
        (0..nights).map(|night| row.values[night] - before - size * along(night)).collect();
    let (noise, cost) = Noise::of(row, levels, &residuals, CHANGES);
    if cost > Noise::about(row, levels).1 {
        return None;
    }
    let weight = |night: usize| 1.0 / row.variances[night];
    let all: f64 = (0..nights).map(weight).sum();
    let middle = (0..nights).map(|night| weight(night) * along(night)).sum::<f64>() / all;
    let spread: f64 = (0..nights).map(|night| weight(night) * (along(night) - middle).powi(2)).sum();
    let coefficients = (0..nights).map(|night| (weight(night) * (along(night) - middle) / spread, 1.0));
    let error = noise.variance_of(row, 0, coefficients).max(f64::MIN_POSITIVE).sqrt();
    let by_chance = student_beyond(noise.freedom, size / error) * nights as f64;
    let ramp = Ramp { first: 0, end: nights, from, to, before, size, error };
    (by_chance <= LEVEL).then_some((ramp, noise))
}

/// The best line in a part of a row: its cost, where it begins and ends, the level before it and by how much that after it is above.
fn cheapest(row: &Weighted, (start, end): (usize, usize)) -> Option<(f64, usize, usize, f64, f64)> {
    let ends: Vec<usize> = (0..=ENDS).map(|index| start + (end - start - 1) * index / ENDS).collect();
    let pairs = ends.iter().flat_map(|&from| ends.iter().map(move |&to| (from, to)));
    pairs
        .filter(|(from, to)| from + SHORTEST <= *to && row.days[*from] < row.days[*to])
        .map(|(from, to)| {
            let (cost, before, size) = line(row, (start, end), (from, to));
            (cost, from, to, before, size)
        })
        .min_by(|one, other| one.0.total_cmp(&other.0))
}

/// The line in the place of these steps, where it is cheaper.
fn instead_of(row: &Weighted, levels: &Levels, noise: &Noise, places: &[usize]) -> Option<Ramp> {
    let (first, last) = (places[0], places[places.len() - 1]);
    let (start, end) = (levels.start_before(first), levels.end_of(last));
    let stops: Vec<usize> = std::iter::once(start).chain(places.iter().copied()).chain([end]).collect();
    let steps: f64 = stops.windows(2).map(|pair| row.cost(pair[0], pair[1])).sum();
    let nights = end - start;
    if nights <= SHORTEST {
        return None;
    }
    let (cost, from, to, before, size) = cheapest(row, (start, end))?;
    let unit = noise.variance * noise.inflation(nights / (places.len() + 1));
    // A step has a place and a size; a line has a place more than one step.
    let count = (row.len() as f64).ln();
    let more = count * (2.0 * places.len() as f64 - 2.0 - CLEAR);
    let is_one_way = (size > 0.0) == (row.mean(stops[1], stops[2]) > row.mean(stops[0], stops[1]));
    if !is_one_way || cost / unit > steps / unit + more {
        return None;
    }
    let ends = Step::between(row, (stops[0], stops[1]), (last, end), noise);
    Some(Ramp { first: start, end, from, to, before, size, error: ends.error })
}

/// Cost of a line between two levels, the level before and the rise; by weighted least squares.
fn line(row: &Weighted, (start, end): (usize, usize), (from, to): (usize, usize)) -> (f64, f64, f64) {
    let (mut w, mut wx, mut wxx, mut wy, mut wxy, mut wyy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for night in start..end {
        let (x, y, weight) = (share(row, from, to, night), row.values[night], 1.0 / row.variances[night]);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
        wyy += weight * y * y;
    }
    let (sxx, sxy, syy) = (wxx - wx * wx / w, wxy - wx * wy / w, wyy - wy * wy / w);
    let size = sxy / sxx;
    ((syy - size * sxy).max(0.0), (wy - size * wx) / w, size)
}
