//! What is kept of a slice: its occupied cells and exact sums.

use crate::cells::{bounds, cell_of};
use crate::counted::{CountError, Counted, Event, LARGEST_TICK, Meaning, Rounding};
use crate::histogram::{HistogramError, MOST, v2_deflate_cells};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use std::collections::BTreeMap;

/// Delays of one slice of a trial, as they are kept; a few hundred bytes where a [`Recorder`](crate::Recorder) has 60 000.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Delays of zero or more.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u128,
    /// The sum of their squares.
    pub sum_squared_ns: u128,
    /// The smallest.
    pub min_ns: Option<u64>,
    /// The largest.
    pub max_ns: Option<u64>,
    /// Delays below zero: kept apart, never clamped.
    pub negative: u64,
    /// The most negative.
    pub negative_min_ns: Option<i64>,
    /// Periods that passed without an event.
    pub missed: u64,
    /// When the first event of the slice was due, from the trial's epoch.
    pub first_ns: Option<u64>,
    /// When the last one was.
    pub last_ns: Option<u64>,
    /// Number of the cell and count, ascending.
    pub cells: Vec<(u32, u64)>,
}

impl Recorded {
    /// Adds all of another one, exactly.
    pub fn merge(&mut self, other: &Self) {
        let first = |mine: Option<u64>, theirs: Option<u64>| [mine, theirs].into_iter().flatten().min();
        let last = |mine: Option<u64>, theirs: Option<u64>| [mine, theirs].into_iter().flatten().max();
        let mut cells: BTreeMap<u32, u64> = self.cells.iter().copied().collect();
        for &(cell, count) in &other.cells {
            *cells.entry(cell).or_insert(0) += count;
        }
        *self = Self {
            count: self.count + other.count,
            sum_ns: self.sum_ns + other.sum_ns,
            sum_squared_ns: self.sum_squared_ns.saturating_add(other.sum_squared_ns),
            min_ns: first(self.min_ns, other.min_ns),
            max_ns: last(self.max_ns, other.max_ns),
            negative: self.negative + other.negative,
            negative_min_ns: [self.negative_min_ns, other.negative_min_ns].into_iter().flatten().min(),
            missed: self.missed + other.missed,
            first_ns: first(self.first_ns, other.first_ns),
            last_ns: last(self.last_ns, other.last_ns),
            cells: cells.into_iter().collect(),
        };
    }

    /// The occupied cells, ascending: lowest value in ns, highest, count.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.cells.iter().map(|&(cell, count)| {
            let (low, high) = bounds(cell as usize);
            (low, high, count)
        })
    }

    /// The events by cell, for every estimator; a tick is a nanosecond.
    ///
    /// # Errors
    /// If a delay is beyond 2^52 ns: 52 days.
    pub fn counted(&self) -> Result<Counted, CountError> {
        let meaning = Meaning { unit_ns: 1, quantum_ns: 1.0, rounding: Rounding::Round, event: Event::Each };
        let tick = |value: u64| i64::try_from(value).unwrap_or(LARGEST_TICK + 1);
        // The extremes are known exactly.
        let ranges = self.ranges().map(|(low, high, count)| {
            let low = self.min_ns.filter(|min| (low..=high).contains(min)).unwrap_or(low);
            let high = self.max_ns.filter(|max| (low..=high).contains(max)).unwrap_or(high);
            (tick(low), tick(high), count)
        });
        Counted::ranges(meaning, ranges, None)
    }

    /// The cells in HdrHistogram's V2 deflate format, in base64: two significant digits have the same cells.
    pub fn cells_to_v2_deflate(&self) -> String {
        let last = self.cells.last().map_or(0, |&(cell, _)| bounds(cell as usize).1);
        let mut histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, last.max(2), 2)
            .expect("one and more to two digits is a legal range");
        for &(cell, count) in &self.cells {
            histogram.saturating_record_n(bounds(cell as usize).0, count.min(MOST));
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&histogram, &mut bytes)
            .expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// Takes the cells that [`cells_to_v2_deflate`](Self::cells_to_v2_deflate) wrote, with the numbers beside them.
    ///
    /// # Errors
    /// If the text is no such histogram, has other cells, or another count.
    pub fn with_cells_of_v2_deflate(self, text: &str) -> Result<Self, HistogramError> {
        let mut cells = Vec::new();
        for (low, high, count) in v2_deflate_cells(text)? {
            let cell = cell_of(low);
            if bounds(cell) != (low, high) {
                return Err(HistogramError::NotV2Deflate("its cells are not those of a slice"));
            }
            cells.push((cell as u32, count));
        }
        let is_in = |value: Option<u64>, cell: Option<&(u32, u64)>| match (value, cell) {
            (Some(value), Some(&(cell, _))) => cell_of(value) == cell as usize,
            (value, cell) => value.is_none() && cell.is_none(),
        };
        let count = cells.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
        if count != Some(self.count) {
            return Err(HistogramError::NotV2Deflate("it has another count than the slice"));
        }
        let in_order = self.min_ns <= self.max_ns;
        if !in_order || !is_in(self.min_ns, cells.first()) || !is_in(self.max_ns, cells.last()) {
            return Err(HistogramError::NotV2Deflate(
                "it has another smallest or largest delay than the slice",
            ));
        }
        Ok(Self { cells, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;
    use proptest::prelude::*;

    #[test]
    fn a_slice_without_delays_is_kept_as_one() {
        let none = Recorder::new().recorded();
        assert_eq!(none, Recorded::default());
        assert_eq!(none.counted().unwrap().count(), 0);
        assert_eq!(none.clone().with_cells_of_v2_deflate(&none.cells_to_v2_deflate()), Ok(none));
    }

    #[test]
    fn what_is_no_slice_is_refused() {
        let mut recorder = Recorder::new();
        recorder.record(1000);
        let kept = recorder.recorded();
        let text = kept.cells_to_v2_deflate();
        let twice = Recorded { count: 2, ..kept.clone() };
        assert!(twice.with_cells_of_v2_deflate(&text).is_err());
        recorder.record(1001);
        let two = recorder.recorded();
        for (min_ns, max_ns) in
            [(Some(1001), Some(1000)), (Some(1), two.max_ns), (two.min_ns, Some(9999)), (None, None)]
        {
            let other = Recorded { min_ns, max_ns, ..two.clone() };
            assert!(
                other.with_cells_of_v2_deflate(&two.cells_to_v2_deflate()).is_err(),
                "{min_ns:?} {max_ns:?}"
            );
        }
        let mut fine = crate::Histogram::new();
        fine.record(1000);
        assert!(
            kept.with_cells_of_v2_deflate(&fine.to_v2_deflate()).is_err(),
            "three digits have other cells"
        );
        recorder.record(u64::MAX);
        assert!(recorder.recorded().counted().is_err(), "2^64 ns are no delay to reckon with");
    }

    proptest! {
        #[test]
        fn storing_keeps_everything(delays in prop::collection::vec(any::<u64>(), 0..100), short in 0u32..40) {
            let mut recorder = Recorder::new();
            delays.iter().enumerate().for_each(|(at, &delay)| {
                recorder.record(delay >> short);
                recorder.at(at as u64);
            });
            let kept = recorder.recorded();
            let bare = Recorded { cells: Vec::new(), ..kept.clone() };
            prop_assert_eq!(bare.with_cells_of_v2_deflate(&kept.cells_to_v2_deflate()), Ok(kept));
        }

        #[test]
        fn percentiles_of_cells_are_those_of_the_delays_to_a_cell(
            mut delays in prop::collection::vec(0u64..10_000_000, 30..300), p in 0.2f64..0.8,
        ) {
            let mut recorder = Recorder::new();
            delays.iter().for_each(|&delay| recorder.record(delay));
            delays.sort_unstable();
            let rank = ((p * delays.len() as f64 - 1e-9).ceil() as usize).max(1);
            let exact = delays[rank - 1] as f64;
            let counted = recorder.recorded().counted().unwrap();
            let found = crate::Percentile::of(&counted.binned(), p, 0.95).value.unwrap();
            prop_assert!(found >= exact && found <= exact * (1.0 + 1.0 / 128.0), "{found} for {exact}");
        }
    }
}
