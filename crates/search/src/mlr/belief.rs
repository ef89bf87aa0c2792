//! Where good loads end, judged from all trials near there; and what it would cost to prove it.
//!
//! Loads are grid indices here. A trial's chance to be bad rises from low to high loads around a crossing;
//! where that is and how steep the rise is are unknown, and weighed by how well they explain the trials.

use super::evidence::Evidence;
use super::next_step::{NextStep, SHARED};
use super::view::{Sighting, View};
use super::{Class, close_enough};
use dropline_trial::Rate;

/// The two loads that are most cheaply proved to be bounds of a goal that tolerates bad trials.
pub(super) fn pair(
    view: &View,
    tables: &Tables,
    hint: f64,
    upper: Option<Rate>,
    wanted: &[Rate],
) -> Option<NextStep> {
    let View { mlr, goal, width, unit, .. } = *view;
    let grid = &mlr.grid;
    let steps = width / unit;
    let sightings: Vec<Sighting> = view.rungs().iter().map(|rung| rung.sighting).collect();
    let centre = grid.nearest(view.centre(hint)) / unit;
    let belief = Belief::new(tables, centre, &sightings, hint / unit as f64, steps as f64 / 2.0);
    let untried = Evidence::default().missing(goal, mlr.effective_seconds(goal));
    let prospect = |index: usize| match view.class(index) {
        Some(Class::LowerBound) => Prospect::Lower,
        Some(Class::UpperBound) => Prospect::Upper,
        _ => {
            let (good, bad) = view.known(index).map_or(untried, |rung| rung.missing);
            Prospect::Open { good, bad, price: if wanted.contains(&view.load(index)) { SHARED } else { 1.0 } }
        }
    };
    // A pair that fails costs about as much again as a load takes at worst.
    let again = (untried.0 + untried.1) as f64;
    let ceiling = upper.map_or(grid.last(), |upper| grid.index(upper));
    let middle = belief.crossing();
    let mut best: Option<(f64, NextStep)> = None;
    for low in middle.saturating_sub(3 * steps)..=middle + 2 * steps {
        let (low, high) = (low * unit, low * unit + width);
        if high > ceiling || !close_enough(goal, view.load(low), view.load(high)) {
            continue;
        }
        let odds = belief.odds((low / unit, prospect(low)), (high / unit, prospect(high)));
        let cost = odds.trials + (1.0 - odds.both) * again;
        if odds.both > 0.01 && best.is_none_or(|best| cost < best.0) {
            let wish = NextStep::Prove {
                lower: Some((view.load(low), odds.lower)),
                upper: Some((view.load(high), odds.upper)),
            };
            best = Some((cost, wish));
        }
    }
    best.map(|(_, wish)| wish)
}

/// Half the width of the window that is looked at, in grid steps.
const REACH: usize = 64;
/// Longest distance between a load and a crossing in the window.
const FAR: usize = 2 * REACH;
/// How steep the rise may be, in grid steps; how often a trial may be bad far below it; and how much that is
/// believed beforehand.
const SHAPES: [(f64, f64, f64); 12] = [
    (0.2, 0.02, 0.30),
    (0.8, 0.02, 0.25),
    (2.0, 0.02, 0.20),
    (4.0, 0.02, 0.15),
    (8.0, 0.02, 0.07),
    (16.0, 0.02, 0.03),
    (0.2, 0.15, 0.06),
    (0.8, 0.15, 0.05),
    (2.0, 0.15, 0.04),
    (4.0, 0.15, 0.03),
    (8.0, 0.15, 0.014),
    (16.0, 0.15, 0.006),
];
/// Chances are rounded to so many levels when outcomes are looked up.
const LEVELS: usize = 40;
/// The most trials of one kind that are counted on; larger numbers are scaled down to it.
const MOST: usize = 24;

/// What a load still needs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Prospect {
    Lower,
    Upper,
    /// That many more good trials make it a lower bound, that many bad ones an upper one. `price` is what a
    /// trial there costs this goal: less than one when another goal wants it too.
    Open {
        good: usize,
        bad: usize,
        price: f64,
    },
}

/// Chances and outcomes, tabulated once.
#[derive(Debug)]
pub(super) struct Tables {
    /// For each shape and distance: logarithms of the chances to be good and bad, and the level of the latter.
    chances: Vec<(f64, f64, u8)>,
    /// For each missing good, missing bad and level: the chance of a lower bound, and the trials it takes.
    ends: Vec<(f32, f32)>,
}

impl Tables {
    pub(super) fn new() -> Self {
        let mut chances = Vec::with_capacity(SHAPES.len() * (2 * FAR + 1));
        for (rise, floor, _) in SHAPES {
            for distance in 0..=2 * FAR {
                let at = (distance as f64 - FAR as f64) / rise;
                let bad = floor + (0.99 - floor) / (1.0 + libm::exp(-at));
                let level = (libm::log(bad / (1.0 - bad)) * 4.0 + LEVELS as f64 / 2.0)
                    .clamp(0.0, LEVELS as f64 - 1.0);
                chances.push((libm::log(1.0 - bad), libm::log(bad), level as u8));
            }
        }
        let mut ends = vec![(0.0, 0.0); (MOST + 1) * (MOST + 1) * LEVELS];
        for level in 0..LEVELS {
            let bad = 1.0 / (1.0 + libm::expf(-(level as f32 + 0.5 - LEVELS as f32 / 2.0) / 4.0));
            for need_good in 0..=MOST {
                for need_bad in 0..=MOST {
                    ends[Self::place(need_good, need_bad, level)] = match (need_good, need_bad) {
                        (0, _) => (1.0, 0.0),
                        (_, 0) => (0.0, 0.0),
                        _ => {
                            let after_good: (f32, f32) = ends[Self::place(need_good - 1, need_bad, level)];
                            let after_bad: (f32, f32) = ends[Self::place(need_good, need_bad - 1, level)];
                            (
                                (1.0 - bad) * after_good.0 + bad * after_bad.0,
                                1.0 + (1.0 - bad) * after_good.1 + bad * after_bad.1,
                            )
                        }
                    };
                }
            }
        }
        Self { chances, ends }
    }

    fn place(good: usize, bad: usize, level: usize) -> usize {
        (good * (MOST + 1) + bad) * LEVELS + level
    }

    /// Chance of a lower bound, chance of an upper one, trials until either.
    fn end(&self, prospect: Prospect, level: u8) -> (f64, f64, f64) {
        match prospect {
            Prospect::Lower => (1.0, 0.0, 0.0),
            Prospect::Upper => (0.0, 1.0, 0.0),
            Prospect::Open { good, bad, price } => {
                let most = good.max(bad);
                let scale = if most > MOST { MOST as f64 / most as f64 } else { 1.0 };
                let scaled = |count: usize| ((count as f64 * scale) as usize).max(1);
                let (lower, trials) = self.ends[Self::place(scaled(good), scaled(bad), usize::from(level))];
                (f64::from(lower), 1.0 - f64::from(lower), f64::from(trials) / scale * price)
            }
        }
    }
}

/// What the trials near a load say of where the crossing is.
#[derive(Debug)]
struct Belief<'a> {
    tables: &'a Tables,
    /// Grid index of the window's first load.
    first: usize,
    /// Shape, index of the crossing within the window, probability; the improbable left out.
    weights: Vec<(usize, usize, f64)>,
}

/// Two loads that may become bounds, how probable that is, and the trials it takes.
#[derive(Clone, Copy, Debug)]
struct Odds {
    lower: f64,
    upper: f64,
    both: f64,
    trials: f64,
}

impl<'a> Belief<'a> {
    /// Belief about a crossing near `centre`, from what was seen and a hint where it may be (a grid index,
    /// give or take `doubt` steps).
    fn new(tables: &'a Tables, centre: usize, sightings: &[Sighting], hint: f64, doubt: f64) -> Self {
        let first = centre.saturating_sub(REACH);
        let near: Vec<Sighting> =
            sightings.iter().copied().filter(|s| s.index >= first && s.index <= first + FAR).collect();
        let mut weights = Vec::with_capacity(SHAPES.len() * FAR);
        for (shape, &(_, floor, before)) in SHAPES.iter().enumerate() {
            for crossing in 0..=FAR {
                let off = ((first + crossing) as f64 - hint) / doubt;
                let mut log = libm::log(before) - 1.5 * libm::log1p(off * off / 2.0);
                for sighting in &near {
                    let (good, bad, _) = tables.chances[chance(shape, sighting.index - first, crossing)];
                    log += f64::from(sighting.good) * good + f64::from(sighting.bad) * bad;
                    log += f64::from(sighting.dips) * libm::log(floor);
                }
                weights.push((shape, crossing, log));
            }
        }
        let most = weights.iter().fold(f64::NEG_INFINITY, |most, &(_, _, log)| most.max(log));
        weights.retain(|&(_, _, log)| log > most - 8.0);
        let sum: f64 = weights.iter().map(|&(_, _, log)| libm::exp(log - most)).sum();
        for weight in &mut weights {
            weight.2 = libm::exp(weight.2 - most) / sum;
        }
        Self { tables, first, weights }
    }

    /// Mean of the crossing, as a grid index.
    fn crossing(&self) -> usize {
        let mean: f64 = self.weights.iter().map(|&(_, crossing, weight)| crossing as f64 * weight).sum();
        self.first + mean as usize
    }

    /// What to expect of a load as lower bound together with another as upper bound.
    fn odds(&self, lower: (usize, Prospect), upper: (usize, Prospect)) -> Odds {
        let mut odds = Odds { lower: 0.0, upper: 0.0, both: 0.0, trials: 0.0 };
        for &(shape, crossing, weight) in &self.weights {
            let end = |load: (usize, Prospect)| {
                let within = (load.0.max(self.first) - self.first).min(FAR);
                self.tables.end(load.1, self.tables.chances[chance(shape, within, crossing)].2)
            };
            let (good, _, good_trials) = end(lower);
            let (_, bad, bad_trials) = end(upper);
            odds.lower += weight * good;
            odds.upper += weight * bad;
            odds.both += weight * good * bad;
            odds.trials += weight * (good_trials + bad_trials);
        }
        odds
    }
}

/// Where the chances of a load are, both given within the window.
fn chance(shape: usize, load: usize, crossing: usize) -> usize {
    shape * (2 * FAR + 1) + load + FAR - crossing
}
