//! A bound on the delay: what comes back later is not forwarded.

use crate::{Caveat, Trial};
use dropline_stats::Histogram;
use std::time::Duration;

/// Place of packets that came back too late.
pub const LATE: &str = "late";
const UNEXPLAINED: &str = "unexplained";

impl Trial {
    /// Takes packets that came back later than `bound` for lost, at the place `late`, as a client does that waits no longer.
    ///
    /// Counted is from when a packet left, where that was measured, and else from when it was due: our own lateness is not
    /// the target's. The bound is that of the histogram's cell, at most a thousandth longer. Packets of which the delay is
    /// not known are counted as dropped by our own side: of them nobody knows whether they came in time. Where a program told the
    /// delays of a part of the replies, that part stands for all.
    pub fn forward_within(&mut self, bound: Duration) {
        self.forward_within_in_each_direction(bound);
        let delay = if self.service_delay.histogram.is_some() { &self.service_delay } else { &self.delay };
        let bound_ns = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        let known = delay.histogram.as_ref().map_or(0, Histogram::count).saturating_add(delay.negative);
        let late = delay.histogram.as_ref().map_or(0, |all| above(all, bound_ns)).min(self.forwarded);
        let is_part =
            known > 0 && self.caveats.iter().any(|caveat| matches!(caveat, Caveat::DelaysOfPart { .. }));
        let (late, unknown) = match is_part {
            true => (share_of(self.forwarded, late, known), 0),
            false => (late, self.forwarded.saturating_sub(known)),
        };
        if late > 0 {
            let lost = self.lost();
            let places = self.lost_at.get_or_insert_default();
            if places.is_empty() && lost > 0 {
                places.insert(UNEXPLAINED.into(), lost);
            }
            *places.entry(LATE.into()).or_default() += late;
        }
        self.forwarded -= late + unknown;
        self.generator_lost += unknown;
        if unknown > 0 && !self.caveats.iter().any(|caveat| caveat.code() == "delay_unknown") {
            self.caveats.push(Caveat::DelayUnknown { packets: unknown });
        }
    }
}

/// As large a part of all as `some` is of `known`, rounded up: what is late at all is not nothing.
fn share_of(all: u64, some: u64, known: u64) -> u64 {
    let share = (u128::from(all) * u128::from(some)).div_ceil(u128::from(known));
    u64::try_from(share).unwrap_or(u64::MAX).min(all)
}

/// How many delays are in cells beyond that of the bound.
fn above(delays: &Histogram, bound_ns: u64) -> u64 {
    delays.ranges().filter(|(low, _, _)| *low > bound_ns).map(|(_, _, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delay, Rate, Ratio, TrialInput};

    const BOUND: Duration = Duration::from_micros(200);

    /// A thousand packets, of which so many came back: all in 100 us but those that took 300 us.
    fn trial(forwarded: u64, late: u64) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(1_000_000), duration: Duration::from_secs(1) };
        let mut delays = Histogram::new();
        delays.record_n(100_000, forwarded - late);
        delays.record_n(300_000, late);
        let (intended, delay) = (Some(1000), Delay::of(delays));
        Trial { intended, offered: 1000, forwarded, delay, ..Trial::new(1, input, 7) }
    }

    #[test]
    fn what_comes_back_too_late_is_lost_where_it_was_late() {
        let mut trial = trial(990, 30);
        trial.forward_within(BOUND);
        assert_eq!((trial.forwarded, trial.lost()), (960, 40));
        let places = trial.lost_at.as_ref().unwrap();
        assert_eq!((places["late"], places["unexplained"]), (30, 10));
        assert_eq!(trial.delay.histogram.as_ref().map(Histogram::count), Some(990), "delays stay known");
        assert!(trial.exceeds(Ratio::new(0.039).unwrap()) && !trial.exceeds(Ratio::new(0.04).unwrap()));
    }

    #[test]
    fn a_bound_that_all_keep_changes_nothing() {
        for bound in [Duration::from_micros(300), Duration::MAX] {
            let mut trial = trial(990, 30);
            let before = trial.clone();
            trial.forward_within(bound);
            assert_eq!(trial, before);
        }
    }

    #[test]
    fn what_left_late_is_measured_from_when_it_left() {
        let mut trial = trial(1000, 30);
        let mut served = Histogram::new();
        served.record_n(100_000, 1000);
        trial.service_delay = Delay::of(served);
        trial.forward_within(BOUND);
        assert_eq!((trial.forwarded, trial.lost_at), (1000, None));
    }

    #[test]
    fn delays_of_a_part_of_the_replies_stand_for_all_and_the_others_are_not_late() {
        let mut trial = trial(100, 1);
        trial.forwarded = 990;
        trial.caveats.push(Caveat::DelaysOfPart { known: 100, replies: 990 });
        trial.forward_within(BOUND);
        assert_eq!((trial.forwarded, trial.lost(), trial.generator_lost), (980, 20, 0));
        assert_eq!(trial.lost_at.as_ref().unwrap()["late"], 10);
        assert!(!trial.is_void_at(Ratio::ZERO));
    }

    #[test]
    fn packets_of_unknown_delay_are_neither_in_time_nor_the_targets_loss() {
        let mut trial = trial(900, 0);
        trial.forwarded = 1000;
        trial.forward_within(BOUND);
        assert_eq!((trial.forwarded, trial.lost(), trial.generator_lost), (900, 0, 100));
        assert!(trial.is_void_at(Ratio::ZERO));
    }
}
