//! Whether the trials are what the model takes them for: alike, and independent of one another.
//!
//! Each trial is set against what is expected of it at its load. The trials are then put into random orders:
//! when few of these look as much like a drift, a warm-up or a chain of states, the true order is no accident.

use super::cloud::Cloud;
use super::model::{Evidence, Shape};
use super::normal::Normal;
use dropline_trial::{Caveat, seed};
use rand::Rng as _;

/// Systems that are asked what they expect.
const DRAWS: usize = 60;
/// Random orders.
const ORDERS: usize = 999;
/// An order that is rarer than this among them is a doubt: of the tests together, less than 4 % by chance.
const RARE_CHAIN: f64 = 0.018;
const RARE_TREND: f64 = 0.008;
/// Trials below which no order is strange.
const LEAST: usize = 6;
/// The first trials count for less and less, by e in so many.
const WARMING: f64 = 3.0;
/// No random orders are drawn for what is within so many standard deviations of nothing.
const STRANGE: f64 = 1.8;

/// What is strange about the order of the trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Doubt {
    pub(super) dependent: Option<Strange>,
    pub(super) drift: Option<Strange>,
    pub(super) warm_up: Option<Strange>,
}

/// A correlation, and how often chance has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Strange {
    pub(super) correlation: f64,
    pub(super) by_chance: f64,
}

impl Doubt {
    /// Looks at what a cloud has learned from.
    pub(super) fn of(cloud: &Cloud) -> Self {
        let seen = cloud.seen();
        if seen.len() < LEAST {
            return Self::default();
        }
        let surprises = surprises(&cloud.sample(DRAWS), seen);
        let numbers: Vec<f64> = seen.iter().map(|one| one.number as f64).collect();
        let early: Vec<f64> = numbers.iter().map(|number| libm::exp((1.0 - number) / WARMING)).collect();
        Self {
            dependent: strange(&surprises, neighbours, false, RARE_CHAIN),
            // A trial that lost more than expected found a slower target: a falling trend is one of losses.
            drift: strange(&surprises, |surprises| -correlation(surprises, &numbers), true, RARE_TREND),
            warm_up: strange(&surprises, |surprises| correlation(surprises, &early), false, RARE_TREND),
        }
    }

    /// By how much too narrow an interval is that takes the trials for independent.
    pub(super) fn widening(&self) -> f64 {
        self.dependent.map_or(1.0, |strange| {
            let correlation = strange.correlation.clamp(0.0, 0.8);
            libm::sqrt((1.0 + correlation) / (1.0 - correlation))
        })
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn caveats(&self) -> Vec<Caveat> {
        let dependent = self
            .dependent
            .map(|Strange { correlation, by_chance }| Caveat::DependentTrials { correlation, by_chance });
        let drift =
            self.drift.map(|Strange { correlation, by_chance }| Caveat::Drift { correlation, by_chance });
        let warm_up = self.warm_up.map(|Strange { by_chance, .. }| Caveat::WarmUp { by_chance });
        dependent.into_iter().chain(drift).chain(warm_up).collect()
    }
}

/// How much more each trial lost than was expected of it, as a normal number.
fn surprises(draws: &[Shape], seen: &[Evidence]) -> Vec<f64> {
    let normal = Normal::tables();
    seen.iter()
        .map(|one| {
            let at_most = |lost: f64| -> f64 {
                let chances =
                    draws.iter().map(|shape| shape.at_most(lost, one.packets, one.log_load, normal));
                chances.sum::<f64>() / draws.len() as f64
            };
            let below = if one.lost > 0.0 { at_most(one.lost - 1.0) } else { 0.0 };
            let middle = 0.5 * (below + at_most(one.lost));
            normal.quantile(middle).clamp(-3.0, 3.0)
        })
        .collect()
}

/// Correlation of each with the next.
fn neighbours(surprises: &[f64]) -> f64 {
    correlation(&surprises[1..], &surprises[..surprises.len() - 1])
}

/// Pearson's; 0 where one side does not vary.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let count = one.len() as f64;
    let (mean, other_mean) = (one.iter().sum::<f64>() / count, other.iter().sum::<f64>() / count);
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (a, b) in one.iter().zip(other) {
        both += (a - mean) * (b - other_mean);
        first += (a - mean) * (a - mean);
        second += (b - other_mean) * (b - other_mean);
    }
    let scale = libm::sqrt(first * second);
    if scale > 1e-9 { both / scale } else { 0.0 }
}

fn strange(surprises: &[f64], of: impl Fn(&[f64]) -> f64, either_side: bool, rare: f64) -> Option<Strange> {
    let correlation = of(surprises);
    let size = |value: f64| if either_side { value.abs() } else { value };
    if size(correlation) * libm::sqrt(surprises.len() as f64) < STRANGE {
        return None;
    }
    let mut chance = seed::generator(surprises.len() as u64);
    let mut order = surprises.to_vec();
    let mut as_strange = 0;
    for _ in 0..ORDERS {
        for last in (1..order.len()).rev() {
            order.swap(last, chance.random_range(0..=last));
        }
        as_strange += usize::from(size(of(&order)) >= size(correlation));
    }
    let by_chance = (as_strange + 1) as f64 / (ORDERS + 1) as f64;
    (by_chance < rare).then_some(Strange { correlation, by_chance })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_order_is_not_strange_and_a_sorted_one_is() {
        let mut chance = seed::generator(5);
        let noise: Vec<f64> = (0..24).map(|_| chance.random::<f64>()).collect();
        assert_eq!(strange(&noise, neighbours, false, RARE_CHAIN), None);
        let mut sorted = noise;
        sorted.sort_by(f64::total_cmp);
        assert!(
            strange(&sorted, neighbours, false, RARE_CHAIN).is_some_and(|strange| strange.correlation > 0.8)
        );
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
