//! What is on the wire: heartbeats of 8 bytes, a request of 8, reports of 260.

pub use dropline_heartbeat::{Entry, Heartbeat, PACKET_BYTES, REPORT_BYTES, REQUEST, ReportError};

/// Variables of a table.
pub const VARIABLES: usize = dropline_heartbeat::VARIABLES as usize;
/// Seconds of a stamp wrap around after this many: 18 h 12 min 16 s.
pub const WRAP_S: u64 = 65_536;

/// An entry as of a variable that nobody ever set.
pub const UNSET: Entry = Entry { seconds: 0, from: 0, value: 0 };

/// A report: the last heartbeat of every variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// By variable.
    pub entries: [Entry; VARIABLES],
    /// What its checksum says.
    pub checksum: Checksum,
}

/// What a report's checksum says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The Adler-32 of its entries.
    Right,
    /// What Dumpulse sends instead: it takes the modulus away at most once in 16 bytes, so the upper half
    /// is this many times 15 too small (modulo 2¹⁶). Of 65 536 upper halves 113 pass: 6.8 bits less.
    Dumpulse {
        /// How many times the modulus was not taken away, 1 to 112.
        missed: u8,
    },
}

impl Report {
    /// Reads a report; the wrong checksums of Dumpulse are accepted, and named.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReportError> {
        let (report, missed) = dropline_heartbeat::Report::decode_forgiving(bytes)?;
        let mut entries = [UNSET; VARIABLES];
        entries.iter_mut().zip(report.entries()).for_each(|(entry, read)| *entry = read);
        let checksum = if missed == 0 { Checksum::Right } else { Checksum::Dumpulse { missed } };
        Ok(Self { entries, checksum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_heartbeat::{HeartbeatOutcome, HeartbeatTable};

    /// What a table answers after 64 heartbeats of the largest numbers, its checksum changed.
    fn full(wrong: impl Fn(u32) -> u32) -> [u8; REPORT_BYTES] {
        let mut table = HeartbeatTable::new();
        for variable in 0..VARIABLES as u8 {
            table.handle(0xffff, &Heartbeat { variable, from: 255, value: 255 }.encode());
        }
        let HeartbeatOutcome::Report(&report) = table.handle(0, &REQUEST) else { panic!("no report") };
        let mut bytes = report;
        let (sum, _) = bytes.split_first_chunk_mut::<4>().unwrap();
        *sum = wrong(u32::from_be_bytes(*sum)).to_be_bytes();
        bytes
    }

    #[test]
    fn the_wrong_checksums_of_dumpulse_are_known_and_no_others() {
        assert_eq!(full(|sum| sum)[..4], 0x0800_ff01u32.to_be_bytes());
        for missed in 0..=112u8 {
            let off = |sum: u32| (sum >> 16).wrapping_sub(u32::from(missed) * 15) << 16 | (sum & 0xffff);
            let expected = if missed == 0 { Checksum::Right } else { Checksum::Dumpulse { missed } };
            assert_eq!(Report::decode(&full(off)).unwrap().checksum, expected);
        }
        for wrong in [1, 0x1_0000, 14 << 16, 16 << 16, (113 * 15) << 16, (15 << 16) + 1] {
            let read = Report::decode(&full(|sum| sum.wrapping_sub(wrong)));
            assert!(matches!(read, Err(ReportError::Checksum { .. })), "{wrong:x}");
        }
    }
}
