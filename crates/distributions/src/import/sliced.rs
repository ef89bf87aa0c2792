//! Events by when they were: the intervals of a log, put together to some dozens of time slices.

use dropline_stats::{CountError, Counted, Meaning};

/// Slices are put together in pairs beyond so many.
const MOST: usize = 80;
/// Cells of all slices of one distribution; a log with more of them is taken without slices.
const MOST_CELLS: usize = 1 << 21;

/// What was counted in one part of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSlice {
    /// When it began, in seconds of the file's own time.
    pub begin_s: f64,
    /// Its length.
    pub length_s: f64,
    /// Its events; their cells may be others than those of the whole.
    pub counted: Counted,
}

/// Lowest tick, highest tick, count.
type Cell = (i64, i64, u64);

/// Takes the intervals of a log one after another.
#[derive(Debug)]
pub(super) struct Slicer {
    slots: Vec<Slot>,
    /// Intervals of a full slot.
    together: usize,
    cells: usize,
    /// Whether intervals came in no order, or are too many.
    given_up: bool,
}

#[derive(Debug)]
struct Slot {
    begin_s: f64,
    end_s: f64,
    intervals: usize,
    cells: Vec<Cell>,
}

impl Default for Slicer {
    fn default() -> Self {
        Self { slots: Vec::new(), together: 1, cells: 0, given_up: false }
    }
}

impl Slicer {
    /// The next interval; its cells are in order.
    pub(super) fn push(&mut self, begin_s: f64, length_s: f64, cells: &[Cell]) {
        let in_order = self.slots.last().is_none_or(|last| begin_s >= last.begin_s);
        if self.given_up || !in_order || length_s < 0.0 {
            self.give_up();
            return;
        }
        let interval = Slot { begin_s, end_s: begin_s + length_s, intervals: 1, cells: cells.to_vec() };
        self.cells += cells.len();
        match self.slots.last_mut() {
            Some(last) if last.intervals < self.together => last.take(interval),
            _ => self.slots.push(interval),
        }
        if self.slots.len() > MOST {
            self.pair();
        }
        if self.cells > MOST_CELLS {
            self.cells = self.slots.iter().map(|slot| slot.cells.len()).sum();
            if self.cells > MOST_CELLS / 2 {
                self.give_up();
            }
        }
    }

    /// The slices in order; none of fewer than two intervals.
    pub(super) fn finish(mut self, meaning: Meaning) -> Result<Vec<TimeSlice>, CountError> {
        // What was left over is no replicate of the others.
        if self.slots.len() > 1
            && let Some(last) = self.slots.pop_if(|last| 2 * last.intervals < self.together)
            && let Some(before) = self.slots.last_mut()
        {
            before.take(last);
        }
        if self.slots.len() < 2 {
            return Ok(Vec::new());
        }
        self.slots
            .into_iter()
            .map(|slot| {
                Ok(TimeSlice {
                    begin_s: slot.begin_s,
                    length_s: slot.end_s - slot.begin_s,
                    counted: Counted::ranges(meaning, slot.cells, None)?,
                })
            })
            .collect()
    }

    fn pair(&mut self) {
        self.together *= 2;
        let mut paired: Vec<Slot> = Vec::with_capacity(self.slots.len() / 2 + 1);
        for (index, slot) in std::mem::take(&mut self.slots).into_iter().enumerate() {
            match paired.last_mut() {
                Some(last) if index % 2 == 1 => last.take(slot),
                _ => paired.push(slot),
            }
        }
        self.slots = paired;
    }

    fn give_up(&mut self) {
        self.given_up = true;
        self.slots = Vec::new();
    }
}

impl Slot {
    fn take(&mut self, next: Self) {
        self.end_s = self.end_s.max(next.end_s);
        self.intervals += next.intervals;
        self.cells.extend(next.cells);
        self.cells.sort_unstable();
        self.cells.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 = kept.2.saturating_add(next.2);
            }
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sliced(intervals: u32) -> Vec<TimeSlice> {
        let mut slicer = Slicer::default();
        (0..intervals)
            .for_each(|k| slicer.push(f64::from(k), 1.0, &[(5, 5, 1), (9 + i64::from(k % 2), 10, 2)]));
        slicer.finish(Meaning::default()).unwrap()
    }

    #[test]
    fn slices_hold_every_event_in_order_and_are_some_dozens() {
        assert!(sliced(1).is_empty(), "one interval is the whole");
        for intervals in [2, 80, 81, 161, 1000] {
            let slices = sliced(intervals);
            assert!((2..=MOST).contains(&slices.len()), "{intervals}: {}", slices.len());
            let events: u64 = slices.iter().map(|slice| slice.counted.count()).sum();
            assert_eq!(events, 3 * u64::from(intervals));
            let mut at = 0.0;
            for slice in &slices {
                assert_eq!(slice.begin_s, at);
                at += slice.length_s;
            }
            assert_eq!(at, f64::from(intervals));
        }
    }

    #[test]
    fn intervals_in_no_order_are_no_slices() {
        let mut slicer = Slicer::default();
        [0.0, 5.0, 1.0, 9.0].into_iter().for_each(|begin| slicer.push(begin, 1.0, &[(5, 5, 1)]));
        assert!(slicer.finish(Meaning::default()).unwrap().is_empty());
    }
}
