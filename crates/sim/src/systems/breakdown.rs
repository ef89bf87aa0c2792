//! A system that forwards almost nothing once it is overloaded.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::time::Duration;

/// A program that waits for its CPU while its queue overflows: it keeps up, or it is never seen again.
#[derive(Debug)]
pub(super) struct Breakdown;

pub(super) const BREAKDOWN: Breakdown = Breakdown;

/// Standard deviation of the logarithm of the limit.
const SCATTER: f64 = 0.005;
/// Share of the packets that is lost above it.
const LOST: f64 = 0.95;

impl Behaviour for Breakdown {
    fn name_and_about(&self) -> [&'static str; 2] {
        ["breakdown", "a limit that scatters by 0.5 %; above it 95 % of all packets are lost"]
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let z: f64 = StandardNormal.sample(chance);
        let limit = capacity.as_pps() * libm::exp(SCATTER * z);
        if offer.pps() <= limit { 0 } else { libm::ceil(LOST * offer.packets as f64) as u64 }
    }

    /// A trial is bad when its load is above its limit, whatever the loss ratio.
    fn truth(&self, capacity: Rate, loss_ratio: Ratio, _: Duration, probability: f64) -> Option<Rate> {
        let breaks = |multiple: f64| tails::normal_below(libm::log(multiple) / SCATTER);
        let exceeds = |multiple: f64| if loss_ratio.as_f64() < LOST { breaks(multiple) } else { 0.0 };
        tails::highest_load(capacity, 4.0, probability, exceeds)
    }
}
