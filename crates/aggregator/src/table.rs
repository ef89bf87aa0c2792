//! The aggregator with the server's clock: the C library keeps, this counts why it does not.

use super::wire::{Heartbeat, REPORT_BYTES, REQUEST};
use dropline_heartbeat::{HeartbeatMessage, HeartbeatOutcome, Refusal};

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

    fn of(packet: &[u8]) -> Self {
        match HeartbeatMessage::decode(packet) {
            Err(Refusal::Length(_)) => Self::WrongLength,
            Err(Refusal::Checksum) => Self::WrongChecksum,
            Err(Refusal::Variable(_)) => Self::NoSuchVariable,
            Err(Refusal::Unknown) | Ok(_) => Self::NotAHeartbeat,
        }
    }
}

/// The last heartbeat of every variable, as a report holds it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    table: dropline_heartbeat::HeartbeatTable,
}

impl Table {
    /// Keeps a packet that arrived at `now`, in seconds since 1970, if it is a heartbeat.
    ///
    /// The one entry that would look like a variable never set (second 0, from 0, value 0) is stamped a
    /// second later.
    ///
    /// # Errors
    /// Why it is none. A request is none either: [`report`](Self::report) answers it.
    pub fn keep(&mut self, now: u64, packet: &[u8]) -> Result<Heartbeat, Rejection> {
        let seconds = match (now as u16, packet) {
            (0, [.., 0, 0]) => 1,
            (seconds, _) => seconds,
        };
        match (self.table.handle(seconds, packet), packet) {
            (HeartbeatOutcome::Stored, &[.., variable, from, value]) => {
                Ok(Heartbeat { variable, from, value })
            }
            _ => Err(Rejection::of(packet)),
        }
    }

    /// The report, sealed with its checksum.
    pub fn report(&mut self) -> &[u8; REPORT_BYTES] {
        match self.table.handle(0, &REQUEST) {
            HeartbeatOutcome::Report(report) => report,
            HeartbeatOutcome::Ignored | HeartbeatOutcome::Stored => {
                unreachable!("a request is answered with a report")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Report, UNSET};

    #[test]
    fn a_packet_that_is_not_kept_says_why_by_length_then_magic_then_checksum_then_variable() {
        let mut table = Table::default();
        let good = Heartbeat { variable: 63, from: 1, value: 2 };
        assert_eq!(table.keep(9, &good.encode()), Ok(good));
        let mut rejected = |bytes: &[u8], why| assert_eq!(table.keep(9, bytes), Err(why), "{bytes:?}");
        rejected(&[], Rejection::WrongLength);
        rejected(&good.encode()[..7], Rejection::WrongLength);
        rejected(b"AreyouOK ", Rejection::WrongLength);
        rejected(b"AreyouOk", Rejection::NotAHeartbeat);
        rejected(&0x0488_0132_f140_0000u64.to_be_bytes(), Rejection::NoSuchVariable);
        rejected(&0x0488_0133_f140_0000u64.to_be_bytes(), Rejection::WrongChecksum);
        for bit in 0..64 {
            let flipped = u64::from_be_bytes(good.encode()) ^ 1 << bit;
            assert!(table.keep(9, &flipped.to_be_bytes()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn the_last_heartbeat_of_a_variable_is_reported_with_the_second_it_came() {
        let mut table = Table::default();
        assert_eq!(table.report()[..8], [1, 0, 0, 1, 0, 0, 0, 0], "the empty report");
        table.keep(65_536 * 9 + 7, &Heartbeat { variable: 3, from: 1, value: 1 }.encode()).unwrap();
        table.keep(65_536 * 9 + 8, &Heartbeat { variable: 3, from: 2, value: 5 }.encode()).unwrap();
        let report = Report::decode(table.report()).unwrap();
        assert_eq!((report.entries[3].seconds, report.entries[3].from, report.entries[3].value), (8, 2, 5));
        assert_eq!(report.entries.iter().filter(|entry| **entry == UNSET).count(), 63);
    }

    #[test]
    fn a_heartbeat_never_looks_like_a_variable_that_was_never_set() {
        let mut table = Table::default();
        table.keep(65_536, &Heartbeat { variable: 0, from: 0, value: 0 }.encode()).unwrap();
        table.keep(65_536, &Heartbeat { variable: 1, from: 0, value: 1 }.encode()).unwrap();
        let report = Report::decode(table.report()).unwrap();
        assert_eq!((report.entries[0].seconds, report.entries[1].seconds), (1, 0));
    }
}
