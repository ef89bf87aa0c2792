//! Independent times between departures with a heavy tail.

use super::parameters::positive;
use super::{Draw, Kind, Process, mean_ns, mean_packets};
use crate::{TrialInput, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "pareto",
    written: "pareto:shape=1.5",
    about: "Pareto gaps with a heavy tail, shape above 1; up to 2 their variance is infinite and means settle slowly",
    read: |parameters| {
        let shape = parameters.need("shape", |word| {
            let shape = positive(word)?;
            let range = || format!("{word} is not above 1 (no mean) and at most 1000000");
            if shape > 1.0 && shape <= 1e6 { Ok(shape) } else { Err(range()) }
        })?;
        Ok(Arc::new(Pareto { shape }))
    },
};

/// Gaps least · U^(−1 ÷ shape) with mean 1 ÷ load, so least = (shape − 1) ÷ shape ÷ load.
#[derive(Debug)]
struct Pareto {
    shape: f64,
}

impl Process for Pareto {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn slack(&self, input: TrialInput) -> f64 {
        // No gap is shorter than the least, and any may be as long as the trial.
        mean_packets(input) / (self.shape - 1.0).min(1.0)
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        let least_ns = mean_ns(input.load) * (self.shape - 1.0) / self.shape;
        Box::new(Gaps { least_ns, power: -1.0 / self.shape, at_ns: 0.0, chance: seed::generator(seed) })
    }
}

impl fmt::Display for Pareto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:shape={}", KIND.name, self.shape)
    }
}

#[derive(Debug)]
struct Gaps {
    least_ns: f64,
    power: f64,
    at_ns: f64,
    chance: ChaCha8Rng,
}

impl Draw for Gaps {
    fn next(&mut self) -> Option<u64> {
        // In (0, 1]: the gap is finite.
        let uniform = 1.0 - self.chance.random::<f64>();
        self.at_ns += self.least_ns * libm::pow(uniform, self.power);
        Some(self.at_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arrival, Rate, TrialInput};
    use dropline_stats::Spacing;
    use std::time::Duration;

    #[test]
    fn the_tail_falls_by_the_shape() {
        let input = TrialInput { load: Rate::pps(10_000.0).unwrap(), duration: Duration::from_secs(50) };
        let arrival: Arrival = "pareto:shape=1.5".parse().unwrap();
        let mut spacing = Spacing::new();
        arrival.departures(input, 1).for_each(|due| spacing.event(due));
        // least = 100 us / 3; a tenth of it beyond 10^(2/3) times that.
        let beyond = 1.0 - spacing.share_below((33_333.0 * 10f64.powf(2.0 / 3.0)) as u64).unwrap();
        assert!((beyond - 0.1).abs() < 0.005, "{beyond}");
        assert_eq!(spacing.share_below(33_000), Some(0.0));
    }
}
