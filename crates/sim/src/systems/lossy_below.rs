//! Systems that lose packets far below their limit.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _, StandardNormal};
use std::time::Duration;

/// A hard limit that scatters by 0.2 %, and a little loss between two loads below it.
///
/// It grows with a power of the load up to the limit.
#[derive(Debug)]
pub(super) struct LossyBelow {
    name: &'static str,
    about: &'static str,
    /// Loads between which packets are lost, as multiples of the capacity.
    from: f64,
    to: f64,
    /// Probability that a packet is lost there, at the limit: below it so much times (load ÷ limit)^power.
    loss: f64,
    power: f64,
}

/// A bad cable, a checksum that fails now and then.
pub(super) const FLOOR: LossyBelow = LossyBelow {
    name: "floor",
    about: "a hard limit; of a million packets one is lost at any load (a bad cable)",
    from: 0.0,
    to: f64::INFINITY,
    loss: 1e-6,
    power: 0.0,
};

/// A resonance of timers and batches.
pub(super) const BAND: LossyBelow = LossyBelow {
    name: "band",
    about: "a hard limit; of a thousand packets one is lost between 0.84 and 0.93 of it (a resonance)",
    from: 0.84,
    to: 0.93,
    loss: 1e-3,
    power: 0.0,
};

/// A radio link, a policy that drops at random.
pub(super) const RANDOM_LOSS: LossyBelow = LossyBelow {
    name: "random-loss",
    about: "a hard limit; of a thousand packets three are lost at any load (a radio link)",
    from: 0.0,
    to: f64::INFINITY,
    loss: 3e-3,
    power: 0.0,
};

/// Packets that overtake one another, or meet in one bucket of a table.
pub(super) const SLOPE: LossyBelow = LossyBelow {
    name: "slope",
    about: "a hard limit; below it a share of 0.00001 · (load/limit)^12 is lost (packets that collide)",
    from: 0.0,
    to: f64::INFINITY,
    loss: 1e-5,
    power: 12.0,
};

/// Standard deviation of the logarithm of the limit.
const SCATTER: f64 = 0.002;

impl LossyBelow {
    fn besides(&self, multiple: f64) -> f64 {
        match self.from < multiple && multiple < self.to {
            true => self.loss * libm::pow(multiple.min(1.0), self.power),
            false => 0.0,
        }
    }
}

impl Behaviour for LossyBelow {
    fn name_and_about(&self) -> [&'static str; 2] {
        [self.name, self.about]
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let z: f64 = StandardNormal.sample(chance);
        let limit = capacity.as_millipps() as f64 * libm::exp(SCATTER * z);
        let excess = offer.above(Rate::from_millipps(libm::round(limit) as u64));
        let loss = self.besides(offer.pps() / capacity.as_pps());
        let besides = Binomial::new(offer.packets - excess, loss).expect("a probability").sample(chance);
        excess + besides
    }

    /// The lowest load where bad trials are too frequent: in the lossy part, if it matters, else at the limit.
    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let good = 1.0 - loss_ratio.as_f64();
        let below = |multiple: f64| {
            let packets = capacity.as_pps() * multiple * duration.as_secs_f64();
            let allowed = libm::floor(packets * loss_ratio.as_f64());
            let lossy = multiple.clamp(self.from, self.to);
            if multiple <= self.from {
                0.0
            } else {
                tails::binomial_above(packets, self.besides(lossy * 0.999_999), allowed)
            }
        };
        // A share of what the limit lets through is lost beside the excess: the goal allows the rest of its ratio.
        let through = good / (1.0 - self.besides(1.0));
        let at_limit = |multiple: f64| tails::normal_below(libm::log(multiple * through) / SCATTER);
        let exceeds = |multiple: f64| 1.0 - (1.0 - at_limit(multiple)) * (1.0 - below(multiple));
        tails::highest_load(capacity, 4.0 / good, probability, exceeds)
    }
}
