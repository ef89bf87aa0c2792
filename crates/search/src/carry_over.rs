//! Carry-over: what a trial leaves in a queue, or takes from a bucket of tokens, is in the next one.
//!
//! Where trials right after one that lost packets do worse than others did, the target may have become slower, or what the one before
//! left may be in them: a search that asks one load again and again cannot tell. So it lets the target rest, with a trial at half the
//! load, and asks again; one that became slower does as badly. One that recovers is made slow anew, and rests once more.

use crate::crossed::{Crossed, Seen, Told};
use crate::explanation::{Order, may_be_carried_over, order};
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum CarryOver {
    /// Nothing looks like it.
    #[default]
    Unasked,
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
            Self::Unasked => {
                let told = Crossed::told(&crossed.seen());
                let last = told.last().filter(|one| one.seen.number == trial.number).copied();
                match last.filter(|_| may_be_carried_over(&told)) {
                    Some(Told { seen, .. }) => Self::Asking { slow: seen, step: Step::Rest, rests: 0 },
                    None => Self::Unasked,
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
                    Step::Load(1) => Self::Denied,
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
