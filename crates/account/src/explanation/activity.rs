//! When a watched process ran, and when it could have run and had no CPU.

use crate::Stalls;
use dropline_trial::{Look, TargetActivity};

/// A process over time, from counters that grow late.
///
/// The kernel counts CPU time at a clock tick or when a thread leaves its CPU, and waiting when it gets one. So what a
/// counter grew by is the time just before the look that found it, however long before the look ahead of that it began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Activity {
    ran: Stalls,
    starved: Stalls,
}

/// What a time was spent with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// No CPU, though it could have run.
    pub(super) not_scheduled_ns: u64,
    /// On a CPU.
    pub(super) busy_ns: u64,
    /// Neither.
    pub(super) paused_ns: u64,
}

impl Activity {
    /// `None` where its counters were not to be seen.
    pub(super) fn of(watched: &TargetActivity) -> Option<Self> {
        watched.samples.iter().find(|look| look.cpu_ns.is_some() && look.waited_ns.is_some())?;
        let (mut ran, mut starved) = (Vec::new(), Vec::new());
        for (before, after) in pairs(watched) {
            let grown = |of: fn(&Look) -> Option<u64>| {
                of(after).zip(of(before)).map_or(0, |(now, then)| now.saturating_sub(then))
            };
            let end = u64::try_from(after.at_ns).unwrap_or(0);
            // It waited before it ran.
            let began = end.saturating_sub(grown(|look| look.cpu_ns));
            ran.push((began, end));
            starved.push((began.saturating_sub(grown(|look| look.waited_ns)), began));
        }
        Some(Self { ran: Stalls::new(ran), starved: Stalls::new(starved) })
    }

    /// What it did from one moment to another.
    pub(super) fn spent(&self, from_ns: u64, to_ns: u64) -> Spent {
        let length = to_ns.saturating_sub(from_ns);
        let busy_ns = self.ran.within(from_ns, to_ns);
        let not_scheduled_ns = self.starved.within(from_ns, to_ns).min(length - busy_ns);
        Spent { not_scheduled_ns, busy_ns, paused_ns: length - busy_ns - not_scheduled_ns }
    }

    /// What it did in all of these.
    pub(super) fn spent_in(&self, intervals: &Stalls) -> Spent {
        let each = intervals.intervals().iter().map(|&(from, to)| self.spent(from, to));
        each.fold(Spent::default(), Spent::and)
    }

    /// Those in which it had no CPU for one in so many parts of the time, or more.
    pub(super) fn starved_in(&self, intervals: &Stalls, one_in: u64) -> Stalls {
        let starved =
            |&&(from, to): &&(u64, u64)| self.spent(from, to).not_scheduled_ns * one_in >= to - from;
        Stalls::new(intervals.intervals().iter().filter(starved).copied().collect())
    }
}

impl Spent {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            not_scheduled_ns: self.not_scheduled_ns + other.not_scheduled_ns,
            busy_ns: self.busy_ns + other.busy_ns,
            paused_ns: self.paused_ns + other.paused_ns,
        }
    }
}

/// Each look and the one after it.
pub(super) fn pairs(watched: &TargetActivity) -> impl Iterator<Item = (&Look, &Look)> {
    watched.samples.windows(2).map(|pair| (&pair[0], &pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_wait_that_is_counted_when_it_ends_is_no_sleep() {
        let look = |at: u64, cpu: u64, waited: u64| Look {
            at_ns: (at * MS) as i64,
            cpu_ns: Some(cpu * MS),
            waited_ns: Some(waited * MS),
            ..Look::default()
        };
        // It ran for 4 ms, had no CPU from 4 to 10 ms, ran for 2 ms and slept.
        let samples = [(0, 0, 0), (2, 0, 0), (4, 4, 0), (6, 4, 0), (10, 4, 6), (12, 6, 6), (20, 6, 6)];
        let samples = samples.map(|(at, cpu, waited)| look(at, cpu, waited)).to_vec();
        let activity = Activity::of(&TargetActivity { samples, ..TargetActivity::default() }).unwrap();
        let spent = |from: u64, to: u64| {
            let spent = activity.spent(from * MS, to * MS);
            [spent.busy_ns / MS, spent.not_scheduled_ns / MS, spent.paused_ns / MS]
        };
        assert_eq!((spent(0, 4), spent(4, 10), spent(12, 20)), ([4, 0, 0], [0, 6, 0], [0, 0, 8]));
        assert_eq!(spent(0, 20), [6, 6, 8]);
        let stalls = Stalls::new(vec![(5 * MS, 9 * MS), (13 * MS, 15 * MS)]);
        assert_eq!(activity.starved_in(&stalls, 2).intervals(), [(5 * MS, 9 * MS)]);
        assert_eq!(
            Activity::of(&TargetActivity { samples: vec![Look::default()], ..TargetActivity::default() }),
            None
        );
    }
}
