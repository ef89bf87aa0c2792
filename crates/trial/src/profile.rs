//! What the packets of every trial of a search look like (RFC 9971: the Traffic Profile).

use crate::{Arrival, seed};
use std::time::Duration;

/// Everything about the traffic but load and duration; given to the measurer once.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficProfile {
    /// When packets leave.
    pub arrival: Arrival,
    /// How long they are.
    pub packet: Packet,
    /// What the load is divided over; at least one, the shares are relative.
    pub streams: Vec<Part>,
    /// Directions that the load is the sum of; at least one.
    pub directions: Vec<Part>,
    /// Wait after the last departure (RFC 2544 §23 d).
    pub drain: Drain,
    /// Chance of the whole search; each trial derives its own.
    pub seed: u64,
}

impl TrafficProfile {
    /// The seed of trial `number`, from 1.
    pub fn trial_seed(&self, number: u64) -> u64 {
        seed::of_trial(self.seed, number)
    }
}

impl Default for TrafficProfile {
    /// Constant arrivals, 64 bytes of payload, one stream in one direction, seed 7.
    fn default() -> Self {
        Self {
            arrival: Arrival::constant(),
            packet: Packet::of_payload(64).expect("64 bytes is legal"),
            streams: vec![Part::whole("1")],
            directions: vec![Part::whole("out")],
            drain: Drain::default(),
            seed: 7,
        }
    }
}

/// A named part of the load and its share of the sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// As the report shall call it.
    pub name: String,
    /// Relative to the other parts; above zero.
    pub share: u32,
}

impl Part {
    /// The only part.
    pub fn whole(name: &str) -> Self {
        Self { name: name.into(), share: 1 }
    }

    /// `count` equal parts named by their numbers.
    pub fn equal(count: u32) -> Vec<Self> {
        (1..=count.max(1)).map(|number| Self::whole(&number.to_string())).collect()
    }
}

/// A packet's length. Payload and frame are both recorded, whichever was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    payload: u32,
}

/// Why a length is none.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum PacketError {
    /// Too short to carry the tag that tells packets apart.
    #[error("a payload of {0} B cannot carry the {min} B tag that tells packets apart (frames: at least 62 B)", min = Packet::SHORTEST)]
    TooShort(u32),
    /// Longer than a UDP datagram over IPv4 can be.
    #[error("a payload of {0} B does not fit a UDP datagram (at most {max} B)", max = Packet::LONGEST)]
    TooLong(u32),
}

impl Packet {
    /// Shortest payload: the tag.
    pub const SHORTEST: u32 = 16;
    /// Longest payload of a UDP datagram over IPv4.
    pub const LONGEST: u32 = 65_507;
    /// UDP, IPv4 and Ethernet headers and the frame check sequence.
    pub const FRAME_OVERHEAD: u32 = 8 + 20 + 14 + 4;

    /// A packet with `bytes` of UDP payload.
    ///
    /// # Errors
    /// If it could not carry a tag or not be sent.
    pub fn of_payload(bytes: u32) -> Result<Self, PacketError> {
        match bytes {
            _ if bytes < Self::SHORTEST => Err(PacketError::TooShort(bytes)),
            _ if bytes > Self::LONGEST => Err(PacketError::TooLong(bytes)),
            payload => Ok(Self { payload }),
        }
    }

    /// A packet whose Ethernet frame over IPv4, FCS included, is `bytes` long (RFC 2544 §9).
    ///
    /// # Errors
    /// If its payload could not carry a tag or not be sent.
    pub fn of_frame(bytes: u32) -> Result<Self, PacketError> {
        Self::of_payload(bytes.saturating_sub(Self::FRAME_OVERHEAD))
    }

    /// UDP payload in bytes.
    pub fn payload_bytes(self) -> u32 {
        self.payload
    }

    /// Ethernet frame over IPv4 with FCS, in bytes.
    pub fn frame_bytes(self) -> u32 {
        self.payload + Self::FRAME_OVERHEAD
    }
}

/// The wait for packets that are still on their way after the last departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The longest wait.
    pub longest: Duration,
    /// End early after this time without a packet; `None` waits in full (RFC 2544 §23 d).
    pub quiet: Option<Duration>,
    /// Rest after the drain, before the next trial (RFC 2544 §23 e).
    pub rest: Duration,
}

impl Default for Drain {
    /// Until all are back, or 100 ms without a packet, 2 s at most.
    fn default() -> Self {
        Self {
            longest: Duration::from_secs(2),
            quiet: Some(Duration::from_millis(100)),
            rest: Duration::ZERO,
        }
    }
}

impl Drain {
    /// The waits of RFC 2544 §23: 2 s for the last packets, 5 s for the device to settle.
    pub fn rfc2544() -> Self {
        Self { longest: Duration::from_secs(2), quiet: None, rest: Duration::from_secs(5) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_frame_of_rfc_2544_carries_a_tag() {
        assert_eq!(Packet::of_frame(64).unwrap().payload_bytes(), 18);
        assert_eq!(Packet::of_frame(61), Err(PacketError::TooShort(15)));
        assert_eq!(Packet::of_payload(64).unwrap().frame_bytes(), 110);
    }
}
