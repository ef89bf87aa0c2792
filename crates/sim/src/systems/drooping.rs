//! A system that forwards less the more it is overloaded.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::time::Duration;

/// Interrupts and copies of packets that are lost later take time from those that are not (receive livelock).
#[derive(Debug)]
pub(super) struct Drooping;

pub(super) const DROOPING: Drooping = Drooping;

/// Standard deviation of the logarithm of the limit.
const SCATTER: f64 = 0.003;
/// Share of the limit that is gone in deep overload.
const DROOP: f64 = 0.25;
/// Overload, as a share of the limit, at which it is.
const COMPLETE: f64 = 0.3;

/// Share of a load that is lost, as a multiple of the trial's limit.
fn loss(multiple: f64) -> f64 {
    let overload = (multiple - 1.0).max(0.0);
    if overload == 0.0 {
        return 0.0;
    }
    (overload + DROOP * (overload / COMPLETE).min(1.0)) / multiple
}

impl Behaviour for Drooping {
    fn name_and_about(&self) -> [&'static str; 2] {
        ["drooping", "a hard limit that scatters by 0.3 %; overload by 30 % costs a quarter of it (livelock)"]
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let z: f64 = StandardNormal.sample(chance);
        let limit = capacity.as_pps() * libm::exp(SCATTER * z);
        libm::ceil(loss(offer.pps() / limit) * offer.pps() * offer.duration.as_secs_f64()) as u64
    }

    /// A trial is bad when its limit is below the load by more than the loss ratio tells.
    fn truth(&self, capacity: Rate, loss_ratio: Ratio, _: Duration, probability: f64) -> Option<Rate> {
        let most = 4.0 / (1.0 - loss_ratio.as_f64());
        let bearable =
            tails::highest(most, 0.5, |multiple| f64::from(u8::from(loss(multiple) > loss_ratio.as_f64())));
        let exceeds = |multiple: f64| tails::normal_below(libm::log(multiple / bearable) / SCATTER);
        tails::highest_load(capacity, most, probability, exceeds)
    }
}
