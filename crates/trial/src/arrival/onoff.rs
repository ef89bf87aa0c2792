//! A source that is on and off in turn.

use super::parameters::{choice, duration, written};
use super::{Draw, Kind, Process, mean_ns, mean_packets, strays};
use crate::{TrialInput, seed};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1};
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "onoff",
    written: "onoff:on=10ms,off=90ms[,inside=constant][,periods=fixed]",
    about: "on and off in turn for times of these means, exponential unless `periods=fixed`; while on, poisson at load · (on + off) ÷ on, unless `inside=constant`",
    read: |parameters| {
        Ok(Arc::new(OnOff {
            on_ns: parameters.need("on", duration)?.as_nanos() as u64,
            off_ns: parameters.need("off", duration)?.as_nanos() as u64,
            constant: parameters
                .take("inside", choice(&[("poisson", false), ("constant", true)]))?
                .unwrap_or(false),
            fixed: parameters.take("periods", choice(&[("exp", false), ("fixed", true)]))?.unwrap_or(false),
        }))
    },
};

/// An interrupted Poisson process (Kuczura 1973), or its regular relatives.
#[derive(Debug)]
struct OnOff {
    on_ns: u64,
    off_ns: u64,
    /// Equal gaps while on.
    constant: bool,
    /// Periods are as long as said instead of exponential.
    fixed: bool,
}

impl Process for OnOff {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn slack(&self, input: TrialInput) -> f64 {
        let period_ns = self.on_ns as f64 + self.off_ns as f64;
        let period = input.load.as_pps() * period_ns / 1e9;
        let off = self.off_ns as f64 / period_ns;
        strays(mean_packets(input), 1.0 + 2.0 * period * off * off, f64::max(1.0, period))
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        let (on_ns, off_ns) = (self.on_ns as f64, self.off_ns as f64);
        let mut source = Source {
            on_ns,
            off_ns,
            constant: self.constant,
            fixed: self.fixed,
            gap_ns: mean_ns(input.load) * on_ns / (on_ns + off_ns),
            at_ns: 0.0,
            end_ns: 0.0,
            left_ns: 0.0,
            chance: seed::generator(seed),
        };
        // It begins anywhere: on with the share of time that it is on, at the start of a period.
        let begins_on = source.fixed || source.exponential() * on_ns > source.exponential() * off_ns;
        if !begins_on {
            source.at_ns = source.period(off_ns);
        }
        source.end_ns = source.at_ns + source.period(on_ns);
        source.left_ns = source.gap();
        Box::new(source)
    }
}

impl fmt::Display for OnOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:on={},off={}", KIND.name, written(self.on_ns), written(self.off_ns))?;
        f.write_str(if self.constant { ",inside=constant" } else { "" })?;
        f.write_str(if self.fixed { ",periods=fixed" } else { "" })
    }
}

#[derive(Debug)]
struct Source {
    on_ns: f64,
    off_ns: f64,
    constant: bool,
    fixed: bool,
    /// Mean gap while on.
    gap_ns: f64,
    /// Now, within an on period.
    at_ns: f64,
    /// When that ends.
    end_ns: f64,
    /// Time on until the next packet: periods off do not count, so the mean is exact.
    left_ns: f64,
    chance: ChaCha8Rng,
}

impl Source {
    fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.chance)
    }

    fn gap(&mut self) -> f64 {
        if self.constant { self.gap_ns } else { self.gap_ns * self.exponential() }
    }

    fn period(&mut self, mean_ns: f64) -> f64 {
        if self.fixed { mean_ns } else { mean_ns * self.exponential() }
    }
}

impl Draw for Source {
    fn next(&mut self) -> Option<u64> {
        while self.at_ns + self.left_ns >= self.end_ns {
            self.left_ns -= self.end_ns - self.at_ns;
            let off = self.off_ns;
            self.at_ns = self.end_ns + self.period(off);
            let on = self.on_ns;
            self.end_ns = self.at_ns + self.period(on);
        }
        self.at_ns += self.left_ns;
        self.left_ns = self.gap();
        Some(self.at_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arrival, Rate, TrialInput};
    use dropline_stats::Spacing;
    use std::time::Duration;

    #[test]
    fn fixed_periods_hold_their_packets_while_on_only() {
        let input = TrialInput { load: Rate::pps(1000.0).unwrap(), duration: Duration::from_millis(25) };
        let word = "onoff:on=2ms,off=8ms,inside=constant,periods=fixed";
        let all: Vec<u64> = word.parse::<Arrival>().unwrap().departures(input, 1).collect();
        assert!(all.iter().all(|due| due % 10_000_000 < 2_000_000), "{all:?}");
        assert_eq!(all[..3], [200_000, 400_000, 600_000]);
    }

    #[test]
    fn an_interrupted_poisson_process_has_the_dispersion_of_its_formula() {
        // In windows much longer than its periods: 1 + 2 λ off² ÷ (on + off).
        let input = TrialInput { load: Rate::pps(20_000.0).unwrap(), duration: Duration::from_secs(400) };
        let mut spacing = Spacing::new();
        let word = "onoff:on=200us,off=800us";
        word.parse::<Arrival>().unwrap().departures(input, 1).for_each(|due| spacing.event(due));
        let expected = 1.0 + 2.0 * 20_000.0 * 0.0008f64.powi(2) / 0.001;
        let [_, _, coarse] = spacing.dispersion();
        assert!((coarse.unwrap() / expected - 1.0).abs() < 0.1, "{coarse:?} for {expected}");
    }
}
