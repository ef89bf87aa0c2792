//! Systems whose packets are lost one by one, the likelier the nearer the capacity.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _};
use std::time::Duration;

/// Lost packets are binomial with probability s · ln(1 + e^((load − C)/s)) ÷ load.
#[derive(Debug)]
pub(super) struct Smooth {
    name: &'static str,
    about: &'static str,
    nominal_pps: u64,
    /// s as a share of the capacity: how gently loss sets in.
    softness: f64,
}

/// Stands for a test suite that yields the same rate each time: IPv4 forwarding in FD.io CSIT measurements of 2018.
pub(super) const CONSISTENT: Smooth = Smooth {
    name: "consistent",
    about: "loss sets in within 1 % of the capacity (an IPv4 forwarder)",
    nominal_pps: 4_900_000,
    softness: 0.0005,
};

/// Stands for short queues under irregular service: single losses long before the capacity.
pub(super) const SOFT: Smooth = Smooth {
    name: "soft",
    about: "loss sets in gently, some 6 % below the capacity",
    nominal_pps: 9_000_000,
    softness: 0.005,
};

impl Smooth {
    /// Probability that a packet is lost at a multiple of the capacity.
    pub(super) fn loss(&self, multiple: f64) -> f64 {
        softplus_loss(multiple, self.softness)
    }
}

/// s · ln(1 + e^((x − 1)/s)) ÷ x at a multiple x of the capacity.
pub(super) fn softplus_loss(multiple: f64, softness: f64) -> f64 {
    let x = (multiple - 1.0) / softness;
    let softplus = if x > 0.0 { x + libm::log1p(libm::exp(-x)) } else { libm::log1p(libm::exp(x)) };
    (softness * softplus / multiple).clamp(0.0, 1.0)
}

impl Behaviour for Smooth {
    fn name_and_about(&self) -> [&'static str; 2] {
        [self.name, self.about]
    }

    fn nominal_capacity(&self) -> Rate {
        Rate::from_millipps(self.nominal_pps * 1000)
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let loss = self.loss(offer.load.as_pps() / capacity.as_pps());
        Binomial::new(offer.packets, loss).expect("a probability").sample(chance)
    }

    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let exceeds = |multiple: f64| {
            let packets = capacity.as_pps() * multiple * duration.as_secs_f64();
            let allowed = libm::floor(packets * loss_ratio.as_f64());
            tails::binomial_above(packets, self.loss(multiple), allowed)
        };
        tails::highest_load(capacity, 4.0 / (1.0 - loss_ratio.as_f64()), probability, exceeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_above_the_capacity_the_excess_is_lost_and_far_below_nothing() {
        for system in [CONSISTENT, SOFT] {
            assert!((system.loss(2.0) - 0.5).abs() < 1e-12);
            assert_eq!(
                system.loss(0.5),
                system.softness * libm::log1p(libm::exp(-0.5 / system.softness)) * 2.0
            );
            assert!(system.loss(0.5) < 1e-40);
        }
    }

    #[test]
    fn at_the_capacity_the_loss_is_the_softness_times_ln_2() {
        assert!((SOFT.loss(1.0) - 0.005 * std::f64::consts::LN_2).abs() < 1e-12);
    }
}
