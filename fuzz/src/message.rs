//! Bytes that arrive at a socket.

use dropline_payload::message::decode;
use dropline_payload::{Message, QUERY_BYTES, Tags, Verdict};

/// A message that is read is the message that was sent, and a verdict follows from the tag alone.
pub fn check(bytes: &[u8]) {
    let tags = Tags::new(7, 1);
    let (first, number) = (3, 5);
    let verdict = Verdict::of(bytes, tags, first, number);
    let Ok(message) = decode(bytes) else {
        assert!(
            matches!(verdict, Verdict::Foreign | Verdict::Cut | Verdict::Changed { .. }),
            "{verdict:?} of bytes that say nothing"
        );
        return;
    };
    let sent = message.encode();
    assert_eq!(decode(&sent), Ok(message));
    assert!(sent.len() <= bytes.len(), "no message is longer than the datagram it was read from");
    assert_eq!(decode(&bytes[..bytes.len().min(QUERY_BYTES)]), Ok(message), "its beginning is enough");
    let (Message::Packet { tag, .. }
    | Message::Answered { tag, .. }
    | Message::CountQuery { tag, .. }
    | Message::CountAnswer { tag, .. }) = message;
    match (verdict, message) {
        (
            Verdict::Ours { index },
            Message::Packet { index: sent, reply_wanted: true, .. } | Message::Answered { index: sent, .. },
        )
        | (Verdict::Changed { index: Some(index) }, Message::Packet { index: sent, .. }) => {
            assert_eq!((index, tag), (sent, tags.of_trial(number)));
        }
        (Verdict::Late, Message::Packet { .. } | Message::Answered { .. }) => {
            assert!((first..number).any(|trial| tags.of_trial(trial) == tag));
        }
        (Verdict::Counted { .. }, Message::CountAnswer { .. }) => assert_eq!(tag, tags.of_trial(number)),
        (Verdict::Foreign, Message::CountQuery { .. }) => {}
        (Verdict::Foreign, Message::CountAnswer { .. }) => assert_ne!(tag, tags.of_trial(number)),
        (Verdict::Foreign, Message::Packet { .. } | Message::Answered { .. }) => {
            assert!((first..=number).all(|trial| tags.of_trial(trial) != tag));
        }
        (verdict, message) => panic!("{message:?} is {verdict:?}"),
    }
}
