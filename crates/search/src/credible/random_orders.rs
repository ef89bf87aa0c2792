//! How often chance alone orders trials as strangely as they came: they are put into random orders, and counted.

use super::constants::diagnostics::ORDERS;
use dropline_trial::seed;
use rand::Rng as _;

/// The correlation, where it is rarer than `rare` among random orders; most others are told after a few of them.
pub(super) fn strange(
    surprises: &[f64],
    of: impl Fn(&[f64]) -> f64,
    either_side: bool,
    rare: f64,
) -> Option<f64> {
    let correlation = of(surprises);
    let size = |value: f64| if either_side { value.abs() } else { value };
    let too_many = (rare * (ORDERS + 1) as f64) as usize;
    let mut chance = seed::generator(surprises.len() as u64);
    let mut order = surprises.to_vec();
    let mut as_strange = 0;
    for _ in 0..ORDERS {
        for last in (1..order.len()).rev() {
            order.swap(last, chance.random_range(0..=last));
        }
        as_strange += usize::from(size(of(&order)) >= size(correlation));
        if as_strange >= too_many {
            return None;
        }
    }
    let by_chance = (as_strange + 1) as f64 / (ORDERS + 1) as f64;
    (by_chance < rare).then_some(correlation)
}
