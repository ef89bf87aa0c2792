//! When packets leave: schedules computed from the index or drawn beforehand.

use crate::{GapLaw, Rate, TrialInput, seed};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1};
use std::fmt;

/// An arrival process: what the departures of a trial look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arrival {
    /// Equal times between departures (RFC 1242 §3.4).
    Constant,
    /// Independent exponential times between departures (RFC 2330 §11.1.1).
    Poisson,
}

impl Arrival {
    /// All processes, for help texts and errors.
    pub const ALL: [Self; 2] = [Self::Constant, Self::Poisson];

    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        }
    }

    /// Distribution of the gaps between departures at this load.
    pub fn gap_law(self, load: Rate) -> GapLaw {
        let mean_ns = 1e12 / load.as_millipps() as f64;
        match self {
            Self::Constant => GapLaw::Equal { gap_ns: mean_ns },
            Self::Poisson => GapLaw::Exponential { mean_ns },
        }
    }

    /// The departures of one trial, in order, as nanoseconds after its start.
    pub fn departures(self, input: TrialInput, seed: u64) -> Departures {
        let end_ns = u64::try_from(input.duration.as_nanos()).unwrap_or(u64::MAX);
        match self {
            Self::Constant => Departures::Constant {
                load: input.load,
                next: 0,
                count: input.load.packets_in(input.duration),
            },
            Self::Poisson => Departures::Poisson {
                mean_ns: 1e12 / input.load.as_millipps() as f64,
                at_ns: 0.0,
                end_ns,
                chance: Box::new(seed::generator(seed)),
            },
        }
    }
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Arrival {
    type Err = ArrivalError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|arrival| arrival.name() == word)
            .ok_or_else(|| ArrivalError(word.to_owned()))
    }
}

/// A word that names no arrival process.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no arrival process {0:?}; there are constant and poisson")]
pub struct ArrivalError(String);

/// Iterator over the departures of a trial, in nanoseconds after its start.
///
/// How many it yields is the trial's `intended`.
#[derive(Clone, Debug)]
pub enum Departures {
    /// Packet n of a constant load is due at n ÷ load, from the index: off by less than 1 ns for every n.
    Constant {
        /// Load of the trial.
        load: Rate,
        /// Index of the next packet.
        next: u64,
        /// ⌊load · duration⌋.
        count: u64,
    },
    /// Sums of exponential times. The sum is kept in f64: an hour in it is exact to below 1 ns.
    Poisson {
        /// Mean time between departures.
        mean_ns: f64,
        /// The last departure drawn.
        at_ns: f64,
        /// End of the trial.
        end_ns: u64,
        /// Chance of this trial.
        chance: Box<ChaCha8Rng>,
    },
}

impl Iterator for Departures {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Constant { load, next, count } => {
                if *next == *count {
                    return None;
                }
                let due = u128::from(*next) * 1_000_000_000_000 / u128::from(load.as_millipps());
                *next += 1;
                u64::try_from(due).ok()
            }
            Self::Poisson { mean_ns, at_ns, end_ns, chance } => {
                let wait: f64 = Exp1.sample(chance);
                *at_ns += wait * *mean_ns;
                let due = *at_ns as u64;
                (due < *end_ns).then_some(due)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn input(pps: f64, seconds: u64) -> TrialInput {
        TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_secs(seconds) }
    }

    #[test]
    fn a_constant_load_does_not_drift() {
        let departures = Arrival::Constant.departures(input(7_000_000.0, 3), 1);
        let all: Vec<u64> = departures.collect();
        assert_eq!(all.len(), 21_000_000);
        assert_eq!(all[7_000_000], 1_000_000_000, "one second later, not 6 ms earlier");
        assert_eq!(all[20_999_999], 2_999_999_857);
    }

    #[test]
    fn the_same_seed_draws_the_same_arrivals() {
        let draw = |seed| Arrival::Poisson.departures(input(1000.0, 2), seed).collect::<Vec<_>>();
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
    }

    #[test]
    fn poisson_counts_have_the_mean_and_variance_of_poisson() {
        let counts: Vec<f64> =
            (0..2000).map(|seed| Arrival::Poisson.departures(input(100.0, 1), seed).count() as f64).collect();
        let mean = dropline_stats::sample::mean(&counts).unwrap();
        let dispersion = dropline_stats::sample::deviation(&counts).unwrap().powi(2) / mean;
        assert!((mean - 100.0).abs() < 4.0 * (100.0f64 / 2000.0).sqrt(), "{mean}");
        assert!((dispersion - 1.0).abs() < 4.0 * (2.0f64 / 2000.0).sqrt(), "{dispersion}");
    }
}
