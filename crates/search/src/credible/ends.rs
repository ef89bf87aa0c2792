//! What trials said of a goal without any model: at the ends of the range, and where they met it and failed it.

use super::bets::Bets;
use crate::{Goal, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{LoadRange, Rate, Ratio, Trial};
use std::time::Duration;

/// What was seen of one goal.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// Trials at the ends of the range, good ones less bad ones.
    min: i32,
    max: i32,
    /// Loads that met the goal, from the highest down, and for how long.
    good: Vec<(Rate, Duration)>,
    /// The highest load at and above which the goal was met for as long as a trial of it takes.
    highest_good: Option<Rate>,
    /// The lowest load that failed it.
    lowest_bad: Option<Rate>,
    bets: Bets,
}

impl Shown {
    pub(super) fn note(&mut self, trial: &Trial, goal: &Goal, range: LoadRange) {
        if trial.is_void_at(goal.loss_ratio) {
            return;
        }
        let (load, is_bad) = (trial.input.load, trial.exceeds(goal.loss_ratio));
        let is_whole = trial.input.duration >= goal.trial_duration;
        if is_whole {
            self.bets.note(libm::log(load.as_pps()), is_bad);
        }
        if is_bad {
            self.lowest_bad = Some(self.lowest_bad.map_or(load, |lowest| lowest.min(load)));
        } else {
            // What loses nothing for a while may lose something later: short trials count together.
            let time = if goal.loss_ratio > Ratio::ZERO { goal.trial_duration } else { trial.input.duration };
            self.good.push((load, time));
            self.good.sort_by_key(|&(load, _)| std::cmp::Reverse(load));
            let mut sum = Duration::ZERO;
            let whole = self.good.iter().find(|(_, time)| {
                sum += *time;
                sum >= goal.trial_duration
            });
            self.highest_good = whole.map(|&(load, _)| load);
        }
        let vote = if is_bad { -1 } else { 1 };
        if trial.input.load == range.min() {
            self.min += vote;
        }
        if trial.input.load == range.max() {
            self.max += vote;
        }
    }

    /// Logarithms of the highest load that met the goal and of the lowest that failed it, infinite where there is none:
    /// no interval may begin above the one or end below the other.
    pub(super) fn between(&self) -> (f64, f64) {
        let log = |load: Rate| libm::log(load.as_pps());
        (self.highest_good.map_or(f64::NEG_INFINITY, log), self.lowest_bad.map_or(f64::INFINITY, log))
    }

    /// Logarithms of loads that the truth is not below and not above, whatever a model believes, each but for the
    /// probability `doubt`; infinite where trials are too few.
    pub(super) fn certain(&self, goal: &Goal, doubt: f64) -> (f64, f64) {
        self.bets.certain(goal.exceed_at_truth(), doubt)
    }

    /// The highest load is another one now.
    pub(super) fn forget_max(&mut self) {
        self.max = 0;
    }

    /// The answer of a system that loses much at every load, which a generous goal may allow.
    pub(super) fn without_knee(&self, range: LoadRange, level: Ratio, capped: bool) -> GoalOutcome {
        let (min, max) = (range.min(), range.max());
        let (lower, upper, result) = if self.min < 0 {
            (None, Some(min), GoalResult::BelowMinimum { level })
        } else if self.max > 0 {
            return self.at_maximum(range, level, capped);
        } else {
            let median =
                Rate::pps(libm::sqrt(min.as_pps() * max.as_pps())).map_or(min, |load| range.clamp(load));
            (Some(min), Some(max), GoalResult::Wide { median, level })
        };
        GoalOutcome { lower, upper, conditional_throughput_pps: None, result }
    }

    /// The answer of a system that loses nothing. Where the range is `capped` its end is our own limit, and no load is
    /// claimed that was not borne.
    pub(super) fn at_maximum(&self, range: LoadRange, level: Ratio, capped: bool) -> GoalOutcome {
        let (lower, result) = if capped {
            let borne = self.highest_good.map(|load| load.min(range.max()));
            (borne, GoalResult::Irregular(Irregular::GeneratorLimited))
        } else {
            (Some(range.max()), GoalResult::AtMaximum { level })
        };
        GoalOutcome { lower, upper: None, conditional_throughput_pps: None, result }
    }
}
