//! Which packets are a trial's, and which of them came after its drain.

use super::{LARGEST_BACKLOG, nothing_as_none};
use crate::seen::Seen;
use crate::sys::ReceiveBatch;
use dropline_payload::{Tag, Tags, Verdict};
use std::net::UdpSocket;

/// Which packets are this trial's.
#[derive(Clone, Copy)]
pub(crate) struct Whose {
    pub(crate) tags: Tags,
    /// The first trial of this program.
    pub(crate) first: u64,
    /// This trial.
    pub(crate) number: u64,
}

impl Whose {
    /// What these bytes are to this trial.
    pub(crate) fn judge(self, bytes: &[u8]) -> Verdict {
        Verdict::of(bytes, self.tags, self.first, self.number)
    }

    /// The tag of this trial.
    pub(crate) fn tag(self) -> Tag {
        self.tags.of_trial(self.number)
    }
}

/// What came back after the drain.
#[derive(Clone, Copy, Default)]
pub(crate) struct Late {
    /// Packets of this trial that had not come back before.
    pub(crate) ours: u64,
    /// Packets of earlier ones.
    pub(crate) strays: u64,
}

/// Takes what arrived after the drain.
pub(crate) fn take_late(
    sockets: &[UdpSocket],
    batch: &mut ReceiveBatch,
    whose: Whose,
    seen: &mut Seen,
) -> Late {
    let mut late = Late::default();
    for socket in sockets {
        for _ in 0..LARGEST_BACKLOG {
            // What the network reports now is no news about the trial.
            let Ok(Some(count)) = nothing_as_none(batch.receive(socket)) else { break };
            for at in 0..count {
                match whose.judge(batch.packet(at)) {
                    Verdict::Ours { index } => late.ours += u64::from(seen.insert(index)),
                    Verdict::Late => late.strays += 1,
                    Verdict::Counted { .. } | Verdict::Cut | Verdict::Changed { .. } | Verdict::Foreign => {}
                }
            }
        }
    }
    late
}
