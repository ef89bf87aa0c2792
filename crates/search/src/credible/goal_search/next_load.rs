//! The load that teaches most of the goals: where ends are not shown, not borne, or not believed.

use super::super::choice;
use super::super::constants::ends::MOST_LACKED;
use super::super::constants::goal_search::{CHECK, LAST, ONE_IN, PLAIN_FROM, SETTLING, SPARE};
use super::super::ends::Shown;
use super::super::is_zero_loss;
use super::super::particles::Particles;
use super::super::view::{self, View};
use super::{GoalSearch, Stage};
use crate::Goal;
use dropline_trial::Rate;

impl GoalSearch {
    pub(super) fn best_load(&self, cloud: &Particles, left: usize) -> Option<Rate> {
        let unborne = || self.minimum().or_else(|| self.unborne()).or_else(|| self.stale());
        // Where all are settled, the last trial of all is such a one.
        let is_open = self.unsettled().next().is_some();
        let last = self.beyond().filter(|_| is_open && self.is_last(left));
        let asked = || self.beyond().filter(|_| is_open && self.is_passed());
        if let Some(load) = last
            .or_else(|| self.not_plain(left))
            .or_else(asked)
            .or_else(|| self.uncertain())
            .or_else(|| self.gap(left))
        {
            return Some(self.range.clamp(load));
        }
        if let Some(load) = self.unshown().or_else(|| self.plainly()).or_else(unborne) {
            return Some(self.range.clamp(load));
        }
        let draws = cloud.sample(choice::draws());
        let views = || self.goals.iter().zip(&self.views);
        let open = views().filter(|(goal, view)| !view.is_known(goal, self.range));
        let mut wishes: Vec<_> = open.map(|(goal, view)| view.wish(goal, &draws)).collect();
        if wishes.is_empty() {
            wishes = views().map(|(goal, view)| view.wish(goal, &draws)).collect();
        }
        let near =
            Rate::pps(libm::exp(self.lowest())).map_or(self.range.min(), |load| self.range.clamp(load));
        let best = choice::best(&draws, &wishes, self.length_at(near).as_secs_f64(), view::logs(self.range))?;
        Rate::pps(libm::exp(best)).ok().map(|load| self.range.clamp(load))
    }

    /// Goals whose interval is too wide yet.
    fn unsettled(&self) -> impl Iterator<Item = (&Goal, &View)> {
        self.goals.iter().zip(&self.views).filter(|(goal, view)| !view.is_settled(goal, self.range))
    }

    /// A load that is believed to be an end of an interval but was not shown to be one: where all are believed to be
    /// narrow, and now and then where what is stated is much wider than what is believed, or the belief has a long tail.
    fn unshown(&self) -> Option<Rate> {
        let views = || self.unsettled();
        let excess = |(_, view): (&Goal, &View)| Some((view.excess(self.range)?, view.unshown(self.range)?));
        let widest = || views().filter_map(excess).max_by(|(one, _), (other, _)| one.total_cmp(other));
        let load = match views().all(|(goal, view)| view.is_believed(goal, self.range)) {
            true => views().find_map(|(_, view)| view.unshown(self.range)),
            false if self.trials < SETTLING || !self.trials.is_multiple_of(ONE_IN) => None,
            false => widest()
                .map(|(_, load)| load)
                .or_else(|| views().find_map(|(_, view)| view.in_a_tail(self.range))),
        };
        Rate::pps(libm::exp(load?)).ok()
    }

    /// Of a goal that trials fail at any load, an end that they do not make certain yet: the belief knows nothing of such failures, and
    /// has its turn now and then.
    fn uncertain(&self) -> Option<Rate> {
        let turn = self.trials % ONE_IN;
        if self.trials < SETTLING || turn + 1 == ONE_IN {
            return None;
        }
        let goals = self.goals.iter().zip(&self.views).zip(&self.shown);
        let is_open = |((goal, view), shown): &((&Goal, &View), &Shown)| {
            !view.is_settled(goal, self.range) && !shown.failed_anywhere().is_empty()
        };
        let open: Vec<_> = goals.filter(is_open).collect();
        let doubt = 0.5 * (1.0 - self.level);
        let upper = || open.iter().find_map(|((goal, _), shown)| shown.uncertain_upper(goal, doubt));
        let lower = || open.iter().find_map(|((goal, _), shown)| shown.uncertain_lower(goal, doubt));
        let load = if turn == 0 { upper().or_else(lower) } else { lower().or_else(upper) };
        Rate::pps(libm::exp(load?)).ok().filter(|load| *load > self.range.min())
    }

    /// A load at which a trial would leave less possible beyond what is believed, where that is much; now and then the belief
    /// has its turn, but not at the end.
    fn gap(&self, left: usize) -> Option<Rate> {
        let is_its_turn = left <= LAST || !self.trials.is_multiple_of(ONE_IN);
        if self.trials < SETTLING || !is_its_turn {
            return None;
        }
        let gaps = self.unsettled().filter_map(|(_, view)| view.gap(self.range));
        let (_, load) = gaps.max_by(|one, other| one.0.total_cmp(&other.0))?;
        Rate::pps(libm::exp(load)).ok()
    }

    /// A lower end that would be stated lower for want of trials that make it plain, where there is time left for no more
    /// than these.
    fn not_plain(&self, left: usize) -> Option<Rate> {
        if self.trials + left < PLAIN_FROM || left > 2 * MOST_LACKED + SPARE {
            return None;
        }
        let goals = self.goals.iter().zip(&self.views).zip(&self.shown);
        let open = goals.filter(|((goal, view), _)| view.is_to_be_plain(goal, self.range));
        let lacks =
            open.map(|((goal, view), shown)| (shown.lower_lacks(goal, view.lower_end()), view.lower_end()));
        let lacks: Vec<(usize, f64)> = lacks.filter(|(lacks, _)| *lacks > 0).collect();
        let all: usize = lacks.iter().map(|(lacks, _)| lacks).sum();
        let (_, load) = lacks.into_iter().max_by_key(|(lacks, _)| *lacks)?;
        Rate::pps(libm::exp(load)).ok().filter(|_| left <= all + SPARE)
    }

    /// A lower end that is believed but that too few trials bear, or a load far below that failed and may do so again.
    pub(super) fn unborne(&self) -> Option<Rate> {
        if self.unsettled().next().is_some() {
            return None;
        }
        let ends = self.goals.iter().zip(&self.views).zip(&self.shown);
        let mut ends = ends
            .map(|((goal, view), shown)| (goal, view.lower_end(), shown))
            .filter(|(_, lower, _)| *lower > view::logs(self.range).0);
        let load = |(goal, lower, shown): (&Goal, f64, &Shown)| match shown.bears(goal, lower) {
            true => shown.unmet(lower),
            false => Rate::pps(libm::exp(lower)).ok(),
        };
        ends.find_map(load)
    }

    /// Above the highest upper end, where neither of the last two trials failed: nothing but a trial that fails shows that the target
    /// did not become faster. It is the last one, after probes where there are any.
    pub(super) fn stale(&self) -> Option<Rate> {
        let is_last = self.is_probed || !self.goals.iter().any(is_zero_loss);
        if !is_last || self.unsettled().next().is_some() {
            return None;
        }
        (self.met_since > 1 || self.is_passed()).then(|| self.beyond()).flatten()
    }

    /// Whether the next trial is the last one that can tell whether the target became faster.
    fn is_last(&self, left: usize) -> bool {
        left <= 1 && self.met_since > 1
    }

    /// A load above the highest upper end that is believed; where the last trials passed that already, it is farther above each
    /// time, or between them and what failed since.
    fn beyond(&self) -> Option<Rate> {
        let upper = self.views.iter().map(|view| view.upper).fold(f64::NEG_INFINITY, f64::max);
        let allowed = self.goals.iter().map(|goal| goal.loss_ratio).max()?;
        let (passed, failed) = self.fresh.met_and_failed(allowed.as_f64());
        let is_within = upper < view::logs(self.range).1 && self.trials >= SETTLING;
        let scatter = match &self.stage {
            Stage::Weighing(cloud) => cloud.scatter(0.5),
            _ => 0.0,
        };
        let above = upper + (2.0 * (passed - upper)).max(3.0 * scatter).max(CHECK);
        let highest = upper.max(passed);
        let load = if above < failed { above } else { 0.5 * (highest + failed) };
        // What failed close above shows it already.
        Rate::pps(libm::exp(load)).ok().filter(|_| is_within && failed - highest > CHECK)
    }

    /// The lowest load of the range, where all that is open is whether trials bear it as a lower end.
    fn minimum(&self) -> Option<Rate> {
        let mut open = self.unsettled().peekable();
        open.peek()?;
        open.all(|(goal, view)| view.lacks_minimum(goal, self.range)).then_some(self.range.min())
    }

    /// Where the next trial belongs for a goal of which the model knows much less than the trials show.
    fn plainly(&self) -> Option<Rate> {
        let open = self.unsettled().filter(|_| self.trials >= SETTLING);
        let loads: Vec<f64> = open.filter_map(|(goal, view)| view.plainly(goal, self.range)).collect();
        // Goals in turn.
        let load = loads.get(self.trials.checked_rem(loads.len())?)?;
        Rate::pps(libm::exp(*load)).ok()
    }
}
