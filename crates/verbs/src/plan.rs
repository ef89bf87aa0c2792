//! What a search shall do, resolved: nothing is left to guess.

pub use crate::algorithm::{AlgorithmPlan, CERTIFY_BUDGET};
use dropline_failure::Failure;
use dropline_record::{GoalLine, LimitsLine, ProfileLine, SearchLine};
use dropline_search::{Goal, Limits, Preset, Search};
use dropline_targets::Target;
use dropline_trial::{LoadRange, Ratio, TrafficProfile};
use std::time::Duration;

/// A search, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// What is measured.
    pub target: Target,
    /// What the packets look like.
    pub profile: TrafficProfile,
    /// Which algorithm.
    pub algorithm: AlgorithmPlan,
    /// The preset that set the goals.
    pub preset: Option<Preset>,
    /// What is looked for, in the order of the answers.
    pub goals: Vec<Goal>,
    /// A packet that comes back later counts as lost, for each goal.
    pub within: Option<Duration>,
    /// The loads it may use.
    pub range: LoadRange,
    /// When it gives up.
    pub limits: Limits,
    /// Warm-up before the search; those trials are dropped.
    pub warm_up: Duration,
    /// Shares of each goal's load at which the delay is measured afterwards.
    pub delay_at: Vec<Ratio>,
    /// Which search of how many this is.
    pub repetition: Option<[u32; 2]>,
}

impl SearchPlan {
    /// A search of which nothing but this was said: no limits, no warm-up, packets as they are by default.
    pub fn of(target: Target, algorithm: AlgorithmPlan, goals: Vec<Goal>, range: LoadRange) -> Self {
        Self {
            target,
            profile: TrafficProfile::default(),
            algorithm,
            preset: None,
            goals,
            within: None,
            range,
            limits: Limits::default(),
            warm_up: Duration::ZERO,
            delay_at: Vec::new(),
            repetition: None,
        }
    }

    /// A fresh search.
    ///
    /// # Errors
    /// If the algorithm cannot search for these goals.
    pub fn search(&self) -> Result<Search, Failure> {
        let goals = self.goals.clone();
        let algorithm = self.algorithm.search(goals, self.range, self.limits.budget, self.profile.seed)?;
        Ok(Search::new(algorithm, self.goals.clone(), self.algorithm.in_all(self.limits)))
    }

    /// This search as one of several on the same target, numbered from 1: each has a chance of its own.
    #[must_use]
    pub fn repetition(&self, number: u32, of: u32) -> Self {
        if of < 2 {
            return self.clone();
        }
        let (target, seed) = self.target.repeated(self.profile.seed);
        let mut plan = Self { target, repetition: Some([number, of]), ..self.clone() };
        plan.profile.seed = seed.wrapping_add(u64::from(number) - 1);
        plan
    }

    /// The same search, given these limits after the trials it has learned from.
    pub fn limit(&self, search: &mut Search, limits: Limits) {
        search.limit(self.algorithm.in_all(limits));
    }

    /// The record's line of one of its goals.
    pub fn goal_line(&self, goal: &Goal) -> GoalLine {
        GoalLine::from(goal).within(self.within)
    }

    /// The record's line of this plan.
    pub fn line(&self) -> SearchLine {
        let mut line = SearchLine {
            algorithm: self.algorithm.name().into(),
            effective_duration: "duration_s".into(),
            preset: self.preset.map(|preset| preset.name().into()),
            goals: self.goals.iter().map(|goal| self.goal_line(goal)).collect(),
            min_load_pps: self.range.min().as_pps(),
            max_load_pps: self.range.max().as_pps(),
            budget_s: self.limits.budget.map(|budget| budget.as_secs_f64()),
            max_trials: self.limits.max_trials,
            warm_up_s: self.warm_up.as_secs_f64(),
            delay_at: self.delay_at.iter().map(|share| share.as_f64()).collect(),
            repetition: self.repetition,
            level: None,
            certify: false,
            mdr: None,
        };
        self.algorithm.keep(&mut line);
        line
    }

    /// The record's line of its limits, where they are others than before.
    pub fn limits_line(&self, after_trial: u64) -> LimitsLine {
        let SearchLine { budget_s, max_trials, .. } = self.line();
        LimitsLine { after_trial, budget_s, max_trials }
    }

    /// What a resumed search must share with the record: the first difference, in words.
    pub fn differs_from(&self, stored: &SearchLine, profile: &ProfileLine) -> Option<String> {
        let mine = self.line();
        let differences = [
            ("algorithm", mine.algorithm != stored.algorithm || mine.mdr != stored.mdr),
            ("level", mine.level != stored.level),
            ("certificate", mine.certify != stored.certify),
            ("effective duration", mine.effective_duration != stored.effective_duration),
            ("goals", mine.goals != stored.goals),
            ("lowest load", mine.min_load_pps != stored.min_load_pps),
            ("highest load", mine.max_load_pps != stored.max_load_pps),
            ("traffic profile", ProfileLine::from(&self.profile) != *profile),
        ];
        differences.iter().find(|(_, differ)| *differ).map(|(what, _)| (*what).to_owned())
    }
}
