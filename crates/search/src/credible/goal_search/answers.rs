//! What is said of the goals: an answer each, the curve of loss, and what more time would make of them.

use super::super::constants::goal_search::PLAIN_FROM;
use super::super::view::View;
use super::super::{choice, curve, diagnostics};
use super::{GoalSearch, Stage};
use crate::{CurvePoint, Goal, GoalOutcome, GoalResult, Irregular, Outlook};
use dropline_trial::{Caveat, Ratio, TrialInput};
use std::time::Duration;

impl GoalSearch {
    /// How probable it is, by what is believed, that such a trial loses anything; 0 where nothing is.
    pub(in super::super) fn loss_expected(&self, input: TrialInput) -> f64 {
        let Stage::Weighing(cloud) = &self.stage else { return 0.0 };
        let (pps, seconds) = (input.load.as_pps(), input.duration.as_secs_f64());
        diagnostics::loss_expected(&cloud.sample(choice::draws()), libm::log(pps), pps * seconds)
    }

    /// What is believed of the mean loss, from below the lowest interval to above the highest.
    pub(in super::super) fn curve(&self) -> Vec<CurvePoint> {
        let Stage::Weighing(cloud) = &self.stage else { return Vec::new() };
        let (lowest, highest) = self.between();
        curve::around(cloud, lowest, highest, self.range)
    }

    /// How each interval would become narrower in a search of which so much is `spent`, a trial being of such a `cost`;
    /// `None` where there is none between two ends. Further time is shared out as the time so far was.
    pub(in super::super) fn outlooks(&self, spent: Duration, cost: Duration) -> Vec<Option<Outlook>> {
        let Stage::Weighing(cloud) = &self.stage else { return vec![None; self.goals.len()] };
        let told = spent.mul_f64(cloud.seen().len() as f64 / self.trials.max(1) as f64);
        let outlook = |(goal, view): (&Goal, &View)| view.outlook(goal, self.range, told, cost);
        self.goals.iter().zip(&self.views).map(outlook).collect()
    }

    /// The answer to each goal, in the order of [`indices`](Self::indices).
    pub(in super::super) fn outcome(&self) -> Vec<GoalOutcome> {
        let one_by_one = |answer: &dyn Fn(usize) -> GoalOutcome| (0..self.goals.len()).map(answer).collect();
        let at_maximum = |goal: usize| {
            self.shown[goal].at_maximum(&self.goals[goal], self.range, self.level_ratio(), self.capped)
        };
        match &self.stage {
            Stage::Locating(..) if self.capped.is_some() => one_by_one(&at_maximum),
            Stage::Locating(..) => one_by_one(&|_| GoalOutcome {
                lower: None,
                upper: None,
                conditional_throughput_pps: None,
                result: GoalResult::Irregular(Irregular::Unfinished),
            }),
            Stage::AtMaximum => one_by_one(&at_maximum),
            Stage::BelowMinimum => one_by_one(&|goal| {
                let (shown, level) = (&self.shown[goal], self.level_ratio());
                shown.without_knee(&self.goals[goal], self.range, level, self.capped)
            }),
            Stage::Weighing(_) => one_by_one(&|goal| {
                let (view, shown) = (self.views[goal], &self.shown[goal]);
                let plain = |lower: f64| shown.lower_plain(&self.goals[goal], lower);
                let view = match self.trials < PLAIN_FROM {
                    true => view,
                    false => view.with_plain(&self.goals[goal], self.range, plain),
                };
                let answer =
                    view.answer(&self.goals[goal], self.range, self.level_ratio(), self.capped.is_some());
                match answer {
                    GoalOutcome { result: GoalResult::Irregular(_), .. } => at_maximum(goal),
                    GoalOutcome { lower: None, .. } if self.fails_at_lowest(goal) => GoalOutcome {
                        upper: Some(self.range.min()),
                        result: GoalResult::BelowMinimum { level: self.level_ratio() },
                        ..answer
                    },
                    answer => answer,
                }
            }),
        }
    }

    /// Of each goal, which rule took an end away from its answer, where one is missing for another reason than the range.
    pub(in super::super) fn why_open(&self) -> Vec<Option<Caveat>> {
        let why = |(place, outcome): (usize, GoalOutcome)| {
            let (goal, shown, view) = (&self.goals[place], &self.shown[place], self.views.get(place)?);
            let has = (outcome.lower.is_some(), outcome.upper.is_some());
            if has == (true, true) || !matches!(outcome.result, GoalResult::Wide { .. }) {
                return None;
            }
            let passed = self.fresh.met_and_failed(goal.loss_ratio.as_f64()).0;
            let passed = Some(passed).filter(|passed| view.is_passed && passed.is_finite());
            let no_upper = || Caveat::NoUpperEnd {
                loss_ratio: goal.loss_ratio.as_f64(),
                failed: shown.failed_up_to(passed.unwrap_or(f64::INFINITY)),
                passed_pps: passed.map(libm::exp),
            };
            let of_another =
                || self.goals.iter().zip(&self.shown).find_map(|(goal, shown)| shown.why_open(goal, has));
            match passed {
                Some(_) if !has.1 => Some(no_upper()),
                _ => shown.why_open(goal, has).or_else(of_another).or_else(|| (!has.1).then(no_upper)),
            }
        };
        self.outcome().into_iter().enumerate().map(why).collect()
    }

    /// Whether trials at the lowest load failed a goal so often that its own load is below that.
    fn fails_at_lowest(&self, goal: usize) -> bool {
        self.shown[goal].fails_at(&self.goals[goal], self.range.min(), 1.0 - self.level)
    }

    fn level_ratio(&self) -> Ratio {
        Ratio::new(self.level).expect("a level is below 1")
    }
}
