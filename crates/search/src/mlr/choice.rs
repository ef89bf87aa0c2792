//! Which trial next: look with short trials where loss counts point, then repeat where it pays.

use super::{Class, Mlr, close_enough};
use crate::{Goal, GoalResult, Irregular};
use dropline_trial::{Rate, TrialInput};

/// A trial worth making, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) input: TrialInput,
    /// Name of the phase it belongs to.
    pub(super) phase: &'static str,
}

/// A load that was tried, as one goal sees it.
#[derive(Clone, Copy, Debug)]
struct Rung {
    load: Rate,
    /// Natural logarithm of the load in millipackets a second.
    at: f64,
    class: Class,
    /// Good and bad seconds.
    good: f64,
    bad: f64,
    /// Median loss ratio of its trials.
    loss: f64,
}

impl Mlr {
    /// The trial to make next; `None` when every goal has its answer.
    pub(super) fn choice(&self) -> Option<Choice> {
        let mut order: Vec<usize> = (0..self.goals.len()).collect();
        order.sort_by_key(|&goal| std::cmp::Reverse(self.goals[goal].loss_ratio));
        let mut confirm = None;
        for goal in order {
            match self.wish(goal) {
                Some(wish) if wish.phase == "narrow" => return Some(wish),
                wish => confirm = confirm.or(wish),
            }
        }
        confirm
    }

    /// What this goal would try.
    fn wish(&self, index: usize) -> Option<Choice> {
        let goal = &self.goals[index];
        let (lower, upper) = self.relevant(index);
        if self.result(index, lower, upper) != GoalResult::Irregular(Irregular::Unfinished) {
            return None;
        }
        let rungs = self.rungs(index);
        let narrow = |load| {
            Some(Choice {
                input: TrialInput { load, duration: goal.initial_trial_duration },
                phase: "narrow",
            })
        };
        if rungs.last().is_none_or(|last| last.load < self.range.max()) {
            return narrow(self.range.max());
        }
        let cut = cut(goal, &rungs, lower, upper);
        let below = cut.checked_sub(1).map(|index| rungs[index]);
        let above = rungs.get(cut).copied();
        let apart = match (below, above) {
            (Some(below), Some(above)) => !close_enough(goal, below.load, above.load),
            (None, Some(above)) => above.load > self.range.min(),
            _ => false,
        };
        if apart && let Some(load) = self.between(goal, &rungs, cut) {
            return narrow(load);
        }
        let undecided = |rung: Option<Rung>| rung.filter(|rung| rung.class == Class::Undecided);
        let weight = |rung: &Rung| rung.good + rung.bad;
        let rung = match (undecided(below), undecided(above)) {
            (Some(below), Some(above)) if weight(&above) < weight(&below) => above,
            (Some(below), _) => below,
            (None, Some(above)) => above,
            (None, None) => return None,
        };
        let input = TrialInput { load: rung.load, duration: goal.trial_duration };
        Some(Choice { input, phase: "confirm" })
    }

    fn rungs(&self, index: usize) -> Vec<Rung> {
        let goal = &self.goals[index];
        self.loads
            .iter()
            .map(|(&load, known)| {
                let (good, bad) = known.evidence[index].seconds();
                let loss = known.seen[known.seen.len() / 2].loss_ratio();
                Rung { load, at: log(load), class: known.evidence[index].class(goal), good, bad, loss }
            })
            .collect()
    }

    /// A load between the rungs on both sides of the cut; `None` when there is none.
    fn between(&self, goal: &Goal, rungs: &[Rung], cut: usize) -> Option<Rate> {
        let above = rungs[cut];
        let width = -libm::log1p(-goal.width.as_f64());
        let floor = log(self.range.min());
        let below = cut.checked_sub(1).map(|index| rungs[index]);
        let (hint, tail) = hint(goal, rungs, cut);
        let from_above = above.at - width;
        let at = match below {
            None if hint >= from_above => from_above,
            None => (hint + 0.15 * width).max(floor),
            Some(below) => {
                let from_below = below.at + width;
                let middle = (below.at + above.at) / 2.0;
                if from_below >= from_above {
                    if hint > middle {
                        (hint - width / 2.0).clamp(from_above, from_below)
                    } else {
                        (hint + width / 2.0).clamp(from_above, from_below)
                    }
                } else if hint >= from_above {
                    from_above
                } else if hint <= below.at + width / 2.0 {
                    let stride = cut.checked_sub(2).map_or(0.0, |index| below.at - rungs[index].at);
                    if tail { middle } else { (below.at + 2.0 * width.max(stride)).min(middle) }
                } else if hint <= from_below {
                    from_below
                } else {
                    hint + 0.15 * width
                }
            }
        };
        let lowest =
            below.map_or(self.range.min(), |below| Rate::from_millipps(below.load.as_millipps() + 1));
        let highest = Rate::from_millipps(above.load.as_millipps() - 1);
        if lowest > highest {
            return None;
        }
        let load = Rate::from_millipps(libm::round(libm::exp(at)) as u64);
        // Rounding must not leave a distance a hair above the width.
        let just = lowest_within(goal, above.load);
        let load = if load < just && (at - from_above).abs() < 1e-6 { just } else { load };
        Some(load.clamp(lowest, highest))
    }
}

/// Where the crossing from good to bad loads is expected, and whether the tail of the loss said so.
fn hint(goal: &Goal, rungs: &[Rung], cut: usize) -> (f64, bool) {
    let tolerated = goal.loss_ratio.as_f64();
    let knee = |rung: &Rung| rung.at + libm::log1p(-rung.loss) - libm::log1p(-tolerated);
    let above = &rungs[cut];
    let width = -libm::log1p(-goal.width.as_f64());
    let Some(higher) = rungs.get(cut + 1) else { return (knee(above), false) };
    if knee(higher) < above.at - 0.2 * width {
        return (knee(above), false);
    }
    if higher.at - above.at < 0.1 && higher.loss > above.loss && above.loss > 0.0 {
        let packets = above.load.as_pps() * goal.trial_duration.as_secs_f64();
        let aim = tolerated.max(core::f64::consts::LN_2 / packets);
        let slope = libm::log(higher.loss / above.loss) / (higher.at - above.at);
        return (above.at - libm::log(above.loss / aim).max(0.0) / slope, true);
    }
    let knee = knee(above);
    if above.at - knee > 2.0 * width {
        (knee.min(above.at - 2.0 * (higher.at - above.at)), false)
    } else {
        (knee, false)
    }
}

/// Index of the lowest rung that seems to be above the crossing: the cut that contradicts the fewest
/// seconds of trials, the highest of such.
fn cut(goal: &Goal, rungs: &[Rung], lower: Option<Rate>, upper: Option<Rate>) -> usize {
    let first = lower.map_or(0, |lower| rungs.partition_point(|rung| rung.load <= lower));
    let last = upper.map_or(rungs.len(), |upper| rungs.partition_point(|rung| rung.load < upper));
    let exceed = goal.exceed_ratio.as_f64();
    let mut cost = 0.0;
    let mut best = (0.0, first);
    for (index, rung) in rungs.iter().enumerate().take(last).skip(first) {
        cost += rung.bad * (1.0 - exceed) - rung.good * exceed;
        if cost <= best.0 {
            best = (cost, index + 1);
        }
    }
    best.1
}

fn log(load: Rate) -> f64 {
    libm::log(load.as_millipps() as f64)
}

/// The lowest load that is close enough below `upper`.
fn lowest_within(goal: &Goal, upper: Rate) -> Rate {
    let rest = 1_000_000_000 - u128::from(goal.width.as_billionths());
    let lowest = (u128::from(upper.as_millipps()) * rest).div_ceil(1_000_000_000);
    Rate::from_millipps(u64::try_from(lowest).unwrap_or(u64::MAX))
}
