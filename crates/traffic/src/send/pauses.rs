//! When a sender was away: what left late for that, and what it does not catch up.

use dropline_trial::{Disturbance, TrialInput};

/// The pauses of one sender: what takes no time to speak of took long, for others had the CPU, or it was stopped.
///
/// Behind a short pause what is due leaves together, as on any machine that does something else now and then, and what
/// was too late is counted. Behind a long one that would be a burst that nobody asked for: it is not offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    forgiven_ns: u64,
    given_up_ns: u64,
    /// How late what was due next was, when it was looked at last.
    late_ns: u64,
    /// Since a pause that is not forgiven there was always something due.
    behind: bool,
    /// The end of a pause that is too long to catch up.
    away_until: Option<u64>,
    displaced: u64,
}

impl Pauses {
    /// Those of a trial of this load. Of one that no sender keeps up with they say nothing.
    pub(crate) fn of(input: TrialInput) -> Self {
        if input.load.as_pps() > FASTEST_PPS {
            return Self::ignored();
        }
        Self {
            forgiven_ns: Disturbance::forgiven(input).as_nanos() as u64,
            given_up_ns: Disturbance::given_up(input).as_nanos() as u64,
            ..Self::ignored()
        }
    }

    /// Nobody asks.
    pub(crate) fn ignored() -> Self {
        Self {
            forgiven_ns: u64::MAX,
            given_up_ns: u64::MAX,
            late_ns: 0,
            behind: false,
            away_until: None,
            displaced: 0,
        }
    }

    /// What is due next, and what time it is. A sender that is late already, without a pause, is overloaded: a pause
    /// then changes nothing.
    pub(crate) fn look(&mut self, due_ns: u64, now_ns: u64) {
        self.late_ns = now_ns.saturating_sub(due_ns);
        self.behind &= due_ns <= now_ns;
    }

    /// A step that takes no time to speak of went on from then until now.
    pub(crate) fn step(&mut self, from_ns: u64, now_ns: u64) {
        let took = now_ns.saturating_sub(from_ns);
        self.behind |= took > self.forgiven_ns && self.late_ns <= self.forgiven_ns;
        if took > self.given_up_ns && self.late_ns <= self.given_up_ns {
            self.away_until = Some(now_ns);
        }
    }

    /// What is due before then is not offered; `None` where the sender was not away for long.
    pub(crate) fn given_up(&mut self) -> Option<u64> {
        let until = self.away_until.take();
        self.behind &= until.is_none();
        until
    }

    /// A packet that was due then left then.
    pub(crate) fn left(&mut self, due_ns: u64, left_ns: u64) {
        self.displaced += u64::from(self.behind && left_ns.saturating_sub(due_ns) > self.forgiven_ns);
    }

    /// Packets that left late behind a pause.
    pub(crate) fn displaced(&self) -> u64 {
        self.displaced
    }
}

/// At more, what a pause leaves out would fall due faster than it is left out.
const FASTEST_PPS: f64 = 10e6;

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::Rate;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// At 10 kpps: 1 ms is forgiven, 75 ms are caught up.
    fn pauses() -> Pauses {
        let load = Rate::from_millipps(10_000_000);
        Pauses::of(TrialInput { load, duration: Duration::from_secs(1) })
    }

    #[test]
    fn what_leaves_late_behind_a_pause_is_displaced_until_the_sender_has_caught_up() {
        let mut pauses = pauses();
        pauses.step(5 * MS, 8 * MS);
        assert_eq!(pauses.given_up(), None, "3 ms are caught up");
        pauses.left(5 * MS, 8 * MS);
        pauses.left(7 * MS, 8 * MS);
        assert_eq!(pauses.displaced(), 1, "1 ms is forgiven");
        pauses.look(10 * MS, 9 * MS);
        pauses.left(5 * MS, 9 * MS);
        assert_eq!(pauses.displaced(), 1, "a burst that takes its time is no pause");
    }

    #[test]
    fn a_burst_that_is_sent_packet_by_packet_is_late_and_not_displaced() {
        let mut pauses = pauses();
        for packet in 0..20_000 {
            pauses.step(2_000 * packet, 2_000 * (packet + 1));
            pauses.left(0, 2_000 * packet);
        }
        assert_eq!((pauses.displaced(), pauses.given_up()), (0, None));
    }

    #[test]
    fn behind_a_long_pause_nothing_is_caught_up() {
        let mut pauses = pauses();
        pauses.step(0, 75 * MS);
        assert_eq!(pauses.given_up(), None);
        pauses.step(0, 75 * MS + 1);
        assert_eq!(pauses.given_up(), Some(75 * MS + 1));
        assert_eq!(pauses.given_up(), None, "once");
        pauses.left(0, 76 * MS);
        assert_eq!(pauses.displaced(), 0, "what it sends now is due now");
    }

    #[test]
    fn a_pause_of_a_sender_that_is_overloaded_changes_nothing() {
        let mut pauses = pauses();
        pauses.look(0, 2 * MS);
        pauses.step(2 * MS, 60 * MS);
        pauses.left(0, 60 * MS);
        assert_eq!(pauses.displaced(), 0, "it would have been late anyway");
        pauses.look(0, 75 * MS);
        pauses.step(75 * MS, 200 * MS);
        assert_eq!(pauses.given_up(), Some(200 * MS));
        pauses.look(0, 76 * MS);
        pauses.step(76 * MS, 200 * MS);
        assert_eq!(pauses.given_up(), None, "what is missing at the end is not offered anyway");
        let load = Rate::from_millipps(10_000_000_001);
        let mut fast = Pauses::of(TrialInput { load, duration: Duration::from_secs(1) });
        fast.step(0, 1000 * MS);
        assert_eq!(fast.given_up(), None, "nobody keeps up with that");
    }
}
