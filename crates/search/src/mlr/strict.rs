//! Goals that one bad trial decides: how long must a trial be, and where, to prove a bound cheaply?
//!
//! Loss by chance shows the sooner the longer a trial is, so the longest trials are kept for loads that are
//! likely to pass them, and loads that are likely to fail are tried with as short ones as show it.

use super::next_step::{NextStep, SHARED};
use super::view::{Glance, Rung, View};
use super::{Class, close_enough};
use dropline_trial::Rate;
use std::time::Duration;

/// A load that was not tried yet costs this share of a full trial beside its trials: every further load is a
/// further chance to fail by chance.
const FRESH: f64 = 0.3;
/// A trial at a load that passed others is at least so many times as long as those together.
const LONGER: f64 = 8.0;
/// A short trial is made before a full one if that spares, on average, so many times what it costs.
const WORTH: f64 = 8.0;

/// What to try next for a goal that one bad trial decides: one of two loads that are most cheaply proved to be
/// its bounds.
pub(super) fn pair(view: &View, above: &Rung, hint: f64, wanted: &[Rate]) -> Option<NextStep> {
    let View { mlr, goal, width, unit, .. } = *view;
    let grid = &mlr.grid;
    let steps = width / unit;
    let glances: Vec<Glance> = view.rungs().iter().map(|rung| rung.glance).collect();
    let (centre, hint) = (libm::round(view.centre(hint) / unit as f64), hint / unit as f64);
    let strict = Strict::new(centre, &glances, hint, steps as f64 / 2.0);
    let lengths = Lengths::new(view, &strict);
    let bad = |index: usize| strict.bad((index / unit) as f64, 1.0);
    let price = |index: usize| if wanted.contains(&view.load(index)) { SHARED } else { 1.0 };
    let is = |index: usize, class: Class| view.class(index) == Some(class);
    let floor = view.below().filter(|below| below.class == Class::LowerBound).map_or(0, |below| below.index);
    let middle = grid.nearest(strict.crossing() * unit as f64) / unit;
    let mut best: Option<(f64, usize, usize)> = None;
    for low in middle.saturating_sub(3 * steps)..=middle + 2 * steps {
        let (low, high) = (low * unit, low * unit + width);
        if low < floor || high > above.index || !close_enough(goal, view.load(low), view.load(high)) {
            continue;
        }
        // Proved to be the other bound already: trials of another search lie closer than a step.
        if is(low, Class::UpperBound) || is(high, Class::LowerBound) {
            continue;
        }
        let (proved_low, proved_high) = (is(low, Class::LowerBound), is(high, Class::UpperBound));
        let both = match (proved_low, proved_high) {
            (true, true) => return None,
            (true, false) => bad(high),
            (false, true) => 1.0 - bad(low),
            (false, false) => strict.both((low / unit) as f64, (high / unit) as f64),
        };
        let lower_cost = if proved_low { 0.0 } else { lengths.cost(lengths.full) * price(low) };
        let upper_cost = if proved_high { 0.0 } else { lengths.cheapest(high).0 * price(high) };
        let fresh = [low, high].into_iter().filter(|&index| view.class(index).is_none()).count() as f64;
        let cost = lower_cost + upper_cost + (1.0 - both + fresh * FRESH) * lengths.full;
        if both > 0.01 && best.is_none_or(|best| cost < best.0) {
            best = Some((cost, low, high));
        }
    }
    let (_, low, high) = best?;
    let (proved_low, proved_high) = (is(low, Class::LowerBound), is(high, Class::UpperBound));
    let (cost, seconds) = lengths.cheapest(high);
    let easy = cost < 0.5 * lengths.full || bad(high) < 1.0 - bad(low);
    let (load, seconds) =
        if !proved_high && (proved_low || easy) { (high, seconds) } else { (low, lengths.cautious(low)) };
    let duration =
        if seconds >= lengths.full { goal.trial_duration } else { Duration::from_secs_f64(seconds) };
    Some(NextStep::Try(view.load(load), duration))
}

/// How long a trial may be, in seconds, and what it costs.
struct Lengths<'a> {
    view: &'a View<'a>,
    strict: &'a Strict,
    full: f64,
    overhead: f64,
}

impl<'a> Lengths<'a> {
    fn new(view: &'a View<'a>, strict: &'a Strict) -> Self {
        Self { view, strict, full: view.goal.trial_duration.as_secs_f64(), overhead: view.mlr.overhead }
    }

    /// From full to short, each half the one before, and the shortest.
    fn of(&self, index: usize) -> Vec<f64> {
        let passed = self.view.known(index).map_or(0.0, |rung| rung.glance.good_share);
        let initial = self.view.goal.initial_trial_duration.as_secs_f64();
        let shortest = initial.max(LONGER * passed * self.full).min(self.full);
        let mut lengths: Vec<f64> = std::iter::successors(Some(self.full), |length| {
            Some(length / 2.0).filter(|&half| half > shortest)
        })
        .collect();
        lengths.push(shortest);
        lengths
    }

    fn cost(&self, seconds: f64) -> f64 {
        seconds + self.overhead
    }

    fn bad(&self, index: usize, seconds: f64) -> f64 {
        self.strict.bad((index / self.view.unit) as f64, seconds / self.full).max(1e-6)
    }

    /// What it costs to have a bad trial at a load, at most a full one, and the length that costs least.
    fn cheapest(&self, index: usize) -> (f64, f64) {
        let priced = |seconds: f64| (self.cost(seconds) / self.bad(index, seconds), seconds);
        let cheapest = self.of(index).into_iter().map(priced).min_by(|a, b| a.0.total_cmp(&b.0));
        let (cost, seconds) = cheapest.expect("there is always a full trial");
        (cost.min(self.cost(self.full)), seconds)
    }

    /// The shortest length that is likely enough to spare a full trial at a load that shall pass it, else full.
    fn cautious(&self, index: usize) -> f64 {
        let spares =
            |&seconds: &f64| self.bad(index, seconds) * self.cost(self.full) > WORTH * self.cost(seconds);
        self.of(index).into_iter().rev().find(spares).unwrap_or(self.full)
    }
}

/// Half the width of the window that is looked at, in grid steps.
const REACH: i32 = 64;
/// How the chance of a bad trial may rise around the crossing, and how much that is believed beforehand.
const SHAPES: [(Shape, f64); 11] = [
    (Shape::Tail(0.1), 0.25),
    (Shape::Tail(0.4), 0.20),
    (Shape::Tail(1.0), 0.15),
    (Shape::Tail(2.0), 0.10),
    (Shape::Tail(4.0), 0.08),
    (Shape::Tail(8.0), 0.05),
    (Shape::Tail(16.0), 0.03),
    (Shape::Knee(1.0), 0.05),
    (Shape::Knee(3.0), 0.04),
    (Shape::Knee(6.0), 0.04),
    (Shape::Knee(12.0), 0.04),
];

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Losses come at random times, e times as often so many steps higher.
    Tail(f64),
    /// A trial is good or bad as a whole, whatever its length.
    Knee(f64),
}

impl Shape {
    /// Chance that a trial of `share` of the full duration is good, `above` steps above the crossing: there a
    /// full trial is good every other time.
    fn good(self, above: f64, share: f64) -> f64 {
        match self {
            Self::Tail(rise) => {
                libm::exp(-core::f64::consts::LN_2 * share * libm::exp((above / rise).min(40.0)))
            }
            Self::Knee(rise) => 1.0 / (1.0 + libm::exp((above / rise).min(40.0))),
        }
    }
}

/// What the trials near a load say of where full trials stop to be good.
#[derive(Debug)]
struct Strict {
    /// Shape, position of the crossing, probability; the improbable left out.
    weights: Vec<(Shape, f64, f64)>,
}

impl Strict {
    fn new(centre: f64, glances: &[Glance], hint: f64, doubt: f64) -> Self {
        let near: Vec<&Glance> =
            glances.iter().filter(|glance| (glance.at - centre).abs() <= f64::from(REACH)).collect();
        let mut weights = Vec::with_capacity(SHAPES.len() * 2 * REACH as usize);
        for (shape, before) in SHAPES {
            for step in -REACH..=REACH {
                let crossing = centre + f64::from(step);
                let off = (crossing - hint) / doubt;
                let mut log = libm::log(before) - 1.5 * libm::log1p(off * off / 2.0);
                for glance in &near {
                    let above = glance.at - crossing;
                    if glance.good > 0 {
                        log += match shape {
                            Shape::Tail(_) => libm::log(shape.good(above, glance.good_share).max(1e-30)),
                            Shape::Knee(_) => {
                                f64::from(glance.good) * libm::log(shape.good(above, 1.0).max(1e-30))
                            }
                        };
                    }
                    if let Some(share) = glance.bad {
                        log += libm::log((1.0 - shape.good(above, share)).max(1e-30));
                    }
                }
                weights.push((shape, crossing, log));
            }
        }
        let most = weights.iter().fold(f64::NEG_INFINITY, |most, &(_, _, log)| most.max(log));
        weights.retain(|&(_, _, log)| log > most - 6.0);
        let sum: f64 = weights.iter().map(|&(_, _, log)| libm::exp(log - most)).sum();
        for weight in &mut weights {
            weight.2 = libm::exp(weight.2 - most) / sum;
        }
        Self { weights }
    }

    /// Mean of the crossing.
    fn crossing(&self) -> f64 {
        self.weights.iter().map(|&(_, crossing, weight)| crossing * weight).sum()
    }

    /// Chance that a trial of `share` of the full duration at a load is bad.
    fn bad(&self, at: f64, share: f64) -> f64 {
        self.weights
            .iter()
            .map(|&(shape, crossing, weight)| weight * (1.0 - shape.good(at - crossing, share)))
            .sum()
    }

    /// Chance that a full trial at one load is good and one at a higher load is bad.
    fn both(&self, lower: f64, upper: f64) -> f64 {
        let both = |&(shape, crossing, weight): &(Shape, f64, f64)| {
            weight * shape.good(lower - crossing, 1.0) * (1.0 - shape.good(upper - crossing, 1.0))
        };
        self.weights.iter().map(both).sum()
    }
}
