//! The aggregator: packets in, the last heartbeat of every variable kept, reports out.

use super::wire::{Heartbeat, MAGIC, PACKET_BYTES, REPORT_BYTES, REQUEST, VARIABLES, adler32};

/// Why a packet is neither a heartbeat nor a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The variable is not one of the table's.
    NoSuchVariable,
    /// Neither begins like a heartbeat's payload nor is the request.
    NotAHeartbeat,
    /// The checksum is not that of its payload.
    WrongChecksum,
    /// Not 8 bytes long.
    WrongLength,
}

impl Rejection {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::WrongLength, Self::NotAHeartbeat, Self::WrongChecksum, Self::NoSuchVariable];

    /// As counts call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSuchVariable => "no_such_variable",
            Self::NotAHeartbeat => "not_a_heartbeat",
            Self::WrongChecksum => "wrong_checksum",
            Self::WrongLength => "wrong_length",
        }
    }
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// To be kept.
    Heartbeat(Heartbeat),
    /// To be dropped.
    Rejected(Rejection),
    /// To be answered with a report.
    Request,
}

impl Packet {
    /// Reads a packet of exactly these bytes.
    pub fn read(bytes: &[u8]) -> Self {
        let Ok(&packet) = <&[u8; PACKET_BYTES]>::try_from(bytes) else {
            return Self::Rejected(Rejection::WrongLength);
        };
        let [_, _, _, _, magic, variable, from, value] = packet;
        if packet == REQUEST {
            return Self::Request;
        }
        if magic != MAGIC {
            return Self::Rejected(Rejection::NotAHeartbeat);
        }
        let heartbeat = Heartbeat { variable, from, value };
        if heartbeat.encode() != packet {
            return Self::Rejected(Rejection::WrongChecksum);
        }
        if usize::from(variable) >= VARIABLES {
            return Self::Rejected(Rejection::NoSuchVariable);
        }
        Self::Heartbeat(heartbeat)
    }
}

/// The last heartbeat of every variable, as a report holds it.
#[derive(Clone, Debug)]
pub struct Table {
    report: [u8; REPORT_BYTES],
}

impl Default for Table {
    fn default() -> Self {
        Self { report: [0; REPORT_BYTES] }
    }
}

impl Table {
    /// Keeps a heartbeat that arrived at `now`, in seconds since 1970.
    ///
    /// The one entry that would look like a variable never set (second 0, from 0, value 0) is stamped a
    /// second later.
    pub fn keep(&mut self, heartbeat: Heartbeat, now: u64) {
        let Heartbeat { variable, from, value } = heartbeat;
        let seconds = match (now as u16, from, value) {
            (0, 0, 0) => 1,
            (seconds, _, _) => seconds,
        };
        let [high, low] = seconds.to_be_bytes();
        let at = 4 + 4 * usize::from(variable);
        self.report[at..at + 4].copy_from_slice(&[high, low, from, value]);
    }

    /// The report, sealed with its checksum.
    pub fn report(&mut self) -> &[u8; REPORT_BYTES] {
        let sum = adler32(&self.report[4..]);
        self.report[..4].copy_from_slice(&sum.to_be_bytes());
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat::wire::Report;

    #[test]
    fn a_packet_is_read_by_length_then_magic_then_checksum_then_variable() {
        let good = Heartbeat { variable: 63, from: 1, value: 2 };
        assert_eq!(Packet::read(&good.encode()), Packet::Heartbeat(good));
        assert_eq!(Packet::read(b"AreyouOK"), Packet::Request);
        let rejected =
            |bytes: &[u8], why| assert_eq!(Packet::read(bytes), Packet::Rejected(why), "{bytes:?}");
        rejected(&[], Rejection::WrongLength);
        rejected(&good.encode()[..7], Rejection::WrongLength);
        rejected(b"AreyouOK ", Rejection::WrongLength);
        rejected(b"AreyouOk", Rejection::NotAHeartbeat);
        rejected(&0x0488_0132_f140_0000u64.to_be_bytes(), Rejection::NoSuchVariable);
        for bit in 0..64 {
            let flipped = u64::from_be_bytes(good.encode()) ^ 1 << bit;
            assert!(matches!(Packet::read(&flipped.to_be_bytes()), Packet::Rejected(_)), "bit {bit}");
        }
    }

    #[test]
    fn the_last_heartbeat_of_a_variable_is_reported_with_the_second_it_came() {
        let mut table = Table::default();
        assert_eq!(table.report()[..8], [1, 0, 0, 1, 0, 0, 0, 0], "the empty report");
        table.keep(Heartbeat { variable: 3, from: 1, value: 1 }, 65_536 * 9 + 7);
        table.keep(Heartbeat { variable: 3, from: 2, value: 5 }, 65_536 * 9 + 8);
        let report = Report::decode(table.report()).unwrap();
        assert_eq!((report.entries[3].seconds, report.entries[3].from, report.entries[3].value), (8, 2, 5));
        assert_eq!(report.entries.iter().filter(|entry| entry.is_unset()).count(), 63);
    }

    #[test]
    fn a_heartbeat_never_looks_like_a_variable_that_was_never_set() {
        let mut table = Table::default();
        table.keep(Heartbeat { variable: 0, from: 0, value: 0 }, 65_536);
        table.keep(Heartbeat { variable: 1, from: 0, value: 1 }, 65_536);
        let report = Report::decode(table.report()).unwrap();
        assert_eq!((report.entries[0].seconds, report.entries[1].seconds), (1, 0));
    }
}
