//! Systems that lose a share of their packets at any load, however far below their limit.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _, StandardNormal};
use std::time::Duration;

/// A hard limit that scatters by 0.2 %, and below it a loss that grows with a power of the load.
#[derive(Debug)]
pub(super) struct Gentle {
    name: &'static str,
    about: &'static str,
    /// Probability that a packet is lost at the limit, below which it is so much times (load ÷ limit)^power.
    loss: f64,
    power: f64,
}

/// A radio link, a policy that drops at random.
pub(super) const RANDOM_LOSS: Gentle = Gentle {
    name: "random-loss",
    about: "a hard limit; of a thousand packets three are lost at any load (a radio link)",
    loss: 3e-3,
    power: 0.0,
};

/// Packets that overtake one another, or meet in one bucket of a table.
pub(super) const SLOPE: Gentle = Gentle {
    name: "slope",
    about: "a hard limit; below it a share of 0.00001 · (load/limit)^12 is lost (packets that collide)",
    loss: 1e-5,
    power: 12.0,
};

/// Standard deviation of the logarithm of the limit.
const SCATTER: f64 = 0.002;

impl Gentle {
    fn share(&self, multiple: f64) -> f64 {
        (self.loss * libm::pow(multiple, self.power)).min(1.0)
    }
}

impl Behaviour for Gentle {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn nominal_capacity(&self) -> Rate {
        Rate::from_millipps(9_000_000_000)
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let z: f64 = StandardNormal.sample(chance);
        let limit = capacity.as_millipps() as f64 * libm::exp(SCATTER * z);
        let excess = offer.above(Rate::from_millipps(libm::round(limit) as u64));
        let share = self.share((offer.pps() / capacity.as_pps()).min(1.0));
        excess + Binomial::new(offer.packets - excess, share).expect("a probability").sample(chance)
    }

    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        // A share of what the limit lets through is lost beside the excess: the goal allows the rest of its ratio.
        let through = |multiple: f64| {
            let share = self.share(multiple.min(1.0));
            (1.0 - loss_ratio.as_f64()) / (1.0 - share)
        };
        let at_limit = |multiple: f64| tails::normal_below(libm::log(multiple * through(multiple)) / SCATTER);
        let below = |multiple: f64| {
            let packets = capacity.as_pps() * multiple * duration.as_secs_f64();
            let allowed = libm::floor(packets * loss_ratio.as_f64());
            tails::binomial_above(packets, self.share(multiple.min(1.0)), allowed)
        };
        let exceeds = |multiple: f64| 1.0 - (1.0 - at_limit(multiple)) * (1.0 - below(multiple));
        tails::highest_load(capacity, 4.0, probability, exceeds)
    }
}
