//! Which turns the requests of a trial had, where what a service is asked follows from a request's turn.

/// Turns of a trial's requests. A number that never comes twice is the turn itself; what is listed has its turns in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedTurns {
    /// Of the first request.
    pub first: u64,
    /// The highest; of several generators with random arrivals not every one between is somebody's.
    pub last: u64,
}

impl AskedTurns {
    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}
