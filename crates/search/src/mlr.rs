//! Multiple loss ratio search (RFC 9971): any number of goals, each with its own attributes, in one search.
//!
//! What a load *is* to a goal follows from all trials at it by the definition ([`Class`]); which trial comes
//! next is ours ([`choice`]): the counts of lossy trials say where the bounds will be, and only the loads that
//! become bounds are tried as often as a goal demands.

mod belief;
mod choice;
mod evidence;
mod grid;
mod next_step;
mod strict;
mod view;

pub use evidence::Class;

use crate::{Algorithm, Bound, Bounds, Goal, GoalError, GoalOutcome, GoalResult, Irregular};
use belief::Tables;
use dropline_trial::{LoadRange, Rate, Trial, TrialInput};
use evidence::{Delivered, Evidence};
use grid::Grid;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a trial counts (RFC 9971 §4.5.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectiveDuration {
    /// As long as packets were sent.
    Trial,
    /// As long as it cost, waits and overheads included, as FD.io CSIT counts it: a duration sum is then
    /// reached with fewer trials.
    Elapsed,
}

/// What a search is built from (RFC 9971 §4.6.8: Controller Input).
#[derive(Clone, Debug)]
pub struct Config {
    /// What shall be found; at least one goal. The order is that of the answers, it does not matter else.
    pub goals: Vec<Goal>,
    /// Min Load and Max Load (RFC 9971 §4.6.8.1, §4.6.8.2). No other load is ever tried.
    pub range: LoadRange,
    /// How long a trial counts.
    pub effective: EffectiveDuration,
}

/// Why there is no such search.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum MlrError {
    /// Nothing to find.
    #[error("a search needs at least one goal")]
    NoGoal,
    /// One of the goals cannot be searched for.
    #[error("goal {number}: {why}")]
    Goal {
        /// From 1.
        number: usize,
        /// What is wrong with it.
        why: GoalError,
    },
    /// A goal that takes longer than anybody waits, and whose times could not be summed exactly.
    #[error("goal {number}: trial duration and duration sum must be at most a year")]
    TooLong {
        /// From 1.
        number: usize,
    },
}

/// A multiple loss ratio search.
#[derive(Debug)]
pub struct Mlr {
    goals: Vec<Goal>,
    range: LoadRange,
    effective: EffectiveDuration,
    grid: Grid,
    tables: Tables,
    loads: BTreeMap<Rate, Load>,
    /// What the last trial counted for beyond its duration, in seconds.
    overhead: f64,
    /// The trial it wants now.
    wanted: Option<choice::Choice>,
}

/// All that is known of a load.
#[derive(Debug)]
struct Load {
    /// Its trials in the order of their loss ratios.
    seen: Vec<Delivered>,
    /// What they say to each goal.
    evidence: Vec<Evidence>,
}

/// The longest time that one trial counts; sums of these and of goals fit into 128 bits exactly.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

impl Mlr {
    /// A search that has seen nothing yet.
    ///
    /// # Errors
    /// If there is no goal, or one that cannot be searched for.
    pub fn new(config: Config) -> Result<Self, MlrError> {
        let Config { goals, range, effective } = config;
        if goals.is_empty() {
            return Err(MlrError::NoGoal);
        }
        for (number, goal) in (1..).zip(&goals) {
            goal.checked().map_err(|why| MlrError::Goal { number, why })?;
            if goal.trial_duration.max(goal.duration_sum) > LONGEST {
                return Err(MlrError::TooLong { number });
            }
        }
        let grid = Grid::new(range, &goals);
        let mut mlr = Self {
            goals,
            range,
            effective,
            grid,
            tables: Tables::new(),
            loads: BTreeMap::new(),
            overhead: 0.0,
            wanted: None,
        };
        mlr.wanted = mlr.choice();
        Ok(mlr)
    }

    /// What a load is to goal number `goal` (from 0), by all trials at it so far.
    ///
    /// # Panics
    /// If there is no such goal.
    pub fn class(&self, goal: usize, load: Rate) -> Class {
        let sought = &self.goals[goal];
        self.loads.get(&load).map_or(Class::Undecided, |load| load.evidence[goal].class(sought))
    }

    /// Conditional throughput at a load for goal number `goal` (from 0), in packets a second
    /// (RFC 9971 §4.8.3); `None` before the first full trial there.
    ///
    /// # Panics
    /// If there is no such goal.
    pub fn conditional_throughput_pps(&self, goal: usize, load: Rate) -> Option<f64> {
        let share = evidence::conditional_share(&self.goals[goal], &self.loads.get(&load)?.seen)?;
        Some(load.as_pps() * share)
    }

    /// Relevant bounds of a goal (RFC 9971 §4.8.1, §4.8.2): the lowest upper bound, and the highest lower
    /// bound below it. Computed from all trials: a class may have changed.
    fn relevant(&self, goal: usize) -> (Option<Rate>, Option<Rate>) {
        let mut lower = None;
        for (&load, known) in &self.loads {
            match known.evidence[goal].class(&self.goals[goal]) {
                Class::UpperBound => return (lower, Some(load)),
                Class::LowerBound => lower = Some(load),
                Class::Undecided => {}
            }
        }
        (lower, None)
    }

    /// How long a full trial will probably count, in seconds.
    fn effective_seconds(&self, goal: &Goal) -> f64 {
        goal.trial_duration.as_secs_f64() + self.overhead
    }

    /// What the goal's relevant bounds amount to.
    fn result(&self, goal: usize, lower: Option<Rate>, upper: Option<Rate>) -> GoalResult {
        match (lower, upper) {
            (Some(lower), Some(upper)) if close_enough(&self.goals[goal], lower, upper) => {
                GoalResult::Regular
            }
            (Some(lower), None) if lower == self.range.max() => GoalResult::Irregular(Irregular::AtMaximum),
            (_, Some(upper)) if upper == self.range.min() => GoalResult::Irregular(Irregular::BelowMinimum),
            _ => GoalResult::Irregular(Irregular::Unfinished),
        }
    }
}

impl Algorithm for Mlr {
    fn next_trial(&mut self) -> Option<TrialInput> {
        self.wanted.map(|choice| choice.input)
    }

    fn record(&mut self, trial: &Trial) {
        let counted = match self.effective {
            EffectiveDuration::Trial => trial.duration,
            EffectiveDuration::Elapsed => trial.elapsed,
        };
        // An effective duration is above zero; without one the trial counts as long as it was asked to be.
        let effective = if counted.is_zero() { trial.input.duration } else { counted.min(LONGEST) };
        self.overhead = effective.saturating_sub(trial.input.duration).as_secs_f64();
        let load = self.loads.entry(trial.input.load).or_insert_with(|| Load {
            seen: Vec::new(),
            evidence: vec![Evidence::default(); self.goals.len()],
        });
        let seen = Delivered::of(trial, effective);
        let place = load.seen.partition_point(|other| other.compare(&seen).is_le());
        load.seen.insert(place, seen);
        for (evidence, goal) in load.evidence.iter_mut().zip(&self.goals) {
            evidence.add(goal, trial, effective);
        }
        self.wanted = self.choice();
    }

    fn phase(&self) -> String {
        self.wanted.map_or("done", |choice| choice.phase).into()
    }

    fn bounds(&self) -> Vec<Bounds> {
        let bound = |load: Option<Rate>| load.map(|load| Bound { load, valid: true });
        (0..self.goals.len())
            .map(|goal| {
                let (lower, upper) = self.relevant(goal);
                Bounds { lower: bound(lower), upper: bound(upper), median: None }
            })
            .collect()
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        let outcome = |goal| {
            let (lower, upper) = self.relevant(goal);
            GoalOutcome {
                lower,
                upper,
                conditional_throughput_pps: lower
                    .and_then(|lower| self.conditional_throughput_pps(goal, lower)),
                result: self.result(goal, lower, upper),
            }
        };
        (0..self.goals.len()).map(outcome).collect()
    }
}

/// Whether (upper − lower) ÷ upper is at most the goal's width; exact.
fn close_enough(goal: &Goal, lower: Rate, upper: Rate) -> bool {
    let distance = upper.as_millipps().saturating_sub(lower.as_millipps());
    !goal.width.is_exceeded_by(distance, upper.as_millipps())
}
