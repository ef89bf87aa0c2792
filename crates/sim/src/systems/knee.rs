//! Systems that forward up to a limit and lose all above it.

use super::{Behaviour, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::time::Duration;

/// A limit that may be another one in each trial, whatever the trial's length.
#[derive(Debug)]
pub(super) struct Knee {
    name: &'static str,
    about: &'static str,
    /// Standard deviation of the logarithm of the limit.
    scatter: f64,
    /// Share of the trials that run at [`DIP`](Self::DIP) of the limit.
    dips: f64,
}

/// A token bucket, a link: the textbook case.
pub(super) const HARD: Knee =
    Knee { name: "hard", about: "forwards up to its capacity, loses all above it", scatter: 0.0, dips: 0.0 };

/// A limit that depends on the state a trial finds: memory layout, clock frequency, neighbours.
pub(super) const NOISY: Knee = Knee {
    name: "noisy",
    about: "a hard limit that scatters by 1 % from trial to trial",
    scatter: 0.01,
    dips: 0.0,
};

/// A system that is now and then caught in a slow state.
pub(super) const DIPS: Knee = Knee {
    name: "dips",
    about: "a hard limit; 15 % of the trials run at 0.8 of it",
    scatter: 0.003,
    dips: 0.15,
};

impl Knee {
    /// What is left of the limit in a dip.
    const DIP: f64 = 0.8;

    /// Probability that the limit of a trial is below `share` of the capacity.
    fn below(&self, share: f64) -> f64 {
        let up_to = |log: f64| match self.scatter {
            0.0 => f64::from(u8::from(log > 0.0)),
            scatter => tails::normal_below(log / scatter),
        };
        let log = libm::log(share);
        (1.0 - self.dips) * up_to(log) + self.dips * up_to(log - libm::log(Self::DIP))
    }
}

impl Behaviour for Knee {
    fn name_and_about(&self) -> [&'static str; 2] {
        [self.name, self.about]
    }

    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let z: f64 = StandardNormal.sample(chance);
        let dip = if chance.random::<f64>() < self.dips { Self::DIP } else { 1.0 };
        let limit = capacity.as_millipps() as f64 * libm::exp(self.scatter * z) * dip;
        offer.above(Rate::from_millipps(libm::round(limit) as u64))
    }

    /// A trial is bad when (load − limit) ÷ load is above the loss ratio.
    fn truth(&self, capacity: Rate, loss_ratio: Ratio, _: Duration, probability: f64) -> Option<Rate> {
        let good = 1.0 - loss_ratio.as_f64();
        let exceeds = |multiple: f64| self.below(multiple * good);
        tails::highest_load(capacity, 4.0 / good, probability, exceeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::seed;

    fn lost(system: &Knee, pps: f64, millis: u64, trial: u64) -> u64 {
        let (load, duration) = (Rate::pps(pps).unwrap(), Duration::from_millis(millis));
        let offer = Offer { packets: load.packets_in(duration), load, duration, constant: true };
        system.lost(Rate::pps(9e6).unwrap(), &offer, &mut seed::generator(trial))
    }

    #[test]
    fn a_hard_limit_loses_what_is_above_it_rounded_up() {
        assert_eq!(lost(&HARD, 9e6, 60_000, 1), 0);
        assert_eq!(lost(&HARD, 9_000_000.001, 1000, 1), 1);
        assert_eq!(lost(&HARD, 14_880_952.0, 1000, 1), 5_880_952);
        assert_eq!(lost(&HARD, 9_182_086.6, 1500, 1), 273_130);
    }

    #[test]
    fn fifteen_of_a_hundred_trials_dip() {
        let bad = (0..4000).filter(|&trial| lost(&DIPS, 8.5e6, 1000, trial) > 0).count();
        assert!((bad as f64 / 4000.0 - 0.15).abs() < 4.0 * (0.15f64 * 0.85 / 4000.0).sqrt(), "{bad}");
        assert_eq!((0..4000).filter(|&trial| lost(&DIPS, 7.0e6, 1000, trial) > 0).count(), 0);
    }
}
