//! The loads between which a goal's answer is thought to lie.

use super::width;
use crate::{Bound, Bounds};
use dropline_trial::Rate;
use std::cmp::Ordering;
use std::time::Duration;

/// The last trial made at a load, as one goal sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) load: Rate,
    pub(super) duration: Duration,
    /// Whether it lost more than the goal allows.
    pub(super) bad: bool,
}

/// Two bounds. A lower bound is valid when its trial was not bad, an upper one when it was; invalid bounds
/// bound nothing but keep the width. `lower.load <= upper.load`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) lower: Point,
    pub(super) upper: Point,
}

impl Interval {
    /// The interval between two trials. At one load the other, made later, counts.
    pub(super) fn between(one: Point, other: Point) -> Self {
        let (lower, upper) = match other.load.cmp(&one.load) {
            Ordering::Less => (other, one),
            Ordering::Equal => (other, other),
            Ordering::Greater => (one, other),
        };
        Self { lower, upper }
    }

    /// Relative to the upper bound.
    pub(super) fn width(&self) -> f64 {
        width::relative(self.lower.load, self.upper.load)
    }

    /// Whether there is something to halve: wider than `goal`, and a load between the bounds.
    ///
    /// Rounding goes to the wider side: what a phase calls narrow is narrow by exact arithmetic too.
    pub(super) fn is_wider_than(&self, goal: f64) -> bool {
        self.width() * (1.0 + 4.0 * f64::EPSILON) > goal
            && self.upper.load.as_millipps() - self.lower.load.as_millipps() > 1
    }

    /// The load that halves the interval; there must be one.
    pub(super) fn middle(&self) -> Rate {
        width::middle(self.lower.load, self.upper.load)
    }

    /// As the rest of the project sees it.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            lower: Some(Bound { load: self.lower.load, valid: !self.lower.bad }),
            upper: Some(Bound { load: self.upper.load, valid: self.upper.bad }),
            median: None,
        }
    }

    /// Learns from a trial, wherever it was made and for whichever goal.
    pub(super) fn update(&mut self, point: Point) {
        let Self { lower, upper } = *self;
        if point.load == lower.load || point.load == upper.load {
            // Made again: the last trial counts, even if that makes the bound invalid.
            if point.load == lower.load {
                self.lower = point;
            }
            if point.load == upper.load {
                self.upper = point;
            }
        } else if lower.bad {
            // The answer is below; what lies above the invalid bound does not matter.
            if point.load < lower.load {
                *self = Self { lower: point, upper: lower };
            }
        } else if point.load < lower.load {
            // Loss below a lower bound puts it in doubt.
            if point.bad {
                self.lower = point;
            }
        } else if point.load > upper.load {
            // No loss above a valid upper bound does not move it.
            if !upper.bad {
                *self = Self { lower: upper, upper: point };
            }
        } else if point.bad {
            self.upper = point;
        } else {
            self.lower = point;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: bool = false;
    const BAD: bool = true;

    fn point(load: u64, bad: bool) -> Point {
        Point { load: Rate::from_millipps(load), duration: Duration::from_secs(1), bad }
    }

    /// The interval 200 … 300 after a trial.
    fn after(lower: bool, upper: bool, load: u64, bad: bool) -> Interval {
        let mut interval = Interval::between(point(200, lower), point(300, upper));
        interval.update(point(load, bad));
        interval
    }

    fn interval(lower: (u64, bool), upper: (u64, bool)) -> Interval {
        Interval { lower: point(lower.0, lower.1), upper: point(upper.0, upper.1) }
    }

    #[test]
    fn a_bound_that_is_measured_again_may_become_invalid() {
        assert_eq!(after(GOOD, BAD, 200, BAD), interval((200, BAD), (300, BAD)));
        assert_eq!(after(GOOD, BAD, 300, GOOD), interval((200, GOOD), (300, GOOD)));
        assert_eq!(after(BAD, BAD, 300, GOOD), interval((200, BAD), (300, GOOD)));
    }

    #[test]
    fn of_two_trials_at_one_load_the_last_counts() {
        for (first, last) in [(GOOD, BAD), (BAD, GOOD)] {
            let one = Interval::between(point(200, first), point(200, last));
            assert_eq!(one, interval((200, last), (200, last)));
        }
    }

    #[test]
    fn below_an_invalid_lower_bound_the_interval_moves_down() {
        assert_eq!(after(BAD, BAD, 150, GOOD), interval((150, GOOD), (200, BAD)));
        assert_eq!(after(BAD, GOOD, 150, BAD), interval((150, BAD), (200, BAD)));
    }

    #[test]
    fn above_an_invalid_lower_bound_nothing_matters() {
        for load in [250, 350] {
            for bad in [GOOD, BAD] {
                assert_eq!(after(BAD, BAD, load, bad), interval((200, BAD), (300, BAD)));
            }
        }
    }

    #[test]
    fn loss_below_a_valid_lower_bound_widens_the_interval() {
        assert_eq!(after(GOOD, BAD, 150, BAD), interval((150, BAD), (300, BAD)));
        assert_eq!(after(GOOD, BAD, 150, GOOD), interval((200, GOOD), (300, BAD)));
    }

    #[test]
    fn a_valid_upper_bound_is_never_moved_up() {
        for bad in [GOOD, BAD] {
            assert_eq!(after(GOOD, BAD, 350, bad), interval((200, GOOD), (300, BAD)));
            assert_eq!(after(GOOD, GOOD, 350, bad), interval((300, GOOD), (350, bad)));
        }
    }

    #[test]
    fn inside_a_trial_halves_the_interval() {
        assert_eq!(after(GOOD, BAD, 250, BAD), interval((200, GOOD), (250, BAD)));
        assert_eq!(after(GOOD, BAD, 250, GOOD), interval((250, GOOD), (300, BAD)));
        assert_eq!(after(GOOD, GOOD, 250, GOOD), interval((250, GOOD), (300, GOOD)));
    }

    #[test]
    fn an_interval_without_a_load_between_is_not_halved() {
        assert!(!interval((5, GOOD), (6, BAD)).is_wider_than(0.001));
        assert!(interval((5, GOOD), (7, BAD)).is_wider_than(0.001));
    }
}
