//! Services with a protocol of their own: what they are asked, and what their replies say.
//!
//! Requests of a stream are numbered from a place that chance chose, and never twice. A request carries the low bits
//! of its number where its protocol brings them back ([`Service::token_bits`]); [`latest`] makes a number of them again.
//! A reply then is judged against that very request. Nothing here moves a packet or remembers one.

pub mod dns;
pub mod memcached;
pub mod ntp;
pub mod parts;
pub mod pattern;
pub mod permutation;
pub mod stamp;
pub mod stun;
pub mod template;

use dropline_trial::replied::ClassMeaning;

/// A protocol, with what is asked in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Names, in turns.
    Dns(dns::Questions),
    /// Keys, in turns.
    Memcached(memcached::Requests),
    /// What time is it?
    Ntp,
    /// Which address do you see?
    Stun,
    /// The session-sender of RFC 8762.
    Stamp,
    /// What its user describes.
    Own(template::Template),
}

/// Which request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Among those of its stream: its reply brings the low bits back.
    pub number: u64,
    /// Among those of all streams: it decides what is asked.
    pub turn: u64,
}

impl Request {
    /// Of one who asks on a single stream, from its first request on.
    pub fn of_one_stream(number: u64) -> Self {
        Self { number, turn: number }
    }
}

/// A protocol, as its users know it.
#[derive(Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Its name.
    pub name: &'static str,
    /// As a target begins.
    pub scheme: &'static str,
    /// Where such a service usually listens.
    pub port: u16,
    /// What its replies say, in the order of [`ReplyMeaning::Class`].
    pub classes: &'static [Class],
}

/// A kind of reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Class {
    /// As the protocol calls it.
    pub name: &'static str,
    /// What it means for who asked.
    pub meaning: ClassMeaning,
}

/// What a reply says to its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyMeaning {
    /// It answers; the place of its class in [`Protocol::classes`].
    Class(usize),
    /// It is one of several datagrams that answer together.
    Part(parts::Part),
}

/// Why a reply that carries the token of a request does not answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlike {
    /// It ends before it may.
    Truncated,
    /// It goes on behind its end, or is longer than was allowed.
    Extended,
    /// It speaks of something else, or is not what the protocol allows.
    Changed,
}

/// Where a service has an answer from: one that asks others sends on what it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nothing says that it asks others.
    #[default]
    Own,
    /// It says that it would ask others.
    OwnOrOthers,
    /// It does not answer for itself.
    Others,
}

const fn class(name: &'static str, meaning: ClassMeaning) -> Class {
    Class { name, meaning }
}

impl Service {
    /// What its users know of its protocol.
    pub fn protocol(&self) -> &'static Protocol {
        match self {
            Self::Dns(_) => &dns::PROTOCOL,
            Self::Memcached(_) => &memcached::PROTOCOL,
            Self::Ntp => &ntp::PROTOCOL,
            Self::Stun => &stun::PROTOCOL,
            Self::Stamp => &stamp::PROTOCOL,
            Self::Own(_) => &template::PROTOCOL,
        }
    }

    /// Low bits of a request's number that its reply brings back.
    pub fn token_bits(&self) -> u32 {
        match self {
            Self::Dns(_) => dns::TOKEN_BITS,
            Self::Memcached(_) => memcached::TOKEN_BITS,
            Self::Stamp => stamp::TOKEN_BITS,
            Self::Own(template) => template.token_bits(),
            Self::Ntp | Self::Stun => u64::BITS,
        }
    }

    /// Bytes of the longest request.
    pub fn longest_request(&self) -> usize {
        match self {
            Self::Dns(questions) => questions.longest_request(),
            Self::Memcached(requests) => requests.longest_request(),
            Self::Ntp => ntp::BYTES,
            Self::Stun => stun::HEADER_BYTES,
            Self::Stamp => stamp::BYTES,
            Self::Own(template) => template.longest_request(),
        }
    }

    /// Bytes of a request in the mean: of all turns, or of as many as tell it.
    pub fn mean_request(&self) -> f64 {
        const TOLD_BY: u64 = 1 << 16;
        if self.is_of_one_length() {
            return self.longest_request() as f64;
        }
        let turns = self.turns().unwrap_or(TOLD_BY).clamp(1, TOLD_BY);
        let mut bytes = Vec::new();
        let length = |turn| {
            bytes.clear();
            self.write(Request { number: 0, turn }, || 0, &mut bytes);
            bytes.len() as u64
        };
        (0..turns).map(length).sum::<u64>() as f64 / turns as f64
    }

    /// Whether it is sent what was recorded: its order is that of the recording, in each trial anew.
    pub fn is_recorded(&self) -> bool {
        matches!(self, Self::Own(template) if template.turns().is_some())
    }

    /// Whether every request has as many bytes as the longest.
    pub fn is_of_one_length(&self) -> bool {
        match self {
            Self::Dns(questions) => questions.is_of_one_length(),
            Self::Memcached(_) => false,
            Self::Ntp | Self::Stun | Self::Stamp => true,
            Self::Own(template) => template.is_of_one_length(),
        }
    }

    /// How many turns there are before the same is asked again; `None` where it never is, or there is one thing to ask.
    pub fn turns(&self) -> Option<u64> {
        match self {
            Self::Dns(questions) => questions.turns(),
            Self::Memcached(requests) => requests.turns(),
            Self::Own(template) => template.turns(),
            Self::Ntp | Self::Stun | Self::Stamp => None,
        }
    }

    /// Whether it is asked something else with each turn, however many there are: a number that is never used twice.
    pub fn never_repeats(&self) -> bool {
        match self {
            Self::Dns(questions) => questions.turns().is_none(),
            Self::Memcached(requests) => requests.turns().is_none(),
            Self::Own(template) => template.counts_for_ever(),
            Self::Ntp | Self::Stun | Self::Stamp => false,
        }
    }

    /// Whether what it is asked follows from the turn.
    pub fn has_turns(&self) -> bool {
        self.counts() || self.never_repeats() || self.turns().is_some_and(|turns| turns > 1)
    }

    /// Appends a request. Who states its time asks the clock, in ns since 1970.
    pub fn write(&self, request: Request, clock: fn() -> u64, bytes: &mut Vec<u8>) {
        match self {
            Self::Dns(questions) => questions.write(request, bytes),
            Self::Memcached(requests) => requests.write(request, bytes),
            Self::Ntp => bytes.extend(ntp::request(request.number)),
            Self::Stun => bytes.extend(stun::request(request.number)),
            Self::Stamp => bytes.extend(stamp::request(request.number)),
            Self::Own(template) => template.write(request, clock, bytes),
        }
    }

    /// The low bits of the number of the request that these bytes reply to; `None` if they reply to none of this protocol.
    pub fn token(&self, reply: &[u8]) -> Option<u64> {
        match self {
            Self::Dns(_) => dns::token(reply),
            Self::Memcached(_) => memcached::token(reply),
            Self::Ntp => ntp::token(reply),
            Self::Stun => stun::token(reply),
            Self::Stamp => stamp::token(reply),
            Self::Own(template) => template.token(reply),
        }
    }

    /// What a datagram is in which [`token`](Self::token) finds none: no reply carries an identifier where it has none. `None` where
    /// it has one that is not of ours.
    pub fn without_token(&self, reply: &[u8]) -> Option<Unlike> {
        let shortest = match self {
            Self::Dns(_) => dns::HEADER_BYTES,
            Self::Memcached(_) => memcached::FRAME_BYTES,
            Self::Ntp => ntp::BYTES,
            Self::Stun => stun::HEADER_BYTES,
            Self::Stamp => stamp::TWAMP_BYTES,
            Self::Own(template) => return template.without_token(reply),
        };
        match self.token(reply) {
            Some(_) => None,
            None if reply.len() < shortest => Some(Unlike::Truncated),
            // Not what a service sends: a request, or another protocol.
            None => Some(Unlike::Changed),
        }
    }

    /// What a reply says to the request whose token it carries.
    ///
    /// # Errors
    /// If it does not answer that request.
    pub fn judge(&self, request: Request, reply: &[u8]) -> Result<ReplyMeaning, Unlike> {
        match self {
            Self::Dns(questions) => questions.judge(request, reply),
            Self::Memcached(requests) => requests.judge(request, reply),
            Self::Ntp => ntp::judge(reply),
            Self::Stun => stun::judge(reply),
            Self::Stamp => stamp::judge(request.number, reply),
            Self::Own(template) => template.judge(request, reply),
        }
    }

    /// Bytes of the longest datagram that may answer.
    pub fn longest_reply(&self) -> usize {
        match self {
            Self::Dns(questions) => questions.longest_reply(),
            Self::Memcached(_) => memcached::LONGEST_DATAGRAM,
            Self::Ntp => ntp::BYTES,
            Self::Stun => stun::LONGEST_REPLY,
            Self::Stamp => stamp::BYTES,
            Self::Own(template) => template.longest_reply(),
        }
    }

    /// Whether the service may send on to others what it is asked, if it has not the answer itself.
    pub fn may_ask_others(&self) -> bool {
        match self {
            Self::Dns(questions) => questions.options().may_ask_others,
            Self::Own(template) => !template.asks_dns(),
            Self::Memcached(_) | Self::Ntp | Self::Stun | Self::Stamp => true,
        }
    }

    /// Whether anything comes back.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Self::Own(template) if !template.is_answered())
    }

    /// Whether requests carry how many were made before.
    pub fn counts(&self) -> bool {
        matches!(self, Self::Own(template) if template.counts())
    }

    /// Whether no reply says to which request it is: those of a stream are taken for its requests' in their order.
    pub fn is_in_order(&self) -> bool {
        matches!(self, Self::Own(template) if template.is_in_order())
    }

    /// The same requests with the wish that the service asks nobody else.
    #[must_use]
    pub fn without_recursion(&self) -> Self {
        match self {
            Self::Dns(questions) => Self::Dns(questions.without_recursion()),
            Self::Own(template) => Self::Own(template.without_recursion()),
            other => other.clone(),
        }
    }

    /// Where the service has its answer from, as far as the reply says.
    pub fn origin(&self, reply: &[u8]) -> Origin {
        match self {
            Self::Dns(questions) => questions.origin(reply),
            Self::Own(template) if template.asks_dns() => dns::origin(reply),
            Self::Memcached(_) | Self::Ntp | Self::Stun | Self::Stamp | Self::Own(_) => Origin::Own,
        }
    }
}

/// The latest number below `next` that ends in these `bits`; `None` if there is none.
pub fn latest(token: u64, bits: u32, next: u64) -> Option<u64> {
    let last = next.checked_sub(1)?;
    let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
    last.checked_sub(last.wrapping_sub(token) & mask)
}

/// Streams that are needed for no token to be in use twice: at `load_pps`, where a reply may take `seconds`.
pub fn streams_needed(bits: u32, load_pps: f64, seconds: f64) -> u64 {
    // Half of the tokens, so that an old reply is told from a new one.
    let apart = 2f64.powi(bits.cast_signed() - 1);
    (load_pps * seconds / apart).ceil().max(1.0) as u64
}

/// Numbers in network order, where there are enough bytes.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|eight| u64::from_be_bytes(*eight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> Vec<Service> {
        let names = "www.example.org A\nexample.org MX\n. NS\n";
        vec![
            Service::Dns(dns::Questions::read(names, dns::Options::default()).unwrap()),
            Service::Dns(dns::Questions::named("h{}.example.org", "AAAA", dns::Options::default()).unwrap()),
            Service::Memcached(memcached::Requests::get("key{0..99}").unwrap()),
            Service::Memcached(memcached::Requests::set("key{0..9}", 100).unwrap()),
            Service::Ntp,
            Service::Stun,
            Service::Stamp,
        ]
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic_and_none_answers_unless_it_carries_a_token(
            bytes in prop::collection::vec(any::<u8>(), 0..120), number: u64,
        ) {
            for service in all() {
                let _ = service.judge(Request::of_one_stream(number), &bytes);
                let token = service.token(&bytes);
                prop_assert!(token.is_none_or(|token| u64::BITS - token.leading_zeros() <= service.token_bits()));
            }
        }

        #[test]
        fn a_request_that_comes_back_as_it_was_is_no_reply(number in 0u64..1 << 48) {
            for service in all() {
                let mut bytes = Vec::new();
                service.write(Request::of_one_stream(number), || 0, &mut bytes);
                let (is, most) = (bytes.len(), service.longest_request());
                prop_assert!(is == most || is < most && !service.is_of_one_length(), "{:?}", service);
                prop_assert_eq!(service.token(&bytes), None, "{:?}", service.protocol().scheme);
            }
        }

        #[test]
        fn the_latest_number_with_a_token_is_the_one_that_a_search_finds(
            bits in 1u32..9, next in 0u64..2000, token: u64,
        ) {
            let mask = (1 << bits) - 1;
            let twin = (0..next).rev().find(|number| number & mask == token & mask);
            prop_assert_eq!(latest(token & mask, bits, next), twin);
        }
    }

    #[test]
    fn a_whole_number_as_a_token_is_itself_or_none() {
        assert_eq!(latest(7, 64, 8), Some(7));
        assert_eq!(latest(8, 64, 8), None);
        assert_eq!(latest(0, 16, 0), None);
    }

    #[test]
    fn so_many_streams_that_no_identifier_is_ambiguous() {
        assert_eq!(streams_needed(16, 600_000.0, 3.0), 55);
        assert_eq!(streams_needed(16, 1_000.0, 2.0), 1);
        assert_eq!(streams_needed(64, 1e9, 10.0), 1);
    }
}
