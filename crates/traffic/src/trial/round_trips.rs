//! One request outstanding: how many go to a target and back, one after the other.

use crate::error::{UdpError, nothing_as_none};
use crate::means::ReceiveMeans;
use crate::packet::attribution::{Whose, salt};
use crate::packet::frame::Head;
use crate::sockets::connection::connect;
use crate::sys::{Exit, ReceiveBatch, SendBatch, let_wait, run_on};
use dropline_payload::{Message, Tags, Verdict};
use dropline_stats::Histogram;
use dropline_trial::Packet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What came of it.
#[derive(Clone, Debug)]
pub struct RoundTrips {
    /// Requests that left.
    pub requests: u64,
    /// Of those, how many were answered; the others were given up after [`GIVE_UP`].
    pub answered: u64,
    /// From request to answer.
    pub delay: Histogram,
}

/// How long an answer is waited for.
pub const GIVE_UP: Duration = Duration::from_millis(100);

/// Sends a request, waits for its answer, sends the next, for as long as `duration`.
///
/// # Errors
/// If the target cannot be reached, or the system does not give the socket.
pub fn round_trips(
    target: SocketAddr,
    packet: Packet,
    duration: Duration,
    receive: ReceiveMeans,
    cpu: Option<usize>,
    stop: &AtomicBool,
) -> Result<RoundTrips, UdpError> {
    if let Some(cpu) = cpu {
        run_on(&[cpu]).map_err(UdpError::system("moving to a CPU"))?;
    }
    let payload = packet.payload_bytes();
    let socket = connect(target, payload)?;
    if !receive.spins() {
        let_wait(&socket, GIVE_UP).map_err(UdpError::system("setting a timeout"))?;
    }
    let whose = Whose { tags: Tags::new(1, salt()), first: 0, number: 0 };
    let meaning = |error| UdpError::of_socket(error, target, 0, payload);
    let mut out = SendBatch::new(payload as usize, 1, Head::default());
    let mut back = ReceiveBatch::new(dropline_payload::QUERY_BYTES);
    let mut done = RoundTrips { requests: 0, answered: 0, delay: Histogram::new() };
    let begun = Instant::now();
    let mut now = begun;
    while now - begun < duration && !stop.load(Ordering::Relaxed) {
        let index = done.requests;
        out.clear();
        out.push(Message::Packet { tag: whose.tag(), index, reply_wanted: true }.header(), None);
        out.send(&Exit::Each(&socket), 0).map_err(|refused| meaning(refused.error))?;
        done.requests += 1;
        let left = now;
        loop {
            let received = match receive.spins() {
                true => back.receive(&socket),
                false => back.receive_or_wait(&socket, Duration::ZERO),
            };
            let count = nothing_as_none(received).map_err(meaning)?.unwrap_or(0);
            now = Instant::now();
            if (0..count).any(|at| whose.judge(back.packet(at)) == Verdict::Ours { index }) {
                done.answered += 1;
                done.delay.record((now - left).as_nanos() as u64);
                break;
            }
            if now - left >= GIVE_UP {
                break;
            }
        }
    }
    Ok(done)
}
