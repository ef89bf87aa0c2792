//! Recording delays as they come: a log-linear histogram of whole nanoseconds, and slices of it.
//!
//! 2⁷ cells a factor of two: a cell is at most 1/128 wide of its value, and values below 256 ns are exact. All of the
//! 64 bits have their cell, so nothing is out of range; recording allocates nothing and never fails.

use crate::recorded::Recorded;

/// Binary logarithm of the number of cells a factor of two.
const PRECISION: u32 = 7;
/// Cells of all 64-bit values.
pub(crate) const CELLS: usize = ((64 - PRECISION as usize) << PRECISION) + (1 << PRECISION);

/// Delays of one slice of a trial.
///
/// Slices add up exactly: the sum of all is the trial, and what one holds can be taken off again.
#[derive(Clone, PartialEq, Eq)]
pub struct Recorder {
    cells: Box<[u64; CELLS]>,
    totals: Totals,
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
    /// The smallest; meaningless without a delay.
    least_ns: u64,
    /// The largest.
    most_ns: u64,
    /// Delays below zero: kept apart, never clamped.
    pub negative: u64,
    /// The most negative.
    pub negative_min_ns: i64,
    /// Periods that passed without an event.
    pub missed: u64,
    /// When the first event of the slice was due, from the trial's epoch; meaningless without one.
    first_ns: u64,
    /// When the last one was.
    last_ns: u64,
    /// Events with a time.
    timed: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            count: 0,
            sum_ns: 0,
            sum_squared_ns: 0,
            least_ns: u64::MAX,
            most_ns: 0,
            negative: 0,
            negative_min_ns: 0,
            missed: 0,
            first_ns: u64::MAX,
            last_ns: 0,
            timed: 0,
        }
    }
}

impl Totals {
    /// Smallest delay; `None` without one.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least_ns)
    }

    /// Largest delay; `None` without one.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most_ns)
    }

    /// When the first and the last event were due; `None` without one that has a time.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        (self.timed > 0).then_some((self.first_ns, self.last_ns))
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
            .field("totals", &self.totals)
            .field("cells", &self.recorded().cells)
            .finish()
    }
}

impl Recorder {
    /// Nothing yet.
    pub fn new() -> Self {
        let cells = vec![0; CELLS].into_boxed_slice().try_into().expect("the length is the array's");
        Self { cells, totals: Totals::default() }
    }

    /// Counts one delay.
    #[inline]
    pub fn record(&mut self, delay_ns: u64) {
        self.cells[cell_of(delay_ns)] += 1;
        let totals = &mut self.totals;
        totals.count += 1;
        totals.sum_ns += u128::from(delay_ns);
        let square = u128::from(delay_ns) * u128::from(delay_ns);
        // Squares of up to 2^32 ns cannot pass 2^128, however many are counted.
        totals.sum_squared_ns = if delay_ns >> 32 == 0 {
            totals.sum_squared_ns.wrapping_add(square)
        } else {
            totals.sum_squared_ns.saturating_add(square)
        };
        totals.least_ns = totals.least_ns.min(delay_ns);
        totals.most_ns = totals.most_ns.max(delay_ns);
    }

    /// Counts a delay that may be below zero, where clocks disagree.
    #[inline]
    pub fn record_signed(&mut self, delay_ns: i64) {
        match u64::try_from(delay_ns) {
            Ok(delay_ns) => self.record(delay_ns),
            Err(_) => {
                self.totals.negative += 1;
                self.totals.negative_min_ns = self.totals.negative_min_ns.min(delay_ns);
            }
        }
    }

    /// Notes when an event was due, from the trial's epoch.
    #[inline]
    pub fn at(&mut self, due_ns: u64) {
        self.totals.timed += 1;
        self.totals.first_ns = self.totals.first_ns.min(due_ns);
        self.totals.last_ns = self.totals.last_ns.max(due_ns);
    }

    /// Counts periods that passed without an event.
    pub fn miss(&mut self, periods: u64) {
        self.totals.missed += periods;
    }

    /// What is known exactly.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Adds all of another slice, exactly.
    pub fn merge(&mut self, other: &Self) {
        self.cells.iter_mut().zip(other.cells.iter()).for_each(|(mine, theirs)| *mine += theirs);
        let (mine, theirs) = (&mut self.totals, &other.totals);
        mine.count += theirs.count;
        mine.sum_ns += theirs.sum_ns;
        mine.sum_squared_ns = mine.sum_squared_ns.saturating_add(theirs.sum_squared_ns);
        mine.least_ns = mine.least_ns.min(theirs.least_ns);
        mine.most_ns = mine.most_ns.max(theirs.most_ns);
        mine.negative += theirs.negative;
        mine.negative_min_ns = mine.negative_min_ns.min(theirs.negative_min_ns);
        mine.missed += theirs.missed;
        mine.first_ns = mine.first_ns.min(theirs.first_ns);
        mine.last_ns = mine.last_ns.max(theirs.last_ns);
        mine.timed += theirs.timed;
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
        let (now, before) = (&self.totals, &earlier.totals);
        let (first, last) =
            (later.cells.iter().position(|c| *c > 0), later.cells.iter().rposition(|c| *c > 0));
        later.totals = Totals {
            count: now.count.checked_sub(before.count)?,
            sum_ns: now.sum_ns.checked_sub(before.sum_ns)?,
            sum_squared_ns: now.sum_squared_ns.checked_sub(before.sum_squared_ns)?,
            least_ns: first.map_or(u64::MAX, |cell| bounds(cell).0.max(now.least_ns)),
            most_ns: last.map_or(0, |cell| bounds(cell).1.min(now.most_ns)),
            negative: now.negative.checked_sub(before.negative)?,
            negative_min_ns: now.negative_min_ns,
            missed: now.missed.checked_sub(before.missed)?,
            first_ns: if before.timed > 0 { before.last_ns } else { now.first_ns },
            last_ns: now.last_ns,
            timed: now.timed.checked_sub(before.timed)?,
        };
        Some(later)
    }

    /// Empties it, for the next slice.
    pub fn clear(&mut self) {
        self.cells.fill(0);
        self.totals = Totals::default();
    }

    /// What is kept of it: its occupied cells, and what is known exactly.
    pub fn recorded(&self) -> Recorded {
        let totals = &self.totals;
        let span = totals.span_ns();
        let occupied = self.cells.iter().enumerate().filter(|(_, count)| **count > 0);
        Recorded {
            count: totals.count,
            sum_ns: totals.sum_ns,
            sum_squared_ns: totals.sum_squared_ns,
            min_ns: totals.min_ns(),
            max_ns: totals.max_ns(),
            negative: totals.negative,
            negative_min_ns: (totals.negative > 0).then_some(totals.negative_min_ns),
            missed: totals.missed,
            first_ns: span.map(|(first, _)| first),
            last_ns: span.map(|(_, last)| last),
            cells: occupied.map(|(cell, &count)| (cell as u32, count)).collect(),
        }
    }
}

/// The cell of a value: exact below 2⁸, then the first eight bits.
#[inline]
pub(crate) fn cell_of(value: u64) -> usize {
    let above = (63 - PRECISION) as i32 - (value | 1 << PRECISION).leading_zeros() as i32;
    let shift = above as u32;
    ((shift as usize) << PRECISION) + (value >> shift) as usize
}

/// Lowest and highest value of a cell.
pub(crate) fn bounds(cell: usize) -> (u64, u64) {
    let shift = (cell >> PRECISION).saturating_sub(1) as u32;
    let head = (cell - ((shift as usize) << PRECISION)) as u64;
    let low = head << shift;
    (low, low + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_has_a_cell_that_holds_it() {
        for value in (0..100_000)
            .chain((6..64).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]))
            .chain([u64::MAX])
        {
            let (low, high) = bounds(cell_of(value));
            assert!((low..=high).contains(&value), "{value} in {low}..={high}");
            assert!(high - low <= value / 128, "{value}: {low}..={high}");
        }
        assert_eq!(cell_of(u64::MAX), CELLS - 1);
        assert_eq!((0..CELLS - 1).find(|&cell| bounds(cell).1 + 1 != bounds(cell + 1).0), None);
    }

    #[test]
    fn a_slice_without_delays_has_no_extremes() {
        let totals = *Recorder::new().totals();
        assert_eq!((totals.min_ns(), totals.max_ns(), totals.span_ns()), (None, None, None));
    }

    #[test]
    fn delays_below_zero_are_counted_and_never_clamped() {
        let mut recorder = Recorder::new();
        [-7, 3, -9, 0].into_iter().for_each(|delay| recorder.record_signed(delay));
        let totals = recorder.totals();
        assert_eq!((totals.count, totals.negative, totals.negative_min_ns), (2, 2, -9));
        assert_eq!((totals.min_ns(), totals.sum_ns), (Some(0), 3));
    }

    #[test]
    fn the_largest_value_and_its_square_are_kept() {
        let mut recorder = Recorder::new();
        recorder.record(u64::MAX);
        recorder.record(u64::MAX);
        assert_eq!(recorder.totals().sum_ns, 2 * u128::from(u64::MAX));
        assert_eq!(recorder.totals().sum_squared_ns, u128::MAX, "two squares pass 2^128");
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
