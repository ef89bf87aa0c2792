//! The first load of a search, which is far above the knee: was the target only overloaded, or cold, or faster then?
//!
//! When less came through than what turns out to be the capacity, or more, the same load again tells.

use super::constants::first_load::{COMES, COMES_SCATTERS, LATE, OFF, OFF_SCATTERS, OVERLOAD, SETTLED};
use super::model::Evidence;
use dropline_trial::{LoadRange, Rate};

/// What the first load showed; forwarded rates a second are logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FirstLoad {
    /// No trial yet.
    Unknown,
    /// It was no overload, or nothing came through.
    Nothing,
    /// What came through, as which trial.
    Forwarded { number: usize, load: Rate, log_pps: f64 },
    /// Tried again; what came through before and then, as which trials, and whether as little did later on.
    Again { before: (usize, f64), then: (usize, f64), slow_later: bool },
}

impl FirstLoad {
    /// Learns from a trial that was made at a load.
    pub(super) fn note(&mut self, trial: &Evidence, load: Rate) {
        let (number, loss) = (trial.number, trial.loss_ratio());
        let log_pps = trial.log_forwarded();
        match self {
            Self::Unknown if loss > OVERLOAD && loss < 1.0 => {
                *self = Self::Forwarded { number, load, log_pps }
            }
            Self::Unknown => *self = Self::Nothing,
            Self::Forwarded { load: first, .. } if load == *first && loss >= 1.0 => *self = Self::Nothing,
            Self::Forwarded { number: first, load: of_first, log_pps: before } if load == *of_first => {
                *self = Self::Again { before: (*first, *before), then: (number, log_pps), slow_later: false };
            }
            Self::Again { before, then, slow_later } => {
                *slow_later |= trial.lost > 0.0 && loss < 1.0 && log_pps < 0.5 * (before.1 + then.1);
            }
            _ => {}
        }
    }

    /// The first load, when it has to be tried again: the lowest interval begins far above what came through, or the
    /// highest ends far below it, after so many trials that scatter by so much, when so many are left.
    pub(super) fn again(
        &self,
        (lowest, highest): (f64, f64),
        (trials, left): (usize, usize),
        scatter: f64,
        range: LoadRange,
    ) -> Option<Rate> {
        let off = off(scatter);
        let Self::Forwarded { load, log_pps, .. } = *self else { return None };
        let is_off =
            log_pps < lowest - off || (log_pps > highest + off && (trials >= SETTLED || left <= LATE));
        (load <= range.max() && is_off).then_some(load)
    }

    /// What its trials let through, as their numbers and logarithms: the target could do that much then.
    pub(super) fn shown(&self) -> Vec<(usize, f64)> {
        match *self {
            Self::Unknown | Self::Nothing => Vec::new(),
            Self::Forwarded { number, log_pps, .. } => vec![(number, log_pps)],
            Self::Again { before, then, .. } => vec![before, then],
        }
    }

    /// What it let through at first, far more than where the highest interval ends, and much less of when it was tried
    /// again: by what is known now of that end, and of how much trials scatter.
    pub(super) fn slowed(&self, highest: f64, scatter: f64) -> bool {
        match *self {
            Self::Again { before: (_, before), then: (_, then), .. } if before > highest + off(scatter) => {
                let slower = (COMES * (before - highest)).max(COMES_SCATTERS * scatter);
                before - then > slower
            }
            _ => false,
        }
    }

    /// Whether the target was as slow again after the first load found it faster.
    pub(super) fn is_slow_later(&self) -> bool {
        matches!(self, Self::Again { slow_later: true, .. })
    }

    /// Number of the trial that showed that the first ones found a slower target, by what is known now: where the
    /// lowest interval begins, far above what came through at first, and how much trials scatter. A target that was as slow later on is slow now and then,
    /// and was not cold.
    pub(super) fn cold_until(&self, lowest: f64, scatter: f64) -> Option<usize> {
        match *self {
            Self::Again { before: (_, before), then: (number, then), slow_later: false }
                if before < lowest - off(scatter) =>
            {
                let faster = (COMES * (lowest - before)).max(COMES_SCATTERS * scatter);
                (then - before > faster).then_some(number)
            }
            _ => None,
        }
    }
}

/// By how much what came through is off, for trials that scatter by so much.
fn off(scatter: f64) -> f64 {
    OFF.max(OFF_SCATTERS * scatter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Trial, TrialInput};
    use std::time::Duration;

    /// What is known after trials of 10 Mpps, but those behind the second, let so many packets a second through.
    fn first(forwarded: &[u64]) -> FirstLoad {
        let mut first = FirstLoad::Unknown;
        for (&forwarded, number) in forwarded.iter().zip(1..) {
            let load = Rate::from_millipps(if number > 2 { 5_100_000_000 } else { 10_000_000_000 });
            let input = TrialInput { load, duration: Duration::from_secs(1) };
            let offered = load.packets_in(input.duration);
            let trial = Trial { offered, forwarded, ..Trial::new(number as u64, input, 1) };
            first.note(&Evidence::of(&trial, number).unwrap(), load);
        }
        first
    }

    /// When a target was cold until that bears 5 Mpps.
    fn cold_until(forwarded: &[u64], scatter: f64) -> Option<usize> {
        first(forwarded).cold_until(libm::log(5e6), scatter)
    }

    #[test]
    fn a_first_trial_that_was_slow_alone_found_a_cold_target() {
        assert_eq!(cold_until(&[4_000_000, 5_000_000], 0.002), Some(2));
        assert_eq!(cold_until(&[4_000_000, 5_000_000, 5_010_000], 0.002), Some(2));
        assert_eq!(cold_until(&[4_000_000, 4_010_000], 0.002), None, "it droops in overload");
    }

    #[test]
    fn a_target_that_is_slow_again_later_was_not_cold() {
        assert_eq!(cold_until(&[4_000_000, 5_000_000, 4_000_000], 0.002), None);
    }

    #[test]
    fn a_target_whose_trials_scatter_as_much_was_not_cold() {
        assert_eq!(cold_until(&[4_300_000, 5_000_000], 0.015), Some(2));
        assert_eq!(cold_until(&[4_300_000, 5_000_000], 0.02), None);
        assert_eq!(cold_until(&[4_900_000, 5_000_000], 0.0002), None, "it bears no more than it let through");
    }

    #[test]
    fn the_first_load_is_tried_again_where_it_let_much_less_or_much_more_through() {
        let range =
            LoadRange::new(Rate::from_millipps(1_000_000), Rate::from_millipps(10_000_000_000)).unwrap();
        let again = |forwarded: u64, scatter: f64| {
            first(&[forwarded]).again((libm::log(5e6), libm::log(5.1e6)), (12, 9), scatter, range).is_some()
        };
        assert!(again(4_800_000, 0.002) && again(5_300_000, 0.002));
        assert!(!again(4_900_000, 0.002) && !again(5_200_000, 0.002));
        assert!(!again(4_800_000, 0.006) && !again(5_300_000, 0.006), "trials scatter as much");
        let tried = first(&[5_300_000, 5_000_000]);
        assert_eq!(tried.again((libm::log(5e6), libm::log(5.1e6)), (12, 9), 0.002, range), None, "once");
        let soon = |forwarded, left| {
            first(&[forwarded]).again((libm::log(5e6), libm::log(5.1e6)), (6, left), 0.002, range)
        };
        assert!(soon(4_800_000, 9).is_some() && soon(5_300_000, 9).is_none());
        assert!(soon(5_300_000, 2).is_some(), "before the end it is tried in any case");
        assert_eq!(first(&[10_000, 0]), FirstLoad::Nothing, "and not once more when nothing comes through");
    }

    #[test]
    fn a_target_that_lets_less_of_the_same_load_through_became_slower() {
        let slowed = |forwarded: &[u64], scatter: f64| first(forwarded).slowed(libm::log(5.1e6), scatter);
        assert!(slowed(&[5_400_000, 5_050_000], 0.002));
        assert!(!slowed(&[5_400_000, 5_390_000], 0.002), "more comes through in overload");
        assert!(!slowed(&[5_400_000, 5_050_000], 0.02), "trials scatter as much");
        assert!(!slowed(&[5_400_000], 0.002));
        assert!(!slowed(&[1_230_000, 1_140_000], 0.0002), "overload costs it most of what it bears");
    }
}
