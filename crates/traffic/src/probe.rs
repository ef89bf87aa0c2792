//! Does the target answer, and how soon?

use crate::counting::Counting;
use crate::frame::Head;
use crate::measurer::salt;
use crate::receiver::{Whose, nothing_as_none};
use crate::sys::{Exit, ReceiveBatch, SendBatch, report_refusals, wait_readable};
use crate::ways::connect;
use crate::{Reply, UdpError, UdpTarget};
use dropline_payload::{Message, Tags, Verdict};
use dropline_trial::TrafficProfile;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a few packets before the first trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Median time from request to reply, in ns; `None` of a target that sends nothing back.
    pub round_trip_ns: Option<u64>,
}

/// Packets that are sent, each when the one before was answered or given up.
const PROBES: u64 = 5;
/// How long the first answer is waited for, in all.
const PATIENCE: Duration = Duration::from_millis(900);
/// How long one answer is waited for.
const ANSWER_WITHIN: Duration = Duration::from_millis(180);

/// Sends a few packets like those of the trials and waits for them, a second at most.
///
/// # Errors
/// If none is answered, the port is closed, the host out of reach, a one-way target cannot be counted, or
/// the user wants to stop.
pub fn probe(target: UdpTarget, profile: &TrafficProfile, stop: &AtomicBool) -> Result<Probe, UdpError> {
    let payload = profile.packet.payload_bytes();
    let socket = connect(target.address, payload)?;
    report_refusals(&socket).map_err(UdpError::system("asking to be told of refused packets"))?;
    let whose = Whose { tags: Tags::new(profile.seed, salt()), first: 0, number: 0 };
    if target.reply == Reply::None {
        Counting::find(&socket, target, whose, stop)?;
        return Ok(Probe { round_trip_ns: None });
    }
    let mut batch = SendBatch::new(payload as usize, 1, Head::default());
    let mut replies = ReceiveBatch::new(dropline_payload::QUERY_BYTES);
    let mut sent = Vec::new();
    let mut round_trips = Vec::new();
    let begun = Instant::now();
    for index in 0..PROBES {
        let meaning = |error| UdpError::of_socket(error, target.address, index + 1, payload);
        let packet = Message::Packet { tag: whose.tag(), index, reply_wanted: true };
        batch.clear();
        batch.push(packet.header(), None);
        sent.push(Instant::now());
        batch.send(&Exit::Each(&socket), 0).map_err(|refused| meaning(refused.error))?;
        if let Some((answered, reply)) = reply(index, &socket, &mut replies, whose, stop, meaning)? {
            round_trips.push(reply.duration_since(sent[answered]).as_nanos() as u64);
        }
        if round_trips.is_empty() && begun.elapsed() > PATIENCE {
            break;
        }
    }
    round_trips.sort_unstable();
    match round_trips.get(round_trips.len() / 2) {
        Some(&median) => Ok(Probe { round_trip_ns: Some(median) }),
        None => {
            let (target, sent) = (target.address, sent.len() as u64);
            Err(UdpError::NoAnswer { target, sent, waited: begun.elapsed() })
        }
    }
}

/// Which probe up to `latest` was answered next, and when; `None` if none was in time.
fn reply(
    latest: u64,
    socket: &UdpSocket,
    replies: &mut ReceiveBatch,
    whose: Whose,
    stop: &AtomicBool,
    meaning: impl Fn(std::io::Error) -> UdpError,
) -> Result<Option<(usize, Instant)>, UdpError> {
    let until = Instant::now() + ANSWER_WITHIN;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(UdpError::Interrupted);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        // Looks up from waiting often enough to see that the user wants to stop.
        if wait_readable(std::slice::from_ref(socket), left.min(Duration::from_millis(50)))
            .map_err(&meaning)?
        {
            let now = Instant::now();
            for at in 0..nothing_as_none(replies.receive(socket)).map_err(&meaning)?.unwrap_or(0) {
                if let Verdict::Ours { index } = whose.judge(replies.packet(at))
                    && index <= latest
                {
                    return Ok(Some((index as usize, now)));
                }
            }
        }
    }
}
