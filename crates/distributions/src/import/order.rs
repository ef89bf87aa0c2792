//! Events in the order in which they were measured, of every format that has one.

use dropline_stats::{CountError, Counted, Meaning};
use std::collections::BTreeMap;

/// Events of a file in the order of time, in the ticks that they were counted in.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Order {
    /// The file has none, or its values are sorted.
    #[default]
    Unknown,
    /// One after another.
    Events(Vec<i64>),
    /// Too many for that: counted in stretches of equal length.
    Stretches(Vec<Counted>),
}

/// So many are kept one by one.
const MOST: usize = 1 << 17;
/// Stretches are put together in pairs beyond so many; there are half as many at first.
const STRETCHES: usize = 64;

/// Takes ticks one after another, in memory that has an end.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderTaker {
    /// Those that are in no stretch yet.
    recent: Vec<i64>,
    stretches: Vec<BTreeMap<i64, u64>>,
    /// Events of a stretch.
    length: usize,
    last: Option<i64>,
    rises: bool,
    falls: bool,
}

impl OrderTaker {
    pub(super) fn add(&mut self, tick: i64) {
        if let Some(last) = self.last.replace(tick) {
            self.rises |= tick > last;
            self.falls |= tick < last;
        }
        self.recent.push(tick);
        if self.stretches.is_empty() && self.recent.len() == MOST {
            self.length = MOST / (STRETCHES / 2);
            let stretches = self.recent.chunks(self.length).map(counted).collect();
            (self.stretches, self.recent) = (stretches, Vec::new());
        } else if !self.stretches.is_empty() && self.recent.len() == self.length {
            self.stretches.push(counted(&self.recent));
            self.recent.clear();
        }
        if self.stretches.len() > STRETCHES {
            self.length *= 2;
            let mut stretches = std::mem::take(&mut self.stretches).into_iter();
            while let Some(mut first) = stretches.next() {
                stretches.next().into_iter().for_each(|second| take(&mut first, second));
                self.stretches.push(first);
            }
        }
    }

    /// Goes over to other ticks.
    pub(super) fn move_to(&mut self, place: impl Fn(i64) -> i64) {
        self.recent.iter_mut().for_each(|tick| *tick = place(*tick));
        self.last = self.last.map(&place);
        for stretch in &mut self.stretches {
            let moved = std::mem::take(stretch).into_iter().map(|(tick, count)| (cell(place(tick)), count));
            moved.for_each(|(tick, count)| *stretch.entry(tick).or_default() += count);
        }
    }

    /// All of them. Values that only rise, or only fall, are sorted, and in no order of time.
    pub(super) fn finish(mut self, meaning: Meaning) -> Result<Order, CountError> {
        if !(self.rises && self.falls) {
            return Ok(Order::Unknown);
        }
        let Some(last) = self.stretches.last_mut() else { return Ok(Order::Events(self.recent)) };
        let left = counted(&self.recent);
        // What was left over is no replicate of the others.
        if 2 * self.recent.len() < self.length {
            take(last, left)
        } else {
            self.stretches.push(left)
        }
        let ranges = |stretch: BTreeMap<i64, u64>| {
            let cells = stretch.into_iter().map(|(low, count)| (low, low + width(low) - 1, count));
            Counted::ranges(meaning, cells, None)
        };
        self.stretches.into_iter().map(ranges).collect::<Result<_, _>>().map(Order::Stretches)
    }
}

fn counted(events: &[i64]) -> BTreeMap<i64, u64> {
    let mut stretch = BTreeMap::new();
    events.iter().for_each(|&tick| *stretch.entry(cell(tick)).or_default() += 1);
    stretch
}

fn take(stretch: &mut BTreeMap<i64, u64>, next: BTreeMap<i64, u64>) {
    next.into_iter().for_each(|(tick, count)| *stretch.entry(tick).or_default() += count);
}

/// The lowest tick of the cell that holds this one.
pub(super) fn cell(tick: i64) -> i64 {
    tick.div_euclid(width(tick)) * width(tick)
}

/// Width of the cell of a tick: a 1024th of its leading power of two.
pub(super) fn width(tick: i64) -> i64 {
    // Below zero a cell begins at its end that is further from zero.
    let size = if tick < 0 { (tick + 1).unsigned_abs() } else { tick.unsigned_abs() };
    1 << size.checked_ilog2().unwrap_or(0).saturating_sub(10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::counted::LARGEST_TICK;

    fn order(ticks: impl Iterator<Item = i64>) -> Order {
        let mut course = OrderTaker::default();
        ticks.for_each(|tick| course.add(tick));
        course.finish(Meaning::default()).unwrap()
    }

    #[test]
    fn events_are_kept_in_their_order_and_sorted_values_have_none() {
        assert_eq!(order([5, 9, 7].into_iter()), Order::Events(vec![5, 9, 7]));
        for sorted in [[5, 7, 7], [7, 7, 5], [7, 7, 7]] {
            assert_eq!(order(sorted.into_iter()), Order::Unknown);
        }
        let mut finer = OrderTaker::default();
        [5, 9, 7].into_iter().for_each(|tick| finer.add(tick));
        finer.move_to(|tick| tick * 10);
        finer.add(62);
        assert_eq!(finer.finish(Meaning::default()), Ok(Order::Events(vec![50, 90, 70, 62])));
    }

    #[test]
    fn very_many_are_kept_in_stretches_that_hold_them_all_in_order() {
        for count in [MOST as i64, MOST as i64 * 5 / 2] {
            let Order::Stretches(stretches) = order((0..count).map(|at| 2 * at + 40 * (at % 3))) else {
                panic!("{count} are kept in stretches")
            };
            assert!((STRETCHES / 2..=STRETCHES + 1).contains(&stretches.len()), "{}", stretches.len());
            assert_eq!(stretches.iter().map(Counted::count).sum::<u64>(), count as u64);
            let first = |stretch: &Counted| stretch.cells().next().unwrap().0;
            assert!(stretches.windows(2).all(|pair| first(&pair[0]) < first(&pair[1])));
        }
    }

    #[test]
    fn every_tick_lies_in_its_cell() {
        for tick in
            [0, 1, 1023, 1024, 2047, 2048, 2049, 1 << 40, LARGEST_TICK, -1, -1024, -2048, -2049, -(1 << 40)]
        {
            let low = cell(tick);
            assert!((low..low + width(low)).contains(&tick), "{tick} in {low}+{}", width(low));
        }
    }
}
