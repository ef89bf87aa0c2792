//! Delays over time in constant memory: a table of slices and of delay cells for each pipe.

use dropline_trial::passages::{Lane, LaneSlice, Passage, Timeline};

/// Slices at most; when they are full, neighbours become one.
const SLICES: usize = 128;
/// Length of a slice at first.
const FIRST_NS: u64 = 1 << 17;
/// Pipes that have a lane of their own.
const LANES: usize = 64;
/// Delay cells a factor of two, and below how many ns there is one a nanosecond.
const PRECISION: u32 = 3;
/// Cells: delays up to 2⁴⁰ ns, a quarter of an hour, have one of their own; longer ones share the last.
const CELLS: usize = (40 - PRECISION as usize) << PRECISION;

/// Collects passages by when they arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    origin_ns: Option<u64>,
    slice_ns: u64,
    lanes: Vec<Row>,
    /// Of pipes without a lane.
    others: Option<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    pipe: u32,
    /// SLICES × CELLS.
    counts: Vec<u32>,
    slices: Vec<Option<Ends>>,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    count: u64,
    min_ns: i64,
    max_ns: i64,
}

impl Times {
    /// A passage of the pipe that has this place among the pipes.
    pub(crate) fn see(&mut self, place: usize, passage: Passage) {
        if self.origin_ns.is_none() {
            (self.origin_ns, self.slice_ns) = (Some(passage.rx_ns), FIRST_NS);
        }
        let origin = self.origin_ns.unwrap_or_default();
        // Another thread's events may be older than the first that was seen: by what is drained at a time.
        let since = passage.rx_ns.saturating_sub(origin);
        while since / self.slice_ns >= SLICES as u64 {
            self.halve();
        }
        let slice = (since / self.slice_ns) as usize;
        let row = if place < LANES {
            while self.lanes.len() <= place {
                self.lanes.push(Row::new(passage.pipe));
            }
            let row = &mut self.lanes[place];
            row.pipe = passage.pipe;
            row
        } else {
            self.others.get_or_insert_with(|| Row::new(passage.pipe))
        };
        row.see(slice, passage.delay_ns());
    }

    pub(crate) fn finish(self) -> Timeline {
        let Some(origin_ns) = self.origin_ns else { return Timeline::default() };
        let mut cells = Vec::new();
        for slice in 0..SLICES {
            for cell in 0..CELLS {
                let rows = self.lanes.iter().chain(&self.others);
                let count: u64 = rows.map(|row| u64::from(row.counts[slice * CELLS + cell])).sum();
                if count > 0 {
                    cells.push((slice as u32, lowest(cell), lowest(cell + 1) - 1, count));
                }
            }
        }
        let lanes = self.lanes.iter().map(Row::lane).collect();
        Timeline { origin_ns, slice_ns: self.slice_ns, cells, lanes }
    }

    /// Slices of twice the length.
    #[cold]
    fn halve(&mut self) {
        self.slice_ns *= 2;
        self.lanes.iter_mut().chain(&mut self.others).for_each(Row::halve);
    }
}

impl Row {
    fn new(pipe: u32) -> Self {
        Self { pipe, counts: vec![0; SLICES * CELLS], slices: vec![None; SLICES] }
    }

    fn see(&mut self, slice: usize, delay_ns: i64) {
        let count = &mut self.counts[slice * CELLS + cell_of(delay_ns)];
        *count = count.saturating_add(1);
        let seen = Ends { count: 1, min_ns: delay_ns, max_ns: delay_ns };
        self.slices[slice] = Ends::both(self.slices[slice], Some(seen));
    }

    fn halve(&mut self) {
        for slice in 0..SLICES {
            let (first, second) = (2 * slice, 2 * slice + 1);
            self.slices[slice] =
                if second < SLICES { Ends::both(self.slices[first], self.slices[second]) } else { None };
            for cell in 0..CELLS {
                self.counts[slice * CELLS + cell] = if second < SLICES {
                    self.counts[first * CELLS + cell].saturating_add(self.counts[second * CELLS + cell])
                } else {
                    0
                };
            }
        }
    }

    fn lane(&self) -> Lane {
        let slices = self.slices.iter().enumerate().filter_map(|(slice, ends)| {
            let ends = (*ends)?;
            let counts = &self.counts[slice * CELLS..(slice + 1) * CELLS];
            let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            let mut before = 0;
            let middle = counts.iter().position(|&count| {
                before += u64::from(count);
                2 * before >= all
            });
            let p50 = middle.map_or(0, |cell| lowest(cell).midpoint(lowest(cell + 1) - 1) as i64);
            Some(LaneSlice {
                slice: slice as u32,
                count: ends.count,
                min_ns: ends.min_ns,
                p50_ns: p50.clamp(ends.min_ns, ends.max_ns),
                max_ns: ends.max_ns,
            })
        });
        Lane { pipe: self.pipe, slices: slices.collect() }
    }
}

impl Ends {
    fn both(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(Self {
                count: a.count + b.count,
                min_ns: a.min_ns.min(b.min_ns),
                max_ns: a.max_ns.max(b.max_ns),
            }),
            (one, none) => one.or(none),
        }
    }
}

/// The cell of a delay; one below zero has the first.
fn cell_of(delay_ns: i64) -> usize {
    let delay = u64::try_from(delay_ns).unwrap_or(0);
    let log = delay.max(1).ilog2();
    if log < PRECISION {
        return delay as usize;
    }
    let within = (delay >> (log - PRECISION)) as usize - (1 << PRECISION);
    ((((log - PRECISION + 1) << PRECISION) as usize) + within).min(CELLS - 1)
}

/// The shortest delay of a cell.
fn lowest(cell: usize) -> u64 {
    let (row, within) = (cell >> PRECISION, cell & ((1 << PRECISION) - 1));
    match row {
        0 => within as u64,
        _ => ((1 << PRECISION) + within as u64) << (row - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn passage(tx_ns: u64, delay_ns: u64) -> Passage {
        Passage { pipe: 7, n: 1, tx_ns, rx_ns: tx_ns + delay_ns }
    }

    proptest! {
        #[test]
        fn a_delay_lies_in_its_cell(delay in 0u64..1 << 39) {
            let cell = cell_of(delay as i64);
            prop_assert!(lowest(cell) <= delay && delay < lowest(cell + 1), "{} {}", cell, lowest(cell));
        }

        #[test]
        fn no_passage_is_lost_however_long_the_trial(at in prop::collection::vec(0u64..1 << 44, 1..200)) {
            let mut times = Times::default();
            at.iter().for_each(|&at| times.see(0, passage(at, 1000)));
            let timeline = times.finish();
            let all: u64 = timeline.cells.iter().map(|(.., count)| count).sum();
            prop_assert_eq!(all, at.len() as u64);
            prop_assert_eq!(timeline.lanes[0].slices.iter().map(|slice| slice.count).sum::<u64>(), all);
            prop_assert!(timeline.cells.iter().all(|(slice, ..)| (*slice as usize) < SLICES));
        }
    }

    #[test]
    fn slices_know_their_ends_and_their_middle() {
        let mut times = Times::default();
        for delay in [100, 200, 5000] {
            times.see(0, passage(1_000_000 - delay, delay));
        }
        times.see(1, passage(1_000_000 + FIRST_NS, 300));
        let timeline = times.finish();
        let [slice] = timeline.lanes[0].slices[..] else { panic!("one slice") };
        assert_eq!((slice.slice, slice.count, slice.min_ns, slice.max_ns), (0, 3, 100, 5000));
        assert!((190..=210).contains(&slice.p50_ns), "{slice:?}");
        assert_eq!(timeline.lanes[1].slices[0].slice, 1);
    }

    #[test]
    fn the_longest_delay_there_is_has_a_cell() {
        assert_eq!(cell_of(i64::MAX), CELLS - 1);
        assert_eq!(cell_of(-5), 0);
    }
}
