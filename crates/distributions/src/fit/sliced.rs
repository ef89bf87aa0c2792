//! Time slices of one distribution: what intervals rest on, and whether anything changed.

use crate::drift;
use crate::import::{Imported, Order};
use dropline_record::CourseWord;
use dropline_record::fit::{SliceEvents, SlicesLine};
use dropline_record::{CaveatLine, Count, Fit};
use dropline_stats::{Binned, Counted, Replicates, order};

/// Neighbouring batches more alike than this are said.
const ALIKE: f64 = 0.3;

/// Events of a file without slices are like those near them.
const DEPENDENT: &str = "dependent_events";
/// The random seed of the other orders that the order of time is held against.
const SEED: u64 = 2004;

/// The slices as every estimator here takes them.
pub(super) struct Sliced {
    slices: Vec<drift::Slice>,
    replicates: Option<Replicates>,
}

impl Sliced {
    pub(super) fn of(imported: &Imported) -> Self {
        let slices: Vec<drift::Slice> = imported
            .slices
            .iter()
            .map(|slice| (slice.begin_s, slice.length_s, slice.counted.binned()))
            .collect();
        let events: Vec<Binned> = slices.iter().map(|slice| slice.2.clone()).collect();
        let in_order = if slices.is_empty() { stretches(imported) } else { Vec::new() };
        let replicates = Replicates::of(&events).or_else(|| Replicates::of(&in_order));
        Self { replicates, slices }
    }

    /// What is said of events without slices that are like those near them.
    pub(super) fn dependent(&self) -> Option<CaveatLine> {
        (self.slices.is_empty() && self.replicates.is_some()).then(|| {
            let text = "each event is like those near it: intervals of percentiles and of the mean are by how much stretches of \
                        them differ; laws, modes and tail take the events as independent";
            CaveatLine::said(DEPENDENT, text)
        })
    }

    pub(super) fn replicates(&self) -> Option<&Replicates> {
        self.replicates.as_ref()
    }

    /// For the record; `None` without slices.
    pub(super) fn line(&self) -> Option<SlicesLine> {
        if self.slices.is_empty() {
            return None;
        }
        let count: u64 = self.slices.iter().map(|slice| slice.2.count()).sum();
        let replicates = self.replicates();
        Some(SlicesLine {
            batches: replicates.map(|replicates| replicates.batches() as u64),
            likeness: replicates.and_then(Replicates::likeness),
            effective_count: replicates
                .and_then(|replicates| replicates.inflation(0.5))
                .map(|inflation| count as f64 / inflation),
            course: drift::courses(&self.slices),
            slices: self.slices.iter().map(events).collect(),
        })
    }
}

/// Events in the order of time, in stretches where they are like those near them.
fn stretches(imported: &Imported) -> Vec<Binned> {
    match &imported.order {
        Order::Events(events) if order::are_dependent(&[events], SEED) => {
            let meaning = imported.counted.meaning();
            let counted =
                |part: &[i64]| Counted::ticks(meaning, part.iter().map(|&tick| (tick, 1)), None).ok();
            order::blocks(events).filter_map(counted).map(|part| part.binned()).collect()
        }
        Order::Stretches(stretches) => stretches.iter().map(Counted::binned).collect(),
        Order::Events(_) | Order::Unknown => Vec::new(),
    }
}

fn events((begin_s, duration_s, events): &drift::Slice) -> SliceEvents {
    SliceEvents {
        begin_s: *begin_s,
        duration_s: *duration_s,
        count: Count(events.count()),
        median: drift::median(events),
        cells: events.cells().iter().map(|cell| (cell.low, cell.high, Count(cell.count))).collect(),
    }
}

/// What slices, or that there are none, put between the numbers and their reader.
pub(super) fn doubts(fit: &Fit) -> Vec<CaveatLine> {
    let Some(slices) = &fit.slices else {
        if fit.caveats.iter().any(|caveat| caveat.code == DEPENDENT) {
            return Vec::new();
        }
        return vec![CaveatLine::said(
            "independence_assumed",
            "no time slices: all intervals take the events as independent, and are too narrow where they are not",
        )];
    };
    let mut doubts = Vec::new();
    if slices.batches.is_none() {
        doubts.push(CaveatLine::said(
            "independence_assumed",
            "fewer than four time slices: all intervals take the events as independent, and are too narrow where they \
             are not",
        ));
    } else {
        doubts.push(CaveatLine::said(
            "laws_assume_independence",
            "intervals of percentiles and of the mean are by time slices; laws, modes and tail take the events as \
             independent",
        ));
    }
    if slices.likeness.is_some_and(|likeness| likeness > ALIKE) {
        doubts.push(CaveatLine::said(
            "alike_slices",
            format!(
                "neighbouring slices are alike (correlation {:.2}): intervals were widened; measure longer",
                slices.likeness.unwrap_or(0.0)
            ),
        ));
    }
    if slices.course.iter().any(|line| matches!(line.course, CourseWord::Trend | CourseWord::Step)) {
        doubts.push(CaveatLine::said(
            "changed_meanwhile",
            "it changed while it was measured: the numbers are of a mixture of before and after",
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{FitPlan, fit};
    use crate::import::TimeSlice;
    use dropline_stats::Meaning;

    fn imported(middle: fn(usize) -> i64) -> Imported {
        let of = |slices: std::ops::Range<usize>| {
            let events = slices.flat_map(|at| {
                (0..100i64).map(move |event| (middle(at) + (event * 37 + at as i64 * 11) % 29, 1))
            });
            Counted::ticks(Meaning::default(), events, None).unwrap()
        };
        let slice = |at: usize| TimeSlice { begin_s: at as f64, length_s: 1.0, counted: of(at..at + 1) };
        Imported {
            order: Order::Unknown,
            counted: of(0..40),
            name: String::new(),
            notes: Vec::new(),
            slices: (0..40).map(slice).collect(),
        }
    }

    #[test]
    fn intervals_are_by_slices_and_wider_where_these_differ() {
        let (steady, wandering) = (imported(|_| 100), imported(|at| 100 + [0, 9, 40, 22, 31][at * 7 % 5]));
        let sliced = fit("test", &wandering, &FitPlan::default());
        let alone = fit("test", &Imported { slices: Vec::new(), ..wandering }, &FitPlan::default());
        let width = |fit: &Fit| {
            let line = fit.percentiles.iter().find(|line| line.p == 0.5).unwrap();
            line.high.unwrap() - line.low.unwrap()
        };
        assert!(width(&sliced) > 2.0 * width(&alone), "{} {}", width(&sliced), width(&alone));
        assert!(sliced.slices.unwrap().effective_count.unwrap() < 1000.0);
        assert_eq!(alone.slices, None);
        let course = fit("test", &steady, &FitPlan::default()).slices.unwrap().course;
        assert_eq!(course[0].course, CourseWord::Steady, "{course:?}");
    }

    #[test]
    fn a_step_is_a_caveat_too() {
        let found = fit("test", &imported(|at| if at < 15 { 100 } else { 160 }), &FitPlan::default());
        assert!(found.caveats.iter().any(|caveat| caveat.code == "changed_meanwhile"));
        assert_eq!(found.slices.unwrap().course[0].step_at_s, 15.0);
    }
}
