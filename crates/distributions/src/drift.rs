//! Whether delays stayed as they were while they were measured: the course of their slices.

use dropline_record::DriftLine;
use dropline_stats::{Binned, Drift, Percentile, drift};
use dropline_trial::Trial;

/// Events above this quantile of the whole are long.
const LONG: f64 = 0.95;
/// Questions asked of the same slices: their median, and their share of long events.
const QUESTIONS: u32 = 2;
/// Chance of the draws.
const SEED: u64 = 2004;

/// A slice: when it began, its length, its events.
pub type Slice = (f64, f64, Binned);

/// The course of a trial's delays, in nanoseconds.
pub fn of_trial(trial: &Trial) -> Vec<DriftLine> {
    let mut begin_s = 0.0;
    let slices = trial.slices.iter().filter_map(|slice| {
        let (from, length) = (begin_s, slice.duration.as_secs_f64());
        begin_s += length;
        Some((from, length, slice.delay.as_ref()?.counted().ok()?.binned()))
    });
    courses(&slices.collect::<Vec<_>>())
}

/// The course of slices of equal length; empty where fewer than 20 have events.
pub fn courses(slices: &[Slice]) -> Vec<DriftLine> {
    let filled: Vec<&Slice> = slices.iter().filter(|(_, _, events)| events.count() > 0).collect();
    let together = filled.len().div_ceil(drift::MOST).max(1);
    let parts: Vec<(f64, Binned)> = filled
        .chunks(together)
        .map(|part| {
            let events: Vec<Binned> = part.iter().map(|(_, _, events)| events.clone()).collect();
            (part[0].0, Binned::together(&events))
        })
        .collect();
    let Some(begin_s) = parts.first().map(|part| part.0) else { return Vec::new() };
    let whole = Binned::together(&parts.iter().map(|part| part.1.clone()).collect::<Vec<_>>());
    let medians: Option<Vec<f64>> = parts.iter().map(|(_, events)| median(events)).collect();
    let long = Percentile::of(&whole, LONG, 0.95).value;
    let long: Option<Vec<f64>> = long.map(|at| {
        parts.iter().map(|(_, events)| events.count_above(at) as f64 / events.count() as f64).collect()
    });
    let line = |of: &str, values: Option<Vec<f64>>| {
        let found = Drift::of(&values?, QUESTIONS, SEED)?;
        Some(DriftLine {
            of: of.into(),
            course: found.course.into(),
            likeness: found.likeness,
            change: found.trend,
            change_p: found.trend_p,
            step_at_s: parts[found.step_at].0 - begin_s,
            before: found.before,
            after: found.after,
            step_p: found.step_p,
        })
    };
    [line("median", medians), line("long", long)].into_iter().flatten().collect()
}

/// Recorded value of the middle event.
pub fn median(events: &Binned) -> Option<f64> {
    events.ranked(events.count().div_ceil(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_record::CourseWord;
    use dropline_stats::{Counted, Meaning};

    fn slices(count: usize, middle: fn(usize) -> i64) -> Vec<Slice> {
        let slice = |at: usize| {
            let ticks = (0..50i64).map(|event| (middle(at) + (event * 37 + at as i64 * 11) % 23, 1));
            (at as f64 / 4.0, 0.25, Counted::ticks(Meaning::default(), ticks, None).unwrap().binned())
        };
        (0..count).map(slice).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is_and_too_few_slices_have_no_course() {
        let found = courses(&slices(40, |at| if at >= 24 { 140 } else { 100 }));
        assert_eq!(found.iter().map(|line| line.of.as_str()).collect::<Vec<_>>(), ["median", "long"]);
        assert_eq!((found[0].course, found[0].step_at_s), (CourseWord::Step, 6.0));
        assert!((found[0].after - found[0].before - 40.0).abs() < 3.0, "{found:?}");
        assert!(courses(&slices(19, |_| 100)).is_empty() && courses(&[]).is_empty());
    }

    #[test]
    fn more_slices_than_are_asked_are_put_together() {
        let found = courses(&slices(1000, |at| 100 + at as i64 / 10));
        assert_eq!(found[0].course, CourseWord::Trend);
        assert!((found[0].change - 100.0).abs() < 6.0, "{found:?}");
    }
}
