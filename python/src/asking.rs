//! A search as questions and answers: whoever asks performs the trials.

use crate::asked::{Asked, seconds};
use crate::called::{PATIENCE, trial};
use crate::raised::{raised, wrong};
use dropline_record::AnswerLine;
use dropline_search::Search as Core;
use dropline_targets::Target;
use dropline_targets::exec::Question;
use dropline_trial::{Rate, TrialInput};
use dropline_verbs::plan::SearchPlan;
use pyo3::prelude::*;
use std::sync::Arc;

/// A search that says which trial it wants, and learns from what is told of it.
#[pyclass(module = "dropline._dropline")]
pub(crate) struct Search {
    plan: SearchPlan,
    core: Core,
    trials: u64,
}

#[pymethods]
impl Search {
    #[new]
    fn new(asked: Asked) -> PyResult<Self> {
        let target =
            Target::given("of questions", dropline_trial::measuring(|_| unreachable!("nobody opens it")));
        let (plan, _) =
            target.and_then(|target| asked.plan(target, &Arc::default())).map_err(|why| raised(&why))?;
        let core = plan.search().map_err(|why| raised(&why))?;
        Ok(Self { plan, core, trials: 0 })
    }

    /// Load in packets a second, duration in seconds, and how many packets that is; nothing where the search is done.
    fn next_trial(&mut self) -> Option<(f64, f64, u64)> {
        let input = self.core.next_trial()?;
        Some((input.load.as_pps(), input.duration.as_secs_f64(), input.load.packets_in(input.duration)))
    }

    /// Learns from a trial: the load and the duration that were asked for, and the answer as JSON.
    fn record(&mut self, load_pps: f64, duration_s: f64, answer: &str) -> PyResult<()> {
        let load = Rate::pps(load_pps).map_err(wrong)?;
        let duration = seconds("duration_s", duration_s).map_err(|why| raised(&why))?;
        let input = TrialInput { load, duration };
        if self.core.next_trial() != Some(input) {
            return Err(wrong(format!(
                "the search did not ask for a trial at {load} for {duration_s} s: answer what next_trial says"
            )));
        }
        // Counts are taken as they are: a load may be of one direction, and counts of several.
        let question = Question { intends: None, ..Question::new(0, input, &self.plan.profile, PATIENCE) };
        let mut trial = trial(answer, &question).map_err(|why| raised(&why))?;
        self.trials += 1;
        trial.number = self.trials;
        trial.seed = self.plan.profile.trial_seed(self.trials);
        if let Some(bound) = self.plan.within {
            trial.forward_within(bound);
        }
        self.core.record(&trial);
        Ok(())
    }

    /// What it would answer now, an entry a goal, as JSON.
    fn answers(&mut self) -> String {
        if self.core.next_trial().is_none() {
            self.core.settle();
        }
        let goals = self.plan.goals.iter().zip(self.core.outcome());
        let lines: Vec<AnswerLine> =
            goals.map(|(goal, outcome)| AnswerLine::new(self.plan.goal_line(goal), &outcome)).collect();
        serde_json::to_string(&lines).expect("answers are JSON")
    }

    /// The phase of the trial that is wanted now.
    fn phase(&self) -> String {
        self.core.phase()
    }

    /// Doubts about the answer, in words.
    fn caveats(&self) -> Vec<String> {
        self.core.caveats().iter().map(ToString::to_string).collect()
    }
}
