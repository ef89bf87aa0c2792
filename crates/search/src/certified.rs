//! An interval first, then bounds: a credible search that goes on until RFC 9971 calls its goals regular.

use crate::{Algorithm, Belief, Bounds, Credible, GoalOutcome, Mlr};
use dropline_trial::{Caveat, Trial, TrialInput};
use std::time::Duration;

/// A credible search, and behind it a proof of relevant bounds for the same goals.
///
/// The proof learns from every trial of the interval, so it begins with loads that are better guesses than
/// bisection has. The interval is stated as it was when the proof began: trials that were chosen to prove a
/// bound are not what its model expects.
#[derive(Debug)]
pub struct Certified {
    interval: Credible,
    proof: Mlr,
    /// What the proof may cost beyond the interval.
    budget: Duration,
    spent: Duration,
}

impl Certified {
    /// Both searches must be fresh, and for the same goals in the same order.
    pub fn new(interval: Credible, proof: Mlr, budget: Duration) -> Self {
        Self { interval, proof, budget, spent: Duration::ZERO }
    }
}

impl Algorithm for Certified {
    fn next_trial(&mut self) -> Option<TrialInput> {
        match self.interval.next_trial() {
            None if self.spent < self.budget => self.proof.next_trial(),
            wanted => wanted,
        }
    }

    fn record(&mut self, trial: &Trial) {
        if self.interval.is_over() {
            self.spent += trial.elapsed;
        } else {
            self.interval.record(trial);
        }
        self.proof.record(trial);
    }

    /// The interval's budget is what the proof's leaves.
    fn budget(&mut self, budget: Option<Duration>) {
        self.interval.budget(budget.map(|budget| budget.saturating_sub(self.budget)));
    }

    fn lacked_time(&self) -> bool {
        self.interval.lacked_time() || self.interval.is_over() && self.spent >= self.budget
    }

    fn settle(&mut self) {
        self.interval.settle();
    }

    fn phase(&self) -> String {
        if self.interval.is_over() {
            format!("certify: {}", self.proof.phase())
        } else {
            self.interval.phase()
        }
    }

    fn bounds(&self) -> Vec<Bounds> {
        self.interval.bounds()
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        self.interval.outcome()
    }

    fn certified(&self) -> Option<Vec<GoalOutcome>> {
        self.interval.is_over().then(|| self.proof.outcome())
    }

    fn belief(&self) -> Option<Belief> {
        self.interval.belief()
    }

    fn caveats(&self) -> Vec<Caveat> {
        self.interval.caveats()
    }
}
