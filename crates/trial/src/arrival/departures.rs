//! When the packets of a trial are due.

use super::Draw;

/// Iterator over the departures of a trial, in nanoseconds after its start.
///
/// How many it yields is the trial's `intended`.
#[derive(Debug)]
pub struct Departures {
    draw: Box<dyn Draw>,
    end_ns: u64,
    last_ns: u64,
    mean_ns: f64,
}

/// More than this many are not drawn one by one only to be counted.
const COUNTED_ONE_BY_ONE: f64 = 5e6;

impl Departures {
    pub(super) fn of(draw: Box<dyn Draw>, end_ns: u64, mean_ns: f64) -> Self {
        Self { draw, end_ns, last_ns: 0, mean_ns }
    }

    /// How many are left. Of more than five million random ones it is the number expected.
    pub fn remaining(self) -> u64 {
        if let Some(left) = self.draw.left() {
            return left;
        }
        self.drawn_or_expected()
    }

    /// How many of those that are left are due before `end_ns`; counted or expected as above.
    pub fn remaining_before(mut self, end_ns: u64) -> u64 {
        self.end_ns = self.end_ns.min(end_ns);
        self.drawn_or_expected()
    }

    fn drawn_or_expected(self) -> u64 {
        let expected = self.end_ns.saturating_sub(self.last_ns) as f64 / self.mean_ns;
        if expected > COUNTED_ONE_BY_ONE { libm::round(expected) as u64 } else { self.count() as u64 }
    }
}

impl Iterator for Departures {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let due = self.draw.next().filter(|&due| due < self.end_ns)?;
        self.last_ns = due;
        Some(due)
    }
}
