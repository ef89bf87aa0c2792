//! The first load of a search, which is far above the knee: was the target only overloaded, or cold?
//!
//! When less came through than what turns out to be the capacity, the same load again tells.

use super::view::View;
use dropline_trial::{LoadRange, Rate, Trial};

/// Loss below this share is no overload.
const OVERLOAD: f64 = 0.1;
/// A first trial that forwarded less than the lower end by this, on a logarithmic scale, is made again.
const SLOW: f64 = 0.03;
/// And by so many standard deviations of the trials' capacities.
const SLOW_SCATTERS: f64 = 8.0;
/// Share of the way to the lower end that it must have come then to have been cold.
const CATCHES_UP: f64 = 0.6;

/// What the first load showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum First {
    /// No trial yet, or one that says nothing.
    Unknown,
    /// What came through a second, as a logarithm.
    Forwarded { load: Rate, log_pps: f64 },
    /// Tried again, as which trial; whether it found a faster target then, and what a slow one is.
    Settled { faster: bool, number: usize, slow: f64 },
}

impl First {
    /// Learns from trial `number`, when the first goal looks like this.
    pub(super) fn note(&mut self, trial: &Trial, number: usize, view: Option<&View>) {
        let load = trial.input.load;
        let Some(loss) = trial.loss_ratio().filter(|&loss| loss < 1.0) else { return };
        let log_pps = libm::log(load.as_pps() * (1.0 - loss));
        if number == 1 && loss > OVERLOAD {
            *self = Self::Forwarded { load, log_pps };
        }
        if let Self::Forwarded { load: first, log_pps: before } = *self
            && number > 1
            && load == first
            && let Some(view) = view
        {
            let faster = log_pps > before + CATCHES_UP * (view.lower - before);
            *self = Self::Settled { faster, number, slow: 0.5 * (before + view.lower) };
        } else if let Self::Settled { faster: true, number: again, slow } = *self
            && loss > 0.0
            && log_pps < slow
        {
            // Slow again: not cold at first, but slow now and then.
            *self = Self::Settled { faster: false, number: again, slow };
        }
    }

    /// The first load, when it has to be tried again: the lowest interval begins far above what came through,
    /// for trials that scatter by so much.
    pub(super) fn again(&self, lowest: f64, scatter: f64, range: LoadRange) -> Option<Rate> {
        let slow = SLOW.max(SLOW_SCATTERS * scatter);
        match *self {
            Self::Forwarded { load, log_pps } if load <= range.max() && log_pps < lowest - slow => Some(load),
            _ => None,
        }
    }

    /// Number of the trial that showed that the first ones found a slower target.
    pub(super) fn cold_until(&self) -> Option<usize> {
        match *self {
            Self::Settled { faster: true, number, .. } => Some(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::TrialInput;
    use std::time::Duration;

    /// Notes trials of 10 Mpps, but the last of a load of its own, that let so many packets a second through.
    fn first(forwarded: &[u64]) -> First {
        let view = View { lower: libm::log(5e6), median: libm::log(5.01e6), upper: libm::log(5.02e6) };
        let mut first = First::Unknown;
        for (&forwarded, number) in forwarded.iter().zip(1..) {
            let load = Rate::from_millipps(if number > 2 { 5_100_000_000 } else { 10_000_000_000 });
            let input = TrialInput { load, duration: Duration::from_secs(1) };
            let offered = load.packets_in(input.duration);
            let trial = Trial { offered, forwarded, ..Trial::new(number as u64, input, 1) };
            first.note(&trial, number, Some(&view));
        }
        first
    }

    #[test]
    fn a_first_trial_that_was_slow_alone_found_a_cold_target() {
        assert_eq!(first(&[4_000_000, 5_000_000]).cold_until(), Some(2));
        assert_eq!(first(&[4_000_000, 5_000_000, 5_010_000]).cold_until(), Some(2));
        assert_eq!(first(&[4_000_000, 4_010_000]).cold_until(), None, "it droops in overload");
    }

    #[test]
    fn a_target_that_is_slow_again_later_was_not_cold() {
        assert_eq!(first(&[4_000_000, 5_000_000, 4_000_000]).cold_until(), None);
    }
}
