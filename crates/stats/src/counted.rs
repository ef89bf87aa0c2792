//! Events counted by value, exactly as a file or a recorder kept them.

use crate::binned::{Binned, Cell};

/// Values beyond this are no delays: doubles no longer hold the edges of a tick.
pub const LARGEST_TICK: i64 = 1 << 52;
/// More events are none that anybody counted: doubles no longer hold their number.
pub const MOST_EVENTS: u64 = 1 << 53;

/// Values and how often each was seen, with what a value stands for.
///
/// A value is a tick, a whole number of quanta, kept exactly; or the range of a histogram's cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    meaning: Meaning,
    cells: Vec<(Range, u64)>,
    above: Option<Above>,
    count: u64,
}

/// What a value stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meaning {
    /// Values are stated in this unit, in nanoseconds.
    pub unit_ns: u64,
    /// What a tick is worth, in nanoseconds.
    pub quantum_ns: f64,
    /// Which true values a tick stands for.
    pub rounding: Rounding,
    /// What was counted.
    pub event: Event,
}

/// Which true values a recorded tick d stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// [d − ½, d + ½): a difference of two clock reads.
    #[default]
    Round,
    /// [d, d + 1): a fraction was cut off.
    Floor,
}

/// What one counted event is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// Each one.
    #[default]
    Each,
    /// The largest of so many in a row.
    MaximumOf(u64),
    /// The file does not say.
    Unknown,
}

/// Lowest and highest tick of a cell.
type Range = (i64, i64);

/// Events known only to be at least this long: a histogram's overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Above {
    /// In ticks.
    pub from: i64,
    /// How many.
    pub count: u64,
}

/// Why counts are no distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// The counts add up to more than [`MOST_EVENTS`].
    #[error("the counts add up to more than 2^53 events, which is the most that are read")]
    TooMany,
    /// A value is too large to be told from its neighbours.
    #[error("the value {0} is beyond 2^52 ticks")]
    TooLarge(i64),
    /// The lowest value of a cell is above its highest.
    #[error("a cell begins at {0} and ends at {1}, which is below it")]
    Reversed(i64, i64),
}

impl Default for Meaning {
    /// Microseconds, as who described this method has them.
    fn default() -> Self {
        Self { unit_ns: 1000, quantum_ns: 1000.0, rounding: Rounding::Round, event: Event::Each }
    }
}

impl Meaning {
    /// A number of ticks in the unit.
    pub fn in_units(&self, ticks: f64) -> f64 {
        // Division by a whole ratio keeps 12.34 what it was typed as.
        let a_unit = self.unit_ns as f64 / self.quantum_ns;
        if a_unit >= 1.0 { ticks / a_unit } else { ticks * (self.quantum_ns / self.unit_ns as f64) }
    }
}

impl Counted {
    /// Ticks in any order; the same tick may come again.
    ///
    /// # Errors
    /// If they are too many or too large.
    pub fn ticks(
        meaning: Meaning,
        ticks: impl IntoIterator<Item = (i64, u64)>,
        above: Option<Above>,
    ) -> Result<Self, CountError> {
        Self::ranges(meaning, ticks.into_iter().map(|(tick, count)| (tick, tick, count)), above)
    }

    /// Cells of a histogram: lowest tick, highest tick, count. Cells that overlap are put together: an event of either
    /// lies somewhere in both.
    ///
    /// # Errors
    /// As [`ticks`](Self::ticks), and if a cell ends below its beginning.
    pub fn ranges(
        meaning: Meaning,
        ranges: impl IntoIterator<Item = (i64, i64, u64)>,
        above: Option<Above>,
    ) -> Result<Self, CountError> {
        let above = above.filter(|above| above.count > 0);
        let mut cells: Vec<(Range, u64)> = Vec::new();
        let mut total = 0;
        let mut add = |ticks: [i64; 2], count: u64| {
            if let Some(tick) =
                ticks.into_iter().find(|tick| tick.unsigned_abs() > LARGEST_TICK.unsigned_abs())
            {
                return Err(CountError::TooLarge(tick));
            }
            total =
                count.checked_add(total).filter(|total| *total <= MOST_EVENTS).ok_or(CountError::TooMany)?;
            Ok(())
        };
        above.map_or(Ok(()), |above| add([above.from; 2], above.count))?;
        for (low, high, count) in ranges {
            add([low, high], count)?;
            if low > high {
                return Err(CountError::Reversed(low, high));
            }
            if count > 0 {
                cells.push(((low, high), count));
            }
        }
        cells.sort_unstable();
        cells.dedup_by(|next, kept| {
            let overlaps = next.0.0 <= kept.0.1;
            if overlaps {
                kept.0.1 = kept.0.1.max(next.0.1);
                kept.1 += next.1;
            }
            overlaps
        });
        Ok(Self { meaning, cells, above, count: total })
    }

    /// What a value stands for.
    pub fn meaning(&self) -> Meaning {
        self.meaning
    }

    /// The same counts with other words for them.
    #[must_use]
    pub fn with_meaning(mut self, meaning: Meaning) -> Self {
        self.meaning = meaning;
        self
    }

    /// Lowest tick, highest tick and count of each occupied cell, ascending.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = (i64, i64, u64)> + '_ {
        self.cells.iter().map(|&((low, high), count)| (low, high, count))
    }

    /// Events known only to be long.
    pub fn above(&self) -> Option<Above> {
        self.above
    }

    /// How many events, those above included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether each cell is a single tick.
    pub fn is_exact(&self) -> bool {
        self.cells.iter().all(|((low, high), _)| low == high)
    }

    /// Sum of all ticks and of their squares, exactly; `None` where a cell is a range or an event is only known
    /// to be long, or when 128 bits are too few.
    pub fn sums(&self) -> Option<(i128, i128)> {
        if !self.is_exact() || self.above.is_some() {
            return None;
        }
        self.cells.iter().try_fold((0i128, 0i128), |(sum, squares), &((tick, _), count)| {
            let (tick, count) = (i128::from(tick), i128::from(count));
            let square = tick.checked_mul(tick)?.checked_mul(count)?;
            Some((sum.checked_add(tick.checked_mul(count)?)?, squares.checked_add(square)?))
        })
    }

    /// The intervals that the events are known to lie in, in units.
    pub fn binned(&self) -> Binned {
        let (before, behind) = match self.meaning.rounding {
            Rounding::Round => (0.5, 0.5),
            Rounding::Floor => (0.0, 1.0),
        };
        let units = |ticks: f64| self.meaning.in_units(ticks);
        let cells = self.cells.iter().map(|&((low, high), count)| Cell {
            // What a recorder reports of a cell is its highest value, as HdrHistogram does.
            value: units(high as f64),
            low: units(low as f64 - before),
            high: units(high as f64 + behind),
            count,
        });
        let above = self.above.map(|above| (units(above.from as f64 - before), above.count));
        Binned::new(cells.collect(), above, units(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_lines_is_irrelevant_and_equal_values_add_up() {
        let a = Counted::ticks(Meaning::default(), [(7, 2), (6, 1), (7, 3)], None).unwrap();
        let b = Counted::ticks(Meaning::default(), [(6, 1), (7, 5), (9, 0)], None).unwrap();
        assert_eq!(a, b);
        assert_eq!(a.sums(), Some((41, 281)));
    }

    #[test]
    fn counts_and_values_that_do_not_fit_are_errors() {
        let counted = |ticks: [(i64, u64); 2]| Counted::ticks(Meaning::default(), ticks, None);
        assert_eq!(counted([(1, u64::MAX), (2, 1)]), Err(CountError::TooMany));
        assert_eq!(counted([(1, MOST_EVENTS), (2, 1)]), Err(CountError::TooMany));
        assert_eq!(counted([(1, 1), (i64::MIN, 1)]), Err(CountError::TooLarge(i64::MIN)));
        let huge = counted([(LARGEST_TICK, 1 << 52), (-LARGEST_TICK, 1 << 52)]).unwrap();
        assert_eq!((huge.count(), huge.sums()), (MOST_EVENTS, None), "squares need more than 128 bits");
    }

    #[test]
    fn a_length_is_in_one_cell_and_no_cell_ends_before_it_begins() {
        let ranges = |ranges: &[(i64, i64, u64)], above| {
            Counted::ranges(Meaning::default(), ranges.iter().copied(), above)
        };
        let overlapping = ranges(&[(8, 9, 1), (3, 5, 10), (5, 5, 2), (4, 6, 1)], None).unwrap();
        assert_eq!(overlapping.cells().collect::<Vec<_>>(), [(3, 6, 13), (8, 9, 1)]);
        assert_eq!(ranges(&[(9, 7, 1)], None), Err(CountError::Reversed(9, 7)));
        let above = |from, count| ranges(&[(1, 1, 1)], Some(Above { from, count }));
        assert_eq!(above(i64::MAX, 1), Err(CountError::TooLarge(i64::MAX)));
        assert_eq!(above(9, u64::MAX), Err(CountError::TooMany));
    }

    #[test]
    fn a_tick_stands_for_the_values_that_round_to_it() {
        let meaning = Meaning { rounding: Rounding::Floor, ..Meaning::default() };
        let edges = |meaning: Meaning| {
            let binned = Counted::ticks(meaning, [(6, 1)], None).unwrap().binned();
            (binned.cells()[0].low, binned.cells()[0].high)
        };
        assert_eq!(edges(Meaning::default()), (5.5, 6.5));
        assert_eq!(edges(meaning), (6.0, 7.0));
        let tenths = Meaning { quantum_ns: 10.0, ..Meaning::default() };
        let binned = Counted::ticks(tenths, [(1234, 1)], None).unwrap().binned();
        assert_eq!(binned.cells()[0].value, 12.34);
    }
}
