//! The kernel's stamps, told in the time of the trial.

/// Joins two clocks: the kernel stamps packets with the one that can be set (`CLOCK_REALTIME`), the schedule
/// runs by the one that cannot (`CLOCK_MONOTONIC`).
///
/// The rules:
/// 1. Each time stamps are read, both clocks are read too; their difference then is the *offset*.
/// 2. A stamp minus the offset is a time of the trial. It is believed if it lies between the earliest and the
///    latest moment it can be of: when its packet left, and when the stamp was read.
/// 3. Else the clock was set between the stamp and the reading of it: the offset of the reading before is
///    tried, under the same condition.
/// 4. Else the stamp is of no known moment. It is not used, and counted.
///
/// So no step of the clock, however large, moves a time out of the window that the unsettable clock gives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockJoin {
    offset_ns: Option<i64>,
    before_ns: Option<i64>,
    /// Whether the offset is of an interrupted reading: all there is until one that was not.
    rough: bool,
    read_at_ns: u64,
    /// How often the clock was set.
    pub(crate) steps: u64,
    /// By how much at most, either way.
    pub(crate) largest_step_ns: u64,
    /// Stamps of no known moment.
    pub(crate) unknown: u64,
}

/// The two clocks are read one after the other; a stamp may lie outside its window by this much.
const READING_NS: i64 = 2_000;
/// Both clocks are read within this time, unless somebody else had the CPU in between.
const INTERRUPTED_NS: u64 = 20_000;
/// A difference in the offset that no interrupted reading explains.
const STEP_NS: u64 = 50_000;
/// The kernel slews the settable clock by at most this (500 ppm), twice over.
const SLEW_PER_NS: f64 = 1e-3;

impl ClockJoin {
    /// The settable clock was read between two readings of the other, in ns after the start. If much lies
    /// between those, the thread was interrupted, and the reading says nothing.
    pub(crate) fn observe(&mut self, trial_ns: u64, real_ns: i64, after_ns: u64) {
        let interrupted = after_ns.saturating_sub(trial_ns) > INTERRUPTED_NS;
        if self.offset_ns.is_some() && interrupted {
            return;
        }
        let offset = real_ns.saturating_sub(trial_ns as i64);
        if let Some(last) = self.offset_ns.filter(|_| !self.rough) {
            let moved = offset.abs_diff(last);
            let slewed = trial_ns.saturating_sub(self.read_at_ns) as f64 * SLEW_PER_NS;
            if moved > STEP_NS + slewed as u64 {
                self.steps += 1;
                self.largest_step_ns = self.largest_step_ns.max(moved);
                self.before_ns = Some(last);
            }
        }
        self.offset_ns = Some(offset);
        self.rough = interrupted;
        self.read_at_ns = trial_ns;
    }

    /// When a stamp was taken, in ns after the start, between `earliest_ns` and `latest_ns`.
    pub(crate) fn trial_ns(&mut self, stamp_ns: i64, earliest_ns: u64, latest_ns: u64) -> Option<u64> {
        let (earliest, latest) = (earliest_ns as i64, latest_ns as i64);
        let believed = |offset: i64| {
            let at = stamp_ns.checked_sub(offset)?;
            (at >= earliest - READING_NS && at <= latest + READING_NS).then(|| at.clamp(earliest, latest))
        };
        let at = self.offset_ns.and_then(believed).or_else(|| self.before_ns.and_then(believed));
        if at.is_none() {
            self.unknown += 1;
        }
        at.map(|at| at as u64)
    }

    /// Adds what another receiver met.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.steps = self.steps.max(other.steps);
        self.largest_step_ns = self.largest_step_ns.max(other.largest_step_ns);
        self.unknown += other.unknown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EPOCH: i64 = 1_790_000_000_000_000_000;

    #[test]
    fn a_stamp_is_told_in_the_time_of_the_trial() {
        let mut join = ClockJoin::default();
        assert_eq!(join.trial_ns(EPOCH, 0, 10), None, "no clock was read yet");
        join.observe(5_000, EPOCH + 5_000, 5_000);
        assert_eq!(join.trial_ns(EPOCH + 4_000, 3_000, 5_000), Some(4_000));
        assert_eq!((join.steps, join.unknown), (0, 1));
    }

    #[test]
    fn a_step_between_stamp_and_reading_does_not_move_the_time() {
        for step in [-3_600_000_000_000, -1_000_000, 60_000, 1_000_000, 3_600_000_000_000] {
            let mut join = ClockJoin::default();
            join.observe(1_000_000, EPOCH + 1_000_000, 1_000_000);
            join.observe(2_000_000, EPOCH + step + 2_000_000, 2_000_100);
            let old = join.trial_ns(EPOCH + 1_500_000, 1_490_000, 2_000_000);
            let new = join.trial_ns(EPOCH + step + 1_900_000, 1_890_000, 2_000_000);
            assert_eq!((new, join.steps), (Some(1_900_000), 1), "{step}");
            // A small step leaves both readings possible; the window bounds the error.
            assert!(
                old == Some(1_500_000) || (old == Some(1_500_000 - step as u64) && step == 60_000),
                "{old:?}"
            );
            assert_eq!((join.largest_step_ns, join.unknown), (step.unsigned_abs(), 0));
        }
    }

    #[test]
    fn a_clock_that_is_slewed_was_not_set() {
        let mut join = ClockJoin::default();
        for second in 0..100 {
            let now = second * 1_000_000_000;
            join.observe(now, EPOCH + second as i64 * 1_000_500_000, now);
        }
        assert_eq!(join.steps, 0);
    }

    #[test]
    fn a_reading_that_was_interrupted_is_no_step() {
        let mut join = ClockJoin::default();
        join.observe(1_000_000, EPOCH + 1_000_000, 1_000_050);
        join.observe(2_000_000, EPOCH + 5_000_000, 5_000_050);
        assert_eq!((join.steps, join.trial_ns(EPOCH + 4_000_000, 0, 6_000_000)), (0, Some(4_000_000)));
    }

    #[test]
    fn a_first_reading_that_was_interrupted_is_only_better_than_none() {
        let mut join = ClockJoin::default();
        join.observe(1_000_000, EPOCH + 1_900_000, 1_900_050);
        assert_eq!(join.trial_ns(EPOCH + 1_900_000, 0, 2_000_000), Some(1_000_000));
        join.observe(2_000_000, EPOCH + 2_000_000, 2_000_050);
        assert_eq!((join.steps, join.trial_ns(EPOCH + 1_900_000, 0, 2_000_000)), (0, Some(1_900_000)));
    }

    #[test]
    fn a_stamp_of_no_known_moment_is_counted_and_not_used() {
        let mut join = ClockJoin::default();
        join.observe(1_000_000, EPOCH + 1_000_000, 1_000_000);
        assert_eq!(join.trial_ns(EPOCH + 7_000_000, 0, 1_000_000), None, "after it was read");
        assert_eq!(join.trial_ns(EPOCH + 100_000, 500_000, 1_000_000), None, "before its packet left");
        assert_eq!(join.unknown, 2);
    }

    proptest! {
        #[test]
        fn no_step_moves_a_time_out_of_its_window(
            steps in prop::collection::vec((1u64..50_000_000, -10_000_000_000i64..10_000_000_000), 1..20),
            age in 0u64..1_000_000, jitter in 0u64..500_000,
        ) {
            let mut join = ClockJoin::default();
            let (mut now, mut shift) = (1_000_000_000, 0);
            for (wait, step) in steps {
                now += wait;
                shift += step;
                join.observe(now, EPOCH + shift + now as i64, now);
                let taken = now.saturating_sub(age);
                let window = (taken.saturating_sub(jitter), now);
                if let Some(at) = join.trial_ns(EPOCH + shift + taken as i64, window.0, window.1) {
                    prop_assert!(at >= window.0 && at <= window.1);
                }
            }
        }
    }
}
