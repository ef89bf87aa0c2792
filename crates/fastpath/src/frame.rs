//! The bytes of a frame: Ethernet, IPv4 or IPv6, UDP, and the payload of every trial packet.

use crate::field::Field;
use dropline_payload::{HEADER_BYTES, Message, Tag, filler};
use dropline_trial::Packet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where frames say that they come from: of the block for measurements of devices (RFC 2544, appendix C.2.2).
pub const SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Where they say that they go.
pub const DESTINATION: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// The same of IPv6 (RFC 5180 §8).
pub const SOURCE_6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
/// The same of IPv6.
pub const DESTINATION_6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 1);
/// From a port that nobody has, to one whose service answers nothing (RFC 863).
const FROM_PORT: u16 = 49_152;
const TO_PORT: u16 = 9;
/// Flows at most: so many ports follow the first.
pub const MOST_FLOWS: u16 = 16_384;

/// Bytes of the headers.
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;

/// The shortest frame, without its check sequence.
pub(crate) const SHORTEST: usize = 60;

/// The longest frame, with its check sequence and without a tag: what Ethernet carries.
pub const LONGEST: u32 = 1518;

/// Between whom frames go, beside the interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aim {
    /// Where the first flow comes from; each further one from the next address.
    pub source: IpAddr,
    /// Where all go: of the same version of IP.
    pub destination: IpAddr,
    /// The VLAN whose tag they have, from 1 to 4094.
    pub vlan: Option<u16>,
    /// Frames take turns with so many source addresses and ports, from 1 to [`MOST_FLOWS`].
    pub flows: u16,
}

impl Default for Aim {
    fn default() -> Self {
        Self { source: SOURCE.into(), destination: DESTINATION.into(), vlan: None, flows: 1 }
    }
}

/// The last 32 bits of an address, by which flows differ.
fn last_bits(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => address.to_bits() as u32,
    }
}

/// The bytes of an address.
fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

impl Aim {
    /// The same between addresses of IPv6.
    pub fn of_ipv6() -> Self {
        Self { source: SOURCE_6.into(), destination: DESTINATION_6.into(), ..Self::default() }
    }

    /// From where these go to where they come from.
    pub fn back(&self) -> Self {
        Self { source: self.destination, destination: self.source, ..self.clone() }
    }

    /// From where and to where some of its flows go, which stand for all.
    pub fn sampled(&self) -> impl Iterator<Item = [SocketAddr; 2]> {
        const MOST: u16 = 64;
        let to = SocketAddr::from((self.destination, TO_PORT));
        (0..self.flows)
            .step_by(usize::from(self.flows.div_ceil(MOST).max(1)))
            .map(move |flow| [SocketAddr::from((self.source_of(flow), FROM_PORT + flow)), to])
    }

    /// Where a flow comes from.
    pub fn source_of(&self, flow: u16) -> IpAddr {
        let bits = last_bits(self.source).wrapping_add(flow.into());
        match self.source {
            IpAddr::V4(_) => Ipv4Addr::from_bits(bits).into(),
            IpAddr::V6(first) => {
                Ipv6Addr::from_bits(first.to_bits() & !u128::from(u32::MAX) | u128::from(bits)).into()
            }
        }
    }

    /// Bytes of the header of IP.
    pub(crate) fn ip_bytes(&self) -> usize {
        if self.source.is_ipv6() { IPV6 } else { IPV4 }
    }
}

/// A frame of one trial, but for what tells it from the others: in the place of that there are zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    bytes: Vec<u8>,
    aim: Aim,
    /// Where its IP packet begins.
    ip: usize,
    /// Sum of the 16-bit words under the UDP checksum, as this machine reads them, and of those of the IP header.
    base: u32,
    ip_base: u32,
}

impl Frame {
    /// From one hardware address to another.
    pub fn new(from: [u8; 6], to: [u8; 6], aim: &Aim, packet: Packet, tag: Tag) -> Self {
        let payload = packet.payload_bytes() as usize;
        let is_ipv6 = aim.source.is_ipv6();
        let mut bytes = ethernet(to, from, aim.vlan, if is_ipv6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        let ip = bytes.len();
        let length = |bytes: usize| (bytes as u16).to_be_bytes();
        if is_ipv6 {
            // Version; length behind the header; UDP; 64 hops.
            bytes.extend_from_slice(&[0x60, 0, 0, 0]);
            bytes.extend_from_slice(&length(UDP + payload));
            bytes.extend_from_slice(&[17, 64]);
        } else {
            // Version and header length; whole length; no identity, not to be cut; 64 hops; UDP; checksum.
            bytes.extend_from_slice(&[0x45, 0]);
            bytes.extend_from_slice(&length(IPV4 + UDP + payload));
            bytes.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0]);
        }
        // Of the source all but what differs from flow to flow.
        let source = octets(aim.source);
        bytes.extend_from_slice(&source[..source.len() - 4]);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend(octets(aim.destination));
        let ip_base = folded(sum(&bytes[ip..]));
        let addresses = bytes.len() - 2 * source.len();
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&TO_PORT.to_be_bytes());
        bytes.extend_from_slice(&length(UDP + payload));
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&Message::Packet { tag, index: 0, reply_wanted: false }.header()[..8]);
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend(filler(payload - HEADER_BYTES));
        let pseudo = [0, 17].into_iter().chain(length(UDP + payload)).collect::<Vec<u8>>();
        let base = folded(sum(&pseudo) + sum(&bytes[addresses..]));
        Self { bytes, aim: aim.clone(), ip, base, ip_base }
    }

    /// What tells frame `index` of a trial from the others, as this machine reads it.
    pub fn word(tag: Tag, index: u64) -> u64 {
        let header = Message::Packet { tag, index, reply_wanted: false }.header();
        u64::from_ne_bytes(std::array::from_fn(|byte| header[8 + byte]))
    }

    /// Frame `index`, of which that is told.
    pub fn with(&self, index: u64, word: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        self.write(index, word, &mut bytes);
        bytes
    }

    /// Makes another frame of the same trial this one.
    pub fn write(&self, index: u64, word: u64, bytes: &mut [u8]) {
        let flow = (index % u64::from(self.aim.flows)) as u16;
        let source = last_bits(self.aim.source).wrapping_add(flow.into()).to_be_bytes();
        let port = (FROM_PORT + flow).to_be_bytes();
        let word = word.to_ne_bytes();
        let udp = self.aim.ip_bytes();
        let packet = &mut bytes[self.ip..];
        if self.aim.source.is_ipv4() {
            let header = checksum(u64::from(self.ip_base) + sum(&source));
            packet[10..12].copy_from_slice(&header.to_ne_bytes());
        }
        let differs = self.last_of_source();
        packet[differs..differs + 4].copy_from_slice(&source);
        packet[udp..udp + 2].copy_from_slice(&port);
        packet[udp + UDP + 8..udp + UDP + 16].copy_from_slice(&word);
        // No checksum is written as 0, for that says that there is none (RFC 768).
        let checksum = match checksum(u64::from(self.base) + sum(&source) + sum(&port) + sum(&word)) {
            0 => u16::MAX,
            checksum => checksum,
        };
        packet[udp + 6..udp + 8].copy_from_slice(&checksum.to_ne_bytes());
    }

    /// Where in its packet the last 32 bits of the source are.
    fn last_of_source(&self) -> usize {
        if self.aim.source.is_ipv6() { 20 } else { 12 }
    }

    /// Its bytes, without what tells it from others.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its first 88 bytes in words; zeros behind a shorter one.
    pub(crate) fn head(&self) -> [u64; 11] {
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or(0);
        std::array::from_fn(|word| u64::from_ne_bytes(std::array::from_fn(|at| byte(8 * word + at))))
    }

    /// What both programs have to know of it, all but the tag of the trial and the address that the judge has.
    pub(crate) fn expected(&self) -> [(Field, u64); 14] {
        let read = |at: usize| {
            u64::from(u32::from_ne_bytes(std::array::from_fn(|byte| self.bytes[self.ip + at + byte])))
        };
        let source = self.last_of_source();
        let destination = self.aim.ip_bytes() - 4;
        // What stands before the last 32 bits of an address of IPv6.
        let before = |last: usize| match self.aim.source {
            IpAddr::V4(_) => [0; 2],
            IpAddr::V6(_) => [read(last - 12) | read(last - 8) << 32, read(last - 4)],
        };
        let [[before1, before2], [before3, before4]] = [before(source), before(destination)];
        [
            (Field::Base, self.base.into()),
            (Field::IpBase, self.ip_base.into()),
            (Field::Tagged, self.aim.vlan.map_or(0, u16::to_be).into()),
            (Field::Flows, self.aim.flows.into()),
            (Field::Mark, read(self.aim.ip_bytes() + UDP)),
            (Field::Length, (self.bytes.len() - self.ip) as u64),
            (Field::Destination, read(destination)),
            (Field::ToPort, TO_PORT.into()),
            (Field::Source, last_bits(self.aim.source).into()),
            (Field::FromPort, FROM_PORT.into()),
            (Field::Before1, before1),
            (Field::Before2, before2),
            (Field::Before3, before3),
            (Field::Before4, before4),
        ]
    }
}

/// A frame by which a bridge learns behind which port an address is, and which no station takes for anything: of the type for
/// experiments (IEEE 802, 0x88B5), and of the shortest length.
pub fn learning(from: [u8; 6], to: [u8; 6], vlan: Option<u16>) -> Vec<u8> {
    let mut bytes = ethernet(to, from, vlan, [0x88, 0xb5]);
    bytes.extend_from_slice(b"dropline: a bridge may learn");
    bytes.resize(SHORTEST, 0);
    bytes
}

/// What a frame begins with.
pub(crate) fn ethernet(to: [u8; 6], from: [u8; 6], vlan: Option<u16>, ethertype: [u8; 2]) -> Vec<u8> {
    let tag = vlan.map(|vlan| [[0x81, 0], vlan.to_be_bytes()].concat()).unwrap_or_default();
    [to.as_slice(), &from, &tag, &ethertype].concat()
}

/// Sum of the 16-bit words; of an odd last byte the word has a zero behind it.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
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

pub(crate) fn checksum(sum: u64) -> u16 {
    !folded(sum) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(payload: u32, aim: &Aim) -> Frame {
        Frame::new(
            [2, 0, 0, 0, 0, 1],
            [2, 0, 0, 0, 0, 2],
            aim,
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
        let frame = Frame::new([1; 6], [2; 6], &Aim::default(), Packet::of_frame(64).unwrap(), Tag(7));
        assert_eq!(frame.bytes().len(), 60);
        let bytes = frame.with(3, Frame::word(Tag(7), 3));
        assert_eq!(bytes[..14], [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 8, 0]);
        assert_eq!((&bytes[14..18], &bytes[26..30]), (&[0x45, 0, 0, 46][..], &[198, 18, 0, 1][..]));
        assert_eq!(dropline_payload::message::decode(&bytes[42..]).unwrap(), {
            Message::Packet { tag: Tag(7), index: 3, reply_wanted: false }
        });
    }

    proptest! {
        #[test]
        fn every_frame_has_right_checksums(
            payload in 16u32..=1472,
            index in 0u64..1 << 24,
            flows in 1..=MOST_FLOWS,
            vlan in proptest::option::of(1u16..=4094),
            is_ipv6: bool,
        ) {
            let plain = if is_ipv6 { Aim::of_ipv6() } else { Aim::default() };
            let aim = Aim { flows, vlan, ..plain };
            let mut bytes = frame(payload, &aim).with(index, Frame::word(Tag(0x0102_0304), index));
            if let Some(vlan) = vlan {
                let tag: Vec<u8> = bytes.drain(12..16).collect();
                prop_assert_eq!(tag, [&[0x81, 0][..], &vlan.to_be_bytes()].concat());
            }
            let flow = (index % u64::from(flows)) as u32;
            let (addresses, udp) = if is_ipv6 { (22, 54) } else { (26, 34) };
            if is_ipv6 {
                prop_assert_eq!(&bytes[12..18], &[0x86, 0xdd, 0x60, 0, 0, 0]);
                prop_assert_eq!(&bytes[18..20], &(payload as u16 + 8).to_be_bytes());
                let source = u128::from_be_bytes(bytes[22..38].try_into().unwrap());
                prop_assert_eq!(source, SOURCE_6.to_bits() + u128::from(flow));
                prop_assert_eq!(&bytes[38..54], &DESTINATION_6.octets());
            } else {
                prop_assert_eq!(twin(&bytes[14..34]), 0xffff);
                prop_assert_eq!(&bytes[26..30], &(0xc612_0001 + flow).to_be_bytes());
            }
            let pseudo = [&bytes[addresses..udp], &[0, 17], &bytes[udp + 4..udp + 6]].concat();
            prop_assert_eq!(twin(&[pseudo.as_slice(), &bytes[udp..]].concat()), 0xffff);
            prop_assert_ne!(&bytes[udp + 6..udp + 8], &[0, 0]);
            prop_assert_eq!(&bytes[udp..udp + 2], &(49_152 + flow as u16).to_be_bytes());
        }
    }
}
