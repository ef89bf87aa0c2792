//! How long a packet is.

/// A packet's length. Payload and frame are both recorded, whichever was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Of packets of several lengths the longest.
    payload: u32,
    /// Thousandths of a byte in the mean.
    mean_thousandths: u64,
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
    /// Neither one of them nor between two.
    #[error("payloads of up to {longest} B do not have {thousandths} thousandths of a byte in the mean")]
    Mean {
        /// Of the longest.
        longest: u32,
        /// As it was said.
        thousandths: u64,
    },
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
            payload => Ok(Self { payload, mean_thousandths: u64::from(payload) * 1000 }),
        }
    }

    /// Requests of a service, which carry no tag of ours: the longest payload, and the mean of all.
    ///
    /// # Errors
    /// If there is none, one could not be sent, or the mean is not one of such payloads.
    pub fn of_requests(longest: u32, mean: f64) -> Result<Self, PacketError> {
        if longest > Self::LONGEST {
            return Err(PacketError::TooLong(longest));
        }
        let thousandths = (mean * 1000.0).round() as u64;
        if !(1.0..=f64::from(longest)).contains(&mean) {
            return Err(PacketError::Mean { longest, thousandths });
        }
        Ok(Self { payload: longest, mean_thousandths: thousandths })
    }

    /// A packet whose Ethernet frame over IPv4, FCS included, is `bytes` long (RFC 2544 §9).
    ///
    /// # Errors
    /// If its payload could not carry a tag or not be sent.
    pub fn of_frame(bytes: u32) -> Result<Self, PacketError> {
        Self::of_payload(bytes.saturating_sub(Self::FRAME_OVERHEAD))
    }

    /// UDP payload in bytes, of packets of several lengths the longest.
    pub fn payload_bytes(self) -> u32 {
        self.payload
    }

    /// Ethernet frame over IPv4 with FCS, in bytes, of packets of several lengths the longest.
    pub fn frame_bytes(self) -> u32 {
        self.payload + Self::FRAME_OVERHEAD
    }

    /// The mean payload in bytes, where packets have several lengths.
    pub fn mean_payload_bytes(self) -> Option<f64> {
        let is_one = self.mean_thousandths == u64::from(self.payload) * 1000;
        (!is_one).then_some(self.mean_thousandths as f64 / 1000.0)
    }

    /// The mean frame in bytes: what bits a second are made of.
    pub fn mean_frame_bytes(self) -> f64 {
        self.mean_thousandths as f64 / 1000.0 + f64::from(Self::FRAME_OVERHEAD)
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

    #[test]
    fn requests_of_several_lengths_make_bits_of_their_mean_and_none_is_longer_than_it_is() {
        let six = Packet::of_requests(6, 6.0).unwrap();
        assert_eq!((six.frame_bytes(), six.mean_frame_bytes(), six.mean_payload_bytes()), (52, 52.0, None));
        let mixed = Packet::of_requests(1000, 505.0).unwrap();
        assert_eq!((mixed.payload_bytes(), mixed.mean_frame_bytes()), (1000, 551.0));
        assert_eq!(mixed.mean_payload_bytes(), Some(505.0));
        for (longest, mean) in [(0, 0.0), (6, 7.0), (6, f64::NAN), (70_000, 1.0)] {
            assert!(Packet::of_requests(longest, mean).is_err(), "{longest} {mean}");
        }
    }
}
