//! A second look: where all that was planned is done, and the last trials failed at loads that others had borne, more of them tell
//! whether that was a moment.

use crate::change::is_another;
use crate::crossed::{Crossed, Seen};
use std::time::Duration;

/// So many whole trials tell whether a failure was a moment.
const TRIES: usize = 3;
/// Ends of a target that became another one are looked for with so many.
const MOST: usize = 12;
/// And are known where they are as close.
const CLOSE: f64 = 1.01;

/// Trials at loads that others had borne, and that no later one bore since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SecondLook {
    made: usize,
}

impl SecondLook {
    /// A trial was made for this.
    pub(crate) fn note(&mut self) {
        self.made += 1;
    }

    /// The load of the next trial, in packets a second, and how long the one was that failed: that one once more, and where the
    /// target is another one, between what it bears since and what it does not; `allowed` is what a goal allows to be lost.
    pub(crate) fn next(&self, crossed: &Crossed, allowed: f64) -> Option<(f64, Duration)> {
        if self.made >= MOST {
            return None;
        }
        let seen = crossed.seen();
        let is_over = |place: usize| {
            let slow: &Seen = &seen[place];
            seen[place..].iter().any(|one| one.pps >= slow.pps && 2.0 * one.loss_ratio() < slow.loss_ratio())
        };
        let pairs = Crossed::pairs(&seen);
        let open = pairs.iter().filter(|(worse, better)| worse > better && !is_over(*worse));
        let first = open.map(|&(worse, _)| worse).min()?;
        let length = Duration::from_nanos(u64::try_from(seen[first].nanos).ok()?);
        // One that lost far more than others since is no matter of chance: as many more tell.
        let is_far = Crossed::far_pairs(&seen).iter().any(|&(worse, _)| worse + 1 == seen.len());
        if self.made < if is_far { 2 * TRIES } else { TRIES } {
            return Some((seen[first].pps, length));
        }
        let since = &seen[first..];
        let failed = since.iter().filter(|one| one.loss_ratio() > allowed);
        let lowest = failed.map(|one| one.pps).fold(f64::INFINITY, f64::min);
        let borne = since.iter().map(|one| one.pps).filter(|pps| *pps < lowest).fold(0.0, f64::max);
        let is_open = borne > 0.0 && lowest > CLOSE * borne && is_another(crossed);
        is_open.then(|| (libm::sqrt(lowest * borne), length))
    }
}
