//! Doubts about a result: data that travels with it, never log lines.

use serde::Serialize;
use std::fmt;

/// Why a number may mislead. Its code is stable, its numbers are kept, its text says what to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Caveat {
    /// The generator fell behind: the trial says nothing about the target at this load.
    GeneratorLimited {
        /// Packets the load asked for.
        intended: u64,
        /// Packets that left.
        offered: u64,
    },
    /// Our own reply socket dropped replies: the target may have answered all.
    GeneratorLost {
        /// Replies dropped by our socket.
        dropped: u64,
    },
    /// More packets came back than were sent; the surplus is not counted as negative loss.
    MoreThanOffered {
        /// Packets that left.
        offered: u64,
        /// Packets that came back, further copies included.
        forwarded: u64,
    },
    /// The packets did not leave when they were due.
    ArrivalsNotKept {
        /// 99th percentile of how late they left, in ns.
        lateness_p99_ns: u64,
        /// Mean time between departures that was asked for, in ns.
        intended_idt_ns: u64,
    },
    /// Replies came too late for their send time to be known any more; they have no delay.
    DelayUnknown {
        /// How many.
        packets: u64,
    },
    /// Bytes that are not ours arrived at the reply socket.
    ForeignPackets {
        /// How many.
        packets: u64,
    },
    /// What a target's own program reported, or a record of an older version held.
    #[serde(untagged)]
    Reported {
        /// Stable name of the doubt.
        code: String,
        /// In words.
        text: String,
    },
}

impl Caveat {
    /// Stable name, as in the JSON field `code`.
    pub fn code(&self) -> &str {
        match self {
            Self::GeneratorLimited { .. } => "generator_limited",
            Self::GeneratorLost { .. } => "generator_lost",
            Self::MoreThanOffered { .. } => "more_than_offered",
            Self::ArrivalsNotKept { .. } => "arrivals_not_kept",
            Self::DelayUnknown { .. } => "delay_unknown",
            Self::ForeignPackets { .. } => "foreign_packets",
            Self::Reported { code, .. } => code,
        }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GeneratorLimited { intended, offered } => write!(
                f,
                "the generator offered {offered} of {intended} intended packets: lower the load, or free a \
                 CPU for it, before judging the target"
            ),
            Self::GeneratorLost { dropped } => write!(
                f,
                "our own reply socket dropped {dropped} replies: they are not counted as the target's loss"
            ),
            Self::MoreThanOffered { offered, forwarded } => write!(
                f,
                "{forwarded} packets came back of {offered} sent: something duplicates them, or foreign \
                 packets were counted"
            ),
            Self::ArrivalsNotKept { lateness_p99_ns, intended_idt_ns } => write!(
                f,
                "the arrivals were not as asked: one packet in 100 left {} us late or more, where packets \
                 are {} us apart",
                lateness_p99_ns / 1000,
                intended_idt_ns / 1000
            ),
            Self::DelayUnknown { packets } => {
                write!(f, "{packets} replies came so late that their delay is not known")
            }
            Self::ForeignPackets { packets } => {
                write!(f, "{packets} packets arrived that this trial did not send; they were ignored")
            }
            Self::Reported { text, .. } => f.write_str(text),
        }
    }
}
