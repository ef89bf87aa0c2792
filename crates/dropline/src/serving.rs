//! The verb `serve`: the embedded target.

use crate::Failure;
use dropline_traffic::{BindError, Responder, ResponderCounts, RunningResponder};
use serde::Serialize;

pub use dropline_traffic::Responder as Service;

/// Starts the responder.
///
/// # Errors
/// If it cannot listen there.
pub fn serve(service: Responder) -> Result<RunningResponder, Failure> {
    service.start().map_err(|why| match &why {
        BindError::Zero(_) => Failure::usage(&why),
        BindError::InUse(_) => Failure::environment(&why)
            .advice("another responder may still run there; or name another port: --listen"),
        BindError::Permission(_) => Failure::environment(&why)
            .advice("ports below 1024 need a privilege; take a higher one: --listen"),
        _ => Failure::environment(&why),
    })
}

/// What a responder did, as it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Packets read from the socket.
    pub received: u64,
    /// Served and sent back.
    pub answered: u64,
    /// Served; no reply was wanted.
    pub unanswered: u64,
    /// Found the queue full.
    pub dropped_queue: u64,
    /// Found the socket's buffer full; null where that is not known.
    pub dropped_socket: Option<u64>,
    /// Served, but the system did not take the reply.
    pub refused: u64,
    /// Still waiting when it stopped.
    pub waiting: u64,
}

impl From<ResponderCounts> for Served {
    fn from(counts: ResponderCounts) -> Self {
        Self {
            received: counts.received,
            answered: counts.answered,
            unanswered: counts.unanswered,
            dropped_queue: counts.dropped_queue,
            dropped_socket: counts.dropped_socket,
            refused: counts.refused,
            waiting: counts.waiting,
        }
    }
}
