//! What is chosen about moving packets.

use crate::means::{ReceiveMeans, SendMeans};
use crate::placement::cpus::{Cpus, Priority};
use crate::sockets::connection::{Sources, Targets};

/// What is chosen about moving packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Means {
    /// How packets leave.
    pub send: SendMeans,
    /// How they are received.
    pub receive: ReceiveMeans,
    /// Threads that send; each has streams of its own.
    pub senders: Option<usize>,
    /// Threads that receive; each has streams of its own.
    pub receivers: Option<usize>,
    /// Where they run.
    pub cpus: Cpus,
    /// Who goes first there.
    pub priority: Priority,
}

/// All that is chosen about moving packets, as opposed to the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// How, by how many threads, where.
    pub means: Means,
    /// Where the streams' packets come from.
    pub sources: Sources,
    /// Where they go, beside the target.
    pub targets: Targets,
    /// The process that is the target, where that is known; else the one that holds its socket.
    pub target_pid: Option<u32>,
}
