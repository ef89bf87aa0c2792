//! Anybody's own protocol: what is sent as its user describes it, and how what comes back is read.
//!
//! A payload is bytes with fields among them, or one of several payloads that have their turns. Where the payload has a tag
//! and the service brings it back, each reply is told from the others; else the replies of a stream are taken for those of
//! its requests in their order, which is right only while none is lost.

pub mod capture;
mod field;
mod reply;
mod words;

pub use capture::{Capture, CaptureError, Datagram};
pub use words::TemplateError;

use super::pattern::NEVER_TWICE;
use super::{Class, Protocol, ReplyMeaning, Request, Unlike, class};
use dropline_trial::replied::ClassMeaning::{Answered, Failed, Refused};
use field::{Field, Kind};
use reply::{Matching, Replies};
use std::fmt;

/// Its place in the table of protocols: what its replies mean is said with each.
pub const PROTOCOL: Protocol =
    Protocol { name: "your own protocol", scheme: "udp://", port: 0, classes: &CLASSES };

const CLASSES: [Class; 3] = [class("answered", Answered), class("refused", Refused), class("error", Failed)];

/// The longest payload of UDP over IPv4.
pub const LONGEST: usize = 65_507;

/// What is sent, and how replies are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// In turns; with fields, one alone.
    payloads: Vec<Vec<Piece>>,
    /// Where the tag stands in the payload.
    tag: Option<Field>,
    replies: Replies,
    /// In words, what a capture had that is not sent.
    left_out: String,
}

/// A part of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    Field(Field),
}

impl Piece {
    fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Field(field) => field.width,
        }
    }
}

impl Template {
    /// A payload in words, `hex:…` or `text:…`, and how replies are read, in words too.
    ///
    /// # Errors
    /// If either cannot be read, or a reply cannot be told as it says.
    pub fn read(payload: &str, reply: &str) -> Result<Self, TemplateError> {
        Self::of(vec![words::payload(payload)?], reply).map_err(|why| why.at_its_place(payload))
    }

    /// Whether a part of a payload in words can be read; what is about the whole payload is not asked.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_part(payload: &str) -> Result<(), TemplateError> {
        words::payload(payload).map(|_| ())
    }

    /// Payloads that are sent as they are, in turns.
    ///
    /// # Errors
    /// If there is none, one is empty or too long, or how replies are read cannot be.
    pub fn listed(payloads: Vec<Vec<u8>>, reply: &str) -> Result<Self, TemplateError> {
        Self::of(payloads.into_iter().map(|bytes| vec![Piece::Bytes(bytes)]).collect(), reply)
    }

    fn of(payloads: Vec<Vec<Piece>>, reply: &str) -> Result<Self, TemplateError> {
        let length = |pieces: &Vec<Piece>| pieces.iter().map(Piece::length).sum::<usize>();
        if payloads.is_empty() {
            return Err(TemplateError::Nothing);
        }
        if let Some(bytes) = payloads.iter().map(length).find(|length| !(1..=LONGEST).contains(length)) {
            return Err(TemplateError::Length(bytes));
        }
        if let Some((place, why)) = payloads.iter().find_map(|pieces| too_small(pieces, length(pieces))) {
            return Err(TemplateError::Field { place, why });
        }
        let tag = payloads[0].iter().find_map(|piece| match piece {
            Piece::Field(field) if field.kind == Kind::Tag => Some(*field),
            _ => None,
        });
        let replies = Replies::read(reply, tag)?;
        Ok(Self { payloads, tag, replies, left_out: String::new() })
    }

    /// The same, of a capture of which this is not sent.
    #[must_use]
    pub fn leaving_out(self, left_out: String) -> Self {
        Self { left_out, ..self }
    }

    /// Whether anything comes back.
    pub fn is_answered(&self) -> bool {
        self.replies.matching != Matching::Nothing
    }

    /// Whether it asks what a DNS server may ask others: that is held to the rules of `dns://`.
    pub(super) fn asks_dns(&self) -> bool {
        let is_query = |turn: u64| {
            let mut bytes = Vec::new();
            self.write(Request { number: 0, turn }, || 0, &mut bytes);
            super::dns::is_query(&bytes)
        };
        (0..self.payloads.len() as u64).any(is_query)
    }

    /// The same where queries of DNS do not wish that others are asked.
    pub(super) fn without_recursion(&self) -> Self {
        const WISH_AT: usize = 2;
        let mut clone = self.clone();
        for pieces in clone.payloads.iter_mut().filter(|_| self.asks_dns()) {
            let mut at = 0;
            for piece in pieces {
                let length = piece.length();
                if let Piece::Bytes(bytes) = piece
                    && let Some(byte) = WISH_AT.checked_sub(at).and_then(|within| bytes.get_mut(within))
                {
                    *byte &= !1;
                }
                at += length;
            }
        }
        clone
    }

    /// Whether requests carry how many were made before.
    pub(super) fn counts(&self) -> bool {
        self.counters().next().is_some()
    }

    /// Whether one of them has room for a number that is never used twice.
    pub(super) fn counts_for_ever(&self) -> bool {
        self.counters().any(|field| field.holds(NEVER_TWICE - 1))
    }

    fn counters(&self) -> impl Iterator<Item = &Field> {
        self.payloads[0].iter().filter_map(Piece::field).filter(|field| field.kind == Kind::Counter)
    }

    /// Whether no reply says to which request it is.
    pub fn is_in_order(&self) -> bool {
        self.replies.matching == Matching::Order
    }

    pub(super) fn token_bits(&self) -> u32 {
        match (self.replies.matching, self.tag) {
            (Matching::Tag { .. } | Matching::Echo { .. }, Some(tag)) => tag.bits(),
            _ => u64::BITS,
        }
    }

    pub(super) fn longest_request(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    pub(super) fn is_of_one_length(&self) -> bool {
        let longest = self.longest_request();
        self.lengths().all(|length| length == longest)
    }

    pub(super) fn longest_reply(&self) -> usize {
        match self.replies.matching {
            Matching::Echo { .. } => self.longest_request(),
            _ => self.replies.longest.min(LONGEST),
        }
    }

    pub(super) fn turns(&self) -> Option<u64> {
        Some(self.payloads.len() as u64).filter(|_| self.payloads.len() > 1)
    }

    /// Appends a request, which leaves at this time, in ns since 1970.
    pub(super) fn write(&self, request: Request, clock: fn() -> u64, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let pieces = &self.payloads[(request.turn % self.payloads.len() as u64) as usize];
        for piece in pieces {
            match piece {
                Piece::Bytes(fixed) => bytes.extend(fixed),
                Piece::Field(field) => field.write(request, clock, bytes),
            }
        }
        complete(pieces, &mut bytes[start..]);
    }

    pub(super) fn token(&self, reply: &[u8]) -> Option<u64> {
        let tag = self.tag?;
        match self.replies.matching {
            Matching::Tag { at } | Matching::Echo { at } => tag.read(reply.get(at..)?),
            Matching::Order | Matching::Nothing => None,
        }
    }

    /// What a datagram is that has the tag of no request: too short or too long to be a reply.
    pub(super) fn without_token(&self, reply: &[u8]) -> Option<Unlike> {
        match self.replies.matching {
            Matching::Echo { .. } if reply.len() < self.longest_request() => Some(Unlike::Truncated),
            _ => self.replies.without_tag(reply, self.tag),
        }
    }

    pub(super) fn judge(&self, request: Request, reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
        match self.replies.matching {
            Matching::Echo { .. } => self.judge_echo(request, reply),
            _ => self.replies.judge(reply).map(ReplyMeaning::Class),
        }
    }

    /// As it was sent, but for its time and what hangs on that.
    fn judge_echo(&self, request: Request, reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
        let mut sent = Vec::with_capacity(self.longest_request());
        self.write(request, || 0, &mut sent);
        match reply.len() {
            length if length < sent.len() => return Err(Unlike::Truncated),
            length if length > sent.len() => return Err(Unlike::Extended),
            _ => {}
        }
        // When it left is not remembered: its time is that of the reply, and its checksums follow.
        let fields = || self.payloads[0].iter().filter_map(Piece::field);
        if fields().any(|field| field.kind == Kind::Timestamp) {
            for field in fields() {
                let place = field.at..field.at + field.width;
                match field.kind {
                    Kind::Timestamp => sent[place.clone()].copy_from_slice(&reply[place]),
                    Kind::Checksum(_) => sent[place].fill(0),
                    _ => {}
                }
            }
            complete(&self.payloads[0], &mut sent);
        }
        if reply == sent { Ok(ReplyMeaning::Class(0)) } else { Err(Unlike::Changed) }
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        self.payloads.iter().map(|pieces| pieces.iter().map(Piece::length).sum())
    }
}

/// A length that does not stand in its field as it is, by the number of the field's piece.
fn too_small(pieces: &[Piece], length: usize) -> Option<(usize, String)> {
    pieces.iter().enumerate().find_map(|(place, piece)| {
        let field = piece.field()?;
        let Kind::Length { less } = field.kind else { return None };
        let why = match (length as u64).checked_sub(less.into()) {
            None => format!("the payload has {length} bytes, and {less} less than that cannot be a length"),
            Some(number) if !field.holds(number) => format!(
                "a length of {number} does not fit into these {} bytes: the payload has {length}; make the field longer",
                field.width
            ),
            Some(_) => return None,
        };
        Some((place, why))
    })
}

/// Writes what is about the whole payload: lengths first, so that checksums are of them too.
fn complete(pieces: &[Piece], payload: &mut [u8]) {
    let fields = || pieces.iter().filter_map(Piece::field);
    let (sums, others): (Vec<&Field>, Vec<&Field>) =
        fields().partition(|field| matches!(field.kind, Kind::Checksum(_)));
    others.into_iter().chain(sums).for_each(|field| field.complete(payload));
}

impl Piece {
    fn field(&self) -> Option<&Field> {
        match self {
            Self::Bytes(_) => None,
            Self::Field(field) => Some(field),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.payloads.len() {
            1 => write!(f, "requests of {} B", self.longest_request())?,
            count => write!(f, "{count} payloads in turns, of up to {} B", self.longest_request())?,
        }
        write!(f, "; {}", self.replies)?;
        if self.left_out.is_empty() {
            Ok(())
        } else {
            write!(f, "; not sent of the capture: {}", self.left_out)
        }
    }
}

#[cfg(test)]
mod tests;
