//! All loads that were tried, as one goal sees them, and where its crossing seems to be.

use super::evidence::Delivered;
use super::grid::STEPS;
use super::{Class, Mlr};
use crate::Goal;
use dropline_trial::{Rate, Ratio};
use std::time::Duration;

/// Trials that forwarded so many widths less than was forwarded elsewhere say nothing of where the crossing is.
const DIP_WIDTHS: f64 = 8.0;

/// How many bad loads in a row make a walk of a search.
const WALK: usize = 7;

/// A load that was tried, as one goal sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    pub(super) load: Rate,
    /// Position on the grid, and the nearest index.
    pub(super) at: f64,
    pub(super) index: usize,
    pub(super) class: Class,
    /// Good seconds, and bad ones.
    good: f64,
    bad: f64,
    /// Median loss ratio of its trials.
    loss: f64,
    pub(super) sighting: Sighting,
    pub(super) glance: Glance,
    /// Missing good and bad trials.
    pub(super) missing: (usize, usize),
}

/// What was seen at one load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub(super) index: usize,
    pub(super) good: u32,
    pub(super) bad: u32,
    /// Bad trials that forwarded far less than was forwarded elsewhere: they happen at any load.
    pub(super) dips: u32,
}

/// What was seen at one load, in shares of the full duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance {
    pub(super) at: f64,
    pub(super) good: u32,
    pub(super) good_share: f64,
    /// Length of its shortest bad trial.
    pub(super) bad: Option<f64>,
}

/// The loads that were tried, in ascending order, parted into those that seem good and those that seem bad.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) mlr: &'a Mlr,
    pub(super) goal: &'a Goal,
    rungs: Vec<Rung>,
    /// Index of the lowest rung that seems bad.
    cut: usize,
    /// Grid steps within the goal's width; a whole number of units.
    pub(super) width: usize,
    /// Grid steps that are one step to this goal.
    pub(super) unit: usize,
}

impl<'a> View<'a> {
    /// What goal number `index` sees; `upper` is its relevant upper bound, `lower` its lower one.
    pub(super) fn new(mlr: &'a Mlr, index: usize, lower: Option<Rate>, upper: Option<Rate>) -> Self {
        let goal = &mlr.goals[index];
        let within = mlr.grid.within(goal);
        let unit = (within / STEPS).max(1);
        let mut view = Self { mlr, goal, rungs: Vec::new(), cut: 0, width: within / unit * unit, unit };
        view.rungs = view.rungs_of(index);
        view.cut = view.cut_between(lower, upper);
        view
    }

    /// The load below the cut: the highest that seems good.
    pub(super) fn below(&self) -> Option<&Rung> {
        self.rungs.get(self.cut.checked_sub(1)?)
    }

    /// The load above the cut: the lowest that seems bad.
    pub(super) fn above(&self) -> Option<&Rung> {
        self.rungs.get(self.cut)
    }

    /// What is known of a load on the grid, or nearest to it of those that were tried beside it.
    pub(super) fn known(&self, index: usize) -> Option<&Rung> {
        let place = self.rungs.partition_point(|rung| rung.index < index);
        self.rungs.get(place).filter(|rung| rung.index == index)
    }

    /// Its class; `None` when it was not tried.
    pub(super) fn class(&self, index: usize) -> Option<Class> {
        self.known(index).map(|rung| rung.class)
    }

    /// The load at an index: one that was tried, though beside the grid, says more than its neighbour.
    pub(super) fn load(&self, index: usize) -> Rate {
        self.known(index).map_or_else(|| self.mlr.grid.load(index), |rung| rung.load)
    }

    /// All that were tried.
    pub(super) fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// Whether the highest load was tried.
    pub(super) fn has_maximum(&self) -> bool {
        self.rungs.last().is_some_and(|rung| rung.load == self.mlr.range.max())
    }

    /// Where to centre attention: on the highest load that seems good, but not far below the lowest bad one.
    pub(super) fn centre(&self, hint: f64) -> f64 {
        let floor = self.above().map_or(0.0, |above| above.at - 8.0 * self.width as f64);
        self.below().map_or(hint, |below| below.at).max(floor)
    }

    /// Where the crossing from good to bad loads is expected, and whether the tail of the loss said so.
    pub(super) fn hint(&self, above: &Rung) -> (f64, bool) {
        let width = self.width as f64;
        let knee = self.knee(above);
        let Some(higher) = self.rungs.get(self.cut + 1) else { return (knee, false) };
        let (predicted, stride) = (self.knee(higher), higher.at - above.at);
        if predicted > above.at - width && above.at - knee > 2.0 * width && above.loss > 0.8 * higher.loss {
            // The loss did not end where it should have, by far: stride on.
            return (knee.min(above.at - 2.0 * stride), false);
        }
        let near = self.mlr.grid.logarithm(stride) < 0.1;
        if predicted > above.at - 0.05 * width && near && higher.loss > above.loss && above.loss > 0.0 {
            // Loss above the forwarding rate: it fades exponentially. Follow it to half a packet a trial.
            let packets = above.load.as_pps() * self.goal.trial_duration.as_secs_f64();
            let aim = self.goal.loss_ratio.as_f64().max(core::f64::consts::LN_2 / packets);
            let slope = libm::log(higher.loss / above.loss) / stride;
            return (above.at - libm::log(above.loss / aim).max(0.0) / slope, true);
        }
        (knee, false)
    }

    /// Whether a single trial forwarded far less than a trial at the next higher load: something that happens
    /// now and then, or the end of all hope? It is worth a second trial.
    pub(super) fn is_surprising(&self, above: &Rung) -> bool {
        let Some(higher) = self.rungs.get(self.cut + 1) else { return false };
        let single = above.sighting.good + above.sighting.bad + above.sighting.dips == 1;
        let far = self.knee(higher) - self.knee(above) > DIP_WIDTHS * self.width as f64;
        single && far && above.loss < 0.8 * higher.loss
    }

    /// After so many bad loads in a row and no good one below: as far again as from the first of them.
    ///
    /// Without it a search would follow a system that fades, or fails a little everywhere, width by width.
    pub(super) fn stride(&self) -> Option<usize> {
        let bad = self.rungs.len() - self.cut;
        if self.cut > 0 || bad < WALK {
            return None;
        }
        // The highest load is not part of the walk: it is tried first, wherever the crossing is.
        let (first, last) = (self.rungs[bad - 2].at, self.rungs[0].at);
        let stride = (first - last).max(2.0 * self.width as f64);
        Some(self.mlr.grid.nearest(last - stride)).filter(|&load| load < self.rungs[0].index)
    }

    /// Whether the crossing was followed in vain for long: a lower bound, however low, ends the walk, and then
    /// halving is surer than hints.
    pub(super) fn is_lost(&self) -> bool {
        self.rungs.len() - self.cut >= 2 * WALK
    }

    /// A load between those on both sides of the cut; `None` when there is none.
    pub(super) fn between(&self, above: &Rung) -> Option<usize> {
        let width = self.width as f64;
        let (hint, tail) = self.hint(above);
        let from_above = above.at - width;
        // Repeated trials tell loads on both sides of a crossing apart; a single one is best kept off it.
        let margin = if self.goal.exceed_ratio == Ratio::ZERO { 0.25 * width } else { 0.5 * width };
        let at = match self.below() {
            None if hint >= from_above => from_above,
            None => hint + margin,
            Some(below) => {
                let from_below = below.at + width;
                let middle = (below.at + above.at) / 2.0;
                if from_below >= from_above {
                    let aim = if hint > middle { hint - width / 2.0 } else { hint + width / 2.0 };
                    aim.clamp(from_above, from_below)
                } else if self.is_lost() {
                    middle
                } else if hint >= from_above {
                    from_above
                } else if hint <= below.at + width / 2.0 {
                    let lower = self.cut.checked_sub(2).map_or(below.at, |index| self.rungs[index].at);
                    let stride = 2.0 * width.max(below.at - lower);
                    if tail { middle } else { (below.at + stride).min(middle) }
                } else if hint <= from_below {
                    from_below
                } else {
                    hint + margin
                }
            }
        };
        let lowest = self.below().map_or(0, |below| below.index + 1);
        let highest = above.index.checked_sub(1)?;
        (lowest <= highest).then(|| self.mlr.grid.nearest(at).clamp(lowest, highest))
    }

    /// Where the crossing is if a load's forwarding rate is all that can be forwarded.
    fn knee(&self, rung: &Rung) -> f64 {
        self.knee_at(rung.at, rung.loss)
    }

    fn knee_at(&self, at: f64, loss: f64) -> f64 {
        at + self.mlr.grid.steps((1.0 - loss).max(1e-9) / (1.0 - self.goal.loss_ratio.as_f64()))
    }

    /// The cut that contradicts the fewest seconds of trials, the highest of such.
    fn cut_between(&self, lower: Option<Rate>, upper: Option<Rate>) -> usize {
        let first = lower.map_or(0, |lower| self.rungs.partition_point(|rung| rung.load <= lower));
        let last = upper.map_or(self.rungs.len(), |upper| self.rungs.partition_point(|r| r.load < upper));
        let exceed = self.goal.exceed_ratio.as_f64();
        let (mut contradicted, mut least, mut cut) = (0.0, 0.0, first);
        for (index, rung) in self.rungs.iter().enumerate().take(last).skip(first) {
            contradicted += rung.bad * (1.0 - exceed) - rung.good * exceed;
            if contradicted <= least {
                (least, cut) = (contradicted, index + 1);
            }
        }
        cut
    }

    fn rungs_of(&self, index: usize) -> Vec<Rung> {
        let Mlr { grid, loads, .. } = self.mlr;
        let goal = self.goal;
        let highest_good = loads.iter().rev().find(|(_, known)| known.evidence[index].counts().0 > 0);
        let highest_good = highest_good.map_or(f64::NEG_INFINITY, |(&load, _)| grid.position(load));
        let dip = highest_good - DIP_WIDTHS * self.width as f64;
        let rung = |(&load, known): (&Rate, &super::Load)| {
            let evidence = &known.evidence[index];
            let (good_seconds, bad_seconds) = evidence.seconds();
            let (good, bad) = evidence.counts();
            let at = grid.position(load);
            let unusual = |seen: &Delivered| self.knee_at(at, seen.loss_ratio()) < dip;
            let dips = known.seen.len() - known.seen.partition_point(|seen| !unusual(seen));
            let dips = bad.min(u32::try_from(dips).unwrap_or(u32::MAX));
            let share = |seen: &Delivered| seconds_of(seen.duration) / seconds_of(goal.trial_duration);
            let (passed, failed) =
                known.seen.split_at(known.seen.partition_point(|seen| !seen.exceeds(goal.loss_ratio)));
            Rung {
                load,
                at,
                index: grid.index(load),
                class: evidence.class(goal),
                good: good_seconds,
                bad: bad_seconds,
                loss: known.seen[(known.seen.len() - 1) / 2].loss_ratio(),
                sighting: Sighting { index: grid.index(load) / self.unit, good, bad: bad - dips, dips },
                glance: Glance {
                    at: at / self.unit as f64,
                    good,
                    good_share: passed.iter().map(share).sum(),
                    bad: failed.iter().map(share).min_by(f64::total_cmp),
                },
                missing: evidence.missing(goal, self.mlr.effective_seconds(goal)),
            }
        };
        loads.iter().map(rung).collect()
    }
}

fn seconds_of(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
