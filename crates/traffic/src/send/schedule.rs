//! The departures of one trial, drawn before they are needed.

use dropline_trial::Departures;
use std::collections::VecDeque;

/// Departures in order. Chance is drawn while nothing is due.
pub(crate) struct Schedule {
    departures: Departures,
    ahead: VecDeque<u64>,
    taken: u64,
}

/// Room for departures that are known already.
const AHEAD: usize = 1 << 15;
/// Drawn at a time: about 3 us for Poisson arrivals.
const DRAW: usize = 256;

impl Schedule {
    /// Draws the first departures.
    pub(crate) fn new(departures: Departures) -> Self {
        let mut schedule = Self { departures, ahead: VecDeque::with_capacity(AHEAD), taken: 0 };
        schedule.draw(AHEAD);
        schedule
    }

    /// When the next packet is due, in ns after the start; `None` after the last.
    pub(crate) fn due(&mut self) -> Option<u64> {
        if self.ahead.is_empty() {
            self.draw(DRAW);
        }
        self.ahead.front().copied()
    }

    /// The packet that was due has been dealt with.
    pub(crate) fn take(&mut self) {
        self.ahead.pop_front();
        self.taken += 1;
    }

    /// Uses a moment in which nothing is due; whether there was something to draw.
    pub(crate) fn draw_ahead(&mut self) -> bool {
        let before = self.ahead.len();
        // Not for a handful: the moment is short.
        if before + DRAW <= AHEAD {
            self.draw(DRAW);
        }
        self.ahead.len() > before
    }

    /// How many departures there are in all. Counts what is left; of more than five million random ones,
    /// which only an overloaded generator leaves, it adds the number expected.
    pub(crate) fn intended(self) -> u64 {
        self.taken + self.ahead.len() as u64 + self.departures.remaining()
    }

    /// How many departures of all are due before `end_ns`, counted as [`intended`](Self::intended) does.
    pub(crate) fn intended_before(self, end_ns: u64) -> u64 {
        let ahead = self.ahead.iter().filter(|&&due| due < end_ns).count() as u64;
        self.taken + ahead + self.departures.remaining_before(end_ns)
    }

    fn draw(&mut self, count: usize) {
        let room = AHEAD - self.ahead.len();
        self.ahead.extend(self.departures.by_ref().take(count.min(room)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Arrival, Rate, TrialInput};
    use std::time::Duration;

    fn departures(arrival: &Arrival, pps: f64) -> Departures {
        let input = TrialInput { load: Rate::pps(pps).unwrap(), duration: Duration::from_secs(1) };
        arrival.departures(input, 5)
    }

    #[test]
    fn drawing_ahead_changes_no_departure() {
        for arrival in &Arrival::examples() {
            let all: Vec<u64> = departures(arrival, 100_000.0).collect();
            let mut schedule = Schedule::new(departures(arrival, 100_000.0));
            let mut taken = Vec::new();
            while let Some(due) = schedule.due() {
                taken.push(due);
                schedule.take();
                if due % 3 == 0 {
                    schedule.draw_ahead();
                }
            }
            assert_eq!(taken, all, "{arrival}");
            assert_eq!(schedule.intended(), all.len() as u64);
        }
    }

    #[test]
    fn what_is_due_after_a_stop_was_not_intended() {
        for arrival in &Arrival::examples() {
            let all: Vec<u64> = departures(arrival, 100_000.0).collect();
            for end_ns in [0, 1_000_000, 250_000_000, 999_999_999, 2_000_000_000] {
                let mut schedule = Schedule::new(departures(arrival, 100_000.0));
                let due = all.iter().filter(|&&due| due < end_ns).count();
                (0..due / 2).for_each(|_| {
                    schedule.due();
                    schedule.take();
                });
                assert_eq!(schedule.intended_before(end_ns), due as u64, "{arrival} before {end_ns}");
            }
        }
        let absurd =
            Schedule::new(departures(&Arrival::constant(), 1e12)).intended_before(500_000_000) as f64;
        assert!((absurd / 5e11 - 1.0).abs() < 1e-3, "{absurd}");
    }

    #[test]
    fn what_an_overloaded_generator_leaves_is_intended_all_the_same() {
        for arrival in &Arrival::examples() {
            let all = departures(arrival, 100_000.0).count() as u64;
            let mut schedule = Schedule::new(departures(arrival, 100_000.0));
            (0..10).for_each(|_| schedule.take());
            assert_eq!(schedule.intended(), all, "{arrival}");
        }
        let absurd = Schedule::new(departures(&Arrival::poisson(), 1e12)).intended() as f64;
        assert!((absurd / 1e12 - 1.0).abs() < 1e-3, "{absurd}");
        assert_eq!(Schedule::new(departures(&Arrival::constant(), 1e12)).intended(), 1_000_000_000_000);
    }
}
