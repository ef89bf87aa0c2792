//! Which trial next: look with short trials where loss counts point, then prove two loads to be bounds.

use super::next_step::NextStep;
use super::view::View;
use super::{Class, Mlr, belief, close_enough, strict};
use crate::{GoalResult, Irregular};
use dropline_trial::{Rate, Ratio, TrialInput};

/// A trial worth making, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) input: TrialInput,
    /// Name of the phase it belongs to.
    pub(super) phase: &'static str,
}

/// A goal sees the loads so close together that it can choose two of them.
const CLOSE_WIDTHS: f64 = 6.0;

impl Mlr {
    /// The trial to make next; `None` when every goal has its answer.
    ///
    /// The goal that tolerates most is asked first: loads that it wants cost the others little.
    pub(super) fn choice(&self) -> Option<Choice> {
        let mut order: Vec<usize> = (0..self.goals.len()).collect();
        order.sort_by_key(|&goal| std::cmp::Reverse(self.goals[goal].loss_ratio));
        let mut wanted: Vec<usize> = Vec::new();
        // The doubtful is tried first: should it fail, the rest is spared.
        let mut proof: Option<(f64, Choice)> = None;
        for index in order {
            let goal = &self.goals[index];
            let at = |load, duration, phase| Choice {
                input: TrialInput { load: self.grid.load(load), duration },
                phase,
            };
            let (chance, choice) = match self.wish(index, &wanted) {
                None => continue,
                Some(NextStep::Look(load)) => return Some(at(load, goal.initial_trial_duration, "look")),
                Some(NextStep::Try(load, duration)) => {
                    wanted.push(load);
                    (0.0, at(load, duration, "prove"))
                }
                Some(NextStep::Prove { lower, upper }) => {
                    wanted.extend(lower.iter().chain(&upper).map(|bound| bound.0));
                    let open =
                        |load: &(usize, f64)| self.class(index, self.grid.load(load.0)) == Class::Undecided;
                    let doubtful = lower.into_iter().chain(upper).filter(open);
                    match (doubtful.min_by(|a, b| a.1.total_cmp(&b.1)), self.open_beside_the_grid(index)) {
                        (Some((load, chance)), _) => {
                            let known = self.loads.contains_key(&self.grid.load(load));
                            let duration =
                                if known { goal.trial_duration } else { goal.initial_trial_duration };
                            (chance, at(load, duration, "prove"))
                        }
                        (None, Some(load)) => {
                            let input = TrialInput { load, duration: goal.trial_duration };
                            (0.5, Choice { input, phase: "prove" })
                        }
                        (None, None) => continue,
                    }
                }
            };
            if proof.is_none_or(|best| chance < best.0) {
                proof = Some((chance, choice));
            }
        }
        proof.map(|(_, choice)| choice)
    }

    /// Of the loads between a goal's bounds that are not decided, the one that was tried most; others than this search try loads beside
    /// the grid ([`Certified`](crate::Certified)).
    fn open_beside_the_grid(&self, index: usize) -> Option<Rate> {
        let (lower, upper) = self.relevant(index);
        let is_between =
            |load: Rate| lower.is_none_or(|lower| load > lower) && upper.is_none_or(|upper| load < upper);
        let open = self
            .loads
            .iter()
            .filter(|&(&load, _)| is_between(load) && self.class(index, load) == Class::Undecided);
        open.max_by_key(|(_, known)| known.seen.len()).map(|(&load, _)| load)
    }

    /// What this goal would try; `None` when it has its answer.
    fn wish(&self, index: usize, wanted: &[usize]) -> Option<NextStep> {
        let goal = &self.goals[index];
        let (lower, upper) = self.relevant(index);
        if self.result(index, lower, upper) != GoalResult::Irregular(Irregular::Unfinished) {
            return None;
        }
        let view = View::new(self, index, lower, upper);
        if !view.has_maximum() {
            return Some(NextStep::Look(self.grid.last()));
        }
        let even = |index| Some((index, 0.5));
        let prove = |lower: Option<usize>, upper: Option<usize>| {
            Some(NextStep::Prove { lower: lower.and_then(even), upper: upper.and_then(even) })
        };
        let below = view.below();
        let Some(above) = view.above() else { return prove(below.map(|rung| rung.index), None) };
        if below.is_none() && above.index == 0 {
            return prove(None, Some(0));
        }
        let repeats = goal.exceed_ratio > Ratio::ZERO;
        if repeats && view.is_surprising(above) {
            return Some(NextStep::Look(above.index));
        }
        if let Some(load) = view.stride() {
            return Some(NextStep::Look(load));
        }
        if let Some(safe) = below.filter(|below| view.is_lost() && below.class == Class::Undecided) {
            return prove(Some(safe.index), None);
        }
        let (hint, _) = view.hint(above);
        if above.at - below.map_or(hint, |below| below.at) < CLOSE_WIDTHS * view.width as f64 {
            let pair = if repeats {
                belief::pair(&view, &self.tables, hint, upper, wanted)
            } else {
                strict::pair(&view, above, hint, wanted)
            };
            if pair.is_some() {
                return pair;
            }
        }
        let apart = below.is_none_or(|below| !close_enough(goal, below.load, above.load));
        match view.between(above).filter(|_| apart) {
            Some(load) => Some(NextStep::Look(load)),
            None => prove(below.map(|rung| rung.index), Some(above.index)),
        }
    }
}
