//! What every search algorithm answers.

use crate::{Belief, Bounds, GoalOutcome};
use dropline_trial::{Caveat, Trial, TrialInput};
use std::fmt;
use std::time::Duration;

/// A search algorithm as a state machine: no I/O, no clock, no chance of its own.
///
/// The same trials in the same order always lead to the same questions.
/// It may be looked at from several threads, as a program in another language that holds a search does.
pub trait Algorithm: fmt::Debug + Send + Sync {
    /// The trial it wants now; `None` when it is done. Asking twice without an answer asks the same.
    fn next_trial(&mut self) -> Option<TrialInput>;

    /// Learns from the trial it asked for. A trial is bad for a goal when
    /// [`Trial::exceeds`](dropline_trial::Trial::exceeds) says so.
    fn record(&mut self, trial: &Trial);

    /// The search has another budget from here on; `None` is none. Matters where a budget is shared out.
    fn budget(&mut self, _budget: Option<Duration>) {}

    /// Whether it wants no trial because its budget does not suffice for one that it would make.
    fn lacked_time(&self) -> bool {
        false
    }

    /// No trial follows under the limits that it has: what was seen so far is made an answer, however little it is.
    fn settle(&mut self) {}

    /// Name of the phase that the trial it wants now belongs to, such as `initial` or `final`.
    fn phase(&self) -> String;

    /// What it knows now, a pair of bounds a goal, in the order of the goals.
    fn bounds(&self) -> Vec<Bounds>;

    /// What it would answer now, one a goal, in the order of the goals; irregular until it is done.
    fn outcome(&self) -> Vec<GoalOutcome>;

    /// A second statement of the same goals by RFC 9971, one a goal in their order, where that was asked for.
    fn certified(&self) -> Option<Vec<GoalOutcome>> {
        None
    }

    /// What it believes beyond its answer, where it has a model: for people, not for decisions.
    fn belief(&self) -> Option<Belief> {
        None
    }

    /// Doubts about the answer that it has now.
    fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }
}
