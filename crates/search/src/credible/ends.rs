//! What trials at the ends of the range said of a goal.

use crate::{Goal, GoalOutcome, GoalResult, Irregular};
use dropline_trial::{LoadRange, Rate, Ratio, Trial};

/// Trials at the ends of the range, good ones less bad ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AtEnds {
    min: i32,
    max: i32,
    /// The highest load that achieved the goal.
    highest_good: Option<Rate>,
}

impl AtEnds {
    pub(super) fn note(&mut self, trial: &Trial, goal: &Goal, range: LoadRange) {
        if trial.is_void_at(goal.loss_ratio) {
            return;
        }
        if !trial.exceeds(goal.loss_ratio) {
            self.highest_good = self.highest_good.max(Some(trial.input.load));
        }
        let vote = if trial.exceeds(goal.loss_ratio) { -1 } else { 1 };
        if trial.input.load == range.min() {
            self.min += vote;
        }
        if trial.input.load == range.max() {
            self.max += vote;
        }
    }

    /// The highest load is another one now.
    pub(super) fn forget_max(&mut self) {
        self.max = 0;
    }

    /// The answer of a system that loses much at every load, which a generous goal may allow.
    pub(super) fn without_knee(self, range: LoadRange, level: Ratio, capped: bool) -> GoalOutcome {
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
