//! Systems that are not the same in every trial of a search.

use super::{Behaviour, Moment, Offer};
use crate::tails;
use dropline_trial::{Rate, Ratio, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::time::Duration;

/// A hard limit that scatters by 0.2 %, and moves with the number of the trial.
#[derive(Debug)]
pub(super) struct Restless {
    name: &'static str,
    about: &'static str,
    movement: Movement,
}

#[derive(Clone, Copy, Debug)]
enum Movement {
    /// Two limits; a trial changes to the other one now and then.
    States,
    /// Each trial finds a little less.
    Falling,
    /// The first trials find less, the later the less so.
    Warming,
}

/// A clock that is throttled, a flow that moves between cores: what a trial finds is what the last one found.
pub(super) const TWO_STATE: Restless = Restless {
    name: "two-state",
    about: "runs at 0.94 of its limit for some ten trials now and then (a throttled clock)",
    movement: Movement::States,
};

/// A leak, a table that fills, a machine that heats up.
pub(super) const DRIFT: Restless = Restless {
    name: "drift",
    about: "its limit falls by 0.2 % a trial; the true value is that of the first trial (a leak, heat)",
    movement: Movement::Falling,
};

/// Caches, flow tables, just-in-time compilers.
pub(super) const COLD_START: Restless = Restless {
    name: "cold-start",
    about: "the first trials run at 0.8 of its limit, then ever less below it; the true value is that of later ones",
    movement: Movement::Warming,
};

/// Standard deviation of the logarithm of the limit.
const SCATTER: f64 = 0.002;
/// What the slow state leaves of the limit.
const SLOW: f64 = 0.94;
/// Chance that a trial leaves the fast and the slow state: 30 % of all trials are slow.
const LEAVES_FAST: f64 = 0.045;
const LEAVES_SLOW: f64 = 0.105;
/// What each trial takes from the limit.
const FALL: f64 = 0.002;
/// What the first trial lacks, and over how many trials that falls by e.
const COLD: f64 = 0.2;
const WARMS_IN: f64 = 2.0;
/// Chance of the states is drawn apart from the chance of the trials.
const STATES: u64 = 2;

impl Movement {
    /// Share of the limit that a trial finds.
    fn share(self, moment: Moment) -> f64 {
        let before = moment.number.saturating_sub(1) as f64;
        match self {
            Self::States if is_slow(moment) => SLOW,
            Self::States => 1.0,
            Self::Falling => libm::exp(-FALL * before),
            Self::Warming => 1.0 - COLD * libm::exp(-before / WARMS_IN),
        }
    }

    /// How many trials of a hundred run at which share, in the long run; of a fall, its beginning.
    fn shares(self) -> [(f64, f64); 2] {
        let slow = LEAVES_FAST / (LEAVES_FAST + LEAVES_SLOW);
        match self {
            Self::States => [(1.0 - slow, 1.0), (slow, SLOW)],
            Self::Falling | Self::Warming => [(1.0, 1.0), (0.0, 1.0)],
        }
    }
}

/// Whether a trial finds the slow state: the chain is followed from the first trial on.
fn is_slow(moment: Moment) -> bool {
    let mut chance = seed::generator(moment.seed);
    chance.set_stream(STATES);
    let mut slow = chance.random_bool(LEAVES_FAST / (LEAVES_FAST + LEAVES_SLOW));
    for _ in 1..moment.number {
        let leaves = if slow { LEAVES_SLOW } else { LEAVES_FAST };
        slow ^= chance.random_bool(leaves);
    }
    slow
}

impl Behaviour for Restless {
    fn name_and_about(&self) -> [&'static str; 2] {
        [self.name, self.about]
    }

    /// A trial of its own, outside any search, finds the whole limit.
    fn lost(&self, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let z: f64 = StandardNormal.sample(chance);
        let limit = capacity.as_millipps() as f64 * libm::exp(SCATTER * z);
        offer.above(Rate::from_millipps(libm::round(limit) as u64))
    }

    fn lost_at(&self, moment: Moment, capacity: Rate, offer: &Offer, chance: &mut ChaCha8Rng) -> u64 {
        let found = capacity.as_millipps() as f64 * self.movement.share(moment);
        self.lost(Rate::from_millipps(libm::round(found) as u64), offer, chance)
    }

    fn truth(&self, capacity: Rate, loss_ratio: Ratio, _: Duration, probability: f64) -> Option<Rate> {
        let good = 1.0 - loss_ratio.as_f64();
        let exceeds = |multiple: f64| {
            let below = |share: f64| tails::normal_below(libm::log(multiple * good / share) / SCATTER);
            self.movement.shares().iter().map(|&(often, share)| often * below(share)).sum()
        };
        tails::highest_load(capacity, 4.0 / good, probability, exceeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_trials_of_ten_are_slow_and_neighbours_are_alike() {
        let states: Vec<bool> =
            (0..400).flat_map(|seed| (1..=25).map(move |number| is_slow(Moment { number, seed }))).collect();
        let slow = states.iter().filter(|&&slow| slow).count() as f64 / states.len() as f64;
        assert!((slow - 0.3).abs() < 0.04, "{slow}");
        let changes =
            states.chunks(25).flat_map(|run| run.windows(2)).filter(|pair| pair[0] != pair[1]).count();
        let share = changes as f64 / (400.0 * 24.0);
        assert!((share - 2.0 * 0.7 * LEAVES_FAST).abs() < 0.012, "{share}");
    }

    #[test]
    fn a_drift_begins_with_the_limit_and_a_cold_start_ends_with_it() {
        let share = |movement: Movement, number| movement.share(Moment { number, seed: 1 });
        assert_eq!(share(Movement::Falling, 1), 1.0);
        assert!((share(Movement::Falling, 11) - libm::exp(-0.02)).abs() < 1e-12);
        assert!((share(Movement::Warming, 1) - 0.8).abs() < 1e-12);
        assert!(share(Movement::Warming, 20) > 0.9999);
    }
}
