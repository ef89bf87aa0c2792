//! STAMP, the simple two-way active measurement protocol (RFC 8762), unauthenticated; replies of TWAMP-Light too.

use super::{Class, Protocol, ReplyMeaning, Unlike, class, u32_at};
use dropline_trial::replied::ClassMeaning::Answered;
use std::time::Duration;

/// Its place in the table of protocols.
pub const PROTOCOL: Protocol = Protocol { name: "STAMP", scheme: "stamp://", port: 862, classes: &CLASSES };

const CLASSES: [Class; 2] = [class("stamp", Answered), class("twamp_light", Answered)];

pub(super) const TOKEN_BITS: u32 = 32;

/// Bytes of a session-sender's packet, and of a reflector's.
pub const BYTES: usize = 44;
/// Bytes of a reply of TWAMP-Light (RFC 5357 §4.2.1) without padding.
pub(super) const TWAMP_BYTES: usize = 41;
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

pub(super) fn judge(number: u64, reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
    let class = match reply.len() {
        ..TWAMP_BYTES => return Err(Unlike::Truncated),
        TWAMP_BYTES..BYTES => 1,
        BYTES => 0,
        // A reply is as long as what it answers (RFC 8762 §4.3).
        _ => return Err(Unlike::Extended),
    };
    // Number, time and estimate come back as they were.
    let asked = &request(number)[..ESTIMATE_AT + 2];
    if reply[SENDERS_NUMBER_AT..].starts_with(asked) {
        Ok(ReplyMeaning::Class(class))
    } else {
        Err(Unlike::Changed)
    }
}

/// How a session-reflector numbers its packets (RFC 8762 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflector {
    /// With the number of the packet that each answers.
    Stateless,
    /// Those of a session one after another: what was lost on the way there is told from what was lost on the way back.
    Stateful,
}

impl Reflector {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stateless, Self::Stateful];

    /// As it is named.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::Stateful => "stateful",
        }
    }

    /// What it does, in words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Stateless => "each answer has the number of what it answers",
            Self::Stateful => "the answers of a session are numbered one after another",
        }
    }
}

/// Whether a reflector answers these bytes: a session-sender's packet has zeroes where an answer has its times (§4.2.1). No
/// answer is one, so that no two reflectors answer one another, and none is shorter than its answer.
pub fn is_request(packet: &[u8]) -> bool {
    packet.get(RECEIVED_AT..BYTES).is_some_and(|rest| rest.iter().all(|byte| *byte == 0))
}

/// Makes the answer of a request, as long as it is: its number, where it has one of its own, and when the request came and the
/// answer leaves, since 1970. Times are in the format that the request has; what is behind its 44 bytes comes back as it was.
pub fn reflect(packet: &mut [u8], number: Option<u32>, came: Duration, leaves: Duration) {
    let Some((packet, _)) = packet.split_at_mut_checked(BYTES) else { return };
    let is_ptp = packet[ESTIMATE_AT] & PTP != 0;
    let (senders, senders_estimate) = packet.split_at(ESTIMATE_AT);
    let (senders, estimate): ([u8; ESTIMATE_AT], [u8; 2]) =
        (senders.try_into().expect("12 bytes"), senders_estimate[..2].try_into().expect("2 bytes"));
    let own_estimate = ERROR_ESTIMATE | if is_ptp { u16::from(PTP) << 8 } else { 0 };
    if let Some(number) = number {
        packet[..TIME_AT].copy_from_slice(&number.to_be_bytes());
    }
    packet[TIME_AT..ESTIMATE_AT].copy_from_slice(&time(leaves, is_ptp));
    packet[ESTIMATE_AT..][..2].copy_from_slice(&own_estimate.to_be_bytes());
    packet[RECEIVED_AT..SENDERS_NUMBER_AT].copy_from_slice(&time(came, is_ptp));
    packet[SENDERS_NUMBER_AT..SENDERS_ESTIMATE_AT].copy_from_slice(&senders);
    packet[SENDERS_ESTIMATE_AT..][..2].copy_from_slice(&estimate);
    packet[TTL_AT] = UNKNOWN_TTL;
}

/// In an answer: when its request came, and with which TTL.
const RECEIVED_AT: usize = 16;
const TTL_AT: usize = 40;
/// Nobody read it (RFC 5357 §4.2.1).
const UNKNOWN_TTL: u8 = 255;
/// Of an estimate's first byte: the time is that of PTP (RFC 8186), truncated.
const PTP: u8 = 0x40;
/// From NTP's first second to that of 1970.
const NTP_BEGAN_BEFORE: u64 = 2_208_988_800;

fn time(since_1970: Duration, is_ptp: bool) -> [u8; 8] {
    let (seconds, nanos) = (since_1970.as_secs(), u64::from(since_1970.subsec_nanos()));
    let (seconds, part) = match is_ptp {
        true => (seconds, nanos),
        false => (seconds + NTP_BEGAN_BEFORE, (nanos << 32) / 1_000_000_000),
    };
    ((seconds & 0xffff_ffff) << 32 | part).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_ours_answers_its_request_and_is_no_request_itself() {
        let (came, leaves) = (Duration::new(1, 500_000_000), Duration::new(2, 0));
        for (ptp, received) in [(0, 0x83aa_7e81_8000_0000_u64), (PTP, 0x0000_0001_1dcd_6500)] {
            let mut packet = [&request(7)[..], b"more"].concat();
            packet[ESTIMATE_AT] |= ptp;
            assert!(is_request(&packet));
            let asked = packet.clone();
            reflect(&mut packet, Some(99), came, leaves);
            assert_eq!(packet[..4], 99_u32.to_be_bytes());
            assert_eq!(packet[RECEIVED_AT..SENDERS_NUMBER_AT], received.to_be_bytes());
            assert_eq!(packet[SENDERS_NUMBER_AT..][..14], asked[..14]);
            assert_eq!(
                (packet[ESTIMATE_AT] & 0x80, packet[ESTIMATE_AT] & PTP),
                (0, ptp),
                "no clock is vouched for"
            );
            assert_eq!((packet.len(), &packet[BYTES..]), (asked.len(), &b"more"[..]));
            assert!(!is_request(&packet), "two reflectors would answer one another for ever");
        }
        let mut stateless = request(7);
        reflect(&mut stateless, None, came, leaves);
        assert_eq!(
            (stateless[..4] == 7_u32.to_be_bytes(), judge(7, &stateless)),
            (true, Ok(ReplyMeaning::Class(0)))
        );
        assert!(!is_request(&request(7)[..43]), "its answer would be longer");
    }

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
        assert_eq!(
            (token(&bytes), judge(0x12_3456_789a, &bytes)),
            (Some(0x3456_789a), Ok(ReplyMeaning::Class(0)))
        );
        assert_eq!(judge(0x13_3456_789a, &bytes), Err(Unlike::Changed), "of another time");
        let longer = [&bytes[..], &[0; 100]].concat();
        assert_eq!(judge(0x12_3456_789a, &longer), Err(Unlike::Extended));
    }

    #[test]
    fn a_shorter_reply_is_one_of_twamp_light_or_cut() {
        let bytes = reflected(7);
        assert_eq!(judge(7, &bytes[..41]), Ok(ReplyMeaning::Class(1)));
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
