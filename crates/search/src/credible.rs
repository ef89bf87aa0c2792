//! Credible intervals: where the truth lies, with what probability, after the time that was given.
//!
//! Bisection believes each trial; on a system that varies it returns a narrow interval around a random
//! point. This search weighs instead: a [model](model) of what one trial does, with seven unknowns; a
//! [cloud](cloud) of particles that is the belief after all trials; the [load](choice) after whose trial
//! the goals' loads are expected to be known best. It stops when every interval is within its goal's width
//! or the budget is spent; then it says how wide the interval is.

mod choice;
mod cloud;
mod inquiry;
mod locate;
mod model;
mod normal;

use crate::{Algorithm, Bounds, Goal, GoalError, GoalOutcome};
use dropline_trial::{LoadRange, Trial, TrialInput, seed};
use inquiry::Inquiry;
use std::time::Duration;

/// Trials after which a search ends whatever its budget: beyond, another trial teaches next to nothing.
const MOST_TRIALS: usize = 1000;

/// What a search for credible intervals is built from.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What to find, in any order; at least one. The truth of a goal is the load up to which one more trial
    /// of its duration exceeds its loss ratio with a probability of at most its exceed ratio, or 0.5 where
    /// that is 0. Duration sums and initial durations are ignored.
    pub goals: Vec<Goal>,
    /// Loads that may be tried.
    pub range: LoadRange,
    /// Bound on the sum of the trials' elapsed times, looked at before each trial.
    pub budget: Duration,
    /// How often the intervals shall hold the truth, in [0.5, 0.999].
    pub level: f64,
    /// Chance of the search's own: the same seed and trials give the same loads.
    pub seed: u64,
}

impl Config {
    /// Thirty-six seconds, 95 %.
    pub fn new(goals: Vec<Goal>, range: LoadRange) -> Self {
        Self { goals, range, budget: Duration::from_secs(36), level: 0.95, seed: 7 }
    }
}

/// Why a search for credible intervals cannot be built.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
pub enum CredibleError {
    /// Nothing to find.
    #[error("the credible search needs at least one goal")]
    NoGoal,
    /// A goal that no search can reach.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// Less than half is no claim, and more than 999 of 1000 cannot be learned from a few trials.
    #[error("the level of an interval must be between 50 % and 99.9 %, not {} %", 100.0 * .0)]
    Level(f64),
    /// A search without time measures nothing.
    #[error("the budget must be above 0")]
    NoBudget,
}

/// A search for credible intervals.
#[derive(Debug)]
pub struct Credible {
    goals: usize,
    /// By trial duration, shortest first.
    inquiries: Vec<Inquiry>,
    /// The inquiry at work.
    current: usize,
    budget: Duration,
    spent: Duration,
    trials: usize,
    wanted: Option<TrialInput>,
}

impl Credible {
    /// A search that has not begun.
    ///
    /// # Errors
    /// If there is no goal, one cannot be searched for, the level is no claim, or there is no time.
    pub fn new(config: Config) -> Result<Self, CredibleError> {
        let Config { goals, range, budget, level, seed } = config;
        if goals.is_empty() {
            return Err(CredibleError::NoGoal);
        }
        for goal in &goals {
            goal.checked()?;
        }
        if !(0.5..=0.999).contains(&level) {
            return Err(CredibleError::Level(level));
        }
        if budget.is_zero() {
            return Err(CredibleError::NoBudget);
        }
        let mut durations: Vec<Duration> = goals.iter().map(|goal| goal.trial_duration).collect();
        durations.sort();
        durations.dedup();
        let inquiries = durations
            .iter()
            .zip(1..)
            .map(|(&duration, number)| {
                let alike =
                    goals.iter().copied().enumerate().filter(|(_, goal)| goal.trial_duration == duration);
                Inquiry::new(alike.collect(), range, level, seed::of_trial(seed, number), range.max())
            })
            .collect();
        let mut credible = Self {
            goals: goals.len(),
            inquiries,
            current: 0,
            budget,
            spent: Duration::ZERO,
            trials: 0,
            wanted: None,
        };
        credible.decide();
        Ok(credible)
    }

    /// Time that the inquiries up to the one at work may spend: by their trials' durations.
    fn share(&self) -> Duration {
        let sum = |count: usize| -> f64 {
            self.inquiries[..count].iter().map(|inquiry| inquiry.duration().as_secs_f64()).sum()
        };
        self.budget.mul_f64(sum(self.current + 1) / sum(self.inquiries.len()))
    }

    fn decide(&mut self) {
        self.wanted = loop {
            let Some(inquiry) = self.inquiries.get(self.current) else { break None };
            if self.trials < MOST_TRIALS
                && self.spent < self.share()
                && let Some(input) = inquiry.next_trial()
            {
                break Some(input);
            }
            self.current += 1;
        };
    }

    /// Answers of the inquiries in the order of the goals.
    fn in_order<T: Clone>(&self, of: impl Fn(&Inquiry) -> Vec<T>) -> Vec<T> {
        let mut answers: Vec<(usize, T)> = self
            .inquiries
            .iter()
            .flat_map(|inquiry| inquiry.indices().iter().copied().zip(of(inquiry)).collect::<Vec<_>>())
            .collect();
        answers.sort_by_key(|(index, _)| *index);
        debug_assert_eq!(answers.len(), self.goals);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

impl Algorithm for Credible {
    fn next_trial(&mut self) -> Option<TrialInput> {
        self.wanted
    }

    fn record(&mut self, trial: &Trial) {
        self.spent += trial.elapsed;
        self.trials += 1;
        if let Some(inquiry) = self.inquiries.get_mut(self.current) {
            inquiry.record(trial);
        }
        self.decide();
    }

    fn phase(&self) -> String {
        let locating = self.inquiries.get(self.current).is_some_and(Inquiry::is_locating);
        if locating { "locate".into() } else { "weigh".into() }
    }

    fn bounds(&self) -> Vec<Bounds> {
        self.in_order(Inquiry::bounds)
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        self.in_order(Inquiry::outcome)
    }
}
