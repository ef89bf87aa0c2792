//! The verb `serve`: the embedded target; and the clients of a closed loop.

use dropline_failure::Failure;
use dropline_traffic::{BindError, ClientPlan, Responder, ResponderCounts, RunningResponder};
use schemars::JsonSchema;
use serde::Serialize;

pub use dropline_targets::{KernelReflector, reflect};
pub use dropline_traffic::{Responder as Service, Seat};

/// Starts the responder.
///
/// # Errors
/// If it cannot listen there.
pub fn serve(service: Responder) -> Result<RunningResponder, Failure> {
    service.start().map_err(|why| match &why {
        BindError::Thread(why) => Failure::thread(why),
        BindError::Zero(_) => Failure::usage(&why),
        BindError::InUse(_) => Failure::environment(&why)
            .advice("another responder may still run there; or name another port: --listen"),
        BindError::Permission(_) => Failure::environment(&why)
            .advice("ports below 1024 need a privilege; take a higher one: --listen"),
        _ => Failure::environment(&why),
    })
}

/// Moves this process to a CPU and a priority.
///
/// # Errors
/// If the system does not allow it.
pub fn take(seat: Seat) -> Result<(), Failure> {
    seat.take().map_err(|why| {
        Failure::environment(why).advice("leave --cpu and --fifo out, or run as root (CAP_SYS_NICE)")
    })
}

/// Runs one client by its plan, or until it is asked to `stop`, and writes what it did.
///
/// # Errors
/// If the words are no plan, its packets would leave this machine, or the system does not let it run.
pub fn client(
    words: &[String],
    out: &mut impl std::io::Write,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<(), Failure> {
    let plan = ClientPlan::from_words(words).map_err(Failure::usage)?;
    dropline_consent::consent(plan.target)?;
    plan.run(out, stop).map_err(Failure::environment)
}

/// What a responder did, as it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// For how long it had packets to serve and no CPU, beyond what it made up: it was that much slower than told. Of all
    /// workers together; 0 if it kept its pace.
    pub stood_still_ns: u64,
    /// Sent back in the kernel, at the interface that `--xdp` names: not among those received; null without it.
    pub reflected: Option<u64>,
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
            stood_still_ns: counts.stood_still.as_nanos() as u64,
            reflected: None,
        }
    }
}
