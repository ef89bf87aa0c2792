//! Independent exponential times between departures.

use super::{Draw, Kind, Process, mean_ns, mean_packets, strays};
use crate::{GapLaw, Rate, TrialInput, seed};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1};
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "poisson",
    written: "poisson",
    about: "independent exponential times between departures (RFC 2330 §11.1.1)",
    read: |_| Ok(Arc::new(Poisson)),
};

/// Sums of exponential times. The sum is kept in f64: a day in it is exact to below 0.02 ns.
#[derive(Debug)]
pub(super) struct Poisson;

impl Process for Poisson {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn gap_law(&self, load: Rate) -> GapLaw {
        GapLaw::Exponential { mean_ns: mean_ns(load) }
    }

    fn slack(&self, input: TrialInput) -> f64 {
        strays(mean_packets(input), 1.0, 1.0)
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        Box::new(Waits { mean_ns: mean_ns(input.load), at_ns: 0.0, chance: seed::generator(seed) })
    }
}

impl fmt::Display for Poisson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(KIND.name)
    }
}

#[derive(Debug)]
struct Waits {
    mean_ns: f64,
    at_ns: f64,
    chance: ChaCha8Rng,
}

impl Draw for Waits {
    fn next(&mut self) -> Option<u64> {
        let wait: f64 = Exp1.sample(&mut self.chance);
        self.at_ns += wait * self.mean_ns;
        Some(self.at_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use std::time::Duration;

    #[test]
    fn poisson_counts_have_the_mean_and_variance_of_poisson() {
        let input = TrialInput { load: Rate::pps(100.0).unwrap(), duration: Duration::from_secs(1) };
        let poisson = Arrival::poisson();
        let counts: Vec<f64> = (0..2000).map(|seed| poisson.departures(input, seed).count() as f64).collect();
        let mean = dropline_stats::sample::mean(&counts).unwrap();
        let dispersion = dropline_stats::sample::deviation(&counts).unwrap().powi(2) / mean;
        assert!((mean - 100.0).abs() < 4.0 * (100.0f64 / 2000.0).sqrt(), "{mean}");
        assert!((dispersion - 1.0).abs() < 4.0 * (2.0f64 / 2000.0).sqrt(), "{dispersion}");
    }
}
