//! A load that rises or falls over the trial.

use super::parameters::{choice, percent, share};
use super::sine::{Clock, Inside, modulated};
use super::{Draw, Kind, Process};
use crate::TrialInput;
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "ramp",
    written: "ramp:from=10%[,inside=constant|poisson]",
    about: "a load that grows in a straight line from this share; its mean is the load, so 10 % ends at 190 %",
    read: |parameters| {
        let from = parameters.need("from", |word| {
            let from = share(word)?;
            if from <= 2.0 {
                Ok(from)
            } else {
                Err(format!("{word} is above 200%: the load would end below 0"))
            }
        })?;
        let inside = parameters.take("inside", choice(&Inside::WORDS))?.unwrap_or(Inside::Constant);
        Ok(Arc::new(Ramp { from, inside }))
    },
};

/// The share of the load at time t of T is from + 2 (1 − from) t ÷ T.
#[derive(Debug)]
struct Ramp {
    from: f64,
    inside: Inside,
}

impl Process for Ramp {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn slack(&self, input: TrialInput) -> f64 {
        1.0 + self.inside.slack(input)
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        let line = Line { from: self.from, length_ns: input.duration.as_nanos() as f64 };
        modulated(self.inside, Box::new(line), input.load, seed)
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:from={}{}", KIND.name, percent(self.from), self.inside)
    }
}

/// After t ns as much has left as a load of 1 would have sent in from · t + (1 − from) t² ÷ T.
#[derive(Debug)]
struct Line {
    from: f64,
    length_ns: f64,
}

impl Clock for Line {
    fn when(&mut self, sent_ns: f64) -> f64 {
        let slope = (1.0 - self.from) / self.length_ns;
        let root = libm::sqrt((self.from * self.from + 4.0 * slope * sent_ns).max(0.0));
        // Not (root − from) ÷ 2 slope, which loses its digits when the slope is small.
        if self.from + root > 0.0 { 2.0 * sent_ns / (self.from + root) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arrival, Rate, TrialInput};
    use std::time::Duration;

    #[test]
    fn half_of_a_ramp_from_nothing_comes_in_its_last_third_or_so() {
        let input = TrialInput { load: Rate::pps(1000.0).unwrap(), duration: Duration::from_secs(10) };
        let all: Vec<u64> = "ramp:from=0%".parse::<Arrival>().unwrap().departures(input, 1).collect();
        assert_eq!(all.len(), 10_000);
        assert_eq!(all[2_500], 5_000_000_000, "a quarter in the first half");
        let falling: Vec<u64> = "ramp:from=150%".parse::<Arrival>().unwrap().departures(input, 1).collect();
        assert_eq!(falling.iter().filter(|&&due| due < 5_000_000_000).count(), 6_250);
    }
}
