//! A system whose chance of loss is another one in each trial.

use super::smooth::SOFT;
use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _, StandardNormal};
use std::time::Duration;

/// The soft system, but what is lost besides the excess is multiplied by a factor that scatters from trial to
/// trial: neighbours, caches, interrupts.
#[derive(Debug)]
pub(super) struct Overdispersed;

pub(super) const OVERDISPERSED: Overdispersed = Overdispersed;

/// Standard deviation of the logarithm of the factor, whose mean is 1.
const SCATTER: f64 = 0.5;
/// Factors that a truth is averaged over.
const FACTORS: u32 = 101;

fn loss(multiple: f64, z: f64) -> f64 {
    let excess = (1.0 - 1.0 / multiple).max(0.0);
    let besides = (SOFT.loss(multiple) - excess).max(0.0);
    (excess + besides * libm::exp(SCATTER * z - 0.5 * SCATTER * SCATTER)).clamp(0.0, 1.0)
}

impl Behaviour for Overdispersed {
    fn name_and_about(&self) -> [&'static str; 2] {
        [
            "overdispersed",
            "loss sets in gently, by a factor of its own in each trial (neighbours, interrupts)",
        ]
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let z: f64 = StandardNormal.sample(chance);
        let loss = loss(offer.load.as_pps() / capacity.as_pps(), z);
        Binomial::new(offer.packets, loss).expect("a probability").sample(chance)
    }

    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let factors: Vec<f64> = (0..FACTORS)
            .map(|index| tails::normal_quantile((f64::from(index) + 0.5) / f64::from(FACTORS)))
            .collect();
        let exceeds = |multiple: f64| {
            let packets = capacity.as_pps() * multiple * duration.as_secs_f64();
            let allowed = libm::floor(packets * loss_ratio.as_f64());
            let chance = |&z: &f64| tails::binomial_above(packets, loss(multiple, z), allowed);
            factors.iter().map(chance).sum::<f64>() / f64::from(FACTORS)
        };
        tails::highest_load(capacity, 4.0 / (1.0 - loss_ratio.as_f64()), probability, exceeds)
    }
}
