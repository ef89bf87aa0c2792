//! What one kind of target adds to a trial.

use crate::graph::Graph;
use crate::{Cycles, Direction, Passages, Replied, Wakeups};

/// What a trial has that trials of other kinds of targets have not.
#[derive(Clone, Debug, PartialEq)]
pub enum Extra {
    /// Windows and xruns of an audio server's cycles.
    Cycles(Cycles),
    /// Each direction of frames that go both ways at once.
    Directions(Vec<Direction>),
    /// Which of our own graphs ran, and its pipes where events were recorded.
    Graph(Box<Graph>, Option<Passages>),
    /// Pipes of a pipeline.
    Passages(Passages),
    /// What a service replied.
    Replied(Replied),
    /// Threads and conditions of wake-ups.
    Wakeups(Wakeups),
}
