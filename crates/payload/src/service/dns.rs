//! DNS over UDP (RFC 1035): questions in turns, and what replies say.

mod name;

use super::pattern::{Pattern, PatternError};
use super::{Class, Origin, Protocol, ReplyMeaning, Request, Unlike, class, u16_at};
use dropline_trial::replied::ClassMeaning::{Answered, Failed, Refused};
use name::{behind_name, write_name};
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

pub(super) const HEADER_BYTES: usize = 12;
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
const NO_SUCH_NAME: u16 = 3;
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

    /// Where the server has its answer from. No server has authority over what it is itself: there its offer alone counts.
    pub(super) fn origin(&self, reply: &[u8]) -> Origin {
        match origin(reply) {
            Origin::Others if self.asked == Self::of_itself().asked => match u16_at(reply, FLAGS_AT) {
                Some(flags) if flags & RECURSION_OFFERED != 0 => Origin::OwnOrOthers,
                _ => Origin::Own,
            },
            found => found,
        }
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
            Asked::Made { name, .. } => name.is_of_one_length() && name.longest() > 0,
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

    pub(super) fn judge(&self, request: Request, reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
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
            _ if reply.len() > self.longest_reply() => Err(Unlike::Extended),
            // One that says that it is cut may be so anywhere.
            Err(Unlike::Truncated) if class == TRUNCATED => Ok(ReplyMeaning::Class(class)),
            walked => walked.map(|()| ReplyMeaning::Class(class)),
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

/// A server that offers to ask others says so in every reply. One that does not say that it has authority has what it answers
/// from others; what it could not or would not answer is from nobody.
pub(super) fn origin(reply: &[u8]) -> Origin {
    let (Some(flags), Some(answers)) = (u16_at(reply, FLAGS_AT), u16_at(reply, RECORDS_AT[0])) else {
        return Origin::Own;
    };
    let offers = flags & RECURSION_OFFERED != 0;
    let is_answer =
        matches!(CLASSES.get(usize::from(flags & CODE)), Some(class) if class.meaning == Answered);
    // A referral has no answer and says that there is none here; that a name does not exist is said by who has its zone.
    let denies = flags & CODE == NO_SUCH_NAME;
    match flags & IS_AUTHORITY {
        0 if is_answer && (offers || answers > 0 || denies) => Origin::Others,
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

/// Whether these bytes begin as a query that a server may ask others: a standard one, with a question and without answers.
pub(super) fn is_query(bytes: &[u8]) -> bool {
    const OPERATION: u16 = 0x7800;
    let [flags, questions, answers] = [FLAGS_AT, FLAGS_AT + 2, RECORDS_AT[0]].map(|at| u16_at(bytes, at));
    let is_standard = flags.is_some_and(|flags| flags & (IS_REPLY | OPERATION) == 0);
    is_standard && questions == Some(1) && answers == Some(0) && bytes.len() >= HEADER_BYTES + 5
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

#[cfg(test)]
mod tests;
