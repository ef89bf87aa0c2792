//! Samples that are due at a steady rate and wait for the graph to take them.

use std::collections::VecDeque;
use std::ops::Range;

/// Samples one after the other at a steady rate, in thousandths of a sample a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady(pub u64);

impl Steady {
    /// When sample `number`, from 0, is due, in ns after the beginning: number ÷ rate, never by adding intervals.
    pub fn due_ns(self, number: u64) -> u64 {
        let ns = (u128::from(number) * 1_000_000_000_000).div_ceil(u128::from(self.0.max(1)));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Samples that are due until `at_ns` after the beginning.
    pub fn due_until(self, at_ns: u64) -> u64 {
        let due = u128::from(at_ns) * u128::from(self.0) / 1_000_000_000_000 + 1;
        u64::try_from(due).unwrap_or(u64::MAX)
    }
}

/// The samples of one pipe that have come due. They wait in a queue of bounded length; one that comes due while
/// the queue is full is lost.
///
/// It sees no clock: it is told how much time has passed.
#[derive(Clone, Debug)]
pub struct Backlog {
    steady: Steady,
    /// Samples that the whole trial has.
    total: u64,
    /// Longest queue.
    room: u64,
    /// Numbers of the samples that wait, in order; what was lost is missing between two ranges.
    waiting: VecDeque<Range<u64>>,
    length: u64,
    /// Samples that have come due so far.
    due: u64,
    lost: u64,
    longest: u64,
}

impl Backlog {
    /// Of `total` samples, with room for `room` that wait; there is always room for one.
    pub fn new(steady: Steady, total: u64, room: u64) -> Self {
        Self {
            steady,
            total,
            room: room.max(1),
            waiting: VecDeque::new(),
            length: 0,
            due: 0,
            lost: 0,
            longest: 0,
        }
    }

    /// Lets samples come due until `at_ns` after the beginning.
    pub fn advance(&mut self, at_ns: u64) {
        let due = self.steady.due_until(at_ns).min(self.total);
        let Some(come) = due.checked_sub(self.due).filter(|&come| come > 0) else { return };
        let taken = come.min(self.room - self.length);
        if taken > 0 {
            match self.waiting.back_mut() {
                Some(last) if last.end == self.due => last.end += taken,
                _ => self.waiting.push_back(self.due..self.due + taken),
            }
            self.length += taken;
            self.longest = self.longest.max(self.length);
        }
        self.lost += come - taken;
        self.due = due;
    }

    /// Takes up to `most` samples, oldest first; hands over the numbers of those without a gap between them.
    pub fn take(&mut self, most: u64, mut each: impl FnMut(Range<u64>)) -> u64 {
        let mut left = most;
        while left > 0 {
            let Some(first) = self.waiting.front_mut() else { break };
            let taken = (first.end - first.start).min(left);
            let range = first.start..first.start + taken;
            first.start += taken;
            if first.is_empty() {
                self.waiting.pop_front();
            }
            left -= taken;
            each(range);
        }
        self.length -= most - left;
        most - left
    }

    /// Gives up what waits: it is lost.
    pub fn abandon(&mut self) {
        self.lost += self.length + (self.total - self.due);
        self.due = self.total;
        self.length = 0;
        self.waiting.clear();
    }

    /// Samples of the whole trial.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The rate at which they come due.
    pub fn steady(&self) -> Steady {
        self.steady
    }

    /// Samples that wait.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// The longest queue that there was.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Samples that came due while the queue was full, or were given up.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether every sample has come due and none waits.
    pub fn is_over(&self) -> bool {
        self.due == self.total && self.length == 0
    }

    /// When the next sample comes due, if one is still to come.
    pub fn next_due_ns(&self) -> Option<u64> {
        (self.due < self.total).then(|| self.steady.due_ns(self.due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn taken(backlog: &mut Backlog, most: u64) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        backlog.take(most, |range| ranges.push((range.start, range.end)));
        ranges
    }

    #[test]
    fn sample_k_is_due_at_k_over_the_rate() {
        let mut backlog = Backlog::new(Steady(1_000_000), 10, 100);
        assert_eq!((backlog.steady().due_ns(0), backlog.steady().due_ns(7)), (0, 7_000_000));
        backlog.advance(0);
        assert_eq!(backlog.len(), 1, "the first is due at once");
        backlog.advance(6_999_999);
        assert_eq!(backlog.len(), 7);
        backlog.advance(7_000_000);
        assert_eq!(backlog.len(), 8);
        backlog.advance(SECOND);
        assert_eq!((backlog.len(), backlog.next_due_ns()), (10, None));
        assert_eq!(taken(&mut backlog, 20), [(0, 10)]);
        assert!(backlog.is_over() && backlog.lost() == 0);
    }

    #[test]
    fn what_comes_due_while_the_queue_is_full_is_lost() {
        let mut backlog = Backlog::new(Steady(1_000_000), 20, 4);
        backlog.advance(5_000_000);
        assert_eq!((backlog.len(), backlog.lost()), (4, 2));
        assert_eq!(taken(&mut backlog, 3), [(0, 3)]);
        backlog.advance(7_000_000);
        // Samples 4 and 5 are gone; 6 and 7 wait behind 3.
        assert_eq!(taken(&mut backlog, 9), [(3, 4), (6, 8)]);
        assert_eq!((backlog.lost(), backlog.longest()), (2, 4));
    }

    #[test]
    fn a_rate_that_no_nanosecond_divides_loses_nothing_to_rounding() {
        let rate = 7_000_001; // a sample each 142.857 ms
        let mut backlog = Backlog::new(Steady(rate), u64::MAX, u64::MAX);
        let hour = 3600 * SECOND;
        backlog.advance(hour);
        assert_eq!(backlog.len(), rate * 3600 / 1000 + 1);
        for number in [1, 2, 3, 1_000_003] {
            let mut twin = Backlog::new(Steady(rate), u64::MAX, u64::MAX);
            twin.advance(backlog.steady().due_ns(number) - 1);
            assert_eq!(twin.len(), number);
            twin.advance(backlog.steady().due_ns(number));
            assert_eq!(twin.len(), number + 1);
        }
    }

    #[test]
    fn every_sample_is_taken_or_lost_whenever_it_is_asked_for() {
        let mut chance = crate::chance::Chance::new(7);
        for room in [1, 5, 64] {
            let mut backlog = Backlog::new(Steady(3_000_000_000), 5000, room);
            let (mut at, mut taken, mut last) = (0, 0, None);
            while !backlog.is_over() {
                at += chance.below(40_000);
                backlog.advance(at);
                taken += backlog.take(chance.below(100), |range| {
                    assert!(last.is_none_or(|last| last < range.start), "out of order");
                    last = Some(range.end - 1);
                });
            }
            assert_eq!(taken + backlog.lost(), 5000, "room {room}");
        }
    }

    #[test]
    fn what_is_given_up_is_lost() {
        let mut backlog = Backlog::new(Steady(1_000_000), 10, 4);
        backlog.advance(1_000_000);
        backlog.take(1, |_| {});
        backlog.abandon();
        assert!(backlog.is_over());
        assert_eq!(backlog.lost(), 9);
    }
}
