//! What a goal would do next, and what that costs beside another goal's wishes.

use dropline_trial::Rate;
use std::time::Duration;

/// What a trial costs a goal when another goal wants it too.
pub(super) const SHARED: f64 = 0.2;

/// What a goal would do next.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextStep {
    /// Look at a load; no other goal proves anything before.
    Look(Rate),
    /// Prove these two loads to be bounds, as far as they are not; each with the chance that it will be.
    Prove { lower: Option<(Rate, f64)>, upper: Option<(Rate, f64)> },
    /// Try this load for so long.
    Try(Rate, Duration),
}
