//! STAMP, the simple two-way active measurement protocol (RFC 8762), unauthenticated; replies of TWAMP-Light too.

use super::Meaning::Answered;
use super::{Class, Protocol, Said, Unlike, class, u32_at};

/// Its place in the table of protocols.
pub const PROTOCOL: Protocol = Protocol { name: "STAMP", scheme: "stamp://", port: 862, classes: &CLASSES };

const CLASSES: [Class; 2] = [class("stamp", Answered), class("twamp_light", Answered)];

pub(super) const TOKEN_BITS: u32 = 32;

/// Bytes of a session-sender's packet, and of a reflector's.
pub const BYTES: usize = 44;
/// Bytes of a reply of TWAMP-Light (RFC 5357 §4.2.1) without padding.
const TWAMP_BYTES: usize = 41;
/// NTP's format, not synchronised, an error that says nothing (§4.2.1 and RFC 4656 §4.1.2): the time is not a clock's.
const ERROR_ESTIMATE: u16 = 0x3f01;
const TIME_AT: usize = 4;
const ESTIMATE_AT: usize = 12;
/// In a reply: number, time and estimate of the packet that it answers.
const SENDERS_NUMBER_AT: usize = 24;
const SENDERS_ESTIMATE_AT: usize = 36;

/// A session-sender's packet: the number is its sequence number, and with the rest of its bits its time.
pub(super) fn request(number: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..TIME_AT].copy_from_slice(&(number as u32).to_be_bytes());
    bytes[TIME_AT..ESTIMATE_AT].copy_from_slice(&number.to_be_bytes());
    bytes[ESTIMATE_AT..][..2].copy_from_slice(&ERROR_ESTIMATE.to_be_bytes());
    bytes
}

pub(super) fn token(reply: &[u8]) -> Option<u64> {
    // A packet that is sent back as it was has zeroes there.
    let number = u32_at(reply, SENDERS_NUMBER_AT)?;
    let is_answer = u32_at(reply, TIME_AT + 4)? != 0
        && reply.get(SENDERS_ESTIMATE_AT..)?.starts_with(&ERROR_ESTIMATE.to_be_bytes());
    is_answer.then_some(number.into())
}

pub(super) fn judge(number: u64, reply: &[u8]) -> Result<Said, Unlike> {
    let class = match reply.len() {
        ..TWAMP_BYTES => return Err(Unlike::Truncated),
        TWAMP_BYTES..BYTES => 1,
        BYTES => 0,
        // A reply is as long as what it answers (RFC 8762 §4.3).
        _ => return Err(Unlike::Extended),
    };
    // Number, time and estimate come back as they were.
    let asked = &request(number)[..ESTIMATE_AT + 2];
    if reply[SENDERS_NUMBER_AT..].starts_with(asked) { Ok(Said::Class(class)) } else { Err(Unlike::Changed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reflected(number: u64) -> Vec<u8> {
        let asked = request(number);
        let mut bytes = vec![0; BYTES];
        bytes[..4].copy_from_slice(&9u32.to_be_bytes());
        bytes[TIME_AT..ESTIMATE_AT].copy_from_slice(&0xeb00_0000_1234_5678_u64.to_be_bytes());
        bytes[SENDERS_NUMBER_AT..][..14].copy_from_slice(&asked[..14]);
        bytes
    }

    #[test]
    fn a_reflector_that_numbers_by_itself_still_says_whose_packet_it_answers() {
        let bytes = reflected(0x12_3456_789a);
        assert_eq!((token(&bytes), judge(0x12_3456_789a, &bytes)), (Some(0x3456_789a), Ok(Said::Class(0))));
        assert_eq!(judge(0x13_3456_789a, &bytes), Err(Unlike::Changed), "of another time");
        let longer = [&bytes[..], &[0; 100]].concat();
        assert_eq!(judge(0x12_3456_789a, &longer), Err(Unlike::Extended));
    }

    #[test]
    fn a_shorter_reply_is_one_of_twamp_light_or_cut() {
        let bytes = reflected(7);
        assert_eq!(judge(7, &bytes[..41]), Ok(Said::Class(1)));
        assert_eq!(judge(7, &bytes[..40]), Err(Unlike::Truncated));
        assert_eq!(token(&bytes[..37]), None);
    }

    #[test]
    fn what_must_come_back_as_it_was_and_does_not_answers_nothing() {
        for at in 0..12 {
            let mut bytes = reflected(7);
            bytes[SENDERS_NUMBER_AT + at] ^= 1;
            assert_eq!(judge(7, &bytes), Err(Unlike::Changed), "byte {at}");
        }
        let mut bytes = reflected(7);
        bytes[SENDERS_ESTIMATE_AT] ^= 1;
        assert_eq!(token(&bytes), None, "another one's estimate");
    }
}
