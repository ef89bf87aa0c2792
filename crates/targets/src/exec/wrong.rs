//! Why an answer is none.

use super::fields::FieldError;
use std::ops::RangeInclusive;

/// Why a line is no answer to the question: each names the two things that contradict one another.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum WrongAnswer {
    /// It cannot be read.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// It is about another trial.
    #[error("\"trial\" is {answered}, and trial {asked} was asked for")]
    OtherTrial {
        /// As asked.
        asked: u64,
        /// As answered.
        answered: u64,
    },
    /// It is about another load.
    #[error(
        "\"intended\" is {intended}, and {load} for {duration_s} s {} packets: this answer is not for the load that was asked",
        words(allowed)
    )]
    OtherLoad {
        /// As answered.
        intended: u64,
        /// Load that was asked, in words.
        load: String,
        /// Duration that was asked.
        duration_s: f64,
        /// What may be intended.
        allowed: RangeInclusive<u64>,
    },
    /// Less than half, or more than twice the time.
    #[error("\"duration_s\" is {answered}, and {asked} s were asked for")]
    OtherDuration {
        /// As asked.
        asked: f64,
        /// As answered.
        answered: f64,
    },
    /// A part is larger than the whole.
    #[error("{larger} ({large}) is more than {smaller} ({small})")]
    More {
        /// What is larger and must not be.
        larger: &'static str,
        /// As answered.
        large: String,
        /// What it must not exceed.
        smaller: &'static str,
        /// As answered.
        small: String,
    },
    /// More than were sent.
    #[error(
        "\"forwarded\" is {forwarded}, and \"offered\" is {offered}: more came back than was sent; a packet that came \
         back twice counts once"
    )]
    MoreThanSent {
        /// As answered.
        forwarded: u64,
        /// As answered.
        offered: u64,
    },
    /// Packets that came back before they were sent.
    #[error(
        "by the end of slices[{slice}], \"forwarded\" is {forwarded} and \"offered\" {offered}: packets came back before they left"
    )]
    BeforeSent {
        /// From 0.
        slice: usize,
        /// Sum of the slices up to it.
        forwarded: u64,
        /// As above.
        offered: u64,
    },
    /// A packet that was on its way for longer than the trial.
    #[error(
        "a delay of {delay_s} s is in \"delay_ns_histogram\", and the trial took {within_s} s with its drain: no packet can have been on its way for so long"
    )]
    Delay {
        /// The longest, as answered.
        delay_s: f64,
        /// How long a packet can have been on its way.
        within_s: f64,
    },
    /// Packets out of nothing.
    #[error("\"forwarded\" is {0}, and \"offered\" is 0: packets came back and none was sent")]
    OutOfNothing(u64),
}

/// `is 1000`, or `is from 400 to 600`.
fn words(allowed: &RangeInclusive<u64>) -> String {
    match (allowed.start(), allowed.end()) {
        (least, most) if least == most => format!("is {least}"),
        (least, most) => format!("is {least} to {most}"),
    }
}
