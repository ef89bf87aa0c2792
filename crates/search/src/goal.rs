//! What a search shall find (RFC 9971 §4.6: Search Goal).

use dropline_trial::Ratio;
use std::time::Duration;

/// A question to the search: up to which load is the loss ratio at most this?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// A trial with more loss than this is bad; equal is good (RFC 9971 §4.6.3).
    pub loss_ratio: Ratio,
    /// Share of the duration sum that may be bad (RFC 9971 §4.6.4). MDR and bisection ignore it.
    pub exceed_ratio: Ratio,
    /// (upper − lower) ÷ upper at which the bounds are close enough (RFC 9971 §4.6.5); above zero.
    pub width: Ratio,
    /// Length of a full trial (RFC 9971 §4.6.1); above zero.
    pub trial_duration: Duration,
    /// Length of the first trials (RFC 9971 §4.6.6); above zero, at most `trial_duration`.
    pub initial_trial_duration: Duration,
    /// Sum of full trials that decides a load (RFC 9971 §4.6.2); above zero. MDR and bisection ignore it.
    pub duration_sum: Duration,
}

/// Why a goal cannot be searched for.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum GoalError {
    /// No search ends at a width of zero.
    #[error("a goal's width must be above 0")]
    NoWidth,
    /// A trial needs time.
    #[error("a goal's trial durations and duration sum must be above 0")]
    NoDuration,
    /// The first trials are the short ones.
    #[error("a goal's initial trial duration must not be above its trial duration")]
    InitialAboveFinal,
}

impl Goal {
    /// Probability of a bad trial at the truth. A goal without exceed ratio asks for an even chance, as RFC 9971's goals
    /// in one trial do.
    pub(crate) fn exceed_at_truth(&self) -> f64 {
        if self.exceed_ratio == Ratio::ZERO { 0.5 } else { self.exceed_ratio.as_f64() }
    }

    /// The goal itself, if it can be searched for.
    ///
    /// # Errors
    /// If a width or a duration is zero, or the initial duration is above the final one.
    pub fn checked(self) -> Result<Self, GoalError> {
        if self.width == Ratio::ZERO {
            return Err(GoalError::NoWidth);
        }
        if self.trial_duration.is_zero()
            || self.initial_trial_duration.is_zero()
            || self.duration_sum.is_zero()
        {
            return Err(GoalError::NoDuration);
        }
        if self.initial_trial_duration > self.trial_duration {
            return Err(GoalError::InitialAboveFinal);
        }
        Ok(self)
    }
}
