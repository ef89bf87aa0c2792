//! What a datagram says to the trial that waits for it: of a target that echoes, and of a service with a protocol of its own.

use crate::packet::attribution::Whose;
use crate::packet::content::{Content, Difference};
use crate::send::requests::{Asked, Requests};
use crate::send::spread::Spread;
use dropline_payload::Verdict;
use dropline_payload::service::parts::Part;
use dropline_payload::service::{Origin, ReplyMeaning, Unlike};

/// How replies are read.
#[derive(Clone, Copy)]
pub(crate) enum Reading<'a> {
    /// They are the packets that were sent.
    Echo {
        whose: Whose,
        content: &'a Content,
        /// Which packet has which stream.
        spread: &'a Spread,
    },
    /// They answer requests.
    Service(Requests<'a>),
}

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// This packet's reply.
    Reply {
        index: u64,
        /// What it says, among the classes of the protocol; 0 of an echo.
        class: usize,
        /// Where a service has it from.
        origin: Origin,
    },
    /// One of several datagrams that answer a packet together.
    Part { index: u64, part: Part },
    /// A packet's reply that came to another stream, where replies are not compared.
    Astray { index: u64 },
    /// A reply that is not what it should be.
    Different {
        difference: Difference,
        /// To which packet, where that can be told.
        index: Option<u64>,
    },
    /// To a packet of an earlier trial.
    Late,
    /// From a service, and to none of its requests.
    Unasked,
    /// A target's counts, which nobody waits for.
    Counted,
    /// Nothing of this program.
    Foreign,
}

impl Reading<'_> {
    /// Whether nothing in a reply says whose it is.
    pub(crate) fn is_in_order(&self) -> bool {
        matches!(self, Self::Service(requests) if requests.service.is_in_order())
    }

    /// The next packet of the same stream, where nothing in a reply says whose it is.
    pub(crate) fn next_in_order(&self, index: u64) -> Option<u64> {
        match self {
            Self::Service(requests) if self.is_in_order() => requests.next_of_stream(index),
            _ => None,
        }
    }

    /// The packet whose reply would carry the same tag as this one's, where one left a turn of the tags before.
    pub(crate) fn turn_before(&self, index: u64) -> Option<u64> {
        match self {
            Self::Echo { .. } => None,
            Self::Service(requests) => requests.turn_before(index),
        }
    }

    /// What these bytes are, which came to this stream when its sender's packets below `sent_below` had left, and `heard`
    /// replies had come to the stream: which says whose it is where nothing else does.
    pub(crate) fn hear(&self, bytes: &[u8], stream: usize, sent_below: u64, heard: u64) -> Heard {
        match self {
            Self::Echo { whose, content, spread } => {
                hear_echo(whose.judge(bytes), bytes, content, sent_below, |index| {
                    spread.stream_of(index) != stream
                })
            }
            Self::Service(requests) => hear_service(requests, bytes, stream, sent_below, heard),
        }
    }
}

fn hear_echo(
    verdict: Verdict,
    bytes: &[u8],
    content: &Content,
    sent_below: u64,
    is_astray: impl Fn(u64) -> bool,
) -> Heard {
    let different = |difference, index| Heard::Different { difference, index };
    match verdict {
        Verdict::Ours { index } if index < sent_below => match content.difference(bytes) {
            Some(difference) => different(difference, Some(index)),
            None if !is_astray(index) => Heard::Reply { index, class: 0, origin: Origin::Own },
            None if content.compares() => different(Difference::Changed, Some(index)),
            None => Heard::Astray { index },
        },
        Verdict::Cut if content.compares() => different(Difference::Truncated, None),
        Verdict::Changed { index } if content.compares() => {
            different(Difference::Changed, index.filter(|&index| index < sent_below))
        }
        Verdict::Late => Heard::Late,
        Verdict::Counted { .. } => Heard::Counted,
        Verdict::Ours { .. } | Verdict::Cut | Verdict::Changed { .. } | Verdict::Foreign => Heard::Foreign,
    }
}

fn hear_service(requests: &Requests<'_>, bytes: &[u8], stream: usize, sent_below: u64, heard: u64) -> Heard {
    let service = requests.service;
    let asked = if service.is_in_order() {
        requests.in_order(heard, stream, sent_below)
    } else {
        let Some(token) = service.token(bytes) else {
            let none = |unlike: Unlike| Heard::Different { difference: unlike.into(), index: None };
            return service.without_token(bytes).map_or(Heard::Unasked, none);
        };
        requests.find(token, stream, sent_below)
    };
    match asked {
        Asked::Now { index, request } => match service.judge(request, bytes) {
            Ok(ReplyMeaning::Class(class)) => Heard::Reply { index, class, origin: service.origin(bytes) },
            Ok(ReplyMeaning::Part(part)) => Heard::Part { index, part },
            Err(unlike) => Heard::Different { difference: unlike.into(), index: Some(index) },
        },
        Asked::Before => Heard::Late,
        Asked::Never => Heard::Unasked,
    }
}

impl From<Unlike> for Difference {
    fn from(unlike: Unlike) -> Self {
        match unlike {
            Unlike::Truncated => Self::Truncated,
            Unlike::Extended => Self::Extended,
            Unlike::Changed => Self::Changed,
        }
    }
}
