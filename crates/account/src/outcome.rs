//! What a measurer knows of a trial without any counter of the kernel, and what accounting makes of it.

use crate::Ledger;
use dropline_trial::{Caveat, LostAt};

/// What the measurer knows of a trial's packets without any counter of the kernel.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Packets that left.
    pub offered: u64,
    /// Packets that came back in time, or that arrived where nothing comes back.
    pub forwarded: u64,
    /// Whether nothing comes back.
    pub one_way: bool,
    /// Replies that our own sockets dropped.
    pub generator_lost: u64,
    /// Of the trial's packets, those that came back after its drain.
    pub late: u64,
    /// Of the trial's packets, those that were answered from elsewhere than they were sent to: no reply socket takes that.
    pub elsewhere: u64,
    /// Such answers that what listens for them had no room for.
    pub elsewhere_dropped: u64,
    /// Of the trial's packets, those that came back shorter than they were sent.
    pub reply_truncated: u64,
    /// Of the trial's packets, those that came back longer than they were sent.
    pub reply_extended: u64,
    /// Of the trial's packets, those that came back with other bytes.
    pub reply_changed: u64,
    /// Replies that came back more than once.
    pub duplicated: u64,
    /// Sends that the system refused, whatever for: not lost, but counted by the kernel.
    pub refused: u64,
    /// Of those, by a full queueing discipline (ENOBUFS); and those that were sent again after it had refused them.
    pub refused_by_queue: u64,
    /// Of those, for want of a route (ENETUNREACH).
    pub refused_without_route: u64,
    /// What the target's program counted of this trial; `None` if it cannot be asked.
    pub target: Option<TargetCounts>,
    /// Packets that still waited at the target's sockets at the end, or when these were closed.
    pub unread: u64,
    /// Whether the target's sockets were closed, or others took their place.
    pub closed: bool,
    /// Packets that came while no socket of the target's was open, as somebody saw who looked for it.
    pub without_socket: u64,
    /// Packets that left in a train behind its first: the kernel counts a train as one until the socket.
    pub in_trains: u64,
    /// Packets that asked the target what it counted while the counters ran, each of which was answered.
    pub queries: u64,
}

/// What a target's program counted of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetCounts {
    /// Packets read from its socket.
    pub received: u64,
    /// Of those, served; answered, where an answer was wanted.
    pub served: u64,
    /// Of those, found its own queue full.
    pub dropped_queue: u64,
}

/// Where the packets of a trial were lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Packets by place; they sum to the loss, and `unexplained` is always there.
    pub lost_at: LostAt,
    /// Doubts about it.
    pub caveats: Vec<Caveat>,
}

impl Outcome {
    /// Packets that no place has claimed.
    pub(crate) fn ledger(&self) -> Ledger {
        let lost = self.offered.saturating_sub(self.forwarded).saturating_sub(self.generator_lost);
        match self.target {
            None if self.one_way => Ledger::apart(lost, lost),
            None => Ledger::new(lost),
            // What was not read by the target, was dropped by it, or still waits there, was lost on the way out.
            Some(TargetCounts { served, .. }) => Ledger::apart(lost, self.offered.saturating_sub(served)),
        }
    }
}
