//! What is believed of one goal: an interval, and what it comes to as an answer.

use super::choice::Wish;
use super::cloud::Cloud;
use super::model::Shape;
use super::normal::Normal;
use crate::{Goal, GoalOutcome, GoalResult, Irregular, Outlook};
use dropline_trial::{LoadRange, Rate, Ratio};
use std::time::Duration;

/// Logarithms of loads.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) lower: f64,
    pub(super) median: f64,
    pub(super) upper: f64,
}

/// What an interval is made of beside the belief.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated {
    /// Share of the belief that is left out at each end.
    pub(super) tail: f64,
    /// By how much an interval is wider than the belief says.
    pub(super) widening: f64,
    /// It reaches at least so far to either side, in widths of the goal.
    pub(super) least: f64,
}

impl View {
    /// The interval that a cloud believes in.
    pub(super) fn of(goal: &Goal, cloud: &Cloud, stated: Stated) -> Self {
        let mut loads: Vec<(f64, f64)> =
            cloud.weighted().map(|(shape, weight)| (load_of(goal, &shape), weight)).collect();
        loads.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [lower, median, upper] =
            [stated.tail, 0.5, 1.0 - stated.tail].map(|share| quantile(&loads, share));
        let least = stated.least * goal.width.as_f64();
        Self {
            lower: median - (stated.widening * (median - lower)).max(least),
            median,
            upper: median + (stated.widening * (upper - median)).max(least),
        }
    }

    /// Ends of the interval within the range; `None` where it reaches beyond.
    pub(super) fn ends(&self, range: LoadRange) -> (Option<Rate>, Option<Rate>) {
        let rate = |log: f64| Rate::pps(libm::exp(log)).unwrap_or(range.min());
        if rate(self.upper) <= range.min() {
            return (None, Some(range.min()));
        }
        let upper = rate(self.upper);
        (Some(range.clamp(rate(self.lower))), (upper < range.max()).then_some(upper))
    }

    /// Whether it is within its goal's width, or beyond an end of the range.
    pub(super) fn is_settled(&self, goal: &Goal, range: LoadRange) -> bool {
        match self.ends(range) {
            (Some(lower), upper) => width(lower, upper.unwrap_or(range.max())) <= goal.width.as_f64(),
            (None, _) => true,
        }
    }

    /// What a trial should teach of it.
    pub(super) fn wish(&self, goal: &Goal, draws: &[Shape]) -> Wish {
        let mut loads: Vec<f64> = draws.iter().map(|shape| load_of(goal, shape)).collect();
        let mut ordered = loads.clone();
        ordered.sort_by(f64::total_cmp);
        // A stray draw far outside the interval must not decide where to look.
        let span = (self.upper - self.lower).max(1e-6);
        for load in &mut loads {
            *load = load.clamp(self.lower - span, self.upper + span);
        }
        let at = |share: f64| ordered[((ordered.len() - 1) as f64 * share) as usize];
        Wish { loads, points: [at(0.1), at(0.5), at(0.9)], width: goal.width.as_f64() }
    }

    /// How it would become narrower in a search of which so much is `spent`, a trial being of such a `cost`; `None`
    /// where an end is missing.
    pub(super) fn outlook(
        &self,
        goal: &Goal,
        range: LoadRange,
        spent: Duration,
        cost: Duration,
    ) -> Option<Outlook> {
        let (lower, upper) = self.ends(range);
        Some(Outlook::new(width(lower?, upper?), goal.width.as_f64(), spent, cost))
    }

    /// The answer; where the range is `capped` its upper end is our own limit.
    pub(super) fn answer(&self, goal: &Goal, range: LoadRange, level: Ratio, capped: bool) -> GoalOutcome {
        let (lower, upper) = self.ends(range);
        let median = Rate::pps(libm::exp(self.median)).unwrap_or(range.min());
        let median = median.clamp(lower.unwrap_or(range.min()), upper.unwrap_or(range.max()));
        let settled = self.is_settled(goal, range);
        let result = match (lower, upper) {
            (None, _) => GoalResult::BelowMinimum { level },
            (Some(_), None) if capped => GoalResult::Irregular(Irregular::GeneratorLimited),
            (Some(_), None) if settled => GoalResult::AtMaximum { level },
            _ if settled => GoalResult::Narrow { median, level },
            _ => GoalResult::Wide { median, level },
        };
        GoalOutcome { lower, upper, conditional_throughput_pps: None, result }
    }
}

/// Logarithm of a goal's load where the system is like this.
///
/// A goal without exceed ratio asks for an even chance, as RFC 9971's goals in one trial do.
fn load_of(goal: &Goal, shape: &Shape) -> f64 {
    let exceed = if goal.exceed_ratio == Ratio::ZERO { 0.5 } else { goal.exceed_ratio.as_f64() };
    shape.goal_load(goal.loss_ratio.as_f64(), exceed, goal.trial_duration.as_secs_f64(), Normal::tables())
}

fn width(lower: Rate, upper: Rate) -> f64 {
    1.0 - lower.as_pps() / upper.as_pps()
}

/// The value below which `share` of the weight is.
fn quantile(ordered: &[(f64, f64)], share: f64) -> f64 {
    let mut below = 0.0;
    for &(value, weight) in ordered {
        below += weight;
        if below >= share {
            return value;
        }
    }
    ordered[ordered.len() - 1].0
}
