//! A load that swings around its mean.

use super::parameters::{choice, duration, percent, share, written};
use super::{Draw, Kind, Process, due_ns, mean_ns, mean_packets, strays};
use crate::{Rate, TrialInput, seed};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1};
use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "sine",
    written: "sine:period=1s,depth=50%[,inside=constant|poisson]",
    about: "a load that swings: load · (1 + depth · sin(2π t ÷ period))",
    read: |parameters| {
        let period_ns = parameters.need("period", duration)?.as_nanos() as u64;
        let depth = parameters.need("depth", |word| {
            let depth = share(word)?;
            if depth <= 1.0 {
                Ok(depth)
            } else {
                Err(format!("{word} is above 100%: the load would fall below 0"))
            }
        })?;
        let inside = parameters.take("inside", choice(&Inside::WORDS))?.unwrap_or(Inside::Constant);
        Ok(Arc::new(Sine { period_ns, depth, inside }))
    },
};

#[derive(Debug)]
struct Sine {
    period_ns: u64,
    depth: f64,
    inside: Inside,
}

impl Process for Sine {
    fn name(&self) -> &'static str {
        KIND.name
    }

    fn slack(&self, input: TrialInput) -> f64 {
        // Half a period has more than its share by this.
        let swing = self.depth / std::f64::consts::PI * input.load.as_pps() * self.period_ns as f64 / 1e9;
        1.0 + swing + self.inside.slack(input)
    }

    fn draw(&self, input: TrialInput, seed: u64) -> Box<dyn Draw> {
        let swing = Swing { period_ns: self.period_ns as f64, depth: self.depth };
        modulated(self.inside, Box::new(swing), input.load, seed)
    }
}

impl fmt::Display for Sine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let depth = percent(self.depth);
        write!(f, "{}:period={},depth={depth}{}", KIND.name, written(self.period_ns), self.inside)
    }
}

/// What a load that changes over time is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Constant,
    Poisson,
}

impl Inside {
    pub(super) const WORDS: [(&'static str, Self); 2] =
        [("constant", Self::Constant), ("poisson", Self::Poisson)];

    /// What chance adds to what the clock does.
    pub(super) fn slack(self, input: TrialInput) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Poisson => strays(mean_packets(input), 1.0, 1.0),
        }
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "",
            Self::Poisson => ",inside=poisson",
        })
    }
}

/// A time that runs faster and slower: departures of a steady process, seen by it, come at a changing rate.
pub(super) trait Clock: fmt::Debug + Send {
    /// When as much has been sent as at a steady rate in `sent_ns`. Never descends.
    fn when(&mut self, sent_ns: f64) -> f64;
}

/// A steady process at this load, seen by the clock.
pub(super) fn modulated(inside: Inside, clock: Box<dyn Clock>, load: Rate, seed: u64) -> Box<dyn Draw> {
    match inside {
        Inside::Constant => Box::new(Even { clock, load, next: 0 }),
        Inside::Poisson => {
            Box::new(Chance { clock, mean_ns: mean_ns(load), sent_ns: 0.0, chance: seed::generator(seed) })
        }
    }
}

#[derive(Debug)]
struct Even {
    clock: Box<dyn Clock>,
    load: Rate,
    next: u64,
}

impl Draw for Even {
    fn next(&mut self) -> Option<u64> {
        let sent_ns = due_ns(self.next, self.load);
        self.next += 1;
        Some(self.clock.when(sent_ns as f64) as u64)
    }
}

#[derive(Debug)]
struct Chance {
    clock: Box<dyn Clock>,
    mean_ns: f64,
    sent_ns: f64,
    chance: ChaCha8Rng,
}

impl Draw for Chance {
    fn next(&mut self) -> Option<u64> {
        let wait: f64 = Exp1.sample(&mut self.chance);
        self.sent_ns += wait * self.mean_ns;
        Some(self.clock.when(self.sent_ns) as u64)
    }
}

/// In a whole period as much leaves as at the mean; in t of it, t + depth · P ÷ 2π · (1 − cos(2π t ÷ P)).
#[derive(Debug)]
struct Swing {
    period_ns: f64,
    depth: f64,
}

impl Clock for Swing {
    fn when(&mut self, sent_ns: f64) -> f64 {
        let whole = libm::floor(sent_ns / self.period_ns);
        let wanted = sent_ns - whole * self.period_ns;
        let sent = |t: f64| {
            let angle = TAU * t / self.period_ns;
            t + self.depth * self.period_ns / TAU * (1.0 - libm::cos(angle))
        };
        // Bisection holds where Newton would leap, which is where the load is near 0.
        let (mut low, mut high) = (0.0, self.period_ns);
        let mut t = wanted;
        while high - low > 0.25 {
            let over = sent(t) - wanted;
            if over > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let slope = 1.0 + self.depth * libm::sin(TAU * t / self.period_ns);
            let step = t - over / slope;
            if libm::fabs(step - t) < 0.05 {
                break;
            }
            t = if step > low && step < high { step } else { (low + high) / 2.0 };
        }
        whole * self.period_ns + t
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arrival, Rate, TrialInput};
    use std::time::Duration;

    fn departures(word: &str, seconds: u64) -> Vec<u64> {
        let input = TrialInput { load: Rate::pps(1000.0).unwrap(), duration: Duration::from_secs(seconds) };
        word.parse::<Arrival>().unwrap().departures(input, 1).collect()
    }

    #[test]
    fn a_swing_sends_more_in_its_first_half_and_the_mean_in_all() {
        let all = departures("sine:period=1s,depth=100%", 100);
        assert_eq!(all.len(), 100_000);
        let first_halves = all.iter().filter(|&&due| due % 1_000_000_000 < 500_000_000).count() as f64;
        // 1/2 + 1/π of them.
        assert!((first_halves / 1e5 - 0.5 - std::f64::consts::FRAC_1_PI).abs() < 2e-3, "{first_halves}");
        assert!(all.is_sorted());
        assert_eq!(all[50_000], 50_000_000_000, "no drift over whole periods");
    }

    #[test]
    fn chance_inside_a_swing_keeps_its_mean() {
        let all = departures("sine:period=100ms,depth=50%,inside=poisson", 100).len() as f64;
        assert!((all - 1e5).abs() < 4.0 * 1e5f64.sqrt(), "{all}");
    }
}
