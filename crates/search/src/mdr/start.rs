//! The initial phase: two or three short trials that say where to look.

use super::interval::{Interval, Point};
use super::{Version, width};
use crate::{Bound, Bounds};
use dropline_trial::{LoadRange, Rate, Ratio, Trial};

/// From the highest load to what was forwarded of it, and once more.
#[derive(Debug)]
pub(super) struct Start {
    range: LoadRange,
    /// Distance kept between the loads tried.
    width: f64,
    version: Version,
    trials: Vec<Tried>,
}

/// A trial of the initial phase.
#[derive(Debug)]
struct Tried {
    /// As each goal sees it, in ascending order of loss ratio.
    points: Vec<Point>,
    load: Rate,
    forwarding_rate_pps: f64,
    lossy: bool,
}

impl Start {
    /// Keeps nearly the final width between its trials in the first version, the first phase's today.
    pub(super) fn new(range: LoadRange, final_width: f64, first_width: f64, version: Version) -> Self {
        let width = match version {
            Version::First => 0.999 * final_width,
            Version::Current => first_width,
        };
        Self { range, width, version, trials: Vec::new() }
    }

    /// The load to try next; `None` when the phase is over.
    pub(super) fn next_load(&self) -> Option<Rate> {
        let below = |tried: &Tried| {
            let forwarded = width::millipps(1000.0 * tried.forwarding_rate_pps);
            width::below(tried.load, self.width).min(forwarded)
        };
        match self.trials.as_slice() {
            [] => Some(self.range.max()),
            [at_max] => Some(self.range.clamp(below(at_max))),
            [_, second] => {
                let down = second.lossy || self.version == Version::First;
                let load = if down { below(second) } else { width::above(second.load, self.width) };
                (self.range.min() < load && load < self.range.max()).then_some(load)
            }
            _ => None,
        }
    }

    /// Learns from the trial asked for; `points` in ascending order of loss ratio.
    pub(super) fn record(&mut self, trial: &Trial, points: Vec<Point>) {
        self.trials.push(Tried {
            points,
            load: trial.input.load,
            forwarding_rate_pps: trial.forwarding_rate_pps(),
            lossy: trial.exceeds(Ratio::ZERO),
        });
    }

    /// The intervals that the phase ends with: between its last two trials.
    pub(super) fn intervals(&self) -> Vec<Interval> {
        let [.., one, other] = self.trials.as_slice() else { return Vec::new() };
        one.points.iter().zip(&other.points).map(|(&one, &other)| Interval::between(one, other)).collect()
    }

    /// What is known of each of so many goals: the lowest load that failed it, and the highest below that
    /// did not.
    pub(super) fn bounds(&self, goals: usize) -> Vec<Bounds> {
        let of_goal = |goal: usize| {
            let points = || self.trials.iter().map(move |tried| tried.points[goal]);
            let upper = points().filter(|point| point.bad).map(|point| point.load).min();
            let below = |load: &Rate| upper.is_none_or(|upper| *load < upper);
            let lower = points().filter(|point| !point.bad).map(|point| point.load).filter(below).max();
            let bound = |load| Bound { load, valid: true };
            Bounds { lower: lower.map(bound), upper: upper.map(bound), median: None }
        };
        (0..goals).map(of_goal).collect()
    }
}
