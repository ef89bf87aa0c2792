//! An aggregator: the C library's, handed packets and seconds.

use crate::{Entry, REPORT_BYTES, VARIABLES, sys};

/// The last heartbeat of each variable.
#[derive(Clone, Debug)]
pub struct HeartbeatTable(sys::Table);

impl HeartbeatTable {
    /// No variable was ever set.
    pub const fn new() -> Self {
        Self(sys::Table { report: [0; REPORT_BYTES] })
    }

    /// Handles one whole datagram that arrived at `now`, the low 16 bits of a clock of seconds.
    pub fn handle(&mut self, now: u16, packet: &[u8]) -> HeartbeatOutcome<'_> {
        match sys::handle(&mut self.0, now, packet) {
            sys::STORED => HeartbeatOutcome::Stored,
            sys::REPORT_READY => HeartbeatOutcome::Report(&self.0.report),
            _ => HeartbeatOutcome::Ignored,
        }
    }

    /// The same, but a report is copied, so that it may leave while heartbeats are stored.
    ///
    /// `reply` is written only if the answer is [`Handled::ReportReady`].
    pub fn handle_copy(&mut self, now: u16, packet: &[u8], reply: &mut [u8; REPORT_BYTES]) -> Handled {
        match sys::handle_copy(&mut self.0, now, packet, reply) {
            sys::STORED => Handled::Stored,
            sys::REPORT_READY => Handled::ReportReady,
            other => {
                debug_assert_eq!(other, sys::IGNORED);
                Handled::Ignored
            }
        }
    }

    /// What is stored of a variable; `None` above 63.
    pub fn entry(&self, variable: u8) -> Option<Entry> {
        if variable >= VARIABLES {
            return None;
        }
        let at = 4 + 4 * usize::from(variable);
        let bytes = &self.0.report[at..at + 4];
        Some(Entry { seconds: u16::from_be_bytes([bytes[0], bytes[1]]), from: bytes[2], value: bytes[3] })
    }
}

impl Default for HeartbeatTable {
    fn default() -> Self {
        Self::new()
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeartbeatOutcome<'a> {
    /// Nothing was changed; nothing is to be sent. [`HeartbeatMessage::decode`](crate::HeartbeatMessage::decode) says why.
    Ignored,
    /// A variable holds it now; nothing is to be sent.
    Stored,
    /// These bytes are to be sent to whoever asked.
    Report(&'a [u8; REPORT_BYTES]),
}

/// What became of a packet whose report, if any, was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// As [`HeartbeatOutcome::Ignored`].
    Ignored,
    /// As [`HeartbeatOutcome::Stored`].
    Stored,
    /// The reply is to be sent to whoever asked.
    ReportReady,
}
