//! What is asked of a trial.

use crate::Rate;
use std::time::Duration;

/// All that a search emits (RFC 9971 §4.5.3: Trial Input): load and duration, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialInput {
    /// Intended load (RFC 2285 §3.5.1), the sum over directions and streams.
    pub load: Rate,
    /// Above zero.
    pub duration: Duration,
}
