//! What the embedded target shall be like, and what it did.

use crate::means::ReceiveMeans;
use dropline_payload::service::stamp::Reflector;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// What the target shall be like.
///
/// One thread takes packets from the socket into a queue, from which the workers serve them one at a
/// time. With a queue of 0 the workers read from the socket themselves, a packet when the one before is
/// served, and what waits does so in the socket's buffer: as most simple services do. Without a service time nothing can
/// wait there: the receiving thread answers by itself, in batches. A reply is its request, never more, and a trial's packet is marked as answered; count queries are
/// answered, and nothing is sent to port 0, to itself, to broadcast or multicast addresses. Unless it shall answer
/// all, nothing is sent to ports of services (below 1024) or to the number of its own port; no answer of a reflector
/// is answered, nor what comes again and again; and what is no packet of a trial, 32 times for each source until that
/// was silent for ten seconds, whatever it is.
#[derive(Clone, Copy, Debug)]
pub struct Responder {
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// How long a worker is busy with each packet: while packets wait, one service begins so long after the one before,
    /// with all that a packet costs.
    pub service_time: Duration,
    /// Sleep for the service time instead of keeping a CPU busy.
    pub sleep: bool,
    /// Packets that can wait for a worker; the next one is dropped. 0: workers read from the socket.
    pub queue: usize,
    /// Receive buffer to ask for, in bytes; `None` leaves the system's default.
    pub buffer: Option<u64>,
    /// Packets that can be served at once.
    pub workers: usize,
    /// Packets whose times of reading and of being served are kept; only with a queue of 0.
    pub keep_times: usize,
    /// How packets are taken from the socket; by default it sleeps until some are there.
    pub receive: ReceiveMeans,
    /// Answer whatever comes, and as often: for other programs' echoes, and where nobody forges a source.
    pub answer_all: bool,
    /// Reflect as STAMP has it (RFC 8762), and nothing else: what cannot be a session-sender's packet is not answered.
    pub stamp: Option<Reflector>,
    /// The CPU of the receiving thread; `None`: wherever the system puts it.
    pub cpu: Option<usize>,
}

impl Default for Responder {
    /// Loopback, any port, no service time, 256 packets, one worker, a buffer that holds a stall of the
    /// machine.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            service_time: Duration::ZERO,
            sleep: false,
            queue: 256,
            buffer: Some(8 << 20),
            workers: 1,
            keep_times: 0,
            receive: ReceiveMeans::Auto,
            answer_all: false,
            stamp: None,
            cpu: None,
        }
    }
}

/// What a responder did. Every packet received is in exactly one of `answered`, `unanswered`,
/// `dropped_queue`, `refused` and `waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderCounts {
    /// Packets read from the socket, count queries apart.
    pub received: u64,
    /// Served and sent back.
    pub answered: u64,
    /// Served; no reply was wanted, or none may be sent there.
    pub unanswered: u64,
    /// Found the queue full.
    pub dropped_queue: u64,
    /// Served, but the system did not take the reply.
    pub refused: u64,
    /// Still waiting or being served.
    pub waiting: u64,
    /// Found the socket's buffer full and were never received; `None` where that is not known.
    pub dropped_socket: Option<u64>,
    /// Count queries answered.
    pub queries: u64,
    /// For how long workers with packets to serve had no CPU, beyond what they made up; of all workers together.
    pub stood_still: Duration,
}
