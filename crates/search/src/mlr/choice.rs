//! Which trial next: look with short trials where loss counts point, then repeat where it pays.

use super::belief::{Belief, Odds, Prospect, Sighting};
use super::strict::{Glance, Strict};
use super::{Class, Mlr, close_enough};
use crate::{Goal, GoalResult, Irregular};
use dropline_trial::{Rate, Ratio, TrialInput};
use std::time::Duration;

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
    /// Position on the grid.
    at: f64,
    class: Class,
    /// Good and bad seconds.
    good: f64,
    bad: f64,
    /// Median loss ratio of its trials.
    loss: f64,
    sighting: Sighting,
    glance: Glance,
    /// Missing good and bad trials.
    missing: (usize, usize),
}

/// A load that was not tried yet costs as much as this share of a full trial beside its trials: every further
/// load is a further chance to fail by chance.
const FRESH: f64 = 0.3;
const LONGER: f64 = 8.0;
/// What a goal would do.
enum Wish {
    /// Look at a load that was not tried yet.
    Look(usize),
    /// Prove these two loads to be bounds, as far as they are not.
    Prove { lower: Option<usize>, upper: Option<usize>, odds: Odds },
    /// Try this load for so long.
    Try(usize, Duration),
}

impl Mlr {
    /// The trial to make next; `None` when every goal has its answer.
    pub(super) fn choice(&self) -> Option<Choice> {
        let mut order: Vec<usize> = (0..self.goals.len()).collect();
        order.sort_by_key(|&goal| std::cmp::Reverse(self.goals[goal].loss_ratio));
        let mut wanted: Vec<usize> = Vec::new();
        let mut proof: Option<(f64, Choice)> = None;
        for index in order {
            let goal = &self.goals[index];
            let at = |index, duration, phase| Choice {
                input: TrialInput { load: self.grid.load(index), duration },
                phase,
            };
            match self.wish(index, &wanted) {
                None => {}
                Some(Wish::Look(load)) => return Some(at(load, goal.initial_trial_duration, "look")),
                Some(Wish::Try(load, duration)) => {
                    wanted.push(load);
                    if proof.is_none() {
                        proof = Some((0.0, at(load, duration, "prove")));
                    }
                }
                Some(Wish::Prove { lower, upper, odds }) => {
                    let open = |load: Option<usize>| {
                        load.filter(|&load| self.class(index, self.grid.load(load)) == Class::Undecided)
                    };
                    wanted.extend(lower.into_iter().chain(upper));
                    let (load, chance) = match (open(lower), open(upper)) {
                        (Some(_), Some(upper)) if odds.upper < odds.lower => (upper, odds.upper),
                        (Some(lower), _) => (lower, odds.lower),
                        (None, Some(upper)) => (upper, odds.upper),
                        (None, None) => continue,
                    };
                    let known = self.loads.contains_key(&self.grid.load(load));
                    let duration = if known { goal.trial_duration } else { goal.initial_trial_duration };
                    if proof.as_ref().is_none_or(|best| chance < best.0) {
                        proof = Some((chance, at(load, duration, "prove")));
                    }
                }
            }
        }
        proof.map(|(_, choice)| choice)
    }

    /// What this goal would try; loads that other goals want already cost it little.
    fn wish(&self, index: usize, wanted: &[usize]) -> Option<Wish> {
        let goal = &self.goals[index];
        let (lower, upper) = self.relevant(index);
        if self.result(index, lower, upper) != GoalResult::Irregular(Irregular::Unfinished) {
            return None;
        }
        let rungs = self.rungs(index);
        if rungs.last().is_none_or(|last| last.load < self.grid.load(self.grid.last())) {
            return Some(Wish::Look(self.grid.last()));
        }
        let cut = cut(goal, &rungs, lower, upper);
        let below = cut.checked_sub(1).map(|index| rungs[index]);
        let above = rungs.get(cut).copied();
        let even = Odds { lower: 0.5, upper: 0.5, both: 0.25, trials: 0.0 };
        let Some(above) = above else {
            return Some(Wish::Prove {
                lower: below.map(|rung| rung.sighting.index),
                upper: None,
                odds: even,
            });
        };
        if below.is_none() && above.sighting.index == 0 {
            return Some(Wish::Prove { lower: None, upper: Some(0), odds: even });
        }
        let width = self.grid.within(goal);
        let (hint, _) = self.hint(goal, &rungs, cut);
        if goal.exceed_ratio > Ratio::ZERO && self.is_surprising(goal, &rungs, cut) {
            return Some(Wish::Look(above.sighting.index));
        }
        let repeats = goal.exceed_ratio > Ratio::ZERO;
        let close = below.map_or(above.at - hint, |below| above.at - below.at) < 6.0 * width as f64;
        if repeats
            && close
            && let Some(wish) = self.pair(goal, &rungs, cut, hint, upper, wanted)
        {
            return Some(wish);
        }
        if !repeats
            && close
            && let Some(wish) = self.strict_pair(goal, &rungs, cut, hint, wanted)
        {
            return Some(wish);
        }
        let apart = below.is_none_or(|below| !close_enough(goal, below.load, above.load));
        if apart && let Some(load) = self.between(goal, &rungs, cut) {
            return Some(Wish::Look(load));
        }
        let index = |rung: Rung| rung.sighting.index;
        Some(Wish::Prove { lower: below.map(index), upper: Some(index(above)), odds: even })
    }

    /// The two loads that are most cheaply proved to be bounds.
    fn pair(
        &self,
        goal: &Goal,
        rungs: &[Rung],
        cut: usize,
        hint: f64,
        upper: Option<Rate>,
        wanted: &[usize],
    ) -> Option<Wish> {
        let width = self.grid.within(goal);
        let centre =
            cut.checked_sub(1).map_or(hint, |index| rungs[index].at).max(rungs[cut].at - 8.0 * width as f64);
        let sightings: Vec<Sighting> = rungs.iter().map(|rung| rung.sighting).collect();
        let belief =
            Belief::new(&self.tables, self.grid.nearest(centre), &sightings, hint, width as f64 / 2.0);
        let middle = belief.crossing();
        let effective = goal.trial_duration.as_secs_f64() + self.overhead;
        let prospect = |index: usize| {
            let found = rungs.iter().find(|rung| rung.sighting.index == index);
            let price = if wanted.contains(&index) { 0.2 } else { 1.0 };
            let fresh = || super::evidence::Evidence::default().missing(goal, effective);
            match found.map(|rung| rung.class) {
                Some(Class::LowerBound) => Prospect::Lower,
                Some(Class::UpperBound) => Prospect::Upper,
                _ => {
                    let (good, bad) = found.map_or_else(fresh, |rung| rung.missing);
                    Prospect::Open { good, bad, price }
                }
            }
        };
        let (good, bad) = super::evidence::Evidence::default().missing(goal, effective);
        let again = (good + bad) as f64;
        let ceiling = upper.map_or(self.grid.last(), |upper| self.grid.nearest(self.grid.position(upper)));
        let mut best: Option<(f64, Wish)> = None;
        for low in middle.saturating_sub(3 * width)..=middle + 2 * width {
            let high = low + width;
            if high > ceiling {
                break;
            }
            if !close_enough(goal, self.grid.load(low), self.grid.load(high)) {
                continue;
            }
            let odds = belief.odds(Some((low, prospect(low))), Some((high, prospect(high))));
            let cost = odds.trials + (1.0 - odds.both) * again;
            if odds.both > 0.01 && best.as_ref().is_none_or(|best| cost < best.0) {
                best = Some((cost, Wish::Prove { lower: Some(low), upper: Some(high), odds }));
            }
        }
        best.map(|(_, wish)| wish)
    }

    /// The same for a goal that one bad trial decides.
    fn strict_pair(
        &self,
        goal: &Goal,
        rungs: &[Rung],
        cut: usize,
        hint: f64,
        wanted: &[usize],
    ) -> Option<Wish> {
        let width = self.grid.within(goal);
        let full = goal.trial_duration.as_secs_f64();
        let overhead = self.overhead.max(0.0);
        let centre =
            cut.checked_sub(1).map_or(hint, |index| rungs[index].at).max(rungs[cut].at - 8.0 * width as f64);
        let glances: Vec<Glance> = rungs.iter().map(|rung| rung.glance).collect();
        let strict = Strict::new(libm::round(centre), &glances, hint, width as f64 / 2.0);
        let middle = self.grid.nearest(strict.crossing());
        let lengths = |index: usize| {
            let passed = rungs
                .iter()
                .find(|rung| rung.sighting.index == index)
                .map_or(0.0, |rung| rung.glance.good_share);
            let mut lengths = vec![full];
            let shortest = goal.initial_trial_duration.as_secs_f64().max(LONGER * passed * full);
            while lengths[lengths.len() - 1] / 2.0 > shortest {
                lengths.push(lengths[lengths.len() - 1] / 2.0);
            }
            lengths.push(shortest.min(full));
            lengths
        };
        let class =
            |index: usize| rungs.iter().find(|rung| rung.sighting.index == index).map(|rung| rung.class);
        // The length whose bad outcome costs least.
        let shortest = |index: usize| {
            let price =
                |&seconds: &f64| (seconds + overhead) / strict.bad(index as f64, seconds / full).max(1e-6);
            lengths(index)
                .iter()
                .copied()
                .map(|seconds| (price(&seconds), seconds))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .expect("never empty")
        };
        let price = |index: usize| if wanted.contains(&index) { 0.2 } else { 1.0 };
        let floor = cut
            .checked_sub(1)
            .filter(|&index| rungs[index].class == Class::LowerBound)
            .map_or(0, |index| rungs[index].sighting.index);
        let mut best: Option<(f64, usize, usize)> = None;
        for low in middle.saturating_sub(3 * width).max(floor)..=middle + 2 * width {
            let high = low + width;
            if high > rungs[cut].sighting.index {
                break;
            }
            if !close_enough(goal, self.grid.load(low), self.grid.load(high)) {
                continue;
            }
            let (lower_done, upper_done) =
                (class(low) == Some(Class::LowerBound), class(high) == Some(Class::UpperBound));
            let good = if lower_done { 1.0 } else { 1.0 - strict.bad(low as f64, 1.0) };
            let bad = if upper_done { 1.0 } else { strict.bad(high as f64, 1.0) };
            let both = match (lower_done, upper_done) {
                (false, false) => strict.both(low as f64, high as f64),
                _ => good * bad,
            };
            let lower_cost = if lower_done { 0.0 } else { (full + overhead) * price(low) };
            let upper_cost =
                if upper_done { 0.0 } else { shortest(high).0.min(full + overhead) * price(high) };
            let fresh = [low, high].into_iter().filter(|&index| class(index).is_none()).count() as f64;
            let cost = lower_cost + upper_cost + (1.0 - both) * full + fresh * FRESH * full;
            if both > 0.01 && best.is_none_or(|best| cost < best.0) {
                best = Some((cost, low, high));
            }
        }
        let (_, low, high) = best?;
        let (lower_done, upper_done) =
            (class(low) == Some(Class::LowerBound), class(high) == Some(Class::UpperBound));
        if lower_done && upper_done {
            return None;
        }
        let (upper_cost, upper_seconds) = shortest(high);
        let upper_first = !upper_done
            && (lower_done
                || upper_cost < 0.5 * full
                || strict.bad(high as f64, 1.0) < 1.0 - strict.bad(low as f64, 1.0));
        let (index, seconds) = if upper_first {
            (high, upper_seconds)
        } else {
            // A short trial first where it is likely enough to spare the full one.
            let spare = |&&seconds: &&f64| {
                strict.bad(low as f64, seconds / full) * (full + overhead) > 8.0 * (seconds + overhead)
            };
            (low, lengths(low).iter().rev().find(spare).copied().unwrap_or(full))
        };
        let duration = if seconds >= full { goal.trial_duration } else { Duration::from_secs_f64(seconds) };
        Some(Wish::Try(index, duration))
    }

    fn rungs(&self, index: usize) -> Vec<Rung> {
        let goal = &self.goals[index];
        let effective = goal.trial_duration.as_secs_f64() + self.overhead;
        let passed = self.loads.iter().rev().find(|(_, known)| known.evidence[index].counts().0 > 0);
        let passed = passed.map_or(f64::NEG_INFINITY, |(&load, _)| self.grid.position(load));
        let dip = passed - 8.0 * self.grid.within(goal) as f64;
        self.loads
            .iter()
            .map(|(&load, known)| {
                let evidence = &known.evidence[index];
                let (good, bad) = evidence.seconds();
                let loss = known.seen[(known.seen.len() - 1) / 2].loss_ratio();
                let at = self.grid.position(load);
                let counts = evidence.counts();
                let forwarded = |seen: &super::Seen| self.knee_at(goal, at, seen.loss_ratio());
                let usual = known.seen.partition_point(|seen| forwarded(seen) >= dip);
                let dips = counts.1.min((known.seen.len() - usual) as u32);
                let sighting =
                    Sighting { index: self.grid.nearest(at), good: counts.0, bad: counts.1 - dips, dips };
                let missing = evidence.missing(goal, effective);
                let share = |duration: Duration| duration.as_secs_f64() / goal.trial_duration.as_secs_f64();
                let passed = known.seen.partition_point(|seen| !seen.exceeds(goal.loss_ratio));
                let glance = Glance {
                    at,
                    good: passed as u32,
                    good_share: known.seen[..passed].iter().map(|seen| share(seen.duration)).sum(),
                    bad: known.seen[passed..].iter().map(|seen| share(seen.duration)).min_by(f64::total_cmp),
                };
                Rung { glance, load, at, class: evidence.class(goal), good, bad, loss, sighting, missing }
            })
            .collect()
    }

    /// A load between the rungs on both sides of the cut; `None` when there is none.
    fn between(&self, goal: &Goal, rungs: &[Rung], cut: usize) -> Option<usize> {
        let above = rungs[cut];
        let width = self.grid.within(goal) as f64;
        let below = cut.checked_sub(1).map(|index| rungs[index]);
        let (hint, tail) = self.hint(goal, rungs, cut);
        let from_above = above.at - width;
        // Repeated trials tell loads on both sides of a crossing apart; a single one is best kept off it.
        let margin = if goal.exceed_ratio == Ratio::ZERO { 0.25 * width } else { 0.5 * width };
        let at = match below {
            None if hint >= from_above => from_above,
            None => hint + margin,
            Some(below) => {
                let from_below = below.at + width;
                let middle = (below.at + above.at) / 2.0;
                if from_below >= from_above {
                    let aim = if hint > middle { hint - width / 2.0 } else { hint + width / 2.0 };
                    aim.clamp(from_above, from_below)
                } else if hint >= from_above {
                    from_above
                } else if hint <= below.at + width / 2.0 {
                    let stride = cut.checked_sub(2).map_or(0.0, |index| below.at - rungs[index].at);
                    if tail { middle } else { (below.at + 2.0 * width.max(stride)).min(middle) }
                } else if hint <= from_below {
                    from_below
                } else {
                    hint + margin
                }
            }
        };
        let lowest = below.map_or(0, |below| below.sighting.index + 1);
        let highest = above.sighting.index.checked_sub(1)?;
        (lowest <= highest).then(|| self.grid.nearest(at).clamp(lowest, highest))
    }

    /// Whether a single trial forwarded far less than a trial at the next higher load: something that
    /// happens now and then, or the end of all hope? It is worth a second trial.
    fn is_surprising(&self, goal: &Goal, rungs: &[Rung], cut: usize) -> bool {
        let [above, higher] = &rungs[cut..(cut + 2).min(rungs.len())] else { return false };
        let single = above.sighting.good + above.sighting.bad + above.sighting.dips == 1;
        let far = self.knee(goal, higher) - self.knee(goal, above) > 8.0 * self.grid.within(goal) as f64;
        single && far && above.loss < 0.8 * higher.loss
    }

    /// Where the crossing is if a load's forwarding rate is all that can be forwarded.
    fn knee(&self, goal: &Goal, rung: &Rung) -> f64 {
        self.knee_at(goal, rung.at, rung.loss)
    }

    fn knee_at(&self, goal: &Goal, at: f64, loss: f64) -> f64 {
        at + self.grid.steps((1.0 - loss).max(1e-9) / (1.0 - goal.loss_ratio.as_f64()))
    }

    /// Where the crossing from good to bad loads is expected, and whether the tail of the loss said so.
    fn hint(&self, goal: &Goal, rungs: &[Rung], cut: usize) -> (f64, bool) {
        let tolerated = goal.loss_ratio.as_f64();
        let knee = |rung: &Rung| self.knee(goal, rung);
        let above = &rungs[cut];
        let width = self.grid.within(goal) as f64;
        let Some(higher) = rungs.get(cut + 1) else { return (knee(above), false) };
        let stride = higher.at - above.at;
        let short = above.at - knee(above);
        if knee(higher) > above.at - width && short > 2.0 * width && above.loss > 0.8 * higher.loss {
            // The loss did not end where it should have, by far: stride on.
            return (knee(above).min(above.at - 2.0 * stride), false);
        }
        let near = self.grid.logarithm(stride) < 0.1;
        if knee(higher) > above.at - 0.05 * width && near && higher.loss > above.loss && above.loss > 0.0 {
            let packets = above.load.as_pps() * goal.trial_duration.as_secs_f64();
            let aim = tolerated.max(core::f64::consts::LN_2 / packets);
            let slope = libm::log(higher.loss / above.loss) / stride;
            return (above.at - libm::log(above.loss / aim).max(0.0) / slope, true);
        }
        (knee(above), false)
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
