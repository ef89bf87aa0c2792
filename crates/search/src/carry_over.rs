//! Carry-over: what a trial leaves in a queue, or takes from a bucket of tokens, is in the next one.
//!
//! Where trials right after one that lost packets do worse than others did, the target may have become slower, or what the one before
//! left may be in them: a search that asks one load again and again cannot tell. So it lets the target rest, with a trial at half the
//! load, and asks again; one that became slower does as badly. One that recovers is made slow anew, and rests once more.

use crate::change::{Order, may_be_carried_over, order};
use crate::crossed::{Crossed, Seen, Told};
use dropline_trial::{Rate, Trial, TrialInput};
use std::time::Duration;

/// Load of a trial that lets the target rest, as a share of what is asked again.
const REST: f64 = 0.5;
/// A trial at rest that lost this share was none.
const LOSES: f64 = 0.002;
/// So many rests at most.
const RESTS: usize = 4;
/// So many trials at the same load make it slow anew.
const AGAIN: usize = 3;

/// Whether what trials leave comes into the next ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CarryOver {
    /// Nothing looks like it, or not any more after so many rests.
    Unasked { rests: usize },
    /// A trial is wanted.
    Asking { slow: Seen, step: Step, rests: usize },
    /// So it is.
    Shown,
    /// It is not so, or too seldom.
    Denied,
}

/// Which trial is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Rest,
    /// The load that was slow, after a rest.
    Ask,
    /// The same, so many times more, until it is slow again.
    Load(usize),
}

impl Default for CarryOver {
    fn default() -> Self {
        Self::Unasked { rests: 0 }
    }
}

impl CarryOver {
    /// The trial that is wanted, a rest being so long.
    pub(crate) fn next(&self, rest: Duration) -> Option<TrialInput> {
        let Self::Asking { slow, step, .. } = self else { return None };
        let length = Duration::from_nanos(u64::try_from(slow.nanos).ok()?);
        let (pps, duration) = match step {
            Step::Rest => (REST * slow.pps, rest),
            Step::Ask | Step::Load(_) => (slow.pps, length),
        };
        Some(TrialInput { load: Rate::pps(pps).ok()?, duration })
    }

    /// Learns from a trial, the last of all that crossed; `is_own` says that it was made for this.
    pub(crate) fn note(&mut self, trial: &Trial, crossed: &Crossed, is_own: bool) {
        *self = match *self {
            Self::Unasked { rests } if rests < RESTS => {
                let told = Crossed::told(&crossed.seen());
                let last = told.last().filter(|one| one.seen.number == trial.number).copied();
                match last.filter(|_| may_be_carried_over(&told)) {
                    Some(Told { seen, .. }) => Self::Asking { slow: seen, step: Step::Rest, rests },
                    None => *self,
                }
            }
            Self::Asking { slow, step, rests } if is_own => {
                let lost = trial.lost() as f64 / trial.offered.max(1) as f64;
                let is_slow = 2.0 * lost >= slow.loss_ratio();
                match step {
                    Step::Rest if lost > LOSES => Self::Denied,
                    Step::Rest => Self::Asking { slow, step: Step::Ask, rests: rests + 1 },
                    Step::Ask if is_slow => Self::Denied,
                    Step::Ask if is_shown(crossed) => Self::Shown,
                    Step::Ask if rests == RESTS => Self::Denied,
                    Step::Ask => Self::Asking { slow, step: Step::Load(AGAIN), rests },
                    Step::Load(_) if is_slow => Self::Asking { slow, step: Step::Rest, rests },
                    // A large queue is not full so soon: it will be.
                    Step::Load(1) => Self::Unasked { rests },
                    Step::Load(more) => Self::Asking { slow, step: Step::Load(more - 1), rests },
                }
            }
            other => other,
        };
    }
}

/// Whether the order of trials shows it.
fn is_shown(crossed: &Crossed) -> bool {
    matches!(order(&Crossed::told(&crossed.seen())), Some((Order::CarryOver, _)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loads that are asked of a target, in packets a second, once one is slow; and how it ended.
    fn asked(mut lost: impl FnMut(u64) -> u64) -> (Vec<u64>, CarryOver) {
        let (mut crossed, mut carry_over) = (Crossed::default(), CarryOver::default());
        let mut number = 0;
        let mut made = |input: TrialInput, is_own, carry_over: &mut CarryOver| {
            number += 1;
            let offered = input.load.packets_in(input.duration);
            let forwarded = offered - lost(offered);
            let trial = Trial { offered, forwarded, ..Trial::new(number, input, 7) };
            crossed.note(&trial, Duration::ZERO);
            carry_over.note(&trial, &crossed, is_own);
        };
        let second = Duration::from_secs(1);
        let load = |pps: u64| TrialInput { load: Rate::from_millipps(pps * 1000), duration: second };
        for pps in [40_000, 8_000, 9_900, 10_100].into_iter().chain([10_200; 9]) {
            if matches!(carry_over, CarryOver::Unasked { .. }) {
                made(load(pps), false, &mut carry_over);
            }
        }
        let mut loads = Vec::new();
        while let Some(input) = carry_over.next(second) {
            loads.push(input.load.as_millipps() / 1000);
            made(input, true, &mut carry_over);
        }
        (loads, carry_over)
    }

    #[test]
    fn a_queue_that_stays_full_is_found_by_rests_and_a_target_that_became_slower_is_asked_once() {
        let mut waits = 0;
        let (loads, end) = asked(|offered| {
            let over = (waits + offered).saturating_sub(10_000);
            waits = over.min(300);
            over.saturating_sub(300)
        });
        assert_eq!(end, CarryOver::Shown, "{loads:?}");
        assert!(loads.len() <= 16 && loads.iter().filter(|pps| **pps == 5_100).count() >= 2, "{loads:?}");
        let mut trials = 0;
        let (loads, end) = asked(|offered| {
            trials += 1;
            offered.saturating_sub(if trials < 6 { 10_300 } else { 9_000 })
        });
        assert_eq!((loads, end), (vec![5_100, 10_200], CarryOver::Denied));
    }
}
