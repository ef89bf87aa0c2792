//! Systems whose loss does not depend on the load.

use super::{Behaviour, Offer};
use dropline_trial::{Rate, Ratio};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// The same share of every trial is lost.
#[derive(Debug)]
pub(super) struct Steady {
    name: &'static str,
    about: &'static str,
    /// Packets lost of every ten, rounded up.
    lost_of_ten: u64,
}

/// Faster than any load: searches must end at the maximum.
pub(super) const LOSSLESS: Steady =
    Steady { name: "lossless", about: "loses nothing at any load", lost_of_ten: 0 };

/// Broken: searches must end at the minimum.
pub(super) const DEAD: Steady = Steady { name: "dead", about: "loses 30 % at every load", lost_of_ten: 3 };

impl Behaviour for Steady {
    fn name_and_about(&self) -> [&'static str; 2] {
        [self.name, self.about]
    }

    fn lost(&self, _capacity: Rate, offer: &Offer, _chance: &mut ChaCha8Rng) -> u64 {
        let lost = (u128::from(offer.packets) * u128::from(self.lost_of_ten)).div_ceil(10);
        u64::try_from(lost).unwrap_or(offer.packets)
    }

    fn truth(&self, _: Rate, _: Ratio, _: Duration, _: f64) -> Option<Rate> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;

    #[test]
    fn a_dead_system_loses_three_of_ten_and_a_lossless_one_none() {
        let load = Rate::pps(10_001.0).unwrap();
        let offer = Offer { packets: 10_001, load, duration: Duration::from_secs(1), constant: true };
        let lost = |system: &Steady| system.lost(load, &offer, &mut seed::generator(1));
        assert_eq!((lost(&DEAD), lost(&LOSSLESS)), (3001, 0));
    }
}
