//! MDR, multiple drop rate search: several loss ratios in one search, long trials only at its end.
//!
//! As FD.io CSIT designed it in 2018. An initial phase finds where to look; phases with longer and longer
//! trials and narrower and narrower intervals follow. Each goal has an [interval](interval::Interval) whose
//! bounds are the last trials made at their loads; every trial updates all of them.

mod interval;
mod phase;
mod start;
mod width;

use crate::{Algorithm, Bound, Bounds, Goal, GoalError, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{LoadRange, Trial, TrialInput};
use interval::{Interval, Point};
use phase::{Phase, Rules};
use start::Start;

/// What an MDR search is built from. Widths and durations are those of the goals, which must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What to find, in any order; at least one.
    pub goals: Vec<Goal>,
    /// Loads that may be tried.
    pub range: LoadRange,
    /// Phases between the initial and the final one.
    pub intermediate_phases: u8,
    /// How often a step out of an interval doubles its width first; at least once. Unsteady systems are
    /// searched faster with two or more.
    pub doublings: u8,
    /// Which of the published rules.
    pub version: Version,
}

impl Config {
    /// CSIT's defaults: two intermediate phases, one doubling, today's rules.
    pub fn new(goals: Vec<Goal>, range: LoadRange) -> Self {
        Self { goals, range, intermediate_phases: 2, doublings: 1, version: Version::Current }
    }
}

/// Published rule sets of MDR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Of April 2018, behind CSIT's published comparison with binary search: the initial phase starts with
    /// the final width and never steps up, and the wider interval is halved first.
    First,
    /// Since May 2018: the initial phase starts as wide as the first phase may be, steps up after a lossless
    /// trial, and the interval of the lowest loss ratio is halved first.
    #[default]
    Current,
}

impl Version {
    /// The word a user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Current => "current",
        }
    }

    /// Both, for help texts.
    pub const ALL: [Self; 2] = [Self::Current, Self::First];

    /// What it is, for help texts.
    pub fn about(self) -> &'static str {
        match self {
            Self::First => "the rules of April 2018",
            Self::Current => "the rules since May 2018",
        }
    }

    /// The version of this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == word)
    }
}

/// Why an MDR search cannot be built.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum MdrError {
    /// Nothing to find.
    #[error("MDR needs at least one goal")]
    NoGoal,
    /// A goal that no search can reach.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// MDR narrows all intervals together.
    #[error("MDR has one width for all goals: give all goals the same width, or search for them one by one")]
    WidthsDiffer,
    /// MDR lengthens the trials of all goals together.
    #[error(
        "MDR has one trial duration and one initial trial duration for all goals: give all goals the same, \
         or search for them one by one"
    )]
    DurationsDiffer,
    /// Steps of one width would crawl through the range.
    #[error("MDR's steps out of an interval double its width at least once")]
    NoDoubling,
}

/// An MDR search.
#[derive(Debug)]
pub struct Mdr {
    goals: Vec<Goal>,
    /// Index of each interval's goal: intervals stand in ascending order of loss ratio.
    ascending: Vec<usize>,
    rules: Rules,
    phases: Vec<Phase>,
    stage: Stage,
    wanted: Option<TrialInput>,
}

#[derive(Debug)]
enum Stage {
    /// The initial phase.
    Start(Start),
    /// The phase of this index; the last one is final.
    Phase(usize, Vec<Interval>),
}

impl Mdr {
    /// A search that has not begun.
    ///
    /// # Errors
    /// If there is no goal, one cannot be searched for, their widths or durations differ, or nothing is
    /// doubled.
    pub fn new(config: Config) -> Result<Self, MdrError> {
        let Config { goals, range, intermediate_phases, doublings, version } = config;
        let first = goals.first().ok_or(MdrError::NoGoal)?.checked()?;
        for goal in &goals {
            let goal = goal.checked()?;
            if goal.width != first.width {
                return Err(MdrError::WidthsDiffer);
            }
            if (goal.trial_duration, goal.initial_trial_duration)
                != (first.trial_duration, first.initial_trial_duration)
            {
                return Err(MdrError::DurationsDiffer);
            }
        }
        if doublings == 0 {
            return Err(MdrError::NoDoubling);
        }
        let mut ascending: Vec<usize> = (0..goals.len()).collect();
        ascending.sort_by_key(|&index| goals[index].loss_ratio);
        let rules = Rules { range, doublings, version };
        let phases = Phase::all(&first, intermediate_phases);
        let start = Start::new(range, first.width.as_f64(), phases[0].width, version);
        let stage = Stage::Start(start);
        let mut mdr = Self { goals, ascending, rules, phases, stage, wanted: None };
        mdr.decide();
        Ok(mdr)
    }

    /// Goes on to the first phase that wants a trial, and notes which.
    fn decide(&mut self) {
        self.wanted = loop {
            match &mut self.stage {
                Stage::Start(start) => match start.next_load() {
                    Some(load) => {
                        break Some(TrialInput { load, duration: self.goals[0].initial_trial_duration });
                    }
                    None => self.stage = Stage::Phase(0, start.intervals()),
                },
                Stage::Phase(index, intervals) => {
                    let phase = self.phases[*index];
                    match phase.next_load(intervals, self.rules) {
                        Some(load) => break Some(TrialInput { load, duration: phase.duration }),
                        None if *index + 1 == self.phases.len() => break None,
                        None => *index += 1,
                    }
                }
            }
        };
    }

    /// `answers` holds one item an interval; in the order of the goals.
    fn in_order_of_goals<T: Copy>(&self, answers: &[T]) -> Vec<T> {
        let mut ranked: Vec<(usize, T)> =
            self.ascending.iter().copied().zip(answers.iter().copied()).collect();
        ranked.sort_by_key(|&(index, _)| index);
        ranked.into_iter().map(|(_, answer)| answer).collect()
    }

    fn interval_outcome(&self, interval: &Interval) -> GoalOutcome {
        let Interval { lower, upper } = *interval;
        let width = self.goals[0].width;
        let (lower_load, upper_load, missing) = if lower.bad {
            (None, Some(lower.load), Some(Irregular::BelowMinimum))
        } else if !upper.bad {
            (Some(upper.load), None, Some(Irregular::AtMaximum))
        } else {
            let distance = upper.load.as_millipps() - lower.load.as_millipps();
            let too_wide = width.is_exceeded_by(distance, upper.load.as_millipps());
            (Some(lower.load), Some(upper.load), too_wide.then_some(Irregular::Unfinished))
        };
        let missing = if self.wanted.is_some() { Some(Irregular::Unfinished) } else { missing };
        GoalOutcome {
            lower: lower_load,
            upper: upper_load,
            conditional_throughput_pps: None,
            result: missing.map_or(GoalResult::Regular, GoalResult::Irregular),
        }
    }
}

impl Algorithm for Mdr {
    fn next_trial(&mut self) -> Option<TrialInput> {
        self.wanted
    }

    fn record(&mut self, trial: &Trial) {
        if self.wanted.is_none() {
            return;
        }
        let points: Vec<Point> = self
            .ascending
            .iter()
            .map(|&goal| Point {
                load: trial.input.load,
                duration: trial.input.duration,
                bad: trial.exceeds(self.goals[goal].loss_ratio),
            })
            .collect();
        match &mut self.stage {
            Stage::Start(start) => start.record(trial, points),
            Stage::Phase(_, intervals) => {
                for (interval, point) in intervals.iter_mut().zip(points) {
                    interval.update(point);
                }
            }
        }
        self.decide();
    }

    /// `initial`, `intermediate 1`, … , `final`.
    fn phase(&self) -> String {
        match self.stage {
            Stage::Start(_) => "initial".into(),
            Stage::Phase(index, _) if index + 1 == self.phases.len() => "final".into(),
            Stage::Phase(index, _) => format!("intermediate {}", index + 1),
        }
    }

    fn bounds(&self) -> Vec<Bounds> {
        let answers: Vec<Bounds> = match &self.stage {
            Stage::Start(start) => start.bounds(self.goals.len()),
            Stage::Phase(_, intervals) => intervals.iter().map(Interval::bounds).collect(),
        };
        self.in_order_of_goals(&answers)
    }

    /// A goal that fails at the lowest load has that load as its upper bound and no lower one; a goal that is
    /// achieved at the highest load has that load as its lower bound and no upper one.
    fn outcome(&self) -> Vec<GoalOutcome> {
        let answers: Vec<GoalOutcome> = match &self.stage {
            Stage::Start(start) => start.bounds(self.goals.len()).into_iter().map(unfinished).collect(),
            Stage::Phase(_, intervals) => {
                intervals.iter().map(|interval| self.interval_outcome(interval)).collect()
            }
        };
        self.in_order_of_goals(&answers)
    }
}

/// What is known of a goal before there are intervals.
fn unfinished(bounds: Bounds) -> GoalOutcome {
    let load = |bound: Option<Bound>| bound.map(|bound| bound.load);
    GoalOutcome {
        lower: load(bounds.lower),
        upper: load(bounds.upper),
        conditional_throughput_pps: None,
        result: GoalResult::Irregular(Irregular::Unfinished),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Rate, Ratio};
    use std::time::Duration;

    fn goal(loss_ratio: f64) -> Goal {
        Goal {
            loss_ratio: Ratio::new(loss_ratio).unwrap(),
            exceed_ratio: Ratio::ZERO,
            width: Ratio::new(0.005).unwrap(),
            trial_duration: Duration::from_secs(30),
            initial_trial_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(30),
        }
    }

    fn config(goals: Vec<Goal>) -> Config {
        let rate = |pps| Rate::pps(pps).unwrap();
        Config::new(goals, LoadRange::new(rate(1e4), rate(1e6)).unwrap())
    }

    #[test]
    fn goals_that_mdr_cannot_search_together_are_refused() {
        let refused = |goals| Mdr::new(config(goals)).unwrap_err();
        assert_eq!(refused(vec![]), MdrError::NoGoal);
        let wide = Goal { width: Ratio::new(0.01).unwrap(), ..goal(0.005) };
        assert_eq!(refused(vec![goal(0.0), wide]), MdrError::WidthsDiffer);
        let long = Goal { trial_duration: Duration::from_secs(60), ..goal(0.005) };
        assert_eq!(refused(vec![goal(0.0), long]), MdrError::DurationsDiffer);
        let slow = Goal { initial_trial_duration: Duration::from_secs(2), ..goal(0.005) };
        assert_eq!(refused(vec![goal(0.0), slow]), MdrError::DurationsDiffer);
        let endless = Goal { width: Ratio::ZERO, ..goal(0.0) };
        assert_eq!(refused(vec![endless]), MdrError::Goal(GoalError::NoWidth));
        let crawling = Config { doublings: 0, ..config(vec![goal(0.0)]) };
        assert_eq!(Mdr::new(crawling).unwrap_err(), MdrError::NoDoubling);
    }

    #[test]
    fn a_search_knows_what_its_initial_phase_saw() {
        let mut mdr = Mdr::new(config(vec![goal(0.0), goal(0.005)])).unwrap();
        assert_eq!(mdr.bounds(), [Bounds::default(); 2]);
        let input = mdr.next_trial().unwrap();
        let at_max = Trial { intended: Some(1000), offered: 1000, forwarded: 998, ..Trial::new(1, input, 7) };
        mdr.record(&at_max);
        let max = Some(Rate::pps(1e6).unwrap());
        let known: Vec<_> = mdr.outcome().iter().map(|goal| (goal.lower, goal.upper)).collect();
        assert_eq!(known, [(None, max), (max, None)], "0.2 % loss fails one goal and achieves the other");
        assert!(mdr.outcome().iter().all(|goal| goal.result == GoalResult::Irregular(Irregular::Unfinished)));
    }
}
