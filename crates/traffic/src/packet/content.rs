//! What a reply must be: the packet that was sent.

use crate::target::Reply;
use dropline_payload::{HEADER_BYTES, filler};

/// The packets of a trial, to hold replies against.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// Of every packet that is sent; `None` if a reply may be anything behind its header.
    filler: Option<Vec<u8>>,
}

/// How a reply differs from its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It is shorter.
    Truncated,
    /// It is longer.
    Extended,
    /// It has other bytes, or came to another stream than its packet's.
    Changed,
}

impl Difference {
    /// How many there are.
    pub(crate) const KINDS: usize = 3;
}

impl Content {
    /// Of packets with `payload` bytes to a target that answers so.
    pub(crate) fn of(reply: Reply, payload: u32) -> Self {
        let filler = || filler((payload as usize).saturating_sub(HEADER_BYTES));
        Self { filler: (reply == Reply::Echo).then(filler) }
    }

    /// Bytes of a reply that must be seen to judge it: one more than it should have.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.filler.as_ref().map_or(0, |filler| HEADER_BYTES + filler.len() + 1)
    }

    /// How a reply with the header of its packet differs from it.
    pub(crate) fn difference(&self, reply: &[u8]) -> Option<Difference> {
        let filler = self.filler.as_deref()?;
        match reply.split_at_checked(HEADER_BYTES) {
            Some((_, rest)) if rest == filler => None,
            Some((_, rest)) if rest.len() > filler.len() => Some(Difference::Extended),
            Some((_, rest)) if rest.len() == filler.len() => Some(Difference::Changed),
            _ => Some(Difference::Truncated),
        }
    }

    /// Whether replies are compared with what was sent.
    pub(crate) fn compares(&self) -> bool {
        self.filler.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_payload::{Message, Tag};

    #[test]
    fn a_reply_is_the_packet_or_differs_in_one_way() {
        let content = Content::of(Reply::Echo, 64);
        assert_eq!(content.kept_bytes(), 65);
        let sent = Message::Packet { tag: Tag(7), index: 9, reply_wanted: true };
        let mut reply = sent.header().to_vec();
        reply.extend(filler(48));
        assert_eq!(content.difference(&reply), None);
        for length in [0, 15, 16, 63] {
            assert_eq!(content.difference(&reply[..length]), Some(Difference::Truncated), "{length}");
        }
        for at in HEADER_BYTES..64 {
            let mut other = reply.clone();
            other[at] ^= 0x10;
            assert_eq!(content.difference(&other), Some(Difference::Changed), "{at}");
            assert_eq!(Content::of(Reply::Any, 64).difference(&other), None);
        }
        reply.push(0);
        assert_eq!(content.difference(&reply), Some(Difference::Extended));
        reply[20] ^= 1;
        assert_eq!(content.difference(&reply), Some(Difference::Extended), "its length comes first");
    }
}
