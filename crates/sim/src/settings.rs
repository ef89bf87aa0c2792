//! What of a simulated system can be chosen.

use crate::System;
use dropline_trial::{Rate, seed};
use rand::Rng as _;
use std::time::Duration;

/// The parameters of a `sim:` target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Capacity C of the system; `None` draws one near the nominal capacity from the seed.
    pub capacity: Option<Rate>,
    /// What a trial costs on top of its duration.
    pub overhead: Duration,
    /// Chance of the capacity. The chance of trials comes from the traffic profile.
    pub seed: u64,
}

impl Settings {
    /// What a trial cost on the testbeds whose search times are known, on top of its duration.
    pub const OVERHEAD: Duration = Duration::from_millis(500);

    /// The capacity these settings give `system`: the one chosen, else nominal · e^U(−0.1, 0.1), so that
    /// no search profits from a lucky number.
    pub fn capacity_of(&self, system: System) -> Rate {
        let drawn = || {
            let exponent: f64 = seed::generator(self.seed).random_range(-0.1..0.1);
            system.nominal_capacity().as_millipps() as f64 * libm::exp(exponent)
        };
        self.capacity.unwrap_or_else(|| Rate::from_millipps(libm::round(drawn()) as u64))
    }
}

impl Default for Settings {
    /// A capacity drawn by seed 7, half a second of overhead a trial.
    fn default() -> Self {
        Self { capacity: None, overhead: Self::OVERHEAD, seed: 7 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_capacity_is_within_ten_per_cent_of_the_nominal_one_and_the_same_for_the_same_seed() {
        let hard = System::named("hard").unwrap();
        let drawn = |seed| Settings { seed, ..Settings::default() }.capacity_of(hard).as_pps();
        let logs: Vec<f64> = (0..500).map(|seed| libm::log(drawn(seed) / 9e6)).collect();
        assert!(logs.iter().all(|log| log.abs() < 0.1));
        assert!(logs.iter().any(|&log| log > 0.09) && logs.iter().any(|&log| log < -0.09));
        assert_eq!(drawn(3), drawn(3));
    }

    #[test]
    fn a_chosen_capacity_is_taken_as_it_is() {
        let capacity = Rate::pps(123.0).unwrap();
        let settings = Settings { capacity: Some(capacity), ..Settings::default() };
        assert_eq!(settings.capacity_of(System::named("soft").unwrap()), capacity);
    }
}
