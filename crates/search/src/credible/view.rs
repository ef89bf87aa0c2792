//! What is believed of one goal: an interval, and what it comes to as an answer.

use super::choice::{self, Wish};
use super::constants::view::{DOUBTED, FAR_TAIL, INTO_GAP, MUCH_WIDER, SURELY, TRUSTED};
use super::model::Shape;
use super::monotone::Possible;
use super::normal::Normal;
use super::particles::Particles;
use crate::{Goal, GoalOutcome, GoalResult, Irregular, Outlook};
use dropline_trial::{LoadRange, Rate, Ratio};
use std::time::Duration;

/// Nothing is certain without a model.
pub(super) const UNCERTAIN: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Ends that trials bear wherever they are.
const ANYWHERE: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// Logarithms of loads.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// What the model believes.
    pub(super) lower: f64,
    pub(super) median: f64,
    pub(super) upper: f64,
    /// Where most of the belief is: four of five.
    most: (f64, f64),
    /// The highest load that met the goal, and the lowest that failed it: the interval that is stated holds both.
    shown: (f64, f64),
    /// Loads that the truth is not below and not above, whatever is believed.
    certain: (f64, f64),
    /// Whether trials bear the lowest load of the range as a lower end; an interval that reaches below it has none otherwise.
    is_minimum_borne: bool,
    /// Whether they failed it there so often that the goal's load is below it.
    is_minimum_failed: bool,
    /// The highest load at or below the lower end, and the lowest at or above the upper one, that trials bear as such.
    borne: (f64, f64),
    /// The highest load at or below the lower end at which they make it plain without a model.
    plain: f64,
    /// What trials leave possible.
    possible: Possible,
    /// Whether the last trials passed the upper end that would be stated.
    pub(super) is_passed: bool,
    /// The interval may be so much narrower than what is possible.
    tolerance: f64,
    /// Where a trial is believed to meet the goal for sure, and where to fail it.
    sure: (f64, f64),
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
    /// Logarithms of the highest load that met the goal and of the lowest that failed it.
    pub(super) shown: (f64, f64),
    /// Loads that the truth is not below and not above, whatever is believed.
    pub(super) certain: (f64, f64),
    /// What trials leave possible.
    pub(super) possible: Possible,
    /// Logarithm of the lowest load of the range, where trials bear it as a lower end.
    pub(super) borne_minimum: Option<f64>,
    /// Whether trials failed it there so often that the goal's load is below it.
    pub(super) is_minimum_failed: bool,
}

impl View {
    /// The interval that a cloud believes in.
    pub(super) fn of(goal: &Goal, cloud: &Particles, stated: Stated) -> Self {
        let mut loads: Vec<(f64, f64)> =
            cloud.weighted().map(|(shape, weight)| (load_of(goal, &shape), weight)).collect();
        loads.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [lower, low, median, high, upper] =
            [stated.tail, 0.1, 0.5, 0.9, 1.0 - stated.tail].map(|share| quantile(&loads, share));
        let least = stated.least * goal.width.as_f64();
        let lower = median - (stated.widening * (median - lower)).max(least);
        let upper = median + (stated.widening * (upper - median)).max(least);
        let (width, wanted) = (upper - lower, goal.width.as_f64());
        Self {
            lower,
            median,
            upper,
            most: (low, high),
            shown: stated.shown,
            certain: stated.certain,
            is_minimum_borne: stated.borne_minimum.is_some_and(|min| min <= median),
            is_minimum_failed: stated.is_minimum_failed,
            borne: ANYWHERE,
            plain: f64::INFINITY,
            possible: stated.possible,
            is_passed: false,
            // One that is narrower than what trials scatter by rests on several of them.
            tolerance: if width < TRUSTED.max(cloud.scatter(0.5)) { width.max(wanted) } else { 0.0 },
            // Where trials deny nothing there is no gap to close.
            sure: match stated.possible == Possible::UNASKED {
                true => stated.possible.ends,
                false => surely(goal, cloud),
            },
        }
    }

    /// With ends where trials bear them.
    pub(super) fn with_borne(self, lower: impl Fn(f64) -> f64, upper: impl Fn(f64) -> f64) -> Self {
        Self { borne: (lower(self.lower.min(self.shown.0)), upper(self.upper.max(self.shown.1))), ..self }
    }

    /// With the upper end that the last trials leave of the one that would be stated.
    pub(super) fn unless_passed(self, left: impl Fn(f64) -> f64) -> Self {
        let (_, upper) = self.stated();
        match left(upper) {
            end if end > upper => {
                let (borne, certain) = ((self.borne.0, end), (self.certain.0, f64::INFINITY));
                Self { borne, certain, is_passed: true, ..self }
            }
            _ => self,
        }
    }

    /// With a lower end that trials make plain without a model, where it takes that.
    pub(super) fn with_plain(self, goal: &Goal, range: LoadRange, lower: impl Fn(f64) -> f64) -> Self {
        match self.is_to_be_plain(goal, range) {
            true => Self { plain: lower(self.lower_end()), ..self },
            false => self,
        }
    }

    /// Whether the interval is not within its goal's width, and what is believed is so wide that its ends are guesses.
    pub(super) fn is_to_be_plain(&self, goal: &Goal, range: LoadRange) -> bool {
        self.upper - self.lower >= DOUBTED && !self.is_settled(goal, range)
    }

    /// The ends that are stated: no end without a trial that met the goal at or above the lower one, and one that
    /// failed it at or below the upper one, whatever the model believes; none that leaves out more than it may of what is
    /// possible; and none beyond what trials alone make certain.
    fn stated(&self) -> (f64, f64) {
        let (least, most) = self.possible.ends;
        let least = if least < self.lower - self.tolerance { least } else { self.lower };
        let most = if most > self.upper + self.tolerance { most } else { self.upper };
        let lower = least.min(self.shown.0).min(self.borne.0);
        let upper = most.max(self.shown.1).max(self.borne.1);
        let lower = lower.min(self.plain);
        match self.certain {
            // Trials contradict one another: it is no matter of a load.
            (least, most) if least > most => (lower, upper),
            (least, most) if lower > most || upper < least => (least, most),
            (least, most) => (lower.max(least), upper.min(most)),
        }
    }

    /// Where the next trial belongs when the model does not know what trials show by themselves: between the highest load
    /// that met the goal and the lowest that failed it, or once more at one of them until it is certain.
    pub(super) fn plainly(&self, goal: &Goal, range: LoadRange) -> Option<f64> {
        let (good, bad) = self.shown;
        let (min, max) = logs(range);
        let wanted = -libm::log1p(-goal.width.as_f64());
        let believed = self.upper.min(max) - self.lower.max(min);
        let is_lost = good < bad && believed > MUCH_WIDER * (bad - good).max(wanted);
        let (least, most) = self.certain;
        is_lost.then_some(match bad - good > wanted {
            true => 0.5 * (good + bad),
            false if good - least > most - bad => good,
            false => bad,
        })
    }

    /// How much more is possible than what is believed, in widths of that, and where a trial would make it less, the wider
    /// side first; `None` where it is no more than may be.
    pub(super) fn gap(&self, range: LoadRange) -> Option<(f64, f64)> {
        let (min, max) = logs(range);
        let (lower, upper) = (self.lower.max(min), self.upper.min(max));
        let (least, most) = (self.possible.ends.0.max(min), self.possible.ends.1.min(max));
        let step = |gap: f64, sure: f64| (INTO_GAP * gap.max(0.0)).min(sure.max(0.0));
        // A load that is an end already denies nothing within it, however often it is tried.
        let gaps = [
            (lower - least, lower - step(lower - least, lower - self.sure.0)),
            (most - upper, upper + step(most - upper, self.sure.1 - upper)),
        ];
        let (gap, load) = gaps.into_iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
        (gap > self.tolerance).then_some((gap / (upper - lower).max(1e-9), load))
    }

    /// Where a trial would move an end that no trial has shown yet to where the model believes it, the farther one
    /// first.
    pub(super) fn unshown(&self, range: LoadRange) -> Option<f64> {
        let (min, max) = logs(range);
        let (lower, upper) = self.stated();
        let gaps = [(self.lower - lower.max(min), self.lower), (upper.min(max) - self.upper, self.upper)];
        let farthest = gaps.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
        farthest.filter(|(gap, _)| *gap > 0.0).map(|(_, load)| load)
    }

    /// A load in a tail of the belief that reaches much farther than most of it: a trial there makes an end of the tail,
    /// or of the rest.
    pub(super) fn in_a_tail(&self, range: LoadRange) -> Option<f64> {
        let (min, max) = logs(range);
        let (low, high) = self.most;
        let (least, most) = self.certain;
        let (lower, upper) = (self.lower.max(min).max(least), self.upper.min(max).min(most));
        let far = |end: f64, most: f64| (end - self.median).abs() / (most - self.median).abs().max(1e-4);
        let (below, above) = (far(lower, low), far(upper, high));
        match below.max(above) > FAR_TAIL {
            true if below > above && lower < low => Some(0.5 * (lower + low)),
            true if upper > high => Some(0.5 * (upper + high)),
            _ => None,
        }
    }

    /// How many times as wide as what is believed is what is stated; `None` where that is not much.
    pub(super) fn excess(&self, range: LoadRange) -> Option<f64> {
        let (min, max) = logs(range);
        let (lower, upper) = self.stated();
        let excess = (upper.min(max) - lower.max(min)) / (self.upper - self.lower).max(1e-9);
        (excess > MUCH_WIDER).then_some(excess)
    }

    /// Ends of the interval within the range; `None` where it reaches beyond.
    pub(super) fn ends(&self, range: LoadRange) -> (Option<Rate>, Option<Rate>) {
        let rate = |log: f64| Rate::pps(libm::exp(log)).unwrap_or(range.min());
        let (lower, upper) = self.stated();
        // Where no trial failed, no load bounds it from above.
        let upper = if upper < logs(range).1 { rate(upper) } else { range.max() };
        if upper <= range.min() && upper < range.max() {
            return (None, Some(range.min()));
        }
        // Where trials do not bear the lowest load, no load bounds it from below.
        let lower = Some(range.clamp(rate(lower)));
        let lower = lower.filter(|lower| *lower > range.min() || self.is_minimum_borne);
        (lower, (upper < range.max()).then_some(upper))
    }

    /// Whether nothing but evidence for a lower end at the lowest load of the range keeps it from being settled.
    pub(super) fn lacks_minimum(&self, goal: &Goal, range: LoadRange) -> bool {
        let borne = Self { is_minimum_borne: true, is_minimum_failed: true, ..*self };
        !self.is_settled(goal, range) && borne.is_settled(goal, range)
    }

    /// Whether the model believes an interval within its goal's width, or beyond an end of the range.
    pub(super) fn is_believed(&self, goal: &Goal, range: LoadRange) -> bool {
        let (shown, borne, certain, possible) = (ANYWHERE, ANYWHERE, UNCERTAIN, Possible::UNASKED);
        let (is_minimum_borne, is_minimum_failed) = (true, true);
        Self { shown, certain, is_minimum_borne, is_minimum_failed, borne, possible, ..*self }
            .is_settled(goal, range)
    }

    /// Whether the model believes it or trials show it: another trial belongs to a goal of which neither is so.
    pub(super) fn is_known(&self, goal: &Goal, range: LoadRange) -> bool {
        self.is_believed(goal, range) || self.is_settled(goal, range)
    }

    /// The lower end that is stated.
    pub(super) fn lower_end(&self) -> f64 {
        self.stated().0
    }

    /// Whether it is within its goal's width, or beyond an end of the range.
    pub(super) fn is_settled(&self, goal: &Goal, range: LoadRange) -> bool {
        match self.ends(range) {
            (Some(lower), upper) => width(lower, upper.unwrap_or(range.max())) <= goal.width.as_f64(),
            (None, upper) => self.is_minimum_failed && upper.is_some_and(|upper| upper <= range.min()),
        }
    }

    /// What a trial should teach of it.
    pub(super) fn wish(&self, goal: &Goal, draws: &[Shape]) -> Wish {
        let mut loads: Vec<f64> = draws.iter().map(|shape| load_of(goal, shape)).collect();
        let mut ordered = loads.clone();
        ordered.sort_by(f64::total_cmp);
        // A stray draw far outside the interval must not decide where to look.
        let (least, most) = self.certain;
        let (least, most) = if least < most { (least, most) } else { UNCERTAIN };
        let (lower, upper) = (self.lower.clamp(least, most), self.upper.clamp(least, most));
        let span = (upper - lower).max(1e-6);
        for load in &mut loads {
            *load = load.clamp(lower - span, upper + span);
        }
        let at = |share: f64| ordered[((ordered.len() - 1) as f64 * share) as usize].clamp(least, most);
        Wish { loads, points: [at(0.1), at(0.5), at(0.9)], width: goal.width.as_f64() }
    }

    /// How it would become narrower in a search of which so much is `spent`, a trial being of such a `cost`; `None`
    /// where an end is missing, or is no matter of how many trials there are: what is believed has ends that are guesses, or
    /// trials put them much farther out.
    pub(super) fn outlook(
        &self,
        goal: &Goal,
        range: LoadRange,
        spent: Duration,
        cost: Duration,
    ) -> Option<Outlook> {
        let is_sure = self.upper - self.lower < DOUBTED && self.excess(range).is_none();
        let (lower, upper) = Some(self.ends(range)).filter(|_| is_sure)?;
        Some(Outlook::new(width(lower?, upper?), goal.width.as_f64(), spent, cost))
    }

    /// The answer; where the range is `capped` its upper end is our own limit.
    pub(super) fn answer(&self, goal: &Goal, range: LoadRange, level: Ratio, capped: bool) -> GoalOutcome {
        let (lower, upper) = self.ends(range);
        let median = Rate::pps(libm::exp(self.median)).unwrap_or(range.min());
        let median = median.clamp(lower.unwrap_or(range.min()), upper.unwrap_or(range.max()));
        let settled = self.is_settled(goal, range);
        let result = match (lower, upper) {
            (None, Some(_)) if settled => GoalResult::BelowMinimum { level },
            (_, None) if capped => GoalResult::Irregular(Irregular::GeneratorLimited),
            (Some(_), None) if settled => GoalResult::AtMaximum { level },
            _ if settled => GoalResult::Narrow { median, level },
            _ => GoalResult::Wide { median, level },
        };
        GoalOutcome { lower, upper, conditional_throughput_pps: None, result }
    }
}

/// Logarithms of the ends of a range.
pub(super) fn logs(range: LoadRange) -> (f64, f64) {
    (libm::log(range.min().as_pps()), libm::log(range.max().as_pps()))
}

/// Logarithm of a goal's load where the system is like this.
fn load_of(goal: &Goal, shape: &Shape) -> f64 {
    load_at(goal, shape, goal.exceed_at_truth())
}

/// Logarithms of loads where a trial is believed to meet the goal for sure, and to fail it.
fn surely(goal: &Goal, cloud: &Particles) -> (f64, f64) {
    let draws = cloud.sample(choice::draws());
    let median = |exceed: f64| {
        let mut loads: Vec<f64> = draws.iter().map(|shape| load_at(goal, shape, exceed)).collect();
        loads.sort_by(f64::total_cmp);
        loads[loads.len() / 2]
    };
    let exceed = goal.exceed_at_truth();
    (median(SURELY * exceed), median(1.0 - SURELY * (1.0 - exceed)))
}

/// Logarithm of the load at which a trial fails a goal with the probability `exceed` where the system is like this.
fn load_at(goal: &Goal, shape: &Shape, exceed: f64) -> f64 {
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
