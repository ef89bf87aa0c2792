//! STUN's binding request (RFC 8489): which address do you see?

use super::{Class, Protocol, ReplyMeaning, Unlike, class, u16_at, u32_at, u64_at};
use dropline_trial::replied::ClassMeaning::{Answered, Failed, Refused};

/// Its place in the table of protocols.
pub const PROTOCOL: Protocol = Protocol { name: "STUN", scheme: "stun://", port: 3478, classes: &CLASSES };

const CLASSES: [Class; 4] = [
    class("address", Answered),
    class("without_address", Failed),
    class("error", Failed),
    class("unauthenticated", Refused),
];

/// Bytes of the longest reply: one that is not cut in pieces anywhere (§6.1).
pub const LONGEST_REPLY: usize = 1_500;

/// Bytes of a header; a binding request is nothing else.
pub const HEADER_BYTES: usize = 20;

const BINDING: u16 = 1;
const SUCCESS: u16 = 0x0101;
const ERROR: u16 = 0x0111;
const COOKIE: u32 = 0x2112_a442;
/// The first third of every transaction of ours; the number is the rest.
const OURS: [u8; 4] = *b"drpl";
const NUMBER_AT: usize = 12;
/// Attributes (§14): an address, plain or mixed with the cookie, and why a request is refused.
const MAPPED_ADDRESS: u16 = 0x0001;
const ERROR_CODE: u16 = 0x0009;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const UNAUTHENTICATED: u16 = 401;

pub(super) fn request(number: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..2].copy_from_slice(&BINDING.to_be_bytes());
    bytes[4..8].copy_from_slice(&COOKIE.to_be_bytes());
    bytes[8..NUMBER_AT].copy_from_slice(&OURS);
    bytes[NUMBER_AT..].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub(super) fn token(reply: &[u8]) -> Option<u64> {
    let is_reply = matches!(u16_at(reply, 0)?, SUCCESS | ERROR);
    let is_ours = u32_at(reply, 4)? == COOKIE && reply.get(8..NUMBER_AT)? == OURS;
    (is_reply && is_ours).then(|| u64_at(reply, NUMBER_AT))?
}

pub(super) fn judge(reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
    let length = usize::from(u16_at(reply, 2).ok_or(Unlike::Truncated)?);
    let attributes = reply.get(HEADER_BYTES..).ok_or(Unlike::Truncated)?;
    match attributes.len() {
        found if found < length => return Err(Unlike::Truncated),
        found if found > length => return Err(Unlike::Extended),
        _ => {}
    }
    let is_error = u16_at(reply, 0) == Some(ERROR);
    let mut rest = attributes;
    while !rest.is_empty() {
        let kind = u16_at(rest, 0).ok_or(Unlike::Changed)?;
        let length = usize::from(u16_at(rest, 2).ok_or(Unlike::Changed)?);
        let value = rest.get(4..4 + length).ok_or(Unlike::Changed)?;
        match kind {
            MAPPED_ADDRESS | XOR_MAPPED_ADDRESS if !is_error && is_address(value) => {
                return Ok(ReplyMeaning::Class(0));
            }
            MAPPED_ADDRESS | XOR_MAPPED_ADDRESS if !is_error => return Err(Unlike::Changed),
            ERROR_CODE if is_error => {
                let code = value.get(2..4).ok_or(Unlike::Changed)?;
                let code = u16::from(code[0] & 7) * 100 + u16::from(code[1]);
                return Ok(ReplyMeaning::Class(if code == UNAUTHENTICATED { 3 } else { 2 }));
            }
            _ => {}
        }
        // Attributes begin at multiples of four bytes; the last one may lack what fills it up.
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(ReplyMeaning::Class(if is_error { 2 } else { 1 }))
}

/// Family, port and as many bytes as an address of it has (§14.1).
fn is_address(value: &[u8]) -> bool {
    matches!((value.get(1), value.len()), (Some(1), 8) | (Some(2), 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(kind: u16, attributes: &[u8]) -> Vec<u8> {
        let mut bytes = request(77).to_vec();
        bytes[..2].copy_from_slice(&kind.to_be_bytes());
        bytes[2..4].copy_from_slice(&(attributes.len() as u16).to_be_bytes());
        bytes.extend(attributes);
        bytes
    }

    const ADDRESS: [u8; 12] = [0, 0x20, 0, 8, 0, 1, 0x11, 0x12, 0x5e, 0x12, 0xa4, 0x43];
    const SOFTWARE: [u8; 8] = [0x80, 0x22, 0, 3, b'c', b't', b'n', 0];

    #[test]
    fn an_address_is_found_behind_other_attributes() {
        let bytes = reply(SUCCESS, &[&SOFTWARE[..], &ADDRESS].concat());
        assert_eq!((token(&bytes), judge(&bytes)), (Some(77), Ok(ReplyMeaning::Class(0))));
        assert_eq!(judge(&reply(SUCCESS, &SOFTWARE)), Ok(ReplyMeaning::Class(1)));
    }

    #[test]
    fn an_error_says_whether_a_name_is_wanted() {
        let code = |class: u8, number: u8| reply(ERROR, &[0, 9, 0, 4, 0, 0, class, number]);
        assert_eq!(judge(&code(4, 1)), Ok(ReplyMeaning::Class(3)));
        assert_eq!(judge(&code(4, 20)), Ok(ReplyMeaning::Class(2)));
        assert_eq!(judge(&reply(ERROR, &[])), Ok(ReplyMeaning::Class(2)));
        assert_eq!(judge(&reply(ERROR, &[0, 9, 0, 0])), Err(Unlike::Changed));
    }

    #[test]
    fn lengths_that_contradict_each_other_are_told() {
        let bytes = reply(SUCCESS, &ADDRESS);
        assert_eq!(judge(&bytes[..bytes.len() - 1]), Err(Unlike::Truncated));
        assert_eq!(judge(&[&bytes[..], &[0]].concat()), Err(Unlike::Extended));
        let mut other_family = bytes.clone();
        other_family[HEADER_BYTES + 5] = 2;
        assert_eq!(judge(&other_family), Err(Unlike::Changed), "an IPv6 address has 16 bytes");
        assert_eq!(judge(&reply(SUCCESS, &[0, 0x20, 0, 9, 0])), Err(Unlike::Changed));
    }

    #[test]
    fn another_programs_transaction_is_not_ours() {
        let mut bytes = reply(SUCCESS, &ADDRESS);
        bytes[9] ^= 1;
        assert_eq!(token(&bytes), None);
        assert_eq!(token(&request(77)), None);
    }
}
