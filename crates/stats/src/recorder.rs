//! Recording delays as they come: a log-linear histogram of whole nanoseconds, and slices of it; recording allocates
//! nothing and never fails.

use crate::cells::{CELLS, bounds, cell_of};
use crate::recorded::Recorded;

/// Delays of one slice of a trial.
///
/// Slices add up exactly: the sum of all is the trial, and what one holds can be taken off again.
#[derive(Clone, PartialEq, Eq)]
pub struct Recorder {
    cells: Box<[u64; CELLS]>,
    running: Running,
}

/// What a slice knows exactly, beside its histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Delays of zero or more.
    pub count: u64,
    /// Their sum, in nanoseconds.
    pub sum_ns: u128,
    /// The sum of their squares; it stays at its end where it would pass 2^128.
    pub sum_squared_ns: u128,
    /// The smallest delay; `None` without one.
    pub min_ns: Option<u64>,
    /// The largest.
    pub max_ns: Option<u64>,
    /// Delays below zero: kept apart, never clamped.
    pub negative: u64,
    /// The most negative.
    pub negative_min_ns: Option<i64>,
    /// Periods that passed without an event.
    pub missed: u64,
    /// When the first and the last event of the slice were due, from the trial's epoch; `None` without one that has a
    /// time.
    pub span_ns: Option<(u64, u64)>,
}

/// The exact numbers while they grow. What a number is made of is chosen so that an event writes as little as it can:
/// the count is in the cells, high halves and extremes seldom change.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Running {
    sum: Wide,
    squares: Wide,
    least_ns: u64,
    most_ns: u64,
    negative: u64,
    negative_min_ns: i64,
    missed: u64,
    first_ns: u64,
    last_ns: u64,
}

/// A sum of 128 bits that stays at its end.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Wide {
    low: u64,
    high: u64,
}

impl Wide {
    #[inline]
    fn add(&mut self, value: u64) {
        let (low, carried) = self.low.overflowing_add(value);
        self.low = low;
        if carried {
            self.carry();
        }
    }

    #[cold]
    fn carry(&mut self) {
        match self.high.checked_add(1) {
            Some(high) => self.high = high,
            None => *self = Self::of(u128::MAX),
        }
    }

    #[cold]
    fn add_wide(&mut self, value: u128) {
        *self = Self::of(self.value().saturating_add(value));
    }

    fn of(value: u128) -> Self {
        Self { low: value as u64, high: (value >> 64) as u64 }
    }

    fn value(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}

impl Default for Running {
    fn default() -> Self {
        Self {
            sum: Wide::default(),
            squares: Wide::default(),
            least_ns: u64::MAX,
            most_ns: 0,
            negative: 0,
            negative_min_ns: 0,
            missed: 0,
            first_ns: u64::MAX,
            last_ns: 0,
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("totals", &self.totals())
            .field("cells", &self.recorded().cells)
            .finish()
    }
}

impl Recorder {
    /// Nothing yet.
    pub fn new() -> Self {
        let cells = vec![0; CELLS].into_boxed_slice().try_into().expect("the length is the array's");
        Self { cells, running: Running::default() }
    }

    /// Counts one delay.
    #[inline]
    pub fn record(&mut self, delay_ns: u64) {
        self.cells[cell_of(delay_ns)] += 1;
        let running = &mut self.running;
        running.sum.add(delay_ns);
        if delay_ns >> 32 == 0 {
            running.squares.add(delay_ns * delay_ns);
        } else {
            running.squares.add_wide(u128::from(delay_ns) * u128::from(delay_ns));
        }
        // Branches that are seldom taken: extremes are read, and not written.
        if delay_ns < running.least_ns {
            running.least_ns = delay_ns;
        }
        if delay_ns > running.most_ns {
            running.most_ns = delay_ns;
        }
    }

    /// Counts a delay that may be below zero, where clocks disagree.
    #[inline]
    pub fn record_signed(&mut self, delay_ns: i64) {
        match u64::try_from(delay_ns) {
            Ok(delay_ns) => self.record(delay_ns),
            Err(_) => {
                self.running.negative += 1;
                self.running.negative_min_ns = self.running.negative_min_ns.min(delay_ns);
            }
        }
    }

    /// Notes when an event was due, from the trial's epoch.
    #[inline]
    pub fn at(&mut self, due_ns: u64) {
        if due_ns < self.running.first_ns {
            self.running.first_ns = due_ns;
        }
        if due_ns >= self.running.last_ns {
            self.running.last_ns = due_ns;
        }
    }

    /// Counts periods that passed without an event.
    pub fn miss(&mut self, periods: u64) {
        self.running.missed += periods;
    }

    /// What is known exactly.
    pub fn totals(&self) -> Totals {
        let running = &self.running;
        let count = self.cells.iter().sum();
        Totals {
            count,
            sum_ns: running.sum.value(),
            sum_squared_ns: running.squares.value(),
            min_ns: (count > 0).then_some(running.least_ns),
            max_ns: (count > 0).then_some(running.most_ns),
            negative: running.negative,
            negative_min_ns: (running.negative > 0).then_some(running.negative_min_ns),
            missed: running.missed,
            span_ns: running.has_times().then_some((running.first_ns, running.last_ns)),
        }
    }

    /// Adds all of another slice, exactly.
    pub fn merge(&mut self, other: &Self) {
        self.cells.iter_mut().zip(other.cells.iter()).for_each(|(mine, theirs)| *mine += theirs);
        let (mine, theirs) = (&mut self.running, &other.running);
        mine.sum.add_wide(theirs.sum.value());
        mine.squares.add_wide(theirs.squares.value());
        mine.least_ns = mine.least_ns.min(theirs.least_ns);
        mine.most_ns = mine.most_ns.max(theirs.most_ns);
        mine.negative += theirs.negative;
        mine.negative_min_ns = mine.negative_min_ns.min(theirs.negative_min_ns);
        mine.missed += theirs.missed;
        mine.first_ns = mine.first_ns.min(theirs.first_ns);
        mine.last_ns = mine.last_ns.max(theirs.last_ns);
    }

    /// What was recorded since an earlier state of this recorder. Counts and sums are exact; the smallest and the
    /// largest delay are those of the cells, for what came later is not known of the extremes.
    ///
    /// `None` if `earlier` holds what this one does not: it is no earlier state.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let mut later = Self::new();
        for (cell, (now, before)) in later.cells.iter_mut().zip(self.cells.iter().zip(earlier.cells.iter())) {
            *cell = now.checked_sub(*before)?;
        }
        let (now, before) = (&self.running, &earlier.running);
        let less = |now: Wide, before: Wide| now.value().checked_sub(before.value()).map(Wide::of);
        let (first, last) =
            (later.cells.iter().position(|c| *c > 0), later.cells.iter().rposition(|c| *c > 0));
        let is_timed = now != before && now.has_times();
        later.running = Running {
            sum: less(now.sum, before.sum)?,
            squares: less(now.squares, before.squares)?,
            least_ns: first.map_or(u64::MAX, |cell| bounds(cell).0.max(now.least_ns)),
            most_ns: last.map_or(0, |cell| bounds(cell).1.min(now.most_ns)),
            negative: now.negative.checked_sub(before.negative)?,
            negative_min_ns: now.negative_min_ns,
            missed: now.missed.checked_sub(before.missed)?,
            first_ns: match (is_timed, before.has_times()) {
                (true, true) => before.last_ns,
                (true, false) => now.first_ns,
                (false, _) => u64::MAX,
            },
            last_ns: if is_timed { now.last_ns } else { 0 },
        };
        Some(later)
    }

    /// Empties it, for the next slice.
    pub fn clear(&mut self) {
        self.cells.fill(0);
        self.running = Running::default();
    }

    /// What is kept of it: its occupied cells, and what is known exactly.
    pub fn recorded(&self) -> Recorded {
        let totals = self.totals();
        let occupied = self.cells.iter().enumerate().filter(|(_, count)| **count > 0);
        Recorded {
            count: totals.count,
            sum_ns: totals.sum_ns,
            sum_squared_ns: totals.sum_squared_ns,
            min_ns: totals.min_ns,
            max_ns: totals.max_ns,
            negative: totals.negative,
            negative_min_ns: totals.negative_min_ns,
            missed: totals.missed,
            first_ns: totals.span_ns.map(|(first, _)| first),
            last_ns: totals.span_ns.map(|(_, last)| last),
            cells: occupied.map(|(cell, &count)| (cell as u32, count)).collect(),
        }
    }
}

impl Running {
    /// Whether an event said when it was due.
    fn has_times(&self) -> bool {
        self.first_ns <= self.last_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slice_without_delays_has_no_extremes() {
        let totals = Recorder::new().totals();
        assert_eq!((totals.min_ns, totals.max_ns, totals.span_ns), (None, None, None));
    }

    #[test]
    fn delays_below_zero_are_counted_and_never_clamped() {
        let mut recorder = Recorder::new();
        [-7, 3, -9, 0].into_iter().for_each(|delay| recorder.record_signed(delay));
        let totals = recorder.totals();
        assert_eq!((totals.count, totals.negative, totals.negative_min_ns), (2, 2, Some(-9)));
        assert_eq!((totals.min_ns, totals.sum_ns), (Some(0), 3));
    }

    #[test]
    fn the_largest_value_and_its_square_are_kept() {
        let mut recorder = Recorder::new();
        recorder.record(u64::MAX);
        recorder.record(u64::MAX);
        assert_eq!(recorder.totals().sum_ns, 2 * u128::from(u64::MAX));
        assert_eq!(recorder.totals().sum_squared_ns, u128::MAX, "two squares pass 2^128");
        recorder.record(3);
        assert_eq!(recorder.totals().sum_squared_ns, u128::MAX, "and it stays there");
    }

    proptest! {
        #[test]
        fn what_was_recorded_since_is_what_was_recorded_since(
            first in prop::collection::vec(any::<u64>(), 0..50), later in prop::collection::vec(0u64..1 << 40, 0..50),
        ) {
            let mut recorder = Recorder::new();
            first.iter().for_each(|&delay| recorder.record(delay >> 24));
            let earlier = recorder.clone();
            let mut alone = Recorder::new();
            for &delay in &later {
                recorder.record(delay);
                alone.record(delay);
            }
            let since = recorder.since(&earlier).unwrap();
            prop_assert_eq!(since.recorded().cells, alone.recorded().cells);
            prop_assert_eq!(since.totals().sum_squared_ns, alone.totals().sum_squared_ns);
            if !later.is_empty() && recorder != earlier {
                prop_assert_eq!(earlier.since(&recorder), None);
            }
        }
    }
}
