//! What was full, the socket's buffer or the server's own queue, and how many packets it holds.

use super::Evidence;
use super::backlog::{FULL, backlog_of_the_lost};
use crate::{Place, Replayed, Site, packets_held, truesize};
use schemars::JsonSchema;
use serde::Serialize;

/// What was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BufferSeen {
    /// The socket's buffer, or the server's own queue.
    pub own_queue: bool,
    /// Memory of the socket's buffer, the doubled SO_RCVBUF; null where it was not seen.
    pub bytes: Option<u64>,
    /// What a packet is charged.
    pub truesize_bytes: u32,
    /// Packets that fit.
    pub packets: u64,
    /// Fewest packets that fill it while it drains: the kernel gives room back a quarter at a time.
    pub draining_packets: u64,
    /// Whether the number was found from the backlog of the lost packets.
    pub inferred: bool,
}

/// What was full: the server's own queue if more was lost there, by its own count or as the backlog shows, else its socket's
/// buffer.
pub(super) fn buffer(evidence: &Evidence<'_>) -> Option<BufferSeen> {
    let own_queue = evidence.own() > evidence.at(Site::out(Place::ReceiveBuffer));
    let truesize_bytes = truesize(evidence.usual_payload(), evidence.family);
    let bytes = evidence.watched.and_then(|watched| watched.buffer_bytes);
    let (packets, inferred) = match bytes {
        Some(bytes) if !own_queue => {
            let held = packets_held(bytes, truesize_bytes);
            // The packets of a train are charged a little more than those that come one by one.
            let most = backlog_of_the_lost(evidence.packets, 1.0)
                .filter(|most| (held * 9..held * 10).contains(&(most * 10)));
            (most.unwrap_or(held), false)
        }
        _ => (backlog_of_the_lost(evidence.packets, FULL)?, true),
    };
    let truesize_bytes = match bytes.filter(|_| !own_queue) {
        Some(bytes) if packets < packets_held(bytes, truesize_bytes) => {
            u32::try_from(bytes / packets).unwrap_or(truesize_bytes)
        }
        _ => truesize_bytes,
    };
    let draining_packets = if own_queue { packets } else { packets - packets / 4 };
    Some(BufferSeen { own_queue, bytes, truesize_bytes, packets, draining_packets, inferred })
}

/// What waited when packets were lost, as it was seen and as a replay has it; `None` where either lost too few.
pub(super) fn waited(evidence: &Evidence<'_>, found: &Replayed) -> Option<[u64; 2]> {
    /// Fewer say too little of what waited.
    const FEWEST: usize = 20;
    let is_of_waiting = !evidence.is_by_its_program();
    let seen = backlog_of_the_lost(evidence.packets, FULL)
        .filter(|_| is_of_waiting && evidence.lost >= FEWEST as u64)?;
    let mut replayed: Vec<u64> =
        found.seen.iter().filter(|seen| seen.lost).map(|seen| u64::from(seen.backlog)).collect();
    replayed.sort_unstable();
    let at = replayed.len().checked_sub(1).filter(|last| *last + 1 >= FEWEST)?;
    Some([seen, replayed[(at as f64 * FULL) as usize]])
}
