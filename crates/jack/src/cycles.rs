//! From when a client was called to how late that was.
//!
//! The time that JACK gives a cycle is the output of a filter and wanders, below the truth too: it is no zero. The zero
//! is the schedule: cycle k is due at anchor + k · period, where no cycle was called before it was due. The line is
//! the highest that lies below all calls; the server begins a new one after each xrun. So 0 is the fastest cycle seen,
//! and what all cycles take is not in a delay.

/// A call of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// CLOCK_MONOTONIC.
    pub at_ns: i64,
    /// Frames that the server had served when the cycle began; wraps at 2³².
    pub frame: u32,
}

/// How late a cycle was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// From 0, of all cycles that were due.
    pub cycle: u64,
    /// Behind its schedule.
    pub late_ns: u64,
}

/// What the calls of a client say.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// In order; a cycle that was never called is not among them.
    pub late: Vec<Late>,
    /// Between cycles as this machine's clock saw it.
    pub period_ns: f64,
    /// Schedules: one, and one more for each time that the server began anew.
    pub schedules: u64,
}

/// So many cycles before an xrun was told, it may have happened.
const TOLD_WITHIN: usize = 64;
/// A period is measured on no fewer.
const FEWEST: usize = 500;
/// A measured period that differs more from the nominal one is no clock's fault.
const MOST_SKEW: f64 = 1e-3;

/// Reads cycles of `period` frames at `rate` a second; `xruns` says how many calls there were when each was told.
pub fn read(cycles: &[Cycle], xruns: &[usize], period: u32, rate: u32) -> Read {
    let nominal_ns = f64::from(period) * 1e9 / f64::from(rate.max(1));
    let numbers = numbers(cycles, period);
    let parts = parts(cycles, xruns);
    let longest = parts.iter().max_by_key(|part| part.len()).cloned().unwrap_or(0..0);
    let seen = slope(&cycles[longest.clone()], &numbers[longest]);
    let period_ns = seen.filter(|seen| (seen / nominal_ns - 1.0).abs() <= MOST_SKEW).unwrap_or(nominal_ns);
    let origin = cycles.first().map_or(0, |first| first.at_ns);
    let mut late = Vec::with_capacity(cycles.len());
    for part in &parts {
        let behind = |index: usize| (cycles[index].at_ns - origin) as f64 - numbers[index] as f64 * period_ns;
        let anchor = part.clone().map(behind).fold(f64::INFINITY, f64::min);
        late.extend(part.clone().map(|index| Late {
            cycle: numbers[index],
            late_ns: (behind(index) - anchor).max(0.0).round() as u64,
        }));
    }
    Read { late, period_ns, schedules: parts.len() as u64 }
}

/// The number of each cycle by its frames: one that was not called is counted.
fn numbers(cycles: &[Cycle], period: u32) -> Vec<u64> {
    let mut frames = 0u64;
    let mut last = cycles.first().map_or(0, |first| first.frame);
    cycles
        .iter()
        .map(|cycle| {
            frames += u64::from(cycle.frame.wrapping_sub(last));
            last = cycle.frame;
            frames / u64::from(period.max(1))
        })
        .collect()
}

/// Calls of one schedule each. A schedule ends with the call after the longest wait before an xrun was told.
fn parts(cycles: &[Cycle], xruns: &[usize]) -> Vec<std::ops::Range<usize>> {
    let mut begin = 0;
    let mut parts = Vec::new();
    for &told in xruns {
        let from = told.saturating_sub(TOLD_WITHIN).max(begin + 1);
        let until = (told + 1).min(cycles.len());
        let wait = |index: &usize| cycles[*index].at_ns - cycles[*index - 1].at_ns;
        if let Some(end) = (from..until).max_by_key(wait).map(|late| late + 1)
            && end < cycles.len()
        {
            parts.push(begin..end);
            begin = end;
        }
    }
    parts.push(begin..cycles.len());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Of the highest line below all calls, the one that leaves the least above it: an edge of their lower hull.
fn slope(cycles: &[Cycle], numbers: &[u64]) -> Option<f64> {
    if cycles.len() < FEWEST {
        return None;
    }
    let origin = cycles[0].at_ns;
    let points = numbers.iter().zip(cycles).map(|(&n, cycle)| (n as f64, (cycle.at_ns - origin) as f64));
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        while let [.., a, b] = hull.as_slice()
            && (b.0 - a.0) * (point.1 - a.1) <= (b.1 - a.1) * (point.0 - a.0)
        {
            hull.pop();
        }
        hull.push(point);
    }
    let middle = numbers.iter().map(|&n| n as f64).sum::<f64>() / numbers.len() as f64;
    let edge = hull.windows(2).find(|edge| edge[1].0 >= middle)?;
    Some((edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 32 frames at 48 kHz, each so late.
    fn cycles(late: impl IntoIterator<Item = i64>) -> Vec<Cycle> {
        let at = |(n, late): (usize, i64)| Cycle {
            at_ns: 5_000_000 + (n as f64 * 2e6 / 3.0).round() as i64 + late,
            frame: u32::MAX.wrapping_sub(900).wrapping_add(32 * n as u32),
        };
        late.into_iter().enumerate().map(at).collect()
    }

    #[test]
    fn a_late_cycle_is_late_by_as_much_and_the_others_are_not() {
        let calls = cycles((0..1000).map(|n| if n == 500 { 250_000 } else { 7_000 }));
        let read = read(&calls, &[], 32, 48_000);
        assert!((read.period_ns - 2e6 / 3.0).abs() < 1.0, "{}", read.period_ns);
        assert_eq!((read.late.len(), read.schedules), (1000, 1));
        assert!(read.late[500].late_ns.abs_diff(243_000) <= 2, "{:?}", read.late[500]);
        assert!(read.late.iter().enumerate().all(|(n, late)| n == 500 || late.late_ns <= 2));
    }

    #[test]
    fn another_clocks_period_is_not_lateness_that_grows() {
        let fast: Vec<Cycle> = (0..10_000u32)
            .map(|n| Cycle {
                at_ns: (f64::from(n) * 666_600.0) as i64 + i64::from(n % 7) * 100,
                frame: 32 * n,
            })
            .collect();
        let read = read(&fast, &[], 32, 48_000);
        assert!((read.period_ns - 666_600.0).abs() < 0.1, "{}", read.period_ns);
        assert!(
            read.late.iter().all(|late| late.late_ns <= 700),
            "a hundred parts a million are the sound card's"
        );
    }

    #[test]
    fn the_server_begins_anew_after_an_xrun_and_the_late_cycle_is_of_the_old_schedule() {
        let calls = cycles((0..2000).map(|n| match n {
            1200 => 900_000,
            n if n > 1200 => 870_000,
            _ => 0,
        }));
        let read = read(&calls, &[1210], 32, 48_000);
        assert_eq!(read.schedules, 2);
        assert!(read.late[1200].late_ns.abs_diff(900_000) <= 2);
        assert!(
            read.late[1201..].iter().all(|late| late.late_ns <= 2),
            "a new schedule is not late by the old one"
        );
        let unaware = super::read(&calls, &[], 32, 48_000);
        assert!(unaware.late[1999].late_ns > 800_000, "without the xrun all of them are");
    }

    #[test]
    fn a_cycle_that_was_never_called_is_missing_and_the_next_is_in_time() {
        let mut calls = cycles((0..600).map(|_| 0));
        calls.remove(300);
        let read = read(&calls, &[], 32, 48_000);
        assert_eq!((read.late.len(), read.late[300].cycle), (599, 301));
        assert!(read.late.iter().all(|late| late.late_ns <= 2));
    }

    #[test]
    fn no_calls_say_nothing() {
        let none = read(&[], &[0, 7], 32, 48_000);
        assert_eq!((none.late.len(), none.schedules), (0, 0));
        let one = read(&cycles([4]), &[1, 1], 32, 48_000);
        assert_eq!(one.late, [Late { cycle: 0, late_ns: 0 }]);
    }

    proptest! {
        #[test]
        fn every_call_has_a_delay_and_some_have_none(
            late in prop::collection::vec(0i64..400_000, 1..900), xruns in prop::collection::vec(0usize..1000, 0..5),
        ) {
            let mut xruns = xruns;
            xruns.sort_unstable();
            let read = read(&cycles(late.iter().copied()), &xruns, 32, 48_000);
            prop_assert_eq!(read.late.len(), late.len());
            let zeros = read.late.iter().filter(|late| late.late_ns == 0).count() as u64;
            prop_assert!(zeros >= read.schedules, "each schedule has its fastest cycle");
        }
    }
}
