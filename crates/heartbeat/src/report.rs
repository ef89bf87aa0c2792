//! What an aggregator answers, as a monitor reads it.

use crate::adler::{MODULUS, adler32};
use crate::{REPORT_BYTES, VARIABLES};

/// A report whose checksum was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    bytes: [u8; REPORT_BYTES],
}

impl Report {
    /// Reads a whole datagram.
    ///
    /// # Errors
    /// A wrong length or checksum. A checksum that an aggregator with too few reductions would send is told apart:
    /// [`decode_forgiving`](Self::decode_forgiving) accepts those.
    pub fn decode(datagram: &[u8]) -> Result<Self, ReportError> {
        match Self::decode_forgiving(datagram)? {
            (report, 0) => Ok(report),
            (_, missed) => Err(ReportError::ReductionsMissed(missed)),
        }
    }

    /// Reads a whole datagram, and accepts a checksum from which the modulus was taken away too seldom.
    ///
    /// The number says how many times; 0 is a right checksum. Accepting 1 to 112 costs 6.8 of its 32 bits, so whoever
    /// uses such a report says so.
    ///
    /// # Errors
    /// A wrong length, or a checksum that is wrong in any other way.
    pub fn decode_forgiving(datagram: &[u8]) -> Result<(Self, u8), ReportError> {
        let bytes: [u8; REPORT_BYTES] =
            datagram.try_into().map_err(|_| ReportError::Length(datagram.len()))?;
        let sent = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let right = adler32(&bytes[4..]);
        let missed = reductions_missed(sent, right).ok_or(ReportError::Checksum { sent, right })?;
        Ok((Self { bytes }, missed))
    }

    /// What it says of a variable; `None` above 63.
    pub fn entry(&self, variable: u8) -> Option<Entry> {
        if variable >= VARIABLES {
            return None;
        }
        let at = 4 + 4 * usize::from(variable);
        Some(Entry {
            seconds: u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]),
            from: self.bytes[at + 2],
            value: self.bytes[at + 3],
        })
    }

    /// All entries, by variable.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..VARIABLES).filter_map(|variable| self.entry(variable))
    }
}

/// How often the modulus was not taken away from the upper half, 0 to 112; each time is worth 15 in 16 bits.
fn reductions_missed(sent: u32, right: u32) -> Option<u8> {
    if (sent ^ right) & 0xffff != 0 {
        return None;
    }
    let short = (right >> 16).wrapping_sub(sent >> 16) & 0xffff;
    let each = (1 << 16) - MODULUS;
    (short.is_multiple_of(each) && short / each <= 112).then_some((short / each) as u8)
}

/// The last heartbeat of a variable. Never set, and set to 0 from 0 at second 0, look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it arrived: the low 16 bits of the aggregator's seconds.
    pub seconds: u16,
    /// Who sent it.
    pub from: u8,
    /// What it said.
    pub value: u8,
}

/// Why a datagram is not a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Not 260 bytes long.
    #[error("it has {0} bytes, and a report has 260")]
    Length(usize),
    /// Damaged, or not a report.
    #[error("the checksum {sent:08x} should be {right:08x}")]
    Checksum {
        /// As it arrived.
        sent: u32,
        /// Of the bytes that arrived.
        right: u32,
    },
    /// The entries may be right; the aggregator's sum is not Adler-32.
    #[error(
        "the checksum lacks {0} reductions modulo 65521: the code of this aggregator computes Adler-32 wrongly"
    )]
    ReductionsMissed(u8),
}
