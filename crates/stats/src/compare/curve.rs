//! A distribution function from counted cells, straight inside each.

use crate::{Binned, Cell};

/// Cumulative counts of some events.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    cells: Vec<Cell>,
    /// Events below each cell.
    below: Vec<u64>,
    count: u64,
    /// Events that never ended: longer than any other.
    lost: u64,
    /// Whether the length of others is not known.
    censored: bool,
}

impl Curve {
    /// Of all events of several parts, which were counted in the same cells.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a Binned>) -> Self {
        let mut whole = Self { cells: Vec::new(), below: Vec::new(), count: 0, lost: 0, censored: false };
        for part in parts {
            whole.cells.extend_from_slice(part.cells());
            whole.count += part.count();
            whole.lost += part.lost();
            whole.censored |= part.above().is_some() && part.lost() == 0;
        }
        whole.summed()
    }

    /// Of all events of several curves.
    pub(crate) fn together(curves: &[Self]) -> Self {
        let whole = Self {
            cells: curves.iter().flat_map(|curve| curve.cells.iter().copied()).collect(),
            below: Vec::new(),
            count: curves.iter().map(|curve| curve.count).sum(),
            lost: curves.iter().map(|curve| curve.lost).sum(),
            censored: curves.iter().any(|curve| curve.censored),
        };
        whole.summed()
    }

    /// Of all events but those of a part of them.
    pub(crate) fn without(&self, part: &Self) -> Self {
        let mut left_out = part.cells.iter().peekable();
        let cells = self.cells.iter().filter_map(|cell| {
            let same = left_out.next_if(|out| out.low == cell.low && out.high == cell.high);
            let count = cell.count - same.map_or(0, |out| out.count);
            (count > 0).then_some(Cell { count, ..*cell })
        });
        Self {
            cells: cells.collect(),
            below: Vec::new(),
            count: self.count - part.count,
            lost: self.lost - part.lost,
            censored: self.censored,
        }
        .indexed()
    }

    /// With its cells in order, each once.
    fn summed(mut self) -> Self {
        Cell::arrange(&mut self.cells);
        self.indexed()
    }

    /// Of cells that are in order.
    fn indexed(mut self) -> Self {
        self.below = self
            .cells
            .iter()
            .scan(0, |below, cell| {
                let before = *below;
                *below += cell.count;
                Some(before)
            })
            .collect();
        self
    }

    /// Events, those of unknown length and those that were lost included.
    pub(crate) fn count(&self) -> f64 {
        self.count as f64
    }

    /// Whether some have no length, or none that is known.
    pub(crate) fn is_censored(&self) -> bool {
        self.censored || self.lost > 0
    }

    /// Whether the length of some is not known, though they have one.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.censored
    }

    /// Events that never ended.
    pub(crate) fn lost(&self) -> f64 {
        self.lost as f64
    }

    /// Whether the `p` quantile is among those that never ended.
    pub(crate) fn is_lost_at(&self, p: f64) -> bool {
        p * self.count() > (self.count - self.lost) as f64
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Events below the cell with this index.
    pub(crate) fn below_cell(&self, index: usize) -> f64 {
        self.below[index] as f64
    }

    /// Events below `x`; a cell that `x` cuts is taken as even.
    pub(crate) fn below(&self, x: f64) -> f64 {
        let after = self.cells.partition_point(|cell| cell.low <= x);
        let Some(at) = after.checked_sub(1) else { return 0.0 };
        let cell = &self.cells[at];
        let share = ((x - cell.low) / (cell.high - cell.low)).min(1.0);
        self.below[at] as f64 + share * cell.count as f64
    }

    /// Events whose recorded value is above `x`.
    pub(crate) fn above(&self, x: f64) -> f64 {
        let first = self.cells.partition_point(|cell| cell.value <= x);
        (self.count - self.below.get(first).copied().unwrap_or_else(|| self.known())) as f64
    }

    /// The grouped quantile: where the curve crosses `p`. `None` outside (0, 1), and among events of unknown length.
    pub(crate) fn quantile(&self, p: f64) -> Option<f64> {
        let rank = p * self.count();
        if p <= 0.0 || p >= 1.0 || self.cells.is_empty() || rank > self.known() as f64 {
            return None;
        }
        let at = self.below.partition_point(|below| (*below as f64) < rank) - 1;
        let cell = &self.cells[at];
        Some(cell.low + (rank - self.below[at] as f64) / cell.count as f64 * (cell.high - cell.low))
    }

    /// The smallest recorded value that a share `p` of the events does not exceed (type 1).
    pub(crate) fn recorded_quantile(&self, p: f64) -> Option<f64> {
        self.ranked(p * self.count())
    }

    /// The same of the events that ended.
    pub(crate) fn ended_quantile(&self, p: f64) -> Option<f64> {
        self.ranked(p * (self.count - self.lost) as f64)
    }

    fn ranked(&self, rank: f64) -> Option<f64> {
        let rank = (rank - 1e-9).ceil().max(1.0);
        if rank > self.known() as f64 {
            return None;
        }
        let at = self.below.partition_point(|below| (*below as f64) < rank) - 1;
        Some(self.cells[at].value)
    }

    /// Events of known length.
    fn known(&self) -> u64 {
        self.cells.last().map_or(0, |last| self.below[self.below.len() - 1] + last.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, binned};

    #[test]
    fn grouped_quantiles_are_those_of_the_reference() {
        let curve = Curve::of([&binned(IDLE)]);
        for (p, value) in
            [(0.01, 5.546079), (0.5, 7.416822), (0.75, 12.828), (0.99, 23.963415), (0.999, 41.8)]
        {
            assert!((curve.quantile(p).unwrap() - value).abs() < 1e-6, "{p}");
            assert!((curve.below(value) / curve.count() - p).abs() < 1e-4, "{p}");
        }
        assert_eq!((curve.recorded_quantile(0.99), curve.recorded_quantile(0.999)), (Some(24.0), Some(42.0)));
        assert_eq!((curve.above(42.0), curve.above(46.5)), (9.0, 7.0));
        assert_eq!((curve.quantile(0.0), curve.quantile(1.0)), (None, None));
    }

    #[test]
    fn parts_together_are_the_whole() {
        let whole = binned(IDLE);
        let curve = Curve::of([&whole.up_to(11.0), &whole.beyond(11.0)]);
        assert_eq!(curve.count(), 10_400.0);
        assert_eq!(curve.quantile(0.9), Curve::of([&whole]).quantile(0.9));
        let rest = curve.without(&Curve::of([&whole.beyond(11.0)]));
        assert_eq!((rest.count(), rest.recorded_quantile(0.999)), (7483.0, Some(11.0)));
    }

    /// Events of 1 to 8 ticks, and two that were lost.
    fn with_two_lost() -> Curve {
        let ticks = (1..=8).map(|tick| (tick, 1));
        let whole = crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned();
        Curve::of([&whole.with_lost(2)])
    }

    #[test]
    fn what_was_lost_is_longer_than_all_that_ended() {
        let curve = with_two_lost();
        assert_eq!((curve.count(), curve.lost()), (10.0, 2.0));
        assert_eq!((curve.recorded_quantile(0.5), curve.ended_quantile(0.5)), (Some(5.0), Some(4.0)));
        assert_eq!((curve.recorded_quantile(0.8), curve.recorded_quantile(0.9)), (Some(8.0), None));
        assert_eq!(curve.ended_quantile(1.0), Some(8.0));
        assert_eq!([0.8, 0.81].map(|p| curve.is_lost_at(p)), [false, true]);
        assert!(curve.quantile(0.8).is_some() && curve.quantile(0.81).is_none());
        assert_eq!([0.0, 6.0, 8.0, 99.0].map(|x| curve.above(x)), [10.0, 4.0, 2.0, 2.0]);
        assert_eq!([0.0, 99.0].map(|x| curve.below(x)), [0.0, 8.0]);
        assert_eq!((curve.is_censored(), curve.is_cut_off()), (true, false));
    }

    #[test]
    fn lost_events_are_counted_together_and_taken_out_with_their_part() {
        let both = Curve::together(&[with_two_lost(), with_two_lost()]);
        assert_eq!((both.count(), both.lost(), both.cells().len()), (20.0, 4.0, 8));
        let rest = both.without(&with_two_lost());
        assert_eq!((rest.count(), rest.lost(), rest.above(6.0)), (10.0, 2.0, 4.0));
        let none = rest.without(&with_two_lost());
        assert_eq!((none.count(), none.lost(), none.cells().len()), (0.0, 0.0, 0));
    }
}
