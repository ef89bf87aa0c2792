//! What all trials at one load say of one goal (RFC 9971 §4.6.7: Load Classification).

use crate::Goal;
use dropline_trial::{Ratio, Trial};
use std::cmp::Ordering;
use std::time::Duration;

/// What a load is to a goal, computed from all trials at it. It may change with further trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Achieves the goal whatever the missing trials would say.
    LowerBound,
    /// Fails the goal whatever the missing trials would say.
    UpperBound,
    /// The missing trials would decide; without trials every load is this.
    Undecided,
}

/// Sums of effective durations at one load for one goal, in ns: all that its class needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    full_good: u128,
    full_bad: u128,
    short_good: u128,
    short_bad: u128,
    /// How many trials were good, and bad.
    good: u32,
    bad: u32,
}

const BILLION: u128 = 1_000_000_000;

impl Evidence {
    /// Adds one trial. A trial is full when it was asked to be as long as the goal's, and bad when its
    /// loss ratio exceeds the goal's.
    pub(super) fn add(&mut self, goal: &Goal, trial: &Trial, effective: Duration) {
        let full = trial.input.duration >= goal.trial_duration;
        let bad = trial.exceeds(goal.loss_ratio);
        *(if bad { &mut self.bad } else { &mut self.good }) += 1;
        let sum = match (full, bad) {
            (true, false) => &mut self.full_good,
            (true, true) => &mut self.full_bad,
            (false, false) => &mut self.short_good,
            (false, true) => &mut self.short_bad,
        };
        *sum += effective.as_nanos();
    }

    /// The class of the load (RFC 9971, appendix A), exactly: all times are multiplied by 1 − exceed
    /// ratio, so that nothing is divided.
    pub(super) fn class(&self, goal: &Goal) -> Class {
        let exceed = u128::from(goal.exceed_ratio.as_billionths());
        let rest = BILLION - exceed;
        let full_good = self.full_good * rest;
        // Short good trials balance short bad ones at the goal's exchange rate, and do nothing else.
        let unbalanced = (self.short_bad * rest).saturating_sub(self.short_good * exceed);
        let bad = self.full_bad * rest + unbalanced;
        let whole = (goal.duration_sum.as_nanos() * rest).max(full_good + bad);
        let tolerated = |bad: u128| bad * BILLION <= whole * exceed;
        match (tolerated(bad), tolerated(whole - full_good)) {
            (true, true) => Class::LowerBound,
            (false, false) => Class::UpperBound,
            _ => Class::Undecided,
        }
    }

    /// How many trials were good, and how many bad.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.good, self.bad)
    }

    /// Good seconds, and bad ones, short or full.
    pub(super) fn seconds(&self) -> (f64, f64) {
        let seconds = |ns: u128| ns as f64 / 1e9;
        (seconds(self.full_good + self.short_good), seconds(self.full_bad + self.short_bad))
    }

    /// How many more full trials of `effective` seconds make this load a lower bound if all are good, and an
    /// upper bound if all are bad; at least one each.
    pub(super) fn missing(&self, goal: &Goal, effective: f64) -> (usize, usize) {
        let (sum, exceed) = (goal.duration_sum.as_secs_f64(), goal.exceed_ratio.as_f64());
        let balanced = self.short_good as f64 * exceed / (1.0 - exceed);
        let good = self.full_good as f64 / 1e9;
        let bad = (self.full_bad as f64 + (self.short_bad as f64 - balanced).max(0.0)) / 1e9;
        // The millionth forgives rounding: a tie is a lower bound.
        let lower = libm::ceil((sum * (1.0 - exceed) - good) / effective - 1e-6);
        let upper = libm::floor((sum * exceed - bad) / effective + 1e-6) + 1.0;
        (lower.max(1.0) as usize, upper.max(1.0) as usize)
    }
}

/// One trial as the conditional throughput sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    /// Undelivered of intended packets; without intended ones, lost of offered ones.
    undelivered: u64,
    intended: u64,
    /// Length that was asked for.
    pub(super) duration: Duration,
    effective: Duration,
}

impl Delivered {
    pub(super) fn of(trial: &Trial, effective: Duration) -> Self {
        let counted = trial.undelivered().zip(trial.intended.filter(|&intended| intended > 0));
        let (undelivered, intended) = counted.unwrap_or((trial.lost(), trial.offered));
        let (undelivered, intended) = if intended == 0 { (1, 1) } else { (undelivered, intended) };
        Self { undelivered, intended, duration: trial.input.duration, effective }
    }

    /// Compares loss ratios exactly.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let cross = |a: &Self, b: &Self| u128::from(a.undelivered) * u128::from(b.intended);
        cross(self, other).cmp(&cross(other, self))
    }

    pub(super) fn exceeds(&self, ratio: Ratio) -> bool {
        ratio.is_exceeded_by(self.undelivered, self.intended)
    }

    pub(super) fn loss_ratio(&self) -> f64 {
        self.undelivered as f64 / self.intended as f64
    }
}

/// Share of the load that is forwarded in the worst trial that the goal does not tolerate away
/// (RFC 9971 §4.8.3 and appendix B): conditional throughput ÷ load.
///
/// `seen` is in the order of loss ratios. `None` without a full trial.
pub(super) fn conditional_share(goal: &Goal, seen: &[Delivered]) -> Option<f64> {
    let full = || seen.iter().filter(|seen| seen.duration >= goal.trial_duration);
    full().next()?;
    let made: u128 = full().map(|seen| seen.effective.as_nanos()).sum();
    let kept = BILLION - u128::from(goal.exceed_ratio.as_billionths());
    let mut needed = made.max(goal.duration_sum.as_nanos()) * kept;
    let mut worst = 0.0;
    for (index, seen) in full().enumerate() {
        if index > 0 && needed == 0 {
            break;
        }
        worst = seen.loss_ratio();
        needed = needed.saturating_sub(seen.effective.as_nanos() * BILLION);
    }
    Some(if needed > 0 { 0.0 } else { 1.0 - worst })
}
