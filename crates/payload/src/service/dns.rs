//! DNS over UDP (RFC 1035): questions in turns, and what replies say.

use super::Meaning::{Answered, Failed, Refused};
use super::pattern::{Pattern, PatternError};
use super::{Class, Origin, Protocol, Request, Said, Unlike, class, u16_at};
use std::fmt;

/// Its place in the table of protocols.
pub const PROTOCOL: Protocol = Protocol { name: "DNS", scheme: "dns://", port: 53, classes: &CLASSES };

/// By response code (RFC 6895 §2.3); what is truncated is to be asked for over TCP, whatever its code.
const CLASSES: [Class; 8] = [
    class("noerror", Answered),
    class("formerr", Failed),
    class("servfail", Failed),
    class("nxdomain", Answered),
    class("notimp", Failed),
    class("refused", Refused),
    class("truncated", Refused),
    class("other", Failed),
];
const TRUNCATED: usize = 6;
const OTHER: usize = 7;

/// Low bits of a number that come back.
pub const TOKEN_BITS: u32 = 16;

const HEADER_BYTES: usize = 12;
const FLAGS_AT: usize = 2;
const QUESTIONS_AT: usize = 4;
/// Numbers of records: answers, authorities and what is added.
const RECORDS_AT: [usize; 3] = [6, 8, 10];
/// Flags (RFC 1035 §4.1.1).
const IS_REPLY: u16 = 0x8000;
const OPCODE: u16 = 0x7800;
const IS_TRUNCATED: u16 = 0x0200;
const RECURSION_WANTED: u16 = 0x0100;
const IS_AUTHORITY: u16 = 0x0400;
const RECURSION_OFFERED: u16 = 0x0080;
const CODE: u16 = 0x000f;
const INTERNET: u16 = 1;
/// Of a name on the wire, its last byte included, and of a label.
const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: usize = 63;
/// Bytes of an OPT record without options (RFC 6891 §6.1.2).
const OPT_BYTES: usize = 11;
/// Bytes of the longest reply without EDNS (RFC 1035 §4.2.1).
const LONGEST_REPLY: u16 = 512;

/// Types by name; any other is `TYPE` and a number (RFC 3597 §5).
const TYPES: [(&str, u16); 19] = [
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("PTR", 12),
    ("HINFO", 13),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", 28),
    ("SRV", 33),
    ("NAPTR", 35),
    ("DNAME", 39),
    ("DS", 43),
    ("DNSKEY", 48),
    ("TLSA", 52),
    ("SVCB", 64),
    ("HTTPS", 65),
    ("ANY", 255),
    ("CAA", 257),
];

/// How is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the server shall ask others.
    pub recursion: bool,
    /// Bytes of the longest reply that is taken (EDNS); `None` asks without EDNS.
    pub edns: Option<u16>,
    /// Whether signatures are wanted; they need EDNS.
    pub dnssec: bool,
    /// Whether who is asked may send questions on to others at all. Nothing on the wire says so.
    pub may_ask_others: bool,
}

impl Default for Options {
    /// Of the server alone.
    fn default() -> Self {
        Self { recursion: false, edns: None, dnssec: false, may_ask_others: false }
    }
}

/// What is asked, in turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Questions {
    asked: Asked,
    options: Options,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    /// Names, types and classes as they are on the wire, one behind the other.
    Listed { bytes: Vec<u8>, ends: Vec<usize> },
    /// Names that are made.
    Made { name: Pattern, type_and_class: [u8; 4] },
}

/// Why there are no questions.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum QuestionError {
    /// A line of a file.
    #[error("line {line}, column {column}: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong there.
        why: WrongQuestion,
    },
    /// Nothing is asked.
    #[error("there is no question: each line has a name and a type, such as  www.example.org A")]
    None,
    /// A pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Names that are made.
    #[error(transparent)]
    Made(#[from] WrongQuestion),
}

/// What is wrong with a question.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum WrongQuestion {
    /// A name alone.
    #[error("the type is missing: {0:?} is followed by one, such as A or AAAA")]
    NoType(String),
    /// Not a type.
    #[error("{0:?} is not a type of DNS: there are A, AAAA, MX, … and TYPE with a number")]
    Type(String),
    /// More than two words.
    #[error("{0:?} is one word too many: a line has a name and a type")]
    Surplus(String),
    /// A label that cannot be.
    #[error("a label has 1 to {LONGEST_LABEL} bytes, and one of {0:?} has not")]
    Label(String),
    /// Too long.
    #[error("a name has at most {LONGEST_NAME} bytes on the wire, and {0:?} has more")]
    Name(String),
    /// Bytes by number.
    #[error("{0:?} has a backslash that is not followed by a character or by three digits up to 255")]
    Escape(String),
}

impl Questions {
    /// The questions of a file as dnsperf reads it: a name and a type a line; `;` and `#` begin a comment.
    ///
    /// # Errors
    /// If a line is none of these, or there is none.
    pub fn read(text: &str, options: Options) -> Result<Self, QuestionError> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let at = |word: &str, why| QuestionError::Line {
                line: number + 1,
                column: line[..word.as_ptr().addr() - line.as_ptr().addr()].chars().count() + 1,
                why,
            };
            if line.trim_start().starts_with([';', '#']) {
                continue;
            }
            let mut words = line.split_whitespace();
            let Some(name) = words.next() else { continue };
            let kind = words.next().ok_or_else(|| at(name, WrongQuestion::NoType(name.into())))?;
            if let Some(surplus) = words.next().filter(|word| !word.starts_with([';', '#'])) {
                return Err(at(surplus, WrongQuestion::Surplus(surplus.into())));
            }
            write_name(name, &mut bytes).map_err(|why| at(name, why))?;
            bytes.extend(type_and_class(kind).map_err(|why| at(kind, why))?);
            ends.push(bytes.len());
        }
        if ends.is_empty() {
            return Err(QuestionError::None);
        }
        Ok(Self { asked: Asked::Listed { bytes, ends }, options })
    }

    /// Questions for the names of a pattern, all of one type.
    ///
    /// # Errors
    /// If that makes no names.
    pub fn named(pattern: &str, kind: &str, options: Options) -> Result<Self, QuestionError> {
        let name: Pattern = pattern.strip_suffix('.').unwrap_or(pattern).parse()?;
        let mut longest = pattern.to_owned();
        if let (Some(from), Some(to)) = (pattern.find('{'), pattern.find('}')) {
            let digits = name.longest() + (to - from + 1) - pattern.trim_end_matches('.').len();
            longest.replace_range(from..=to, &"9".repeat(digits));
        }
        if longest.contains('\\') {
            return Err(WrongQuestion::Escape(pattern.into()).into());
        }
        write_name(&longest, &mut Vec::new())?;
        Ok(Self { asked: Asked::Made { name, type_and_class: type_and_class(kind)? }, options })
    }

    /// What every server answers, if at all, by itself: which program it is (`version.bind`, of the class CHAOS).
    pub fn of_itself() -> Self {
        let bytes = b"\x07version\x04bind\0\0\x10\0\x03".to_vec();
        Self { asked: Asked::Listed { ends: vec![bytes.len()], bytes }, options: Options::default() }
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn turns(&self) -> Option<u64> {
        match &self.asked {
            Asked::Listed { ends, .. } => Some(ends.len() as u64),
            Asked::Made { name, .. } => name.turns(),
        }
    }

    pub(super) fn longest_request(&self) -> usize {
        let question = match &self.asked {
            Asked::Listed { ends, .. } => lengths(ends).max().unwrap_or(0),
            Asked::Made { name, .. } => name.longest() + 2 + 4,
        };
        HEADER_BYTES + question + self.options.edns.map_or(0, |_| OPT_BYTES)
    }

    pub(super) fn is_of_one_length(&self) -> bool {
        match &self.asked {
            Asked::Listed { ends, .. } => lengths(ends).min() == lengths(ends).max(),
            Asked::Made { name, .. } => name.is_plain() && name.longest() > 0,
        }
    }

    pub(super) fn write(&self, Request { number, turn }: Request, bytes: &mut Vec<u8>) {
        let Options { recursion, edns, dnssec, .. } = self.options;
        let flags = if recursion { RECURSION_WANTED } else { 0 };
        let more = u16::from(edns.is_some());
        bytes.extend([number as u16, flags, 1, 0, 0, more].map(u16::to_be_bytes).as_flattened());
        self.write_question(turn, bytes);
        if let Some(longest) = edns {
            // The root, OPT, the longest reply, nothing extended, the wish for signatures, no options.
            bytes.extend([0, 0, 41]);
            bytes.extend(longest.to_be_bytes());
            bytes.extend([0, 0, u8::from(dnssec) << 7, 0, 0, 0]);
        }
    }

    fn write_question(&self, turn: u64, bytes: &mut Vec<u8>) {
        match &self.asked {
            Asked::Listed { bytes: listed, ends } => {
                let at = (turn % ends.len() as u64) as usize;
                let from = at.checked_sub(1).map_or(0, |before| ends[before]);
                bytes.extend(&listed[from..ends[at]]);
            }
            Asked::Made { name, type_and_class } => {
                let from = bytes.len();
                bytes.push(0);
                name.write(turn, bytes);
                // Each dot becomes the length of what follows it; a name without labels has one byte in all.
                let mut length = 0;
                for at in (from + 1..bytes.len()).rev() {
                    if bytes[at] == b'.' {
                        bytes[at] = length;
                        length = 0;
                    } else {
                        length += 1;
                    }
                }
                bytes[from] = length;
                if length > 0 {
                    bytes.push(0);
                }
                bytes.extend(type_and_class);
            }
        }
    }

    pub(super) fn judge(&self, request: Request, reply: &[u8]) -> Result<Said, Unlike> {
        let (Some(flags), Some(questions)) = (u16_at(reply, FLAGS_AT), u16_at(reply, QUESTIONS_AT)) else {
            return Err(Unlike::Truncated);
        };
        if reply.len() < HEADER_BYTES {
            return Err(Unlike::Truncated);
        }
        if flags & OPCODE != 0 {
            return Err(Unlike::Changed);
        }
        let code = usize::from(flags & CODE);
        let class = match (flags & IS_TRUNCATED, code) {
            (IS_TRUNCATED, _) => TRUNCATED,
            (_, ..TRUNCATED) => code,
            _ => OTHER,
        };
        // A server that did not read the question need not repeat it.
        let may_lack_it = CLASSES[class].meaning != Answered;
        let behind = |from| match records(reply, from) {
            // One that says that it is cut may be so anywhere.
            Err(Unlike::Truncated) if class == TRUNCATED => Ok(Said::Class(class)),
            walked if reply.len() <= self.longest_reply() => walked.map(|()| Said::Class(class)),
            _ => Err(Unlike::Extended),
        };
        match questions {
            0 if may_lack_it => return behind(HEADER_BYTES),
            1 => {}
            _ => return Err(Unlike::Changed),
        }
        let mut asked = Vec::with_capacity(LONGEST_NAME + 4);
        self.write_question(request.turn, &mut asked);
        let said = reply.get(HEADER_BYTES..HEADER_BYTES + asked.len()).ok_or(Unlike::Truncated)?;
        let (asked_name, asked_type) = asked.split_at(asked.len() - 4);
        let (name, kind) = said.split_at(asked.len() - 4);
        // A label's length is no letter: names are alike whatever the case of theirs.
        let is_alike = name.eq_ignore_ascii_case(asked_name) && kind == asked_type;
        if is_alike { behind(HEADER_BYTES + asked.len()) } else { Err(Unlike::Changed) }
    }

    pub(super) fn longest_reply(&self) -> usize {
        self.options.edns.unwrap_or(LONGEST_REPLY).max(LONGEST_REPLY).into()
    }

    /// The same questions, asked so that the server is not to ask others.
    #[must_use]
    pub fn without_recursion(&self) -> Self {
        Self { asked: self.asked.clone(), options: Options { recursion: false, ..self.options } }
    }
}

/// Whether records, as many as the header says, are all that follows from there on.
fn records(reply: &[u8], from: usize) -> Result<(), Unlike> {
    let count: usize = RECORDS_AT.iter().map(|&at| u16_at(reply, at).map_or(0, usize::from)).sum();
    let mut at = from;
    for _ in 0..count {
        at = behind_name(reply, at)?;
        // Type, class and time to live stand before the length of what follows.
        let length = u16_at(reply, at + 8).ok_or(Unlike::Truncated)?;
        at += 10 + usize::from(length);
        if at > reply.len() {
            return Err(Unlike::Truncated);
        }
    }
    if at < reply.len() { Err(Unlike::Extended) } else { Ok(()) }
}

/// Where the name ends that begins there; its end may stand further ahead (RFC 1035 §4.1.4).
fn behind_name(reply: &[u8], mut at: usize) -> Result<usize, Unlike> {
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

/// A server that offers to ask others says so in every reply. One that does not say that it has authority has what it answers
/// from others; what it could not or would not answer is from nobody.
pub(super) fn origin(reply: &[u8]) -> Origin {
    let (Some(flags), Some(answers)) = (u16_at(reply, FLAGS_AT), u16_at(reply, RECORDS_AT[0])) else {
        return Origin::Own;
    };
    let offers = flags & RECURSION_OFFERED != 0;
    let is_answer =
        matches!(CLASSES.get(usize::from(flags & CODE)), Some(class) if class.meaning == Answered);
    match flags & IS_AUTHORITY {
        0 if is_answer && (offers || answers > 0) => Origin::Others,
        _ if offers => Origin::OwnOrOthers,
        _ => Origin::Own,
    }
}

impl fmt::Display for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.asked {
            Asked::Listed { ends, .. } if ends.len() == 1 => f.write_str("1 question"),
            Asked::Listed { ends, .. } => write!(f, "{} questions in turns", ends.len()),
            Asked::Made { name, .. } => match name.turns() {
                Some(1) => f.write_str("1 question"),
                Some(count) => write!(f, "{count} questions in turns"),
                None => f.write_str("names that are never asked for twice"),
            },
        }
    }
}

pub(super) fn token(reply: &[u8]) -> Option<u64> {
    (u16_at(reply, FLAGS_AT)? & IS_REPLY != 0).then(|| u16_at(reply, 0).map(u64::from))?
}

/// Bytes of each of the questions that end there.
fn lengths(ends: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let begins = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(begins).map(|(end, begin)| end - begin)
}

fn type_and_class(kind: &str) -> Result<[u8; 4], WrongQuestion> {
    let upper = kind.to_ascii_uppercase();
    let named = TYPES.iter().find(|(name, _)| *name == upper).map(|(_, number)| *number);
    let number = || upper.strip_prefix("TYPE")?.parse().ok();
    let number = named.or_else(number).ok_or_else(|| WrongQuestion::Type(kind.into()))?;
    let [[a, b], [c, d]] = [number, INTERNET].map(u16::to_be_bytes);
    Ok([a, b, c, d])
}

/// Appends a name as it is on the wire; `\.` and `\046` are bytes of a label.
fn write_name(name: &str, bytes: &mut Vec<u8>) -> Result<(), WrongQuestion> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn listed(text: &str) -> Questions {
        Questions::read(text, Options::default()).unwrap()
    }

    fn asked(questions: &Questions, number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        questions.write(Request::of_one_stream(number), &mut bytes);
        bytes
    }

    /// As a server answers it, with these flags beside the mark of a reply.
    fn answered(questions: &Questions, number: u64, flags: u16) -> Vec<u8> {
        let mut bytes = asked(questions, number);
        bytes[FLAGS_AT..][..2].copy_from_slice(&(IS_REPLY | flags).to_be_bytes());
        bytes
    }

    #[test]
    fn questions_have_their_turns_and_lines_their_comments() {
        let questions = listed("; first\nexample.org A\n\n# more\n.\tNS ; root\nWWW.example.org. type65\n");
        assert_eq!(questions.turns(), Some(3));
        let head = |number: u16| [number, 0, 1, 0, 0, 0].map(u16::to_be_bytes).concat();
        assert_eq!(asked(&questions, 3), [&head(3)[..], b"\x07example\x03org\0\0\x01\0\x01"].concat());
        assert_eq!(
            asked(&questions, 65_536 + 1),
            [&head(1)[..], b"\x03WWW\x07example\x03org\0\0\x41\0\x01"].concat()
        );
        assert_eq!(asked(&questions, 4), [&head(4)[..], b"\0\0\x02\0\x01"].concat());
    }

    #[test]
    fn names_that_are_made_are_on_the_wire_as_ones_that_are_listed() {
        for (pattern, number, name) in
            [("h{0..9}.a.org", 12, "h2.a.org"), ("{}.org.", 7, "7.org"), ("a.b", 0, "a.b"), (".", 0, ".")]
        {
            let made = Questions::named(pattern, "AAAA", Options::default()).unwrap();
            let twin = listed(&format!("{name} AAAA"));
            assert_eq!(asked(&made, number), asked(&twin, number), "{pattern}");
            assert!(asked(&made, number).len() <= made.longest_request());
        }
    }

    #[test]
    fn edns_says_the_longest_reply_and_the_wish_for_signatures() {
        let options = Options { recursion: true, edns: Some(1232), dnssec: true, ..Options::default() };
        let bytes = asked(&Questions::read("a. A", options).unwrap(), 1);
        assert_eq!(bytes[..12], [1u16, 0x0100, 1, 0, 0, 1].map(u16::to_be_bytes).concat());
        assert_eq!(bytes[bytes.len() - OPT_BYTES..], [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
    }

    #[test]
    fn a_reply_is_of_the_class_of_its_code_unless_it_is_truncated() {
        let questions = listed("example.org A");
        let name = |flags| match questions.judge(Request::of_one_stream(9), &answered(&questions, 9, flags)) {
            Ok(Said::Class(at)) => CLASSES[at].name,
            other => panic!("{other:?}"),
        };
        let codes = ["noerror", "formerr", "servfail", "nxdomain", "notimp", "refused", "other", "other"];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 9].map(name), codes);
        assert_eq!((name(0x0200), name(0x0205)), ("truncated", "truncated"));
    }

    #[test]
    fn a_reply_to_another_question_is_not_an_answer() {
        let (questions, other) = (listed("example.org A"), listed("example.net A"));
        assert_eq!(questions.judge(Request::of_one_stream(9), &answered(&other, 9, 0)), Err(Unlike::Changed));
        let (letters, types) = (listed("EXAMPLE.org A"), listed("example.org AAAA"));
        assert_eq!(
            questions.judge(Request::of_one_stream(9), &answered(&letters, 9, 0)),
            Ok(Said::Class(0)),
            "letters of another case"
        );
        assert_eq!(questions.judge(Request::of_one_stream(9), &answered(&types, 9, 0)), Err(Unlike::Changed));
        // One that states no question answers only where it says that it could not.
        let mut without = answered(&questions, 9, 5);
        without[QUESTIONS_AT + 1] = 0;
        assert_eq!(questions.judge(Request::of_one_stream(9), &without[..12]), Ok(Said::Class(5)));
        without[FLAGS_AT + 1] = 0;
        assert_eq!(questions.judge(Request::of_one_stream(9), &without[..12]), Err(Unlike::Changed));
        without[FLAGS_AT + 1] = 5;
        let followed = questions.judge(Request::of_one_stream(9), &without);
        assert_eq!(followed, Err(Unlike::Extended), "by what no number of its header speaks of");
        let whole = answered(&questions, 9, 0);
        assert_eq!(
            questions.judge(Request::of_one_stream(9), &whole[..whole.len() - 1]),
            Err(Unlike::Truncated)
        );
        assert_eq!(questions.judge(Request::of_one_stream(9), &whole[..11]), Err(Unlike::Truncated));
        assert_eq!(
            questions.judge(Request::of_one_stream(9), &answered(&questions, 9, 0x2800)),
            Err(Unlike::Changed),
            "an update"
        );
    }

    /// An answer with one record of four bytes, whose name stands ahead.
    fn with_record(questions: &Questions, flags: u16) -> Vec<u8> {
        let mut bytes = answered(questions, 9, flags);
        bytes[RECORDS_AT[0] + 1] = 1;
        bytes.extend(*b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01");
        bytes
    }

    #[test]
    fn a_reply_ends_where_its_records_end() {
        let questions = listed("example.org A");
        let judge = |bytes: &[u8]| questions.judge(Request::of_one_stream(9), bytes);
        let whole = with_record(&questions, 0);
        assert_eq!(judge(&whole), Ok(Said::Class(0)));
        for cut in 12..whole.len() {
            assert_eq!(judge(&whole[..cut]), Err(Unlike::Truncated), "{cut} bytes of it");
        }
        assert_eq!(judge(&[&whole[..], &[0]].concat()), Err(Unlike::Extended));
        let told = with_record(&questions, IS_TRUNCATED);
        assert_eq!(judge(&told[..told.len() - 3]), Ok(Said::Class(TRUNCATED)), "it says so itself");
        let mut in_itself = whole.clone();
        let name_at = answered(&questions, 9, 0).len();
        in_itself[name_at + 1] = name_at as u8;
        assert_eq!(judge(&in_itself), Err(Unlike::Changed), "a name that is behind itself");
        in_itself[name_at] = 0x80;
        assert_eq!(judge(&in_itself), Err(Unlike::Changed), "a label of no kind that there is");
    }

    #[test]
    fn a_reply_that_is_longer_than_was_allowed_is_not_an_answer() {
        let long = |options, length: usize| {
            let questions = Questions::read("example.org TXT", options).unwrap();
            let mut bytes = Vec::new();
            Questions::read("example.org TXT", Options::default())
                .unwrap()
                .write(Request::of_one_stream(9), &mut bytes);
            bytes[FLAGS_AT..][..2].copy_from_slice(&IS_REPLY.to_be_bytes());
            bytes[RECORDS_AT[0] + 1] = 1;
            let data = length - bytes.len() - 11;
            bytes.extend([0, 0, 16, 0, 1, 0, 0, 0, 60]);
            bytes.extend((data as u16).to_be_bytes());
            bytes.resize(length, 0);
            questions.judge(Request::of_one_stream(9), &bytes)
        };
        let with = |edns| Options { edns, ..Options::default() };
        assert_eq!(
            (long(with(None), 512), long(with(None), 513)),
            (Ok(Said::Class(0)), Err(Unlike::Extended))
        );
        assert_eq!(long(with(Some(1232)), 1232), Ok(Said::Class(0)));
        assert_eq!(long(with(Some(1232)), 1233), Err(Unlike::Extended));
    }

    #[test]
    fn a_server_that_asks_others_shows_it() {
        let questions = listed("example.org A");
        let of = |flags| origin(&with_record(&questions, flags));
        assert_eq!(
            (of(IS_AUTHORITY), of(IS_AUTHORITY | RECURSION_OFFERED)),
            (Origin::Own, Origin::OwnOrOthers)
        );
        assert_eq!((of(0), of(RECURSION_OFFERED)), (Origin::Others, Origin::Others));
        assert_eq!((of(5), of(RECURSION_OFFERED | 5)), (Origin::Own, Origin::OwnOrOthers), "refused");
        let referral = answered(&questions, 9, 0);
        assert_eq!(origin(&referral), Origin::Own, "it names who knows, and did not ask");
    }

    #[test]
    fn a_wrong_line_is_told_with_its_place() {
        let told = |text: &str| Questions::read(text, Options::default()).unwrap_err().to_string();
        assert!(
            told("a.org A\n  b.org\n").starts_with("line 2, column 3: the type is missing"),
            "{}",
            told("b")
        );
        assert!(told("b.org Q").starts_with("line 1, column 7: \"Q\" is not a type"));
        assert!(told("é.org A x").starts_with("line 1, column 9: \"x\" is one word too many"));
        assert!(told("a..b A").starts_with("line 1, column 1: a label"));
        assert!(told(&format!("{}.org A", "a".repeat(64))).contains("a label has 1 to 63 bytes"));
        assert!(told(&format!("{} A", "abc.".repeat(64))).contains("at most 255 bytes"));
        assert!(told("a\\25 A").contains("backslash") && told("a\\256 A").contains("backslash"));
        assert!(told("; nothing\n").contains("there is no question"));
    }

    #[test]
    fn a_name_has_any_byte_that_is_written_by_its_number() {
        let bytes = asked(&listed("a\\.b\\000.org A"), 0);
        assert_eq!(bytes[12..], *b"\x04a.b\0\x03org\0\0\x01\0\x01");
    }

    #[test]
    fn a_pattern_whose_longest_name_is_too_long_is_refused() {
        let label = "a".repeat(62);
        assert!(Questions::named(&format!("{label}{{0..9}}.org"), "A", Options::default()).is_ok());
        assert!(Questions::named(&format!("{label}{{0..10}}.org"), "A", Options::default()).is_err());
        assert!(Questions::named("a\\.b{}", "A", Options::default()).is_err());
        assert!(Questions::named("", "A", Options::default()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\n\t;é\\\\.{}]{0,80}", number: u64) {
            if let Ok(questions) = Questions::read(&text, Options::default()) {
                let reply = answered(&questions, number, 0);
                prop_assert_eq!(questions.judge(Request::of_one_stream(number), &reply), Ok(Said::Class(0)));
            }
            if let Ok(questions) = Questions::named(&text, "A", Options::default()) {
                let reply = answered(&questions, number, 0);
                prop_assert_eq!(questions.judge(Request::of_one_stream(number), &reply), Ok(Said::Class(0)));
                prop_assert!(reply.len() <= questions.longest_request());
            }
        }
    }
}
