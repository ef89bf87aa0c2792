//! Who is told what happens while it happens.

use dropline_record::TrialLine;
use dropline_search::Search;
use dropline_targets::Live;
use dropline_trial::TrialInput;
use std::sync::Arc;

/// Told of each step of a measurement: a terminal, a test, nobody.
pub trait Watcher {
    /// The target answered, or its program started; `note` says what it is.
    fn opened(&mut self, _target: &str, _note: Option<&str>) {}

    /// The generator's own limit is being measured, or was.
    fn generator(&mut self, _limit_pps: Option<f64>) {}

    /// Where a measurer shall tell how far the trial is; `None` if nobody wants to know.
    fn live(&self) -> Option<Arc<Live>> {
        None
    }

    /// A trial begins.
    fn begins(&mut self, _number: u64, _input: TrialInput, _phase: &str) {}

    /// A trial ended and is kept; the search knows of it.
    fn ended(&mut self, _line: &TrialLine, _search: Option<&Search>) {}
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {}
