//! Ethernet frames of our own: what the kernel would have put before a payload.

use dropline_payload::HEADER_BYTES;
use std::net::{IpAddr, SocketAddr};

/// The interface that packets to a target leave by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Number of the interface.
    pub(crate) interface: u32,
    /// Where packets go next: the target, or a gateway.
    pub(crate) next_hop: IpAddr,
    /// Hardware address of the interface; `None` if it is not Ethernet.
    pub(crate) ethernet: Option<[u8; 6]>,
    /// Whether packets never leave this machine there.
    pub(crate) loopback: bool,
    /// Longest IP packet.
    pub(crate) mtu: u32,
    /// Name of the interface's queueing discipline.
    pub(crate) queue: String,
}

/// What stands before the payload of a frame; empty for packets that the kernel gives their headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Ethernet, IP and UDP headers.
    pub(crate) bytes: Vec<u8>,
    /// Where the UDP checksum stands in it.
    pub(crate) checksum_at: usize,
    /// Sum of all 16 bit words that the UDP checksum covers, but those of our own header.
    pub(crate) covered: u32,
}

impl Head {
    /// Headers of a UDP datagram from `source` to `target` between two hardware addresses, with `filler` behind
    /// our own header; `None` if the addresses are not of one family, or it would be too long.
    ///
    /// The IP header asks that nobody fragments the packet (RFC 791, RFC 768, RFC 8200).
    pub(crate) fn new(
        [ours, theirs]: [[u8; 6]; 2],
        source: SocketAddr,
        target: SocketAddr,
        filler: &[u8],
    ) -> Option<Self> {
        let mut bytes = Vec::with_capacity(62);
        bytes.extend_from_slice(&theirs);
        bytes.extend_from_slice(&ours);
        let length = u16::try_from(8 + HEADER_BYTES + filler.len()).ok()?;
        let addresses = match (source, target) {
            (SocketAddr::V4(source), SocketAddr::V4(target)) => {
                bytes.extend_from_slice(&[0x08, 0x00]);
                let mut ip = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 1, UDP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                ip[2..4].copy_from_slice(&length.checked_add(20)?.to_be_bytes());
                ip[12..16].copy_from_slice(&source.ip().octets());
                ip[16..20].copy_from_slice(&target.ip().octets());
                let checksum = !folded(sum(&ip));
                ip[10..12].copy_from_slice(&checksum.to_be_bytes());
                bytes.extend_from_slice(&ip);
                sum(&ip[12..])
            }
            (SocketAddr::V6(source), SocketAddr::V6(target)) => {
                bytes.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0]);
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.extend_from_slice(&[UDP, 1]);
                bytes.extend_from_slice(&source.ip().octets());
                bytes.extend_from_slice(&target.ip().octets());
                sum(&source.ip().octets()) + sum(&target.ip().octets())
            }
            _ => return None,
        };
        let mut udp = [0; 8];
        udp[..2].copy_from_slice(&source.port().to_be_bytes());
        udp[2..4].copy_from_slice(&target.port().to_be_bytes());
        udp[4..6].copy_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&udp);
        let covered = addresses + u32::from(UDP) + u32::from(length) + sum(&udp) + sum(filler);
        Some(Self { checksum_at: bytes.len() - 2, bytes, covered })
    }
}

#[cfg_attr(any(not(target_os = "linux"), feature = "portable"), allow(dead_code, reason = "no frames"))]
/// The UDP checksum of a packet whose other words add up to `covered` (RFC 768; 0 is sent as all ones).
pub(crate) fn checksum(covered: u32, header: &[u8; HEADER_BYTES]) -> u16 {
    match !folded(covered + sum(header)) {
        0 => 0xffff,
        checksum => checksum,
    }
}

/// Its number among IP's protocols.
const UDP: u8 = 17;

/// Sum of the 16 bit words; an odd byte at the end is the high half of one (RFC 1071).
fn sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)])))
        .sum()
}

/// The sum in ones' complement (RFC 1071).
fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg_attr(any(not(target_os = "linux"), feature = "portable"), allow(dead_code, reason = "nobody is asked"))]
/// Attributes of a routing message (rtnetlink(7)): kind and data, up to the first that is cut off.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let word = |at: usize| Some(u16::from_ne_bytes(rest.get(at..at + 2)?.try_into().ok()?));
        let (length, kind) = (usize::from(word(0)?), word(2)?);
        let data = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        // The two highest bits say how the data is to be read.
        Some((kind & 0x3fff, data))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(source: &str, target: &str, filler: &[u8]) -> Option<Head> {
        Head::new([[2; 6], [4; 6]], source.parse().unwrap(), target.parse().unwrap(), filler)
    }

    #[test]
    fn headers_are_those_of_the_rfcs() {
        let Head { bytes, checksum_at, covered } = head("10.0.0.1:1000", "10.0.0.2:2000", &[1]).unwrap();
        assert_eq!((bytes.len(), checksum_at), (42, 40));
        assert_eq!(&bytes[..14], [4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 8, 0]);
        assert_eq!(folded(sum(&bytes[14..34])), 0xffff, "an IP header adds up to all ones");
        assert_eq!(&bytes[34..40], [0x03, 0xe8, 0x07, 0xd0, 0, 25]);
        let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 25];
        assert_eq!(covered, sum(&pseudo) + sum(&bytes[34..42]) + 0x0100);
    }

    #[test]
    fn a_checksum_makes_everything_it_covers_add_up_to_all_ones() {
        let head = head("[fd00::1]:7", "[fd00::2]:9", &[0xab; 48]).unwrap();
        assert_eq!(head.bytes.len(), 62);
        let header = [0x5c; HEADER_BYTES];
        assert_eq!(folded(head.covered + sum(&header) + u32::from(checksum(head.covered, &header))), 0xffff);
        assert_eq!(checksum(0xffff, &[0; HEADER_BYTES]), 0xffff, "zero would mean that there is none");
    }

    #[test]
    fn addresses_of_two_families_have_no_headers() {
        assert_eq!(head("10.0.0.1:1", "[fd00::1]:1", &[]), None);
        assert_eq!(head("10.0.0.1:1", "10.0.0.2:1", &[0; 65_520]), None, "too long for a datagram");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let read: usize = attributes(&bytes).map(|(_, data)| data.len()).sum();
            prop_assert!(read <= bytes.len());
        }
    }
}
