//! What is on the wire: heartbeats of 8 bytes, a request of 8, reports of 260.

/// Variables of a table.
pub const VARIABLES: usize = 64;
/// Length of a heartbeat and of a request.
pub const PACKET_BYTES: usize = 8;
/// Length of a report.
pub const REPORT_BYTES: usize = 260;
/// Asks for a report.
pub const REQUEST: [u8; PACKET_BYTES] = *b"AreyouOK";
/// Byte 4 of every heartbeat.
pub const MAGIC: u8 = 0xf1;
/// Seconds of a stamp wrap around after this many: 18 h 12 min 16 s.
pub const WRAP_S: u64 = 65_536;

/// One heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Which variable, below [`VARIABLES`].
    pub variable: u8,
    /// Who says so.
    pub from: u8,
    /// What it says.
    pub value: u8,
}

impl Heartbeat {
    /// As it is sent.
    pub fn encode(self) -> [u8; PACKET_BYTES] {
        let payload = [MAGIC, self.variable, self.from, self.value];
        let mut packet = [0; PACKET_BYTES];
        packet[..4].copy_from_slice(&adler32(&payload).to_be_bytes());
        packet[4..].copy_from_slice(&payload);
        packet
    }
}

/// One variable in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Low 16 bits of the aggregator's seconds when the heartbeat arrived.
    pub seconds: u16,
    /// Who sent it.
    pub from: u8,
    /// What it said.
    pub value: u8,
}

impl Entry {
    /// Whether it looks like a variable that nobody ever set.
    pub fn is_unset(self) -> bool {
        self == Self::default()
    }
}

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

/// Why bytes are no report.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReportError {
    /// Another length.
    #[error("it has {0} bytes instead of {REPORT_BYTES}")]
    Length(usize),
    /// Neither its checksum nor one that Dumpulse would send.
    #[error("its checksum is {found:08x}, of its entries it would be {right:08x}")]
    Checksum {
        /// What it says.
        found: u32,
        /// What its entries have.
        right: u32,
    },
}

/// Most often that Dumpulse misses the modulus in one report.
const MOST_MISSED: u16 = 112;

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReportError> {
        let (sum, table) = match bytes.split_first_chunk::<4>() {
            Some((sum, table)) if bytes.len() == REPORT_BYTES => (u32::from_be_bytes(*sum), table),
            _ => return Err(ReportError::Length(bytes.len())),
        };
        let right = adler32(table);
        let checksum = if sum == right {
            Checksum::Right
        } else {
            let upper = |sum: u32| (sum >> 16) as u16;
            let missing = upper(right).wrapping_sub(upper(sum));
            let missed = (1..=MOST_MISSED).find(|&missed| missed * 15 == missing);
            match missed {
                Some(missed) if sum & 0xffff == right & 0xffff => Checksum::Dumpulse { missed: missed as u8 },
                _ => return Err(ReportError::Checksum { found: sum, right }),
            }
        };
        let mut entries = [Entry::default(); VARIABLES];
        for (entry, bytes) in entries.iter_mut().zip(table.chunks_exact(4)) {
            let seconds = u16::from_be_bytes([bytes[0], bytes[1]]);
            *entry = Entry { seconds, from: bytes[2], value: bytes[3] };
        }
        Ok(Self { entries, checksum })
    }
}

/// Adler-32 (RFC 1950 §8.2).
pub fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in bytes {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report as bytes, its checksum changed by `wrong`.
    fn report(entries: &[(usize, [u8; 4])], wrong: impl Fn(u32) -> u32) -> Vec<u8> {
        let mut bytes = vec![0; REPORT_BYTES];
        for (variable, entry) in entries {
            bytes[4 + 4 * variable..][..4].copy_from_slice(entry);
        }
        let sum = wrong(adler32(&bytes[4..]));
        bytes[..4].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    #[test]
    fn heartbeats_are_the_published_vectors() {
        for (variable, from, value, bytes) in [
            (0, 0, 0, 0x03c8_00f2_f100_0000u64),
            (0, 76, 45, 0x048d_016b_f100_4c2d),
            (5, 6, 7, 0x03ea_0104_f105_0607),
            (62, 75, 83, 0x056b_01ce_f13e_4b53),
            (63, 255, 255, 0x0782_032f_f13f_ffff),
        ] {
            assert_eq!(Heartbeat { variable, from, value }.encode(), bytes.to_be_bytes());
        }
    }

    #[test]
    fn reports_are_the_published_vectors() {
        let [high, low] = 14543u16.to_be_bytes();
        let one = report(&[(0, [high, low, 76, 45])], |sum| sum);
        assert_eq!(one[..4], 0x7f21_0181u32.to_be_bytes());
        let two = report(&[(0, [high, low, 76, 45]), (1, [high, low + 7, 76, 46])], |sum| sum);
        assert_eq!(two[..4], 0xff18_0309u32.to_be_bytes());
        let read = Report::decode(&two).unwrap();
        assert_eq!(read.entries[1], Entry { seconds: 14550, from: 76, value: 46 });
        assert_eq!((read.checksum, read.entries[2].is_unset()), (Checksum::Right, true));
    }

    #[test]
    fn the_wrong_checksums_of_dumpulse_are_known_and_no_others() {
        let full: Vec<(usize, [u8; 4])> = (0..VARIABLES).map(|variable| (variable, [255; 4])).collect();
        for missed in 1..=MOST_MISSED {
            let off = |sum: u32| (sum >> 16).wrapping_sub(u32::from(missed) * 15) << 16 | (sum & 0xffff);
            let read = Report::decode(&report(&full, off)).unwrap();
            assert_eq!(read.checksum, Checksum::Dumpulse { missed: missed as u8 });
        }
        for wrong in [1, 0x1_0000, 14 << 16, 16 << 16, (113 * 15) << 16, (15 << 16) + 1] {
            let read = Report::decode(&report(&full, |sum| sum.wrapping_sub(wrong)));
            assert!(matches!(read, Err(ReportError::Checksum { .. })), "{wrong:x}");
        }
        for length in [0, 8, 259, 261] {
            assert_eq!(Report::decode(&vec![0; length]), Err(ReportError::Length(length)));
        }
    }
}
