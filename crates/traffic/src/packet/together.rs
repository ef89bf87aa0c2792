//! Trials that several generators perform together.

use super::lease::Lease;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who says when a trial starts, and for how long its packets may leave.
#[derive(Clone)]
pub struct Together {
    /// When no packet may leave any more.
    pub lease: Arc<Lease>,
    /// Is told that all is ready for a trial, and says when it starts.
    pub starter: Arc<dyn Starter>,
}

/// Says when a trial starts.
pub trait Starter: Send + Sync {
    /// All is ready: sockets are open, the schedule is drawn. Waits until the start is known, and returns it; `None`: this trial is
    /// not to be.
    fn ready(&self) -> Option<Instant>;

    /// How much later than due the first packet left.
    fn left(&self, late: Duration);
}

impl fmt::Debug for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Together").field("lease", &self.lease).finish_non_exhaustive()
    }
}
