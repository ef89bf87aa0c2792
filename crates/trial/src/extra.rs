//! What one kind of target adds to a trial.

use crate::graph::Graph;
use crate::{Cycles, Passages, Trial, Wakeups};

/// What a trial has that trials of other kinds of targets have not.
#[derive(Clone, Debug, PartialEq)]
pub enum Extra {
    /// Windows and xruns of an audio server's cycles.
    Cycles(Cycles),
    /// Which of our own graphs ran, and its pipes where events were recorded.
    Graph(Box<Graph>, Option<Passages>),
    /// Pipes of a pipeline.
    Passages(Passages),
    /// Threads and conditions of wake-ups.
    Wakeups(Wakeups),
}

impl Trial {
    /// Of a trial of an audio server's cycles.
    pub fn cycles(&self) -> Option<&Cycles> {
        if let Some(Extra::Cycles(cycles)) = &self.extra { Some(cycles) } else { None }
    }

    /// Of a trial of one of our own graphs.
    pub fn graph(&self) -> Option<&Graph> {
        if let Some(Extra::Graph(graph, _)) = &self.extra { Some(graph) } else { None }
    }

    /// Of a trial of a pipeline, one of our own graphs or another.
    pub fn passages(&self) -> Option<&Passages> {
        match &self.extra {
            Some(Extra::Passages(passages)) => Some(passages),
            Some(Extra::Graph(_, passages)) => passages.as_ref(),
            _ => None,
        }
    }

    /// Of a trial of wake-ups.
    pub fn woken(&self) -> Option<&Wakeups> {
        if let Some(Extra::Wakeups(woken)) = &self.extra { Some(woken) } else { None }
    }
}
