//! What a trial packet says: who sent it, in which trial, which packet it is.
//!
//! Owns the 16-byte header of every trial packet, the count query that asks a one-way target what it
//! received, and the verdict on a reply ([`Verdict`]). It never moves a packet and holds no state:
//! telling duplicates apart needs memory and is `traffic`'s. Start reading at [`message`].

pub mod message;
pub mod service;
pub mod tag;
pub mod verdict;

pub use message::{Counts, DecodeError, Message, mark_answered};
pub use tag::{Tag, Tags};
pub use verdict::Verdict;

/// Bytes of the header; the shortest trial packet is nothing else.
pub const HEADER_BYTES: usize = 16;

/// Bytes of a count query and of its answer: an answer is never longer than its query.
pub const QUERY_BYTES: usize = 40;

/// The bytes behind the header: `0, 1, 2, …` modulo 251, so that a shift by any power of two shows.
pub fn filler(bytes: usize) -> Vec<u8> {
    (0..=250).cycle().take(bytes).collect()
}
