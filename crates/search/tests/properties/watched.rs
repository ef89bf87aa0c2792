//! Searches that are watched from within.

use crate::case::{Case, measure};
use crate::contenders::Contender;
use dropline_search::{Algorithm, Bounds, Goal, GoalOutcome, Limits, Search};
use dropline_trial::{Trial, TrialInput};
use std::sync::{Arc, Mutex};

/// An algorithm that is watched: what it learned from, and what it knew after each trial.
#[derive(Debug)]
struct Watched {
    algorithm: Box<dyn Algorithm>,
    steps: Arc<Mutex<Vec<Step>>>,
}

/// What an algorithm made of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) trial: Trial,
    /// The phase that the trial belonged to, and that of the next.
    pub(crate) phase: String,
    pub(crate) next_phase: String,
    /// What it knew then.
    pub(crate) bounds: Vec<Bounds>,
}

impl Algorithm for Watched {
    fn next_trial(&mut self) -> Option<TrialInput> {
        self.algorithm.next_trial()
    }

    fn record(&mut self, trial: &Trial) {
        let phase = self.algorithm.phase();
        self.algorithm.record(trial);
        let (next_phase, bounds) = (self.algorithm.phase(), self.algorithm.bounds());
        self.steps.lock().unwrap().push(Step { trial: trial.clone(), phase, next_phase, bounds });
    }

    fn phase(&self) -> String {
        self.algorithm.phase()
    }

    fn bounds(&self) -> Vec<Bounds> {
        self.algorithm.bounds()
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        self.algorithm.outcome()
    }
}

/// A search that has ended, or was stopped.
pub(crate) struct Ended {
    pub(crate) goals: Vec<Goal>,
    /// Every trial made.
    pub(crate) trials: Vec<Trial>,
    /// Those that the algorithm learned from; void ones it never sees.
    pub(crate) steps: Vec<Step>,
    pub(crate) outcome: Vec<GoalOutcome>,
}

/// Records `replayed`, then goes on, as when a search is resumed, up to so many trials.
pub(crate) fn search(case: &Case, contender: &Contender, replayed: &[Trial], most_trials: usize) -> Ended {
    let (algorithm, goals) = (contender.build)(case);
    let steps = Arc::default();
    let algorithm = Box::new(Watched { algorithm, steps: Arc::clone(&steps) });
    let limits = Limits { budget: None, max_trials: Some(most_trials as u64) };
    let mut search = Search::new(algorithm, goals.clone(), limits);
    let mut trials = replayed.to_vec();
    for trial in replayed {
        search.record(trial);
    }
    while let Some(input) = search.next_trial() {
        assert_eq!(search.next_trial(), Some(input), "{}: asked twice, it asks the same", contender.name);
        let trial = measure(case, &trials, input);
        search.record(&trial);
        trials.push(trial);
    }
    let steps = steps.lock().unwrap().clone();
    Ended { goals, trials, steps, outcome: search.outcome() }
}
