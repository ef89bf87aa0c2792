//! Consecutive slices of one trial: the replicates of every interval, drift check and change point.

use crate::Recorder;

/// Slices of a trial, where nobody says.
pub const SLICES: u64 = 40;
/// The shortest, in nanoseconds: the kernel counts the time of CPUs in ticks of that length.
const SHORTEST_NS: u64 = 10_000_000;

/// How a trial is cut into slices of equal length; the last takes what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    duration_ns: u64,
    slice_ns: u64,
    wanted: u64,
}

impl Cut {
    /// A trial of this duration in so many slices, 40 where nobody says; fewer where they would be shorter than 10 ms.
    pub fn of(duration_ns: u64, wanted: Option<u32>) -> Self {
        let wanted = wanted.map_or(SLICES, |wanted| u64::from(wanted.max(1)));
        let slice_ns = duration_ns.div_ceil(wanted).max(SHORTEST_NS);
        Self { duration_ns, slice_ns, wanted }
    }

    /// How many.
    pub fn slices(&self) -> usize {
        self.duration_ns.div_ceil(self.slice_ns).max(1) as usize
    }

    /// No more slices than that, for what has too few events or no room for more.
    #[must_use]
    pub fn at_most(self, most: u32) -> Self {
        let slice_ns = self.slice_ns.max(self.duration_ns.div_ceil(u64::from(most.max(1))));
        Self { slice_ns, ..self }
    }

    /// How many there are and how many there should be, where that is more: a caveat.
    pub fn fewer(&self) -> Option<(u64, u64)> {
        let slices = self.slices() as u64;
        (slices < self.wanted).then_some((slices, self.wanted))
    }

    /// Where a slice begins, from the trial's epoch.
    pub fn begin_ns(&self, slice: usize) -> u64 {
        (slice as u64).saturating_mul(self.slice_ns).min(self.duration_ns)
    }

    /// Its length.
    pub fn length_ns(&self, slice: usize) -> u64 {
        self.begin_ns(slice + 1) - self.begin_ns(slice)
    }

    /// The slice of an event by when it was due; what was due later than the end belongs to the last.
    pub fn slice_of(&self, due_ns: u64) -> usize {
        usize::try_from(due_ns / self.slice_ns).unwrap_or(usize::MAX).min(self.slices() - 1)
    }
}

/// A recorder for each slice of a trial. All memory is taken when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    cut: Cut,
    recorders: Vec<Recorder>,
    /// The slice of the last event, and the times that are due in it.
    current: usize,
    begin_ns: u64,
    end_ns: u64,
}

impl Slices {
    /// For a trial that is cut so.
    pub fn new(cut: Cut) -> Self {
        let recorders = vec![Recorder::new(); cut.slices()];
        Self { cut, recorders, current: 0, begin_ns: 0, end_ns: cut.begin_ns(1) }
    }

    /// Counts an event: when it was due from the trial's epoch, and its delay, which may be below zero.
    #[inline]
    pub fn record(&mut self, due_ns: u64, delay_ns: i64) {
        let recorder = self.due(due_ns);
        recorder.record_signed(delay_ns);
        recorder.at(due_ns);
    }

    /// Counts an event that was due and never came.
    pub fn miss(&mut self, due_ns: u64) {
        self.due(due_ns).miss(1);
    }

    #[inline]
    fn due(&mut self, due_ns: u64) -> &mut Recorder {
        if !(self.begin_ns..self.end_ns).contains(&due_ns) {
            self.current = self.cut.slice_of(due_ns);
            self.begin_ns = self.cut.begin_ns(self.current);
            self.end_ns = self.cut.begin_ns(self.current + 1);
        }
        &mut self.recorders[self.current]
    }

    /// Adds what another recorder of the same trial counted, exactly.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.cut, other.cut, "slices of one trial are cut alike");
        self.recorders.iter_mut().zip(&other.recorders).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// How the trial is cut.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// In order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Recorder> {
        self.recorders.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_trials_have_fewer_slices() {
        let ten_seconds = Cut::of(10_000_000_000, None);
        assert_eq!(
            (ten_seconds.slices(), ten_seconds.length_ns(39), ten_seconds.fewer()),
            (40, 250_000_000, None)
        );
        assert_eq!((ten_seconds.at_most(3).slices(), ten_seconds.at_most(3).fewer()), (3, Some((3, 40))));
        let short = Cut::of(55_000_000, None);
        assert_eq!((short.slices(), short.length_ns(0), short.length_ns(5)), (6, 10_000_000, 5_000_000));
        assert_eq!(short.fewer(), Some((6, 40)));
        assert_eq!(Cut::of(0, None).slices(), 1);
        assert_eq!(Cut::of(400_000_000, None).slices(), 40);
        assert_eq!(
            (Cut::of(1_000_000_000, Some(3)).slices(), Cut::of(1_000_000_000, Some(0)).slices()),
            (3, 1)
        );
    }

    #[test]
    fn what_was_due_later_than_the_end_belongs_to_the_last_slice() {
        let mut slices = Slices::new(Cut::of(100_000_000, Some(4)));
        slices.record(99_999_999, 5);
        slices.record(u64::MAX, 7);
        slices.miss(100_000_000);
        slices.record(0, -1);
        let last = slices.iter().last().unwrap().totals();
        assert_eq!((last.count, last.missed, last.max_ns), (2, 1, Some(7)));
        assert_eq!(slices.iter().next().unwrap().totals().negative, 1);
    }

    proptest! {
        #[test]
        fn the_sum_of_the_slices_is_the_whole(
            events in prop::collection::vec((0u64..1_200_000_000, any::<i32>()), 0..200), wanted in 1u32..50,
        ) {
            let mut slices = Slices::new(Cut::of(1_000_000_000, Some(wanted)));
            let mut whole = Recorder::new();
            for &(due, delay) in &events {
                slices.record(due, delay.into());
                whole.record_signed(delay.into());
                whole.at(due);
            }
            let mut sum = Recorder::new();
            slices.iter().for_each(|slice| sum.merge(slice));
            prop_assert_eq!(sum, whole);
            for (at, slice) in slices.iter().enumerate() {
                let (begin, end) = (slices.cut().begin_ns(at), slices.cut().begin_ns(at + 1));
                let last = at + 1 == slices.cut().slices();
                if let Some((first, latest)) = slice.totals().span_ns {
                    prop_assert!(first >= begin && (latest < end || last));
                }
            }
        }
    }
}
