//! When a server was not running.

/// Intervals in which a server did nothing though it had work: no CPU was given to it, or it paused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Begin and end in ns; in order, apart from one another, none empty.
    intervals: Vec<(u64, u64)>,
}

impl Stalls {
    /// From intervals in any order, begin before end; those that touch become one, empty ones none.
    pub fn new(mut intervals: Vec<(u64, u64)>) -> Self {
        intervals.retain(|(begin, end)| begin < end);
        intervals.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
        for (begin, end) in intervals {
            match apart.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => apart.push((begin, end)),
            }
        }
        Self { intervals: apart }
    }

    /// The intervals, in order.
    pub fn intervals(&self) -> &[(u64, u64)] {
        &self.intervals
    }

    /// Those that are not among `others`.
    pub fn without(&self, others: &Self) -> Self {
        let rest = self.intervals.iter().filter(|one| !others.intervals.contains(one));
        Self { intervals: rest.copied().collect() }
    }

    /// Their sum, in ns.
    pub fn total_ns(&self) -> u64 {
        self.intervals.iter().map(|(begin, end)| end - begin).sum()
    }

    /// Their sum between two moments, in ns.
    pub fn within(&self, from_ns: u64, to_ns: u64) -> u64 {
        let later = &self.intervals[self.first_ending_after(from_ns)..];
        let touching = later.iter().take_while(|(begin, _)| *begin < to_ns);
        touching.map(|&(begin, end)| end.min(to_ns) - begin.max(from_ns)).sum()
    }

    /// Whether the server ran at `at_ns`.
    pub fn runs_at(&self, at_ns: u64) -> bool {
        self.running_from(at_ns) == at_ns
    }

    /// Whether a stall ended at most `within_ns` before.
    pub fn ended_within(&self, at_ns: u64, within_ns: u64) -> bool {
        let before = self.first_ending_after(at_ns).checked_sub(1);
        before.is_some_and(|index| at_ns - self.intervals[index].1 <= within_ns)
    }

    /// The first moment from `at_ns` on at which the server ran.
    pub fn running_from(&self, at_ns: u64) -> u64 {
        match self.intervals[self.first_ending_after(at_ns)..].first() {
            Some(&(begin, end)) if begin <= at_ns => end,
            _ => at_ns,
        }
    }

    /// When work of `work_ns` is done that is begun at `start_ns`: stalls within it put it off. A stall that
    /// begins just then is waited for too, as the server can do nothing in it.
    pub fn done(&self, start_ns: u64, work_ns: u64) -> u64 {
        let mut at = start_ns;
        let mut left = work_ns;
        for &(begin, end) in &self.intervals[self.first_ending_after(start_ns)..] {
            if at.saturating_add(left) < begin {
                break;
            }
            left -= begin.saturating_sub(at).min(left);
            at = at.max(end);
        }
        at.saturating_add(left)
    }

    fn first_ending_after(&self, at_ns: u64) -> usize {
        self.intervals.partition_point(|&(_, end)| end <= at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn work_waits_for_the_stalls_within_it() {
        let stalls = Stalls::new(vec![(100, 150), (200, 210)]);
        assert_eq!(stalls.done(0, 99), 99);
        assert_eq!(stalls.done(0, 100), 150, "a stall that begins just then is waited for");
        assert_eq!(stalls.done(0, 149), 199);
        assert_eq!(stalls.done(0, 150), 210);
        assert_eq!(stalls.done(120, 10), 160);
        assert_eq!(stalls.done(300, 10), 310);
        assert_eq!(
            (stalls.running_from(99), stalls.running_from(100), stalls.running_from(150)),
            (99, 150, 150)
        );
    }

    #[test]
    fn stalls_that_touch_are_one() {
        let stalls = Stalls::new(vec![(30, 40), (5, 5), (10, 20), (20, 25), (12, 14)]);
        assert_eq!(stalls.intervals(), [(10, 25), (30, 40)]);
        assert_eq!(stalls.total_ns(), 25);
    }

    proptest! {
        #[test]
        fn work_is_done_after_as_many_running_moments(
            intervals in proptest::collection::vec((0..60u64, 0..60u64), 0..6), start in 0..60u64, work in 0..60u64
        ) {
            let stalls = Stalls::new(intervals.clone());
            let runs = |at: u64| !intervals.iter().any(|&(begin, end)| begin <= at && at < end);
            prop_assert!((0..70).all(|at| stalls.runs_at(at) == runs(at)));
            let still = (start..start + work).filter(|&at| !runs(at)).count() as u64;
            prop_assert_eq!(stalls.within(start, start + work), still);
            let done = stalls.done(start, work);
            prop_assert_eq!((start..done).filter(|&at| runs(at)).count() as u64, work);
            prop_assert!(runs(done));
        }
    }
}
