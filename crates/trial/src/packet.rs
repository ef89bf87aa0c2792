//! How long a packet is.

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
