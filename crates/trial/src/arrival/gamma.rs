//! Independent gamma-distributed times between departures.

use super::parameters::positive;
use super::{Draw, Kind, Process, mean_ns, mean_packets, strays};
use crate::{TrialInput, seed};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Gamma as GammaLaw};
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "gamma",
    written: "gamma:shape=0.5",
    about: "gamma-distributed gaps with variation 1 ÷ √shape: below 1 burstier than Poisson, above 1 more even",
    read: |parameters| {
        let shape = parameters.need("shape", |word| {
            let range = || format!("{word} is not from 0.001 to 1000000");
            let shape = positive(word)?;
            if (1e-3..=1e6).contains(&shape) { Ok(shape) } else { Err(range()) }
        })?;
        Ok(Arc::new(Gamma { shape }))
    },
};

/// Gaps with mean 1 ÷ load.
#[derive(Debug)]
struct Gamma {
    shape: f64,
}

impl Process for Gamma {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn slack(&self, input: TrialInput) -> f64 {
        // Gaps vary by 1 ÷ √shape of their mean, and so does what falls into many of them.
        strays(mean_packets(input), 1.0 / self.shape, f64::max(1.0, 1.0 / self.shape))
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        let law = GammaLaw::new(self.shape, mean_ns(input.load) / self.shape).expect("both are above 0");
        Box::new(Gaps { law, at_ns: 0.0, chance: seed::generator(seed) })
    }
}

impl fmt::Display for Gamma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:shape={}", KIND.name, self.shape)
    }
}

#[derive(Debug)]
struct Gaps {
    law: GammaLaw<f64>,
    at_ns: f64,
    chance: ChaCha8Rng,
}

impl Draw for Gaps {
    fn next(&mut self) -> Option<u64> {
        self.at_ns += self.law.sample(&mut self.chance);
        Some(self.at_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arrival, Rate, TrialInput};
    use dropline_stats::Spacing;
    use std::time::Duration;

    #[test]
    fn the_shape_sets_the_variation() {
        let input = TrialInput { load: Rate::pps(10_000.0).unwrap(), duration: Duration::from_secs(20) };
        for shape in [0.25, 1.0, 4.0] {
            let arrival: Arrival = format!("gamma:shape={shape}").parse().unwrap();
            let mut spacing = Spacing::new();
            arrival.departures(input, 1).for_each(|due| spacing.event(due));
            let variation = spacing.variation().unwrap();
            assert!((variation * f64::sqrt(shape) - 1.0).abs() < 0.02, "{shape}: {variation}");
        }
    }
}
