//! The last sign of life of 64 variables, and a report of all of them.
//!
//! Owns the packets of the heartbeat protocol ([`HeartbeatMessage`], [`Heartbeat`], [`Report`]) and the safe face of the C
//! aggregator ([`HeartbeatTable`]). It never moves a packet, reads a clock or allocates: bytes and seconds are handed in.
//! Start reading at [`HeartbeatTable::handle`]; `c/heartbeat/SPEC.md` says what is on the wire.
#![no_std]

mod adler;
mod message;
mod report;
mod sys;
mod table;

pub use message::{Heartbeat, HeartbeatMessage, Refusal};
pub use report::{Entry, Report, ReportError};
pub use table::{Handled, HeartbeatOutcome, HeartbeatTable};

/// Bytes of a heartbeat and of a request.
pub const PACKET_BYTES: usize = 8;

/// Bytes of a report of all variables.
pub const REPORT_BYTES: usize = 4 + 4 * VARIABLES as usize;

/// Variables of a table: 0 to 63.
pub const VARIABLES: u8 = 64;

/// Asks for a report.
pub const REQUEST: [u8; PACKET_BYTES] = *b"AreyouOK";
