//! Memcached's text protocol in UDP frames: eight bytes, then what would be said over TCP.

use super::parts::Part;
use super::pattern::{Pattern, PatternError};
use super::{Class, Protocol, ReplyMeaning, Request, Unlike, class, u16_at};
use dropline_trial::replied::ClassMeaning::{Answered, Failed};

/// Its place in the table of protocols.
pub const PROTOCOL: Protocol =
    Protocol { name: "memcached", scheme: "memcached://", port: 11_211, classes: &CLASSES };

const CLASSES: [Class; 5] = [
    class("hit", Answered),
    class("miss", Answered),
    class("stored", Answered),
    class("not_stored", Failed),
    class("error", Failed),
];

pub(super) const TOKEN_BITS: u32 = 16;

/// Request's number, number of this datagram, how many there are, reserved.
pub(super) const FRAME_BYTES: usize = 8;
const PART_AT: usize = 2;
const PARTS_AT: usize = 4;
/// The longest key that a server takes.
const LONGEST_KEY: usize = 250;
/// Of an answer, which has several where it is longer; memcached's own have 1 400.
pub const LONGEST_DATAGRAM: usize = 9_000;
/// A request is one datagram.
const LONGEST_VALUE: usize = 1_300;

/// Keys that are asked for in turns, or stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    keys: Pattern,
    /// Bytes of the value that is stored; `None` asks.
    value: Option<usize>,
}

/// Why there are no such requests.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum RequestError {
    /// The keys are not a pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// No server takes such keys.
    #[error(
        "a key of memcached has 1 to {LONGEST_KEY} printable characters without a space, and {0:?} would not be one"
    )]
    Key(String),
    /// It would not be one datagram.
    #[error("a value of {0} bytes does not fit in one datagram: it may have {LONGEST_VALUE}")]
    Value(usize),
}

impl Requests {
    /// Asks for the keys of a pattern.
    ///
    /// # Errors
    /// If a key would be none.
    pub fn get(keys: &str) -> Result<Self, RequestError> {
        let pattern: Pattern = keys.parse()?;
        let longest = pattern.longest();
        let is_key = (1..=LONGEST_KEY).contains(&longest) && keys.bytes().all(|byte| byte.is_ascii_graphic());
        if is_key { Ok(Self { keys: pattern, value: None }) } else { Err(RequestError::Key(keys.into())) }
    }

    /// Stores so many bytes under each key of a pattern.
    ///
    /// # Errors
    /// If a key would be none, or the value is too long.
    pub fn set(keys: &str, value: usize) -> Result<Self, RequestError> {
        match value {
            0..=LONGEST_VALUE => Ok(Self { value: Some(value), ..Self::get(keys)? }),
            _ => Err(RequestError::Value(value)),
        }
    }

    pub(super) fn turns(&self) -> Option<u64> {
        self.keys.turns()
    }

    pub(super) fn longest_request(&self) -> usize {
        let around = "set  0 0 1300\r\n\r\n".len();
        FRAME_BYTES + around + self.keys.longest() + self.value.unwrap_or(0)
    }

    pub(super) fn write(&self, Request { number, turn }: Request, bytes: &mut Vec<u8>) {
        bytes.extend((number as u16).to_be_bytes());
        bytes.extend([0, 0, 0, 1, 0, 0]);
        bytes.extend(if self.value.is_some() { b"set " } else { b"get " });
        self.keys.write(turn, bytes);
        if let Some(length) = self.value {
            bytes.extend(format!(" 0 0 {length}\r\n").bytes());
            bytes.extend(crate::filler(length).into_iter().map(|byte| b'a' + byte % 26));
        }
        bytes.extend(b"\r\n");
    }

    pub(super) fn judge(&self, request: Request, reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
        let said = reply.get(FRAME_BYTES..).ok_or(Unlike::Truncated)?;
        let number = u16_at(reply, PART_AT).ok_or(Unlike::Truncated)?;
        let of = u16_at(reply, PARTS_AT).ok_or(Unlike::Truncated)?;
        let part = |whole| ReplyMeaning::Part(Part { number, of, bytes: said.len(), whole });
        match number {
            _ if number >= of => return Err(Unlike::Changed),
            0 => {}
            _ if said.is_empty() => return Err(Unlike::Truncated),
            _ if number + 1 == of && !said.ends_with(b"\n") => return Err(Unlike::Changed),
            _ => return Ok(part(None)),
        }
        let (class, bytes) = self.whole(request, said)?;
        match said.len() {
            found if found > bytes => Err(Unlike::Extended),
            // Where more datagrams are announced, this one cannot be all of it.
            found if found == bytes && of > 1 => Err(Unlike::Changed),
            found if found < bytes && of == 1 => Err(Unlike::Truncated),
            found if found == bytes => {
                let ends = CLASSES[class].name != "hit" || said.ends_with(b"\r\nEND\r\n");
                if ends { Ok(ReplyMeaning::Class(class)) } else { Err(Unlike::Changed) }
            }
            _ => Ok(part(Some((class, bytes)))),
        }
    }

    /// The class of an answer that begins so, and how many bytes it has in all.
    fn whole(&self, request: Request, said: &[u8]) -> Result<(usize, usize), Unlike> {
        let end = said.windows(2).position(|two| two == b"\r\n").ok_or(Unlike::Truncated)?;
        let words: Vec<&[u8]> = said[..end].split(|&byte| byte == b' ').collect();
        let line = end + b"\r\n".len();
        match (words.as_slice(), self.value) {
            ([b"VALUE", key, _flags, length], None) => {
                let mut asked = Vec::with_capacity(self.keys.longest());
                self.keys.write(request.turn, &mut asked);
                let length = std::str::from_utf8(length).ok().and_then(|digits| digits.parse::<u32>().ok());
                match length {
                    Some(length) if *key == asked => Ok((0, line + length as usize + b"\r\nEND\r\n".len())),
                    _ => Err(Unlike::Changed),
                }
            }
            ([b"END"], None) => Ok((1, line)),
            ([b"STORED"], Some(_)) => Ok((2, line)),
            ([b"NOT_STORED"], Some(_)) => Ok((3, line)),
            ([b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR", ..], _) => Ok((4, line)),
            _ => Err(Unlike::Changed),
        }
    }
}

/// A reply's frame has the same number; a request that comes back begins with a command.
pub(super) fn token(reply: &[u8]) -> Option<u64> {
    let said = reply.get(FRAME_BYTES..)?;
    let is_request = said.starts_with(b"get ") || said.starts_with(b"set ");
    let is_first = u16_at(reply, PART_AT)? == 0;
    (!(is_first && is_request)).then(|| u16_at(reply, 0).map(u64::from))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(number: u16, part: u16, parts: u16, said: &str) -> Vec<u8> {
        let mut bytes = [number, part, parts, 0].map(u16::to_be_bytes).concat();
        bytes.extend(said.bytes());
        bytes
    }

    #[test]
    fn a_get_is_a_hit_or_a_miss_of_its_own_key() {
        let gets = Requests::get("key{0..9}").unwrap();
        let mut asked = Vec::new();
        gets.write(Request::of_one_stream(65_536 + 13), &mut asked);
        assert_eq!(asked, framed(13, 0, 1, "get key9\r\n"), "the tenth key's turn");
        let said = |text| gets.judge(Request::of_one_stream(65_536 + 13), &framed(13, 0, 1, text));
        assert_eq!(said("VALUE key9 0 2\r\nab\r\nEND\r\n"), Ok(ReplyMeaning::Class(0)));
        assert_eq!(said("VALUE key8 0 2\r\nab\r\nEND\r\n"), Err(Unlike::Changed));
        assert_eq!(said("END\r\n"), Ok(ReplyMeaning::Class(1)));
        assert_eq!(said("SERVER_ERROR out of memory\r\n"), Ok(ReplyMeaning::Class(4)));
        assert_eq!((said("STORED\r\n"), said("VALUE")), (Err(Unlike::Changed), Err(Unlike::Truncated)));
        assert_eq!(said("VALUE key9 0 2\r\nab\r\n"), Err(Unlike::Truncated), "its end is missing");
        assert_eq!(
            said("VALUE key9 0 300\r\nab\r\nEND\r\n"),
            Err(Unlike::Truncated),
            "bytes of the value are"
        );
        assert_eq!(said("VALUE key9 0 1\r\nab\r\nEND\r\n"), Err(Unlike::Extended));
        assert_eq!(said("VALUE key9 0 2\r\nab\r\nEND\rx"), Err(Unlike::Changed), "its end is not one");
        assert_eq!(said("VALUE key9 0 x\r\nab\r\nEND\r\n"), Err(Unlike::Changed));
        assert_eq!(said("END\r\nEND\r\n"), Err(Unlike::Extended));
    }

    #[test]
    fn further_datagrams_of_an_answer_are_parts_of_it() {
        let gets = Requests::get("k").unwrap();
        let of = |number, said: &str, whole| {
            Ok(ReplyMeaning::Part(Part { number, of: 3, bytes: said.len(), whole }))
        };
        let judge = |number, said| gets.judge(Request::of_one_stream(5), &framed(5, number, 3, said));
        assert_eq!(judge(1, "whatever"), of(1, "whatever", None));
        let first = "VALUE k 0 3000\r\nab";
        assert_eq!(judge(0, first), of(0, first, Some((0, 16 + 3_000 + 7))));
        assert_eq!(judge(2, "cd\r\nEND\r\n"), of(2, "cd\r\nEND\r\n", None));
        assert_eq!((judge(2, "cd"), judge(1, "")), (Err(Unlike::Changed), Err(Unlike::Truncated)));
        assert_eq!(
            judge(0, "VALUE k 0 2\r\nab\r\nEND\r\n"),
            Err(Unlike::Changed),
            "it is whole without the others"
        );
        assert_eq!(gets.judge(Request::of_one_stream(5), &framed(5, 3, 3, "whatever")), Err(Unlike::Changed));
    }

    #[test]
    fn a_set_carries_as_many_bytes_as_it_says() {
        let sets = Requests::set("k", 30).unwrap();
        let mut asked = Vec::new();
        sets.write(Request::of_one_stream(1), &mut asked);
        let text = String::from_utf8(asked[FRAME_BYTES..].to_vec()).unwrap();
        let (head, value) = text.split_once("\r\n").unwrap();
        assert_eq!((head, value.len()), ("set k 0 0 30", 32));
        assert_eq!(
            sets.judge(Request::of_one_stream(1), &framed(1, 0, 1, "STORED\r\n")),
            Ok(ReplyMeaning::Class(2))
        );
        assert_eq!(
            sets.judge(Request::of_one_stream(1), &framed(1, 0, 1, "NOT_STORED\r\n")),
            Ok(ReplyMeaning::Class(3))
        );
    }

    #[test]
    fn keys_and_values_that_no_server_takes_are_refused() {
        assert!(Requests::get("").is_err() && Requests::get("a b").is_err());
        assert!(Requests::get(&"k".repeat(251)).is_err() && Requests::set("k", 1_301).is_err());
    }
}
