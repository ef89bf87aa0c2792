//! Counts of events by the interval that each is known to lie in: what every estimator here is given.

pub(crate) mod grid;

/// Events by interval, ascending, with those known only to be long.
#[derive(Clone, Debug, PartialEq)]
pub struct Binned {
    cells: Vec<Cell>,
    above: Option<(f64, u64)>,
    quantum: f64,
    count: u64,
}

/// One interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// What was recorded.
    pub value: f64,
    /// The true values are at least this.
    pub low: f64,
    /// The true values are below this.
    pub high: f64,
    /// Events; never 0.
    pub count: u64,
}

impl Cell {
    /// Where its events are taken to be by sums over all of them: an end would move each the same way.
    pub fn middle(&self) -> f64 {
        (self.low + self.high) / 2.0
    }

    /// Puts cells in order, each of them once.
    pub(crate) fn arrange(cells: &mut Vec<Self>) {
        cells.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
        cells.dedup_by(|next, kept| {
            let same = next.low == kept.low && next.high == kept.high;
            if same {
                kept.count += next.count;
            }
            same
        });
    }
}

impl Binned {
    /// Cells in ascending order; events at or beyond a value; the width of a tick.
    pub(crate) fn new(cells: Vec<Cell>, above: Option<(f64, u64)>, quantum: f64) -> Self {
        let count = cells.iter().map(|cell| cell.count).sum::<u64>() + above.map_or(0, |(_, count)| count);
        Self { cells, above, quantum, count }
    }

    /// All events of several sets, in one unit; cells that both have are one.
    pub fn together(parts: &[Self]) -> Self {
        let mut cells: Vec<Cell> = parts.iter().flat_map(|part| part.cells.iter().copied()).collect();
        Cell::arrange(&mut cells);
        let above = parts.iter().filter_map(|part| part.above);
        let above = above.reduce(|(from, count), (other, more)| (from.min(other), count + more));
        let quantum = parts.iter().map(|part| part.quantum).fold(0.0, f64::max);
        Self::new(cells, above, quantum)
    }

    /// The occupied cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// From where on the length of so many events is not known.
    pub fn above(&self) -> Option<(f64, u64)> {
        self.above
    }

    /// With so many events more that never ended: lost, and so longer than any other.
    #[must_use]
    pub fn with_lost(mut self, lost: u64) -> Self {
        let (from, known) = self.above.unwrap_or((f64::INFINITY, 0));
        self.above = Some((from, known + lost)).filter(|(_, count)| *count > 0);
        self.count += lost;
        self
    }

    /// Events that never ended.
    pub fn lost(&self) -> u64 {
        self.above.filter(|(from, _)| from.is_infinite()).map_or(0, |(_, count)| count)
    }

    /// Width of a tick.
    pub fn quantum(&self) -> f64 {
        self.quantum
    }

    /// All events.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Recorded value of the event with this rank, from 1; `None` if there is none, or its length is not known.
    pub fn ranked(&self, rank: u64) -> Option<f64> {
        let mut below = 0;
        self.cells
            .iter()
            .find(|cell| {
                below += cell.count;
                rank <= below
            })
            .filter(|_| rank > 0)
            .map(|cell| cell.value)
    }

    /// Events whose recorded value is above this; those known only to be long are where `value` is below theirs.
    pub fn count_above(&self, value: f64) -> u64 {
        let cells: u64 = self.cells.iter().filter(|cell| cell.value > value).map(|cell| cell.count).sum();
        cells + self.above.map_or(0, |(_, count)| count)
    }

    /// The same events with other counts, one for each cell; empty cells fall away.
    #[must_use]
    pub fn recounted(&self, counts: &[u64]) -> Self {
        let cells = self.cells.iter().zip(counts).filter(|(_, count)| **count > 0);
        Self::new(cells.map(|(cell, &count)| Cell { count, ..*cell }).collect(), None, self.quantum)
    }

    /// The events with a recorded value above this.
    #[must_use]
    pub fn beyond(&self, value: f64) -> Self {
        let cells = self.cells.iter().filter(|cell| cell.value > value).copied().collect();
        Self::new(cells, self.above, self.quantum)
    }

    /// The events with a recorded value of at most this.
    #[must_use]
    pub fn up_to(&self, value: f64) -> Self {
        let cells = self.cells.iter().filter(|cell| cell.value <= value).copied().collect();
        Self::new(cells, None, self.quantum)
    }

    /// At most `most` cells: those of a grid, wider where values are larger, whose edges no single event decides.
    #[must_use]
    pub fn coarse(&self, most: usize) -> Self {
        if self.cells.len() <= most {
            return self.clone();
        }
        let cells = grid::filled(&self.cells, &grid::edges(&self.cells, most));
        Self { cells: cells.into_iter().flatten().collect(), ..self.clone() }
    }

    /// The same events by the step that their values keep, where that is much wider than a tick: values of whole
    /// microseconds in a histogram of nanoseconds, say. `None` where they keep none.
    pub fn stepped(&self) -> Option<Self> {
        let middle = Cell::middle;
        let first = middle(self.cells.first()?);
        let step = self
            .cells
            .windows(2)
            .map(|pair| middle(&pair[1]) - middle(&pair[0]))
            .fold(f64::INFINITY, f64::min);
        let widest = self.cells.iter().map(|cell| cell.high - cell.low).fold(0.0, f64::max);
        if self.cells.len() < 5 || self.above.is_some() || step < 2.5 * widest.max(self.quantum) {
            return None;
        }
        let steps = |cell: &Cell| ((middle(cell) - first) / step).round();
        // The first spacing may be off by a cell's width: the whole span tells the step better.
        let last = self.cells.last()?;
        let step = (middle(last) - first) / steps(last);
        let keeps =
            |cell: &Cell| (middle(cell) - first - steps(cell) * step).abs() <= widest.max(self.quantum) * 1.5;
        if !self.cells.iter().all(keeps) {
            return None;
        }
        let cells = self.cells.iter().map(|cell| {
            let at = first + steps(cell) * step;
            Cell { value: cell.value, low: at - step / 2.0, high: at + step / 2.0, count: cell.count }
        });
        Some(Self::new(cells.collect(), None, step))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Counted, Meaning};

    #[test]
    fn coarse_cells_hold_the_same_events() {
        let ticks = (1000..9000).map(|tick: i64| (tick, 1 + tick.unsigned_abs() % 3));
        let fine = Counted::ticks(Meaning::default(), ticks, None).unwrap().binned();
        let coarse = fine.coarse(300);
        assert!(coarse.cells().len() <= 300 && coarse.cells().len() > 100, "{}", coarse.cells().len());
        assert_eq!(coarse.count(), fine.count());
        assert_eq!(coarse.cells().iter().map(|cell| cell.count).sum::<u64>(), fine.count());
        assert_eq!((coarse.cells()[0].low, coarse.cells().last().unwrap().high), (999.5, 8999.5));
    }

    #[test]
    fn steps_wider_than_a_tick_are_seen() {
        let of = |ranges: &[(i64, i64, u64)]| {
            Counted::ranges(Meaning::default(), ranges.iter().copied(), None).unwrap().binned().stepped()
        };
        let stepped = of(&[
            (6000, 6003, 9),
            (7000, 7003, 3),
            (8000, 8007, 1),
            (9000, 9007, 1),
            (12_000, 12_007, 2),
            (16_000, 16_015, 1),
        ]);
        let stepped = stepped.unwrap();
        assert!((stepped.quantum() - 1000.0).abs() < 2.0, "{stepped:?}");
        assert!((stepped.cells()[4].high - stepped.cells()[4].low - stepped.quantum()).abs() < 1e-6);
        assert_eq!(of(&[(1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (5, 5, 1)]), None);
        assert_eq!(
            of(&[(1000, 1000, 1), (2000, 2000, 1), (2700, 2700, 1), (4000, 4000, 1), (5000, 5000, 1)]),
            None
        );
    }

    #[test]
    fn ranks_beyond_what_is_known_have_no_value() {
        let above = Some(crate::Above { from: 20, count: 2 });
        let binned = Counted::ticks(Meaning::default(), [(6, 1), (7, 2)], above).unwrap().binned();
        assert_eq!(
            [0, 1, 2, 3, 4, 9].map(|rank| binned.ranked(rank)),
            [None, Some(6.0), Some(7.0), Some(7.0), None, None]
        );
        assert_eq!((binned.count(), binned.count_above(6.0)), (5, 4));
    }
}
