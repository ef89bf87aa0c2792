//! The bytes of a trial packet, of a count query and of its answer.
//!
//! | bytes | meaning |
//! |---|---|
//! | 0–1 | `0xD7 0x01` |
//! | 2 | version (high four bits: 1) and kind (low four: 1 packet, 2 count query, 3 count answer) |
//! | 3 | flags; bit 0: no reply wanted; the others are zero |
//! | 4–7 | tag of the trial |
//! | 8–15 | packet: its index in the trial, from 0; query and answer: number of the query |
//! | 16–39 | answer only: received, served, dropped in the queue |
//!
//! All big endian. What follows is filler; a count query is filled up to the length of its answer.

use crate::{HEADER_BYTES, QUERY_BYTES, Tag};

const MAGIC: [u8; 2] = [0xd7, 0x01];
const VERSION: u8 = 1 << 4;
const PACKET: u8 = VERSION | 1;
const COUNT_QUERY: u8 = VERSION | 2;
const COUNT_ANSWER: u8 = VERSION | 3;
const NO_REPLY: u8 = 1;

/// What a datagram of ours says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A packet of a trial, or the echo of one.
    Packet {
        /// The trial.
        tag: Tag,
        /// From 0, in the order of the departures.
        index: u64,
        /// Whether the sender waits for an echo.
        reply_wanted: bool,
    },
    /// How many packets with this tag did you see?
    CountQuery {
        /// The trial.
        tag: Tag,
        /// Comes back in the answer.
        number: u64,
    },
    /// Answer to a count query.
    CountAnswer {
        /// The trial.
        tag: Tag,
        /// That of the query.
        number: u64,
        /// What was seen so far.
        counts: Counts,
    },
}

/// What a one-way target saw of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets read from its socket.
    pub received: u64,
    /// Of those, how many it has served.
    pub served: u64,
    /// Of those, how many found its own queue full.
    pub dropped_queue: u64,
}

impl Counts {
    /// Packets that still wait in the queue or are being served.
    pub fn waiting(self) -> u64 {
        self.received.saturating_sub(self.served).saturating_sub(self.dropped_queue)
    }
}

/// Why bytes are no message of ours.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// Shorter than the header, or than a query or an answer must be.
    #[error("{0} bytes are too few")]
    TooShort(usize),
    /// Somebody else's bytes.
    #[error("the first bytes are not those of a trial packet")]
    NotOurs,
    /// A version or kind that this program does not know, or flags that its version has not.
    #[error("kind {kind:#04x} with flags {flags:#04x} is unknown")]
    Unknown {
        /// Version and kind.
        kind: u8,
        /// Flags.
        flags: u8,
    },
}

impl Message {
    /// The first 16 bytes of the message; for a [`Packet`](Self::Packet) all but its filler.
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let (kind, flags, tag, number) = match *self {
            Self::Packet { tag, index, reply_wanted } => {
                (PACKET, if reply_wanted { 0 } else { NO_REPLY }, tag, index)
            }
            Self::CountQuery { tag, number } => (COUNT_QUERY, 0, tag, number),
            Self::CountAnswer { tag, number, .. } => (COUNT_ANSWER, 0, tag, number),
        };
        let mut header = [0; HEADER_BYTES];
        header[..2].copy_from_slice(&MAGIC);
        header[2] = kind;
        header[3] = flags;
        header[4..8].copy_from_slice(&tag.0.to_be_bytes());
        header[8..].copy_from_slice(&number.to_be_bytes());
        header
    }

    /// The bytes of a count query or answer; of a packet, the shortest form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.header().to_vec();
        match self {
            Self::Packet { .. } => {}
            Self::CountQuery { .. } => bytes.resize(QUERY_BYTES, 0),
            Self::CountAnswer { counts, .. } => {
                for count in [counts.received, counts.served, counts.dropped_queue] {
                    bytes.extend_from_slice(&count.to_be_bytes());
                }
            }
        }
        bytes
    }
}

/// Reads a datagram, or the beginning of one: at least [`QUERY_BYTES`] of it, if it has so many.
///
/// # Errors
/// If it is not ours, or damaged. No bytes make it panic.
pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(DecodeError::TooShort(bytes.len()))?;
    let [magic0, magic1, kind, flags, t0, t1, t2, t3, number @ ..] = *header;
    if [magic0, magic1] != MAGIC {
        return Err(DecodeError::NotOurs);
    }
    let tag = Tag(u32::from_be_bytes([t0, t1, t2, t3]));
    let number = u64::from_be_bytes(number);
    match (kind, flags) {
        (PACKET, 0 | NO_REPLY) => Ok(Message::Packet { tag, index: number, reply_wanted: flags == 0 }),
        (COUNT_QUERY | COUNT_ANSWER, 0) => {
            let body: &[u8; QUERY_BYTES] = bytes.first_chunk().ok_or(DecodeError::TooShort(bytes.len()))?;
            let count = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| body[at + byte]));
            Ok(if kind == COUNT_QUERY {
                Message::CountQuery { tag, number }
            } else {
                let counts = Counts { received: count(16), served: count(24), dropped_queue: count(32) };
                Message::CountAnswer { tag, number, counts }
            })
        }
        _ => Err(DecodeError::Unknown { kind, flags }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> impl Strategy<Value = Message> {
        let packet = (any::<u32>(), any::<u64>(), any::<bool>())
            .prop_map(|(tag, index, reply_wanted)| Message::Packet { tag: Tag(tag), index, reply_wanted });
        let query = (any::<u32>(), any::<u64>())
            .prop_map(|(tag, number)| Message::CountQuery { tag: Tag(tag), number });
        let answer =
            any::<(u32, u64, u64, u64, u64)>().prop_map(|(tag, number, received, served, dropped_queue)| {
                Message::CountAnswer {
                    tag: Tag(tag),
                    number,
                    counts: Counts { received, served, dropped_queue },
                }
            });
        prop_oneof![packet, query, answer]
    }

    /// The obvious decoder: arithmetic on single bytes, straight from the table.
    fn twin(bytes: &[u8]) -> Option<Message> {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().fold(0, |sum, &byte| sum * 256 + u128::from(byte)) as u64
        };
        if bytes.len() < 16 || number(0..2) != 0xd701 || bytes[2] / 16 != 1 {
            return None;
        }
        let tag = Tag(number(4..8) as u32);
        match (bytes[2] % 16, bytes[3]) {
            (1, 0) => Some(Message::Packet { tag, index: number(8..16), reply_wanted: true }),
            (1, 1) => Some(Message::Packet { tag, index: number(8..16), reply_wanted: false }),
            (2, 0) if bytes.len() >= 40 => Some(Message::CountQuery { tag, number: number(8..16) }),
            (3, 0) if bytes.len() >= 40 => Some(Message::CountAnswer {
                tag,
                number: number(8..16),
                counts: Counts {
                    received: number(16..24),
                    served: number(24..32),
                    dropped_queue: number(32..40),
                },
            }),
            _ => None,
        }
    }

    #[test]
    fn a_packet_has_these_bytes() {
        let packet = Message::Packet { tag: Tag(0x0102_0304), index: 5, reply_wanted: false };
        assert_eq!(packet.encode(), [0xd7, 1, 0x11, 1, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5]);
    }

    #[test]
    fn an_answer_is_never_longer_than_its_query() {
        let query = Message::CountQuery { tag: Tag(1), number: 2 }.encode();
        let answer = Message::CountAnswer { tag: Tag(1), number: 2, counts: Counts::default() }.encode();
        assert_eq!((query.len(), answer.len()), (QUERY_BYTES, QUERY_BYTES));
        assert_eq!(decode(&query[..QUERY_BYTES - 1]), Err(DecodeError::TooShort(QUERY_BYTES - 1)));
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded_whatever_follows(
            message in message(), filler in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut bytes = message.encode();
            bytes.extend(filler);
            prop_assert_eq!(decode(&bytes), Ok(message));
        }

        #[test]
        fn any_bytes_decode_as_the_table_says(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(decode(&bytes).ok(), twin(&bytes));
        }

        #[test]
        fn damaged_messages_decode_as_the_table_says(
            message in message(), cut in 0usize..=40, place in 0usize..40, value: u8,
        ) {
            let mut bytes = message.encode();
            let place = place % bytes.len();
            bytes[place] = value;
            bytes.truncate(cut);
            prop_assert_eq!(decode(&bytes).ok(), twin(&bytes));
        }
    }
}
