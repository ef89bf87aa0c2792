//! What an aggregator can be told.

use crate::adler::adler32;
use crate::{PACKET_BYTES, REQUEST, VARIABLES};

/// Fifth byte of every heartbeat.
const MAGIC: u8 = 0xf1;

/// A packet that an aggregator acts upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeartbeatMessage {
    /// Store this; there is no answer.
    Heartbeat(Heartbeat),
    /// Answer with a report.
    Request,
}

impl HeartbeatMessage {
    /// What a whole datagram says, or why an aggregator ignores it.
    ///
    /// # Errors
    /// The first reason in the order length, magic, checksum, variable.
    pub fn decode(packet: &[u8]) -> Result<Self, Refusal> {
        let packet: &[u8; PACKET_BYTES] = packet.try_into().map_err(|_| Refusal::Length(packet.len()))?;
        if *packet == REQUEST {
            return Ok(Self::Request);
        }
        let [c0, c1, c2, c3, payload @ ..] = *packet;
        let [magic, variable, from, value] = payload;
        if magic != MAGIC {
            return Err(Refusal::Unknown);
        }
        if u32::from_be_bytes([c0, c1, c2, c3]) != adler32(&payload) {
            return Err(Refusal::Checksum);
        }
        if variable >= VARIABLES {
            return Err(Refusal::Variable(variable));
        }
        Ok(Self::Heartbeat(Heartbeat { variable, from, value }))
    }
}

/// A sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Which of the 64 variables it sets. 64 and more can be encoded; no aggregator stores them.
    pub variable: u8,
    /// Who sent it, as senders agreed.
    pub from: u8,
    /// What it says.
    pub value: u8,
}

impl Heartbeat {
    /// The packet: checksum, magic, payload.
    pub fn encode(self) -> [u8; PACKET_BYTES] {
        let payload = [MAGIC, self.variable, self.from, self.value];
        let [c0, c1, c2, c3] = adler32(&payload).to_be_bytes();
        let [p0, p1, p2, p3] = payload;
        [c0, c1, c2, c3, p0, p1, p2, p3]
    }
}

/// Why an aggregator ignores a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not 8 bytes long.
    #[error("{0} bytes are not 8")]
    Length(usize),
    /// Neither the magic of a heartbeat nor the words of a request.
    #[error("neither a heartbeat nor a request")]
    Unknown,
    /// A heartbeat that was damaged on its way, or never was one.
    #[error("the checksum is wrong")]
    Checksum,
    /// A whole heartbeat of a variable that there is not.
    #[error("variable {0} is above 63")]
    Variable(u8),
}
