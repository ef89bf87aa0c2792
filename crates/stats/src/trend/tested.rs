//! Which of the proposed changes stay: the set that the likelihood chooses, without those that chance explains.

use super::YOUNG;
use super::levels::Levels;
use super::noise::Noise;
use super::places::best;
use super::weighted::Weighted;
use crate::special::{student_beyond, student_quantile};

/// The probability that any of all places seems a change where nothing changes.
pub(super) const LEVEL: f64 = 0.02;
/// By so many variances the cost of another place may exceed that of the best one; 95 % (Hansen 2000).
const PROFILE: f64 = 7.35;
/// Two nights of more do not make a level.
const LONG: usize = 30;
/// Nights of the whole row's scatter that a level's own scatter is put together with.
const BORROWED: f64 = 10.0;

/// The levels, and the noise about them.
pub(super) fn kept(row: &Weighted, sets: &[Vec<usize>]) -> (Levels, Noise) {
    let of = |set: &[usize]| {
        let levels = Levels::of(row, set);
        let (noise, cost) = Noise::about(row, &levels);
        (levels, noise, cost)
    };
    let chosen = sets.iter().map(|set| of(set)).min_by(|one, other| one.2.total_cmp(&other.2));
    let (levels, _, _) = chosen.expect("no change is a set too");
    let mut changes = moved_to_best(row, levels.changes().collect());
    loop {
        let (levels, noise, _) = of(&changes);
        let weakest = levels
            .changes()
            .map(|place| {
                let step = Step::of(row, &levels, place, &noise);
                let chance = if is_borne(row, &levels, place) { step.by_chance(row, &noise) } else { 1.0 };
                (chance, place)
            })
            .max_by(|one, other| one.0.total_cmp(&other.0));
        match weakest {
            Some((chance, place)) if chance > LEVEL => {
                changes.retain(|change| *change != place);
                changes = moved_to_best(row, changes);
            }
            _ => return (levels, noise),
        }
    }
}

/// Whether half of the step is left on either side without the two nights that bear most of it: two bad nights are not
/// a level because others are beside them. What came and went in less time than a level takes to be believed is not one either.
fn is_borne(row: &Weighted, levels: &Levels, place: usize) -> bool {
    let (start, end) = (levels.start_before(place), levels.end_of(place));
    // Where the row or a stretch of it begins or ends, nobody knows how long a level was.
    let is_cut = |at: usize| at == row.len() || row.stretches.contains(&at);
    if (place - start < YOUNG && !is_cut(start)) || (end - place < YOUNG && !is_cut(end)) {
        return false;
    }
    let (before, after) = (row.mean(start, place), row.mean(place, end));
    let stays = |(start, end): (usize, usize), from: f64, step: f64| {
        // Each night's share of the step, and its weight.
        let share = |night: usize| {
            ((row.values[night] - from) / step / row.variances[night], 1.0 / row.variances[night])
        };
        let mut shares: Vec<(f64, f64)> = (start..end).map(share).collect();
        if shares.len() > LONG {
            return true;
        }
        shares.sort_by(|one, other| one.0.total_cmp(&other.0));
        let rest = &shares[..shares.len() - 2];
        rest.iter().map(|share| share.0).sum::<f64>() >= 0.5 * rest.iter().map(|share| share.1).sum::<f64>()
    };
    stays((place, end), before, after - before) && stays((start, place), after, before - after)
}

/// Each change at the best place between its neighbours.
fn moved_to_best(row: &Weighted, mut changes: Vec<usize>) -> Vec<usize> {
    for _ in 0..2 {
        for index in 0..changes.len() {
            let levels = Levels::of(row, &changes);
            let place = changes[index];
            let (from, to) = (levels.start_before(place), levels.end_of(place));
            if let Some((_, better)) = best(row, from, to) {
                changes[index] = better;
            }
        }
    }
    changes
}

/// The step from a level to the next.
pub(super) struct Step {
    /// Difference of the logarithms.
    pub(super) size: f64,
    /// Its standard error.
    pub(super) error: f64,
}

impl Step {
    pub(super) fn of(row: &Weighted, levels: &Levels, place: usize, noise: &Noise) -> Self {
        let (start, end) = (levels.start_before(place), levels.end_of(place));
        Self::between(row, (start, place), (place, end), noise)
    }

    /// Between two levels, one behind the other.
    pub(super) fn between(
        row: &Weighted,
        before: (usize, usize),
        after: (usize, usize),
        noise: &Noise,
    ) -> Self {
        let wider = |scatter: f64, count: usize| {
            ((scatter / noise.variance + BORROWED) / (count as f64 + BORROWED)).max(1.0)
        };
        let own = |(start, end): (usize, usize)| (row.cost(start, end), end - start - 1);
        let ((one, nights), (other, more)) = (own(before), own(after));
        let both = wider(one + other, nights + more);
        let side = |(start, end): (usize, usize), sign: f64, wider: f64| {
            let weight = sign / row.weight(start, end);
            let wider = wider.max(both);
            (start..end).map(move |night| (weight / row.variances[night], wider))
        };
        let gap = std::iter::repeat_n((0.0, 1.0), after.0 - before.1);
        let coefficients =
            side(before, -1.0, wider(one, nights)).chain(gap).chain(side(after, 1.0, wider(other, more)));
        let variance = noise.variance_of(row, before.0, coefficients);
        Self {
            size: row.mean(after.0, after.1) - row.mean(before.0, before.1),
            error: variance.max(f64::MIN_POSITIVE).sqrt(),
        }
    }

    /// The probability of as clear a step at any place of the row.
    pub(super) fn by_chance(&self, row: &Weighted, noise: &Noise) -> f64 {
        (student_beyond(noise.freedom, self.size / self.error) * row.len() as f64).min(1.0)
    }
}

impl Noise {
    /// How many standard errors a 95 % interval reaches.
    pub(super) fn reach(&self) -> f64 {
        student_quantile(self.freedom, 0.975)
    }
}

/// The first and the last night that may be the first of the new level.
pub(super) fn nights(row: &Weighted, levels: &Levels, place: usize, noise: &Noise) -> (usize, usize) {
    let (start, end) = (levels.start_before(place), levels.end_of(place));
    let best = row.gain(start, place, end);
    let longest = (end - place).min(place - start);
    let allowed = PROFILE * noise.variance * noise.inflation(longest);
    let may_be = |other: &usize| best - row.gain(start, *other, end) <= allowed;
    let low = (start + 1..=place).find(may_be).unwrap_or(place);
    let high = (place..end).rev().find(may_be).unwrap_or(place);
    (low, high)
}
