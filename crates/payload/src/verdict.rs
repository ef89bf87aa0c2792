//! What a datagram at the reply socket is to the trial that waits for it.

use crate::message::{Message, decode};
use crate::{Counts, Tags};

/// What a datagram is to a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This trial's packet came back.
    Ours {
        /// Which packet; whether it was ever sent, and came back before, is for the receiver to say.
        index: u64,
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
        match decode(bytes) {
            Ok(Message::Packet { tag, index, .. }) => match tags.age(tag, first, number) {
                Some(0) => Self::Ours { index },
                Some(_) => Self::Late,
                None => Self::Foreign,
            },
            Ok(Message::CountAnswer { tag, number: query, counts }) if tag == tags.of_trial(number) => {
                Self::Counted { number: query, counts }
            }
            _ => Self::Foreign,
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

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), number: u64) {
            Verdict::of(&bytes, Tags::new(1, 2), 1, number);
        }
    }
}
