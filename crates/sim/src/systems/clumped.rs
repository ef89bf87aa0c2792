//! A system whose losses come in clumps.

use super::smooth::SOFT;
use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Gamma, Poisson};
use std::time::Duration;

/// A queue that overflows for a while and not for a packet: Poisson many clumps, each of a geometric number
/// of packets; the mean loss is that of the soft system.
#[derive(Debug)]
pub(super) struct Clumped;

pub(super) const CLUMPED: Clumped = Clumped;

/// Mean packets of a clump.
const CLUMP: f64 = 20.0;

fn poisson(mean: f64, chance: &mut ChaCha8Rng) -> f64 {
    Poisson::new(mean).map_or(0.0, |count| count.sample(chance))
}

impl Behaviour for Clumped {
    fn name_and_about(&self) -> [&'static str; 2] {
        ["clumped", "loss sets in gently, in clumps of 20 packets (a queue that overflows for a while)"]
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let mean = offer.packets as f64 * SOFT.loss(offer.load.as_pps() / capacity.as_pps());
        let clumps = poisson(mean / CLUMP, chance);
        if clumps == 0.0 {
            return 0;
        }
        // Geometric sizes of at least 1 sum up to their number and a negative binomial number.
        let further = Gamma::new(clumps, CLUMP - 1.0).map_or(0.0, |mean| mean.sample(chance));
        (clumps + poisson(further, chance)) as u64
    }

    /// Nothing is lost where no clump is; sums of many clumps are normal, about.
    fn truth(&self, capacity: Rate, loss_ratio: Ratio, duration: Duration, probability: f64) -> Option<Rate> {
        let exceeds = |multiple: f64| {
            let packets = capacity.as_pps() * multiple * duration.as_secs_f64();
            let allowed = libm::floor(packets * loss_ratio.as_f64());
            let mean = packets * SOFT.loss(multiple);
            if allowed == 0.0 {
                return 1.0 - libm::exp(-mean / CLUMP);
            }
            let deviation = libm::sqrt(mean * (2.0 * CLUMP - 1.0));
            tails::normal_below((mean - allowed - 0.5) / deviation)
        };
        tails::highest_load(capacity, 4.0 / (1.0 - loss_ratio.as_f64()), probability, exceeds)
    }
}
