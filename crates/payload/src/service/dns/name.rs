//! Names as they are on the wire.

use super::{HEADER_BYTES, LONGEST_LABEL, LONGEST_NAME, WrongQuestion};
use crate::service::{Unlike, u16_at};

/// Appends a name as it is on the wire; `\.` and `\046` are bytes of a label.
pub(super) fn write_name(name: &str, bytes: &mut Vec<u8>) -> Result<(), WrongQuestion> {
    let begun = bytes.len();
    let mut rest = name.bytes().peekable();
    if name != "." {
        while rest.peek().is_some() {
            let length_at = bytes.len();
            bytes.push(0);
            loop {
                match rest.next() {
                    None | Some(b'.') => break,
                    Some(b'\\') => {
                        bytes.push(escaped(&mut rest).ok_or_else(|| WrongQuestion::Escape(name.into()))?)
                    }
                    Some(byte) => bytes.push(byte),
                }
            }
            let length = bytes.len() - length_at - 1;
            if !(1..=LONGEST_LABEL).contains(&length) {
                return Err(WrongQuestion::Label(name.into()));
            }
            bytes[length_at] = length as u8;
        }
    }
    bytes.push(0);
    if name.is_empty() {
        return Err(WrongQuestion::Label(name.into()));
    }
    if bytes.len() - begun > LONGEST_NAME { Err(WrongQuestion::Name(name.into())) } else { Ok(()) }
}

/// What follows a backslash.
fn escaped(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
    let first = rest.next()?;
    match digit(first) {
        None => Some(first),
        Some(hundreds) => {
            let (tens, ones) = (digit(rest.next()?)?, digit(rest.next()?)?);
            u8::try_from(100 * hundreds + 10 * tens + ones).ok()
        }
    }
}

/// Where the name ends that begins there; its end may stand further ahead (RFC 1035 §4.1.4).
pub(super) fn behind_name(reply: &[u8], mut at: usize) -> Result<usize, Unlike> {
    loop {
        match *reply.get(at).ok_or(Unlike::Truncated)? {
            0 => return Ok(at + 1),
            label @ 1..=63 => at += 1 + usize::from(label),
            0xc0.. => {
                let ahead = usize::from(u16_at(reply, at).ok_or(Unlike::Truncated)? & 0x3fff);
                return if (HEADER_BYTES..at).contains(&ahead) { Ok(at + 2) } else { Err(Unlike::Changed) };
            }
            _ => return Err(Unlike::Changed),
        }
    }
}
