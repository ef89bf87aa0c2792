//! Bisection (RFC 2544 §26.1 leaves the search open; this is what most testers do): the baseline.

use crate::{Algorithm, Bound, Bounds, Goal, GoalError, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{LoadRange, Rate, Ratio, Trial, TrialInput};

/// One bisection a goal, one after another, all with full trials.
///
/// A run tries the highest load first, halves what is left of the range until it is narrow enough, and, when
/// every trial was bad, tries the lowest load last: no bound is stated that was not tried.
#[derive(Debug)]
pub struct Binary {
    runs: Vec<Run>,
    range: LoadRange,
    wanted: Option<TrialInput>,
}

/// Why a bisection cannot be built.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BinaryError {
    /// Nothing to find.
    #[error("a bisection needs at least one goal")]
    NoGoal,
    /// A goal that no search can reach.
    #[error(transparent)]
    Goal(#[from] GoalError),
}

/// The bisection for one goal.
#[derive(Debug)]
struct Run {
    goal: Goal,
    /// Highest load that was good.
    lower: Option<Rate>,
    /// Lowest load that was bad; above `lower`.
    upper: Option<Rate>,
    /// Whether a trial of any run bore the highest load by this goal too.
    is_highest_borne: bool,
}

impl Binary {
    /// A search that has not begun.
    ///
    /// # Errors
    /// If there is no goal, or one cannot be searched for.
    pub fn new(goals: &[Goal], range: LoadRange) -> Result<Self, BinaryError> {
        if goals.is_empty() {
            return Err(BinaryError::NoGoal);
        }
        let run = |goal: &Goal| {
            Ok(Run { goal: goal.checked()?, lower: None, upper: None, is_highest_borne: false })
        };
        let runs = goals.iter().map(run).collect::<Result<Vec<Run>, GoalError>>()?;
        let mut binary = Self { runs, range, wanted: None };
        binary.decide();
        Ok(binary)
    }

    fn decide(&mut self) {
        let input = |run: &Run| {
            let load = run.next_load(self.range)?;
            Some(TrialInput { load, duration: run.goal.trial_duration })
        };
        self.wanted = self.runs.iter().find_map(input);
    }

    /// The run that is not done.
    fn running(&mut self) -> Option<&mut Run> {
        let range = self.range;
        self.runs.iter_mut().find(|run| run.next_load(range).is_some())
    }
}

impl Run {
    /// The load to try next; `None` when the run is over.
    fn next_load(&self, range: LoadRange) -> Option<Rate> {
        let upper = match self.upper {
            None if self.lower.is_none() => return Some(range.max()),
            None => return None,
            Some(upper) => upper,
        };
        let floor = self.lower.unwrap_or(range.min());
        if self.is_narrow(floor, upper) {
            let lowest_untried = self.lower.is_none() && upper > range.min();
            return lowest_untried.then_some(range.min());
        }
        Some(Rate::from_millipps(floor.as_millipps().midpoint(upper.as_millipps())))
    }

    /// Whether two loads are within the goal's width, or have no load between them.
    fn is_narrow(&self, lower: Rate, upper: Rate) -> bool {
        let distance = upper.as_millipps() - lower.as_millipps();
        distance <= 1 || !self.goal.width.is_exceeded_by(distance, upper.as_millipps())
    }

    fn record(&mut self, trial: &Trial) {
        let load = trial.input.load;
        // What our own side failed there takes back nothing that another run's trial showed.
        let is_borne = self.is_highest_borne && self.upper.is_none();
        let is_void = trial.fails(self.goal.loss_ratio).is_none();
        if trial.exceeds(self.goal.loss_ratio) && !(is_borne && is_void) {
            self.upper = Some(load);
        } else {
            self.lower = Some(load);
        }
    }

    /// Whether a trial is as long as the goal asks, and meets it; a longer one without loss meets any.
    fn is_borne_by(&self, trial: &Trial) -> bool {
        let (duration, whole) = (trial.input.duration, self.goal.trial_duration);
        let is_whole = duration == whole && !trial.exceeds(self.goal.loss_ratio);
        is_whole || duration > whole && !trial.exceeds(Ratio::ZERO)
    }

    fn result(&self, range: LoadRange) -> GoalResult {
        let irregular = match (self.lower, self.upper) {
            _ if self.next_load(range).is_some() => Irregular::Unfinished,
            (Some(lower), Some(upper)) => {
                let distance = upper.as_millipps() - lower.as_millipps();
                if !self.goal.width.is_exceeded_by(distance, upper.as_millipps()) {
                    return GoalResult::Regular;
                }
                Irregular::Unfinished
            }
            (Some(_), None) => Irregular::AtMaximum,
            (None, _) => Irregular::BelowMinimum,
        };
        GoalResult::Irregular(irregular)
    }
}

impl Algorithm for Binary {
    fn next_trial(&mut self) -> Option<TrialInput> {
        self.wanted
    }

    fn record(&mut self, trial: &Trial) {
        if let Some(run) = self.running() {
            run.record(trial);
        }
        if trial.input.load == self.range.max() {
            for run in &mut self.runs {
                run.is_highest_borne |= run.is_borne_by(trial);
            }
        }
        self.decide();
    }

    /// `bisection` and the loss ratio of the goal that is being searched for.
    fn phase(&self) -> String {
        let open = self.runs.iter().find(|run| run.next_load(self.range).is_some());
        let run = open.or(self.runs.last());
        run.map_or_else(String::new, |run| format!("bisection {}", run.goal.loss_ratio))
    }

    fn bounds(&self) -> Vec<Bounds> {
        let bound = |load: Option<Rate>| load.map(|load| Bound { load, valid: true });
        let bounds = |run: &Run| Bounds { lower: bound(run.lower), upper: bound(run.upper), median: None };
        self.runs.iter().map(bounds).collect()
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        self.runs
            .iter()
            .map(|run| GoalOutcome {
                lower: run.lower,
                upper: run.upper,
                conditional_throughput_pps: None,
                result: run.result(self.range),
            })
            .collect()
    }
}
