//! NTP, version 4 (RFC 5905 §7.3): client's requests, and a server's replies.

use super::{Class, Protocol, ReplyMeaning, Unlike, class, u64_at};
use dropline_trial::replied::ClassMeaning::{Answered, Failed, Refused};

/// Its place in the table of protocols.
pub const PROTOCOL: Protocol = Protocol { name: "NTP", scheme: "ntp://", port: 123, classes: &CLASSES };

const CLASSES: [Class; 4] = [
    class("time", Answered),
    class("unsynchronised", Failed),
    class("rate", Refused),
    class("denied", Refused),
];

const TIME: usize = 0;

/// Bytes of a request, and of a reply without extensions.
pub const BYTES: usize = 48;

const VERSION: u8 = 4;
const CLIENT: u8 = 3;
const SERVER: u8 = 4;
const STRATUM_AT: usize = 1;
const IDENTIFIER_AT: usize = 12;
const ORIGIN_AT: usize = 24;
const TRANSMITTED_AT: usize = 40;
/// A server that has no time says so in the leap indicator, or by its stratum.
const UNKNOWN_LEAP: u8 = 3;
const UNSYNCHRONISED: u8 = 16;

/// A client's request. Servers send the time that it states back as it is, and so it can be any number.
pub(super) fn request(number: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[0] = VERSION << 3 | CLIENT;
    bytes[TRANSMITTED_AT..].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub(super) fn token(reply: &[u8]) -> Option<u64> {
    (reply.first()? & 7 == SERVER).then(|| u64_at(reply, ORIGIN_AT))?
}

pub(super) fn judge(reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
    match reply.len() {
        ..BYTES => return Err(Unlike::Truncated),
        BYTES => {}
        // Nothing was asked that has its answer behind the header.
        _ => return Err(Unlike::Extended),
    }
    let (leap, stratum) = (reply[0] >> 6, reply[STRATUM_AT]);
    // Stratum 0 is a kiss-o'-death (§7.4): its identifier says why.
    let class = match (stratum, &reply[IDENTIFIER_AT..][..4]) {
        (0, b"RATE") => 2,
        (0, b"DENY" | b"RSTR") => 3,
        (0 | UNSYNCHRONISED.., _) => 1,
        _ if leap == UNKNOWN_LEAP => 1,
        _ => TIME,
    };
    // A time that was never set is not one (RFC 5905 §8).
    let is_set = class != TIME || u64_at(reply, TRANSMITTED_AT) != Some(0);
    if is_set { Ok(ReplyMeaning::Class(class)) } else { Err(Unlike::Changed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(first: u8, stratum: u8, identifier: &[u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        (bytes[0], bytes[STRATUM_AT]) = (first, stratum);
        bytes[IDENTIFIER_AT..][..4].copy_from_slice(identifier);
        bytes[ORIGIN_AT..][..8].copy_from_slice(&0x0123_4567_89ab_cdef_u64.to_be_bytes());
        bytes[TRANSMITTED_AT] = 0xeb;
        bytes
    }

    fn name(reply: &[u8]) -> &'static str {
        let Ok(ReplyMeaning::Class(at)) = judge(reply) else { panic!("{:?}", judge(reply)) };
        CLASSES[at].name
    }

    #[test]
    fn a_server_says_the_time_or_that_it_has_none_or_that_one_asks_too_often() {
        assert_eq!(name(&reply(0x24, 10, b"\x7f\x7f\x01\x01")), "time");
        assert_eq!(name(&reply(0xe4, 0, b"INIT")), "unsynchronised");
        assert_eq!(name(&reply(0xe4, 3, b"\x0a\x00\x00\x01")), "unsynchronised");
        assert_eq!(name(&reply(0x24, 16, b"\0\0\0\0")), "unsynchronised");
        assert_eq!(name(&reply(0xe4, 0, b"RATE")), "rate");
        assert_eq!((name(&reply(0xe4, 0, b"DENY")), name(&reply(0xe4, 0, b"RSTR"))), ("denied", "denied"));
    }

    #[test]
    fn the_origin_of_a_reply_is_what_its_request_stated() {
        let asked = request(0x0123_4567_89ab_cdef);
        assert_eq!((asked[0], asked.len()), (0x23, 48));
        let bytes = reply(0x24, 1, b"GPS\0");
        assert_eq!(token(&bytes), u64_at(&asked, TRANSMITTED_AT));
        assert_eq!(token(&bytes[..31]), None);
        assert_eq!(judge(&bytes[..47]), Err(Unlike::Truncated));
        assert_eq!(judge(&[&bytes[..], &[0; 7]].concat()), Err(Unlike::Extended));
        let mut unset = bytes;
        unset[TRANSMITTED_AT..].fill(0);
        assert_eq!(judge(&unset), Err(Unlike::Changed), "it says no time");
    }
}
