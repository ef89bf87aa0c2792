//! The bytes of a frame: Ethernet, IPv4, UDP, and the payload of every trial packet.

use dropline_payload::{HEADER_BYTES, Message, Tag, filler};
use dropline_trial::Packet;
use std::net::Ipv4Addr;

/// Where frames say that they come from: of the block for measurements of devices (RFC 2544, appendix C.2.2).
pub const SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Where they say that they go.
pub const DESTINATION: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// From a port that nobody has, to one whose service answers nothing (RFC 863).
const PORTS: [u16; 2] = [49_152, 9];

/// Bytes of the headers.
const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
/// Where what stands in a frame.
const PAYLOAD: usize = ETHERNET + IP + UDP;
const CHECKSUM: usize = ETHERNET + IP + 6;
/// Check and index, in the payload.
const WORD: usize = PAYLOAD + 8;

/// The longest frame, with its check sequence: what Ethernet carries without a VLAN.
pub const LONGEST: u32 = 1518;

/// A frame of one trial, but for the eight bytes that tell it from the others: in their place there are zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    bytes: Vec<u8>,
    /// Sum of the 16-bit words under the UDP checksum, as this machine reads them.
    base: u32,
}

impl Frame {
    /// From one hardware address to another.
    pub fn new(from: [u8; 6], to: [u8; 6], packet: Packet, tag: Tag) -> Self {
        let payload = packet.payload_bytes() as usize;
        let mut bytes = Vec::with_capacity(PAYLOAD + payload);
        bytes.extend_from_slice(&to);
        bytes.extend_from_slice(&from);
        bytes.extend_from_slice(&[0x08, 0x00]);
        let length = |bytes: usize| (bytes as u16).to_be_bytes();
        // Version and header length; whole length; no identity, not to be cut; 64 hops; UDP; checksum.
        bytes.extend_from_slice(&[0x45, 0]);
        bytes.extend_from_slice(&length(IP + UDP + payload));
        bytes.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0]);
        bytes.extend_from_slice(&SOURCE.octets());
        bytes.extend_from_slice(&DESTINATION.octets());
        let header = checksum(sum(&bytes[ETHERNET..]));
        bytes[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&header.to_ne_bytes());
        bytes.extend(PORTS.iter().flat_map(|port| port.to_be_bytes()));
        bytes.extend_from_slice(&length(UDP + payload));
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&Message::Packet { tag, index: 0, reply_wanted: false }.header()[..8]);
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend(filler(payload - HEADER_BYTES));
        let pseudo = [0, 17].into_iter().chain(length(UDP + payload)).collect::<Vec<u8>>();
        let base = sum(&pseudo) + sum(&bytes[ETHERNET + 12..]);
        Self { bytes, base: folded(base) }
    }

    /// What tells frame `index` of a trial from the others, as this machine reads it.
    pub fn word(tag: Tag, index: u64) -> u64 {
        let header = Message::Packet { tag, index, reply_wanted: false }.header();
        u64::from_ne_bytes(std::array::from_fn(|byte| header[8 + byte]))
    }

    /// The frame of which that is told.
    pub fn with(&self, word: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        self.write(word, &mut bytes);
        bytes
    }

    /// Makes another frame of the same trial this one.
    pub fn write(&self, word: u64, bytes: &mut [u8]) {
        let word = word.to_ne_bytes();
        bytes[WORD..WORD + 8].copy_from_slice(&word);
        // No checksum is written as 0, for that says that there is none (RFC 768).
        let checksum = match checksum(u64::from(self.base) + sum(&word)) {
            0 => u16::MAX,
            checksum => checksum,
        };
        bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_ne_bytes());
    }

    /// Its bytes, without what tells it from others.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sum of the 16-bit words under the UDP checksum, without what tells it from others.
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// Bytes of its IP packet.
    pub(crate) fn ip_bytes(&self) -> u64 {
        (self.bytes.len() - ETHERNET) as u64
    }

    /// The hardware address that it goes to, as this machine reads it: the first four bytes, and above them the other two.
    pub(crate) fn station(&self) -> u64 {
        let [a, b, c, d, e, f] = std::array::from_fn(|at| self.bytes[at]);
        u64::from(u32::from_ne_bytes([a, b, c, d])) | u64::from(u16::from_ne_bytes([e, f])) << 32
    }

    /// What its payload begins with, as this machine reads it: every packet of a trial begins so.
    pub(crate) fn mark(&self) -> u64 {
        u32::from_ne_bytes(std::array::from_fn(|at| self.bytes[PAYLOAD + at])).into()
    }

    /// Source, destination and ports, four bytes each, as this machine reads them.
    pub(crate) fn addresses(&self) -> [u64; 3] {
        std::array::from_fn(|at| {
            let from = ETHERNET + 12 + 4 * at;
            u32::from_ne_bytes(std::array::from_fn(|byte| self.bytes[from + byte])).into()
        })
    }
}

/// A frame by which a bridge learns behind which port an address is, and which no station takes for anything: of the type for
/// experiments (IEEE 802, 0x88B5), and of the shortest length.
pub fn learning(from: [u8; 6], to: [u8; 6]) -> Vec<u8> {
    let mut bytes = [to.as_slice(), &from, &[0x88, 0xb5], b"dropline: a bridge may learn"].concat();
    bytes.resize(60, 0);
    bytes
}

/// Sum of the 16-bit words; of an odd last byte the word has a zero behind it.
fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(u16::from_ne_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    bytes.chunks(2).map(word).sum()
}

/// To 16 bits, with the carries (RFC 1071).
fn folded(mut sum: u64) -> u32 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u32
}

fn checksum(sum: u64) -> u16 {
    !folded(sum) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(payload: u32) -> Frame {
        Frame::new(
            [2, 0, 0, 0, 0, 1],
            [2, 0, 0, 0, 0, 2],
            Packet::of_payload(payload).unwrap(),
            Tag(0x0102_0304),
        )
    }

    /// The obvious sum: byte by byte, in the order of the network.
    fn twin(bytes: &[u8]) -> u64 {
        let all = bytes.iter().enumerate();
        let mut sum: u64 = all.map(|(at, &byte)| u64::from(byte) << if at % 2 == 0 { 8 } else { 0 }).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    #[test]
    fn a_checksum_is_the_one_of_rfc_1071() {
        // The example of its section 3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(sum(&bytes)).to_ne_bytes(), (!0xddf2_u16).to_be_bytes());
        // A header as it is often shown.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
            0xa8, 0x00, 0xc7,
        ];
        assert_eq!(checksum(sum(&header)).to_ne_bytes(), [0xb8, 0x61]);
    }

    #[test]
    fn a_frame_of_64_bytes_has_60_without_its_check_sequence() {
        let frame = Frame::new([1; 6], [2; 6], Packet::of_frame(64).unwrap(), Tag(7));
        assert_eq!((frame.bytes().len(), frame.ip_bytes()), (60, 46));
        let bytes = frame.with(Frame::word(Tag(7), 3));
        assert_eq!(bytes[..14], [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 8, 0]);
        assert_eq!((&bytes[14..18], &bytes[26..30]), (&[0x45, 0, 0, 46][..], &[198, 18, 0, 1][..]));
        assert_eq!(dropline_payload::message::decode(&bytes[PAYLOAD..]).unwrap(), {
            Message::Packet { tag: Tag(7), index: 3, reply_wanted: false }
        });
    }

    proptest! {
        #[test]
        fn every_frame_has_right_checksums(payload in 16u32..=1472, index in 0u64..1 << 24) {
            let bytes = frame(payload).with(Frame::word(Tag(0x0102_0304), index));
            prop_assert_eq!(twin(&bytes[14..34]), 0xffff);
            let pseudo = [&bytes[26..34], &[0, 17], &bytes[38..40]].concat();
            prop_assert_eq!(twin(&[pseudo.as_slice(), &bytes[34..]].concat()), 0xffff);
            prop_assert_ne!(&bytes[40..42], &[0, 0]);
        }
    }
}
