//! What came back after a trial's drain.

use super::reading::{Heard, Reading};
use crate::error::nothing_as_none;
use crate::packet::received_set::ReceivedSet;
use crate::sys::ReceiveBatch;
use std::net::UdpSocket;

/// Batches that are taken before a trial or after its drain; a socket that is filled faster than that is beyond help.
pub(crate) const LARGEST_BACKLOG: usize = 4096;

/// What came back after the drain.
#[derive(Clone, Copy, Default)]
pub(crate) struct Late {
    /// Packets of this trial that had not come back before.
    pub(crate) ours: u64,
    /// Packets of earlier ones.
    pub(crate) strays: u64,
}

/// Takes what arrived after the drain of a trial whose packets below `sent_below` had left.
pub(crate) fn take_late(
    sockets: &[UdpSocket],
    batch: &mut ReceiveBatch,
    reading: Reading<'_>,
    sent_below: u64,
    seen: &mut ReceivedSet,
) -> Late {
    let mut late = Late::default();
    for (stream, socket) in sockets.iter().enumerate() {
        let mut replies = 0;
        for _ in 0..LARGEST_BACKLOG {
            // What the network reports now is no news about the trial.
            let Ok(Some(count)) = nothing_as_none(batch.receive(socket)) else { break };
            for at in 0..count {
                // Where replies come in the order of their requests, it is the first one that has none.
                let mut hear = || {
                    let heard = reading.hear(batch.packet(at), stream, sent_below, replies);
                    replies += 1;
                    heard
                };
                let mut heard = hear();
                while let Heard::Reply { index, .. } = heard
                    && reading.is_in_order()
                    && seen.count(index..index + 1) > 0
                {
                    heard = hear();
                }
                match heard {
                    Heard::Reply { index, .. }
                    | Heard::Astray { index }
                    | Heard::Different { index: Some(index), .. } => {
                        late.ours += u64::from(seen.insert(index));
                    }
                    Heard::Late => late.strays += 1,
                    Heard::Part { .. }
                    | Heard::Different { index: None, .. }
                    | Heard::Counted
                    | Heard::Unasked
                    | Heard::Foreign => {}
                }
            }
        }
    }
    late
}
