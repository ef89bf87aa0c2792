//! The clock of tracepoints: the time-stamp counter where it can be trusted, else CLOCK_MONOTONIC.

/// Which clock stamps the events of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The processor's time-stamp counter: constant rate, does not stop, the same on all cores.
    Counter,
    /// Nanoseconds of CLOCK_MONOTONIC, by the vDSO.
    Monotonic,
}

#[cfg(feature = "std")]
impl Clock {
    pub(crate) const fn code(self) -> u32 {
        match self {
            Self::Counter => 1,
            Self::Monotonic => 2,
        }
    }

    pub(crate) const fn of_code(code: u32) -> Option<Self> {
        match code {
            1 => Some(Self::Counter),
            2 => Some(Self::Monotonic),
            _ => None,
        }
    }
}
