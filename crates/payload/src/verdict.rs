//! What a datagram at the reply socket is to the trial that waits for it.

use crate::message::{Message, begins_one, decode, index_behind};
use crate::{Counts, HEADER_BYTES, Tag, Tags};

/// What a datagram is to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This trial's packet came back.
    Ours {
        /// Which packet; whether it was ever sent, and came back before, is for the receiver to say.
        index: u64,
    },
    /// This trial's packet came back, cut so short that nobody can tell which.
    Cut,
    /// This trial's packet came back with another header.
    Changed {
        /// Which packet, where that can still be told.
        index: Option<u64>,
    },
    /// A packet of an earlier trial of this program: that trial's loss, credited to none.
    Late,
    /// The target counted.
    Counted {
        /// Of the query.
        number: u64,
        /// What it saw of this trial.
        counts: Counts,
    },
    /// Not of this program, or damaged.
    Foreign,
}

impl Verdict {
    /// Judges `bytes` during trial `number` of a program whose first trial was `first`.
    pub fn of(bytes: &[u8], tags: Tags, first: u64, number: u64) -> Self {
        match Self::of_one(bytes, tags.of_trial(number)) {
            Self::Foreign => match decode(bytes) {
                Ok(Message::Packet { tag, .. } | Message::Answered { tag, .. })
                    if tags.age(tag, first, number).is_some() =>
                {
                    Self::Late
                }
                _ => Self::Foreign,
            },
            ours => ours,
        }
    }

    /// Judges `bytes` for whoever knows of one trial alone.
    pub fn of_one(bytes: &[u8], asked: Tag) -> Self {
        match decode(bytes) {
            Ok(Message::Packet { tag, index, reply_wanted }) if tag == asked => match reply_wanted {
                true => Self::Ours { index },
                false => Self::Changed { index: Some(index) },
            },
            Ok(Message::Answered { tag, index }) if tag == asked => Self::Ours { index },
            Ok(Message::CountAnswer { tag, number, counts }) if tag == asked => {
                Self::Counted { number, counts }
            }
            Ok(_) => Self::Foreign,
            Err(_) => match bytes.first_chunk::<HEADER_BYTES>() {
                None if begins_one(bytes, asked) => Self::Cut,
                None => Self::Foreign,
                Some(header) => match index_behind(header, asked) {
                    None if !begins_one(bytes, asked) => Self::Foreign,
                    index => Self::Changed { index },
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tag;
    use proptest::prelude::*;

    fn packet(tag: Tag, index: u64) -> Vec<u8> {
        Message::Packet { tag, index, reply_wanted: true }.encode()
    }

    #[test]
    fn a_packet_of_an_earlier_trial_is_late_and_never_ours() {
        let tags = Tags::new(7, 1);
        let verdict = |trial| Verdict::of(&packet(tags.of_trial(trial), 9), tags, 3, 5);
        assert_eq!(verdict(5), Verdict::Ours { index: 9 });
        assert_eq!((verdict(4), verdict(3)), (Verdict::Late, Verdict::Late));
        assert_eq!(verdict(2), Verdict::Foreign, "before this program began");
        assert_eq!(verdict(6), Verdict::Foreign, "not begun yet");
    }

    #[test]
    fn a_packet_of_another_program_is_foreign() {
        let bytes = packet(Tags::new(7, 2).of_trial(5), 9);
        assert_eq!(Verdict::of(&bytes, Tags::new(7, 1), 1, 5), Verdict::Foreign);
    }

    #[test]
    fn an_echoed_query_is_no_answer() {
        let tags = Tags::new(7, 1);
        let query = Message::CountQuery { tag: tags.of_trial(5), number: 1 }.encode();
        assert_eq!(Verdict::of(&query, tags, 1, 5), Verdict::Foreign);
    }

    #[test]
    fn a_packet_with_any_flipped_bit_is_changed_and_never_another_packet() {
        let tags = Tags::new(7, 1);
        for index in [0, 1, 77, 1 << 20, (1 << 48) - 1] {
            let mut answered = packet(tags.of_trial(5), index);
            crate::message::mark_answered(&mut answered);
            for sent in [packet(tags.of_trial(5), index), answered] {
                for bit in 0..8 * sent.len() {
                    let mut bytes = sent.clone();
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    // In the first half the second says which packet it was.
                    let known = (bit < 64).then_some(index);
                    let verdict = Verdict::of(&bytes, tags, 1, 5);
                    assert_eq!(verdict, Verdict::Changed { index: known }, "bit {bit} of {index}");
                }
            }
        }
    }

    #[test]
    fn a_packet_that_was_cut_within_its_header_is_cut_and_others_bytes_are_foreign() {
        let tags = Tags::new(7, 1);
        let sent = packet(tags.of_trial(5), 9);
        for length in 0..sent.len() {
            assert_eq!(Verdict::of(&sent[..length], tags, 1, 5), Verdict::Cut, "{length}");
        }
        assert_eq!(Verdict::of(b"what?", tags, 1, 5), Verdict::Foreign);
        assert_eq!(Verdict::of(&packet(tags.of_trial(6), 9)[..12], tags, 1, 5), Verdict::Foreign);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), number: u64) {
            Verdict::of(&bytes, Tags::new(1, 2), 1, number);
        }
    }
}
