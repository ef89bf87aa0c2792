//! The bytes of a trial packet, of a count query and of its answer.
//!
//! | bytes | meaning |
//! |---|---|
//! | 0–1 | `0xD7 0x01` |
//! | 2 | version (high four bits: 2) and kind (low four: 1 packet, 2 count query, 3 count answer) |
//! | 3 | flags; bit 0: no reply wanted; bit 1: a reflector of ours has answered it; the others are zero |
//! | 4–7 | tag of the trial |
//! | 8–9 | check of kind, flags, tag, number and counts; of an answered packet all its bits are turned, of one that wants no reply every second one |
//! | 10–15 | packet: its index in the trial, from 0; query and answer: number of the query |
//! | 16–39 | answer only: received, served, dropped in the queue |
//!
//! All big endian. What follows is filler; a count query is filled up to the length of its answer.
//!
//! The check finds every single flipped bit, and all but one of 65 536 other changes: a damaged reply is no other
//! packet's. The mark of a reflector keeps a second one from answering the answer.

use crate::{HEADER_BYTES, QUERY_BYTES, Tag};

const MAGIC: [u8; 2] = [0xd7, 0x01];
const VERSION: u8 = 2 << 4;
const PACKET: u8 = VERSION | 1;
const COUNT_QUERY: u8 = VERSION | 2;
const COUNT_ANSWER: u8 = VERSION | 3;
const NO_REPLY: u8 = 1;
const ANSWERED: u8 = 2;
/// Where the flags stand.
const FLAGS_AT: usize = 3;
/// What is turned in the check of a packet that was answered, and of one that wants no reply: a flag that was changed on the way
/// is found too.
const TURNED_ANSWERED: u16 = u16::MAX;
const TURNED_NO_REPLY: u16 = 0x5555;
/// Indices and numbers have 48 bits: a packet a nanosecond for three days.
const NUMBERS: u64 = (1 << 48) - 1;

/// What a datagram of ours says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A packet of a trial, or the echo of one.
    Packet {
        /// The trial.
        tag: Tag,
        /// From 0, in the order of the departures; below 2⁴⁸.
        index: u64,
        /// Whether the sender waits for an echo.
        reply_wanted: bool,
    },
    /// A packet that a reflector of ours has answered.
    Answered {
        /// The trial.
        tag: Tag,
        /// Of the packet.
        index: u64,
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
    /// A packet of ours whose check does not fit: bits were changed on the way.
    #[error("the header was changed on the path: its check does not fit")]
    Damaged {
        /// Whether it may be sent back.
        reply_wanted: bool,
    },
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
        let (kind, flags, tag, number, counts) = match *self {
            Self::Packet { tag, index, reply_wanted } => {
                (PACKET, if reply_wanted { 0 } else { NO_REPLY }, tag, index, None)
            }
            Self::Answered { tag, index } => (PACKET, ANSWERED, tag, index, None),
            Self::CountQuery { tag, number } => (COUNT_QUERY, 0, tag, number, None),
            Self::CountAnswer { tag, number, counts } => (COUNT_ANSWER, 0, tag, number, Some(counts)),
        };
        let check = check_of(kind, flags, tag, number & NUMBERS, counts);
        let mut header = [0; HEADER_BYTES];
        header[..2].copy_from_slice(&MAGIC);
        header[2] = kind;
        header[3] = flags;
        header[4..8].copy_from_slice(&tag.0.to_be_bytes());
        header[8..].copy_from_slice(&(u64::from(check) << 48 | number & NUMBERS).to_be_bytes());
        header
    }

    /// The bytes of a count query or answer; of a packet, the shortest form.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.header().to_vec();
        match self {
            Self::Packet { .. } | Self::Answered { .. } => {}
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

/// Marks a packet of a trial as answered, in place: so that no reflector of ours answers the answer. Other bytes
/// stay as they are.
pub fn mark_answered(bytes: &mut [u8]) {
    if let Some([magic0, magic1, PACKET, flags @ 0, _, _, _, _, check0, check1, ..]) =
        bytes.first_chunk_mut::<HEADER_BYTES>()
        && [*magic0, *magic1] == MAGIC
    {
        *flags = ANSWERED;
        *check0 = !*check0;
        *check1 = !*check1;
    }
}

/// The index that a packet of `tag` has whose first eight bytes were changed on the way; `None` if what follows
/// them was, too.
pub(crate) fn index_behind(header: &[u8; HEADER_BYTES], tag: Tag) -> Option<u64> {
    let (check, number) = numbers(header);
    let fits = |flags| check_of(PACKET, flags, tag, number, None) == check;
    (fits(0) || fits(ANSWERED)).then_some(number)
}

/// Whether bytes are the beginning of a packet of `tag` that wants a reply, or of the answer to one: as far as they
/// go, and before its check.
pub(crate) fn begins_one(bytes: &[u8], tag: Tag) -> bool {
    let header = Message::Packet { tag, index: 0, reply_wanted: true }.header();
    let pairs = bytes.iter().zip(&header[..CHECK_AT]).enumerate();
    pairs.fold(true, |same, (at, (&is, &was))| same && (is == was || (at == FLAGS_AT && is == ANSWERED)))
}

/// Where the check stands.
const CHECK_AT: usize = 8;

/// A multiplier without sixteen equal bits in a row: each flipped bit of what is multiplied changes the upper half
/// of the product's upper half.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

fn check_of(kind: u8, flags: u8, tag: Tag, number: u64, counts: Option<Counts>) -> u16 {
    let mixed = |value: u64, next: u64| (value ^ next).wrapping_mul(MULTIPLIER);
    let product = mixed(u64::from(tag.0) << 32 ^ u64::from(kind) << 48, number);
    let product = counts.map_or(product, |counts| {
        let counts = [counts.received, counts.served, counts.dropped_queue];
        counts.into_iter().fold(product, |value, count| mixed(value ^ value >> 32, count))
    });
    let turned = match flags {
        ANSWERED => TURNED_ANSWERED,
        NO_REPLY => TURNED_NO_REPLY,
        _ => 0,
    };
    (product >> 48) as u16 ^ turned
}

/// Check and number of a header.
fn numbers(header: &[u8; HEADER_BYTES]) -> (u16, u64) {
    let [.., c0, c1, n0, n1, n2, n3, n4, n5] = *header;
    (u16::from_be_bytes([c0, c1]), u64::from_be_bytes([0, 0, n0, n1, n2, n3, n4, n5]))
}

/// Reads a datagram, or the beginning of one: at least [`QUERY_BYTES`] of it, if it has so many.
///
/// # Errors
/// If it is not ours, or damaged. No bytes make it panic.
pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(DecodeError::TooShort(bytes.len()))?;
    let [magic0, magic1, kind, flags, t0, t1, t2, t3, ..] = *header;
    if [magic0, magic1] != MAGIC {
        return Err(DecodeError::NotOurs);
    }
    let tag = Tag(u32::from_be_bytes([t0, t1, t2, t3]));
    let (check, number) = numbers(header);
    let whole = |message, counts| {
        let fits = check == check_of(kind, flags, tag, number, counts);
        if fits {
            Ok(message)
        } else {
            Err(DecodeError::Damaged { reply_wanted: (kind, flags) == (PACKET, 0) })
        }
    };
    match (kind, flags) {
        (PACKET, 0 | NO_REPLY) => {
            whole(Message::Packet { tag, index: number, reply_wanted: flags == 0 }, None)
        }
        (PACKET, ANSWERED) => whole(Message::Answered { tag, index: number }, None),
        (COUNT_QUERY | COUNT_ANSWER, 0) => {
            let body: &[u8; QUERY_BYTES] = bytes.first_chunk().ok_or(DecodeError::TooShort(bytes.len()))?;
            let count = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| body[at + byte]));
            if kind == COUNT_QUERY {
                return whole(Message::CountQuery { tag, number }, None);
            }
            let counts = Counts { received: count(16), served: count(24), dropped_queue: count(32) };
            whole(Message::CountAnswer { tag, number, counts }, Some(counts))
        }
        _ => Err(DecodeError::Unknown { kind, flags }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> impl Strategy<Value = Message> {
        let packet = (any::<u32>(), 0..=NUMBERS, any::<bool>())
            .prop_map(|(tag, index, reply_wanted)| Message::Packet { tag: Tag(tag), index, reply_wanted });
        let answered =
            (any::<u32>(), 0..=NUMBERS).prop_map(|(tag, index)| Message::Answered { tag: Tag(tag), index });
        let query = (any::<u32>(), 0..=NUMBERS)
            .prop_map(|(tag, number)| Message::CountQuery { tag: Tag(tag), number });
        let answer = (any::<u32>(), 0..=NUMBERS, any::<[u64; 3]>()).prop_map(
            |(tag, number, [received, served, dropped_queue])| Message::CountAnswer {
                tag: Tag(tag),
                number,
                counts: Counts { received, served, dropped_queue },
            },
        );
        prop_oneof![packet, answered, query, answer]
    }

    /// The obvious decoder: arithmetic on single bytes, straight from the table.
    fn twin(bytes: &[u8]) -> Option<Message> {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().fold(0, |sum, &byte| sum * 256 + u128::from(byte)) as u64
        };
        if bytes.len() < 16 || number(0..2) != 0xd701 || bytes[2] / 16 != 2 {
            return None;
        }
        let (tag, index) = (Tag(number(4..8) as u32), number(10..16));
        let message = match (bytes[2] % 16, bytes[3]) {
            (1, 0) => Message::Packet { tag, index, reply_wanted: true },
            (1, 1) => Message::Packet { tag, index, reply_wanted: false },
            (1, 2) => Message::Answered { tag, index },
            (2, 0) if bytes.len() >= 40 => Message::CountQuery { tag, number: index },
            (3, 0) if bytes.len() >= 40 => Message::CountAnswer {
                tag,
                number: index,
                counts: Counts {
                    received: number(16..24),
                    served: number(24..32),
                    dropped_queue: number(32..40),
                },
            },
            _ => return None,
        };
        (message.header()[8..10] == bytes[8..10]).then_some(message)
    }

    #[test]
    fn a_packet_has_these_bytes() {
        let packet = Message::Packet { tag: Tag(0x0102_0304), index: 5, reply_wanted: false };
        let mut bytes = [0xd7, 1, 0x21, 1, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5];
        // The check, by the multiplication as one would write it.
        let product = ((0x0102_0304_u128 << 32) ^ (0x21 << 48) ^ 5) * 0x9e37_79b9_7f4a_7c15;
        bytes[8..10].copy_from_slice(&((product >> 48) as u16 ^ 0x5555).to_be_bytes());
        assert_eq!(packet.encode(), bytes);
    }

    #[test]
    fn every_single_flipped_bit_of_a_message_is_found() {
        let counts = Counts { received: 5, served: 4, dropped_queue: 1 };
        for (tag, number) in [(Tag(0), 0), (Tag(0x0102_0304), 77), (Tag(u32::MAX), NUMBERS)] {
            for message in [
                Message::Packet { tag, index: number, reply_wanted: true },
                Message::Packet { tag, index: number, reply_wanted: false },
                Message::Answered { tag, index: number },
                Message::CountQuery { tag, number },
                Message::CountAnswer { tag, number, counts },
            ] {
                let sent = message.encode();
                // The rest of a query is filler.
                let held =
                    if matches!(message, Message::CountQuery { .. }) { HEADER_BYTES } else { sent.len() };
                for bit in 0..8 * held {
                    let mut bytes = sent.clone();
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    assert!(decode(&bytes).is_err(), "bit {bit} of {message:?}");
                }
            }
        }
    }

    #[test]
    fn a_packet_is_marked_as_answered_once_and_other_bytes_never() {
        let packet = Message::Packet { tag: Tag(7), index: 9, reply_wanted: true };
        let mut bytes = packet.encode();
        bytes.extend(b"filler");
        mark_answered(&mut bytes);
        assert_eq!(decode(&bytes), Ok(Message::Answered { tag: Tag(7), index: 9 }));
        let silent = Message::Packet { tag: Tag(7), index: 9, reply_wanted: false };
        let query = Message::CountQuery { tag: Tag(7), number: 9 };
        for other in [bytes, silent.encode(), query.encode(), b"hello".to_vec(), vec![0; 64]] {
            let mut marked = other.clone();
            mark_answered(&mut marked);
            assert_eq!(marked, other);
        }
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
        fn a_message_with_one_flipped_bit_is_no_message_of_its_kind(message in message(), bit: u16) {
            let mut bytes = message.encode();
            let bit = usize::from(bit) % (8 * bytes.len());
            // The rest of a query is filler.
            if !matches!(message, Message::CountQuery { .. }) || bit < 8 * HEADER_BYTES {
                bytes[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(decode(&bytes).is_err());
            }
        }

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
