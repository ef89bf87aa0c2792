//! Whether the trials are what the model takes them for: alike, and independent of one another.
//!
//! Each trial is set against what is expected of it at its load. The trials are then put into random orders:
//! when few of these look as much like a drift, a warm-up or a chain of states, the true order is no accident.

use super::constants::diagnostics::{
    CERTAIN, DRAWS, LEAST, MEMORY, RARE_AFTER_ALL, RARE_CHAIN, RARE_TREND, STRANGERS, WARMING,
};
use super::constants::model::FAR;
use super::model::{Evidence, Shape};
use super::normal::Normal;
use super::particles::Particles;
use super::random_orders::strange;
use super::two_states::are_two;
use crate::crossed::correlation;

/// What is strange about the trials, and about their order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Diagnostics {
    /// Correlation of each with the next.
    pub(super) dependent: Option<f64>,
    pub(super) drifts: bool,
    pub(super) warms_up: bool,
    pub(super) has_two_states: bool,
    pub(super) slowed: bool,
}

impl Diagnostics {
    /// Looks at what a cloud has learned from; `faster` when the first load found a faster target later on. Of trials far
    /// above the knee it is known what each let through.
    pub(super) fn of(cloud: &Particles, faster: bool, far: &[(usize, f64)]) -> Self {
        let seen: Vec<Evidence> =
            cloud.seen().iter().filter(|one| !one.is_far() && !one.is_vague()).copied().collect();
        if seen.len() < LEAST {
            return Self::default();
        }
        let draws = cloud.sample(DRAWS);
        let capacities: Vec<Evidence> =
            seen.iter().filter(|one| one.lost == 0.0 || points(&draws, one)).copied().collect();
        let has_two_states = are_two(&capacities, far);
        let (numbers, surprises) = surprises(&draws, &seen);
        if surprises.len() < LEAST {
            return Self { has_two_states, ..Self::default() };
        }
        let early: Vec<f64> =
            numbers.iter().map(|number| libm::exp((numbers[0] - number) / WARMING)).collect();
        Self {
            has_two_states,
            slowed: false,
            dependent: strange(&surprises, likeness, false, RARE_CHAIN).map(|_| neighbours(&surprises)),
            // A trial that lost more than expected found a slower target: a falling trend is one of losses.
            drifts: strange(&surprises, |surprises| -correlation(surprises, &numbers), true, RARE_TREND)
                .is_some(),
            warms_up: strange(
                &surprises,
                |surprises| correlation(surprises, &early),
                false,
                if faster { RARE_AFTER_ALL } else { RARE_TREND },
            )
            .is_some(),
        }
    }

    /// By how much too narrow an interval is that takes the trials for independent.
    pub(super) fn widening(&self) -> f64 {
        self.dependent.map_or(1.0, |correlation| {
            let correlation = correlation.clamp(0.0, 0.8);
            libm::sqrt((1.0 + correlation) / (1.0 - correlation))
        })
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// How much more each trial lost than was expected of it, as a normal number, behind the trial's own; of those
/// that could tell: below the lowest capacity that was shown every trial loses nothing.
fn surprises(draws: &[Shape], seen: &[Evidence]) -> (Vec<f64>, Vec<f64>) {
    let lowest = seen.iter().filter_map(|one| shown_by(draws, one)).fold(f64::INFINITY, f64::min);
    seen.iter()
        .filter(|one| one.lost > 0.0 || one.log_load > lowest)
        .filter_map(|one| surprise(draws, one).map(|surprise| (one.number as f64, surprise)))
        .unzip()
}

/// How much more a trial lost than was expected of it, as a normal number; `None` of one that was to lose nothing,
/// or that all was to be lost of.
pub(super) fn surprise(draws: &[Shape], one: &Evidence) -> Option<f64> {
    let normal = Normal::tables();
    let at_most = |lost: f64| at_most(draws, lost, one.packets, one.log_load, normal);
    let nothing = at_most(0.0);
    if nothing > CERTAIN && one.lost == 0.0 {
        return None;
    }
    let middle = match one.lost {
        lost if lost > 0.0 => 0.5 * (at_most(lost - 1.0) + at_most(lost)),
        _ => 0.5 * nothing,
    };
    Some(normal.quantile(middle).clamp(-3.0, 3.0))
}

/// How probable it is, in the mean of what is believed, that of so many packets at a load any is lost.
pub(super) fn loss_expected(draws: &[Shape], log_load: f64, packets: f64) -> f64 {
    1.0 - at_most(draws, 0.0, packets, log_load, Normal::tables())
}

/// How probable it was, in the mean of what is believed, that a trial would lose less than it did, and no more; how much it is that
/// was lost far above the knee is no matter of that.
pub(super) fn loss_was_expected(draws: &[Shape], one: &Evidence) -> (f64, f64) {
    let at_most = |lost: f64| at_most(draws, lost, one.packets, one.log_load, Normal::tables());
    if one.is_far() {
        return (at_most(FAR * one.packets), 1.0);
    }
    (if one.lost > 0.0 { at_most(one.lost - 1.0) } else { 0.0 }, at_most(one.lost))
}

/// How probable it is, in the mean of what is believed, that no more than that is lost.
fn at_most(draws: &[Shape], lost: f64, packets: f64, log_load: f64, normal: &Normal) -> f64 {
    let chances = draws.iter().map(|shape| shape.at_most(lost, packets, log_load, normal));
    chances.sum::<f64>() / draws.len() as f64
}

/// Whether most of what is believed takes a trial's loss for one of its capacity, and not of a floor.
fn points(draws: &[Shape], one: &Evidence) -> bool {
    2 * draws.iter().filter(|shape| shape.pointed_at(one).is_some()).count() > draws.len()
}

/// The capacity that a trial showed, as a logarithm, in the mean of what is believed; `None` when nothing was lost.
fn shown_by(draws: &[Shape], one: &Evidence) -> Option<f64> {
    let points: Vec<f64> =
        draws.iter().filter_map(|shape| shape.pointed_at(one)).map(|(middle, _)| middle).collect();
    (!points.is_empty()).then(|| points.iter().sum::<f64>() / points.len() as f64)
}

/// Correlation of each with the next.
fn neighbours(surprises: &[f64]) -> f64 {
    correlation(&surprises[1..], &surprises[..surprises.len() - 1])
}

/// How alike trials are that were made soon after one another.
fn likeness(surprises: &[f64]) -> f64 {
    let mean = surprises.iter().sum::<f64>() / surprises.len() as f64;
    let forget = libm::exp(-1.0 / MEMORY);
    let mut sum = 0.0;
    for (index, later) in surprises.iter().enumerate() {
        let mut weight = 1.0;
        for earlier in surprises[..index].iter().rev().take(STRANGERS) {
            sum += weight * (later - mean) * (earlier - mean);
            weight *= forget;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;
    use rand::Rng as _;

    #[test]
    fn a_random_order_is_not_strange_and_a_sorted_one_is() {
        let mut chance = seed::generator(5);
        let noise: Vec<f64> = (0..24).map(|_| chance.random::<f64>()).collect();
        assert_eq!(strange(&noise, likeness, false, RARE_CHAIN), None);
        let mut sorted = noise;
        sorted.sort_by(f64::total_cmp);
        assert!(strange(&sorted, likeness, false, RARE_CHAIN).is_some() && neighbours(&sorted) > 0.8);
    }

    #[test]
    fn of_searches_in_random_order_few_are_doubted() {
        let mut doubted = 0;
        for number in 0..400 {
            let mut chance = seed::generator(number);
            let noise: Vec<f64> = (0..20).map(|_| chance.random::<f64>().powi(3)).collect();
            let numbers: Vec<f64> = (0..20).map(f64::from).collect();
            let drift = |surprises: &[f64]| correlation(surprises, &numbers);
            doubted += usize::from(strange(&noise, drift, true, RARE_TREND).is_some());
        }
        assert!(doubted <= 10, "{doubted} of 400");
    }
}
