//! Who asks for the hardware address of an IP address, and who answers: ARP (RFC 826), and neighbour discovery of IPv6 (RFC 4861).

use crate::frame::{SHORTEST, checksum, ethernet, sum};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a message wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Asks,
    Answers,
}

/// A message of two stations, whose addresses are of one version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) operation: Operation,
    /// Whose it is.
    pub(crate) hardware: [u8; 6],
    pub(crate) address: IpAddr,
    /// Whom it is for; nobody's hardware address where that is asked for.
    pub(crate) to_hardware: [u8; 6],
    pub(crate) to_address: IpAddr,
}

const UNKNOWN: [u8; 6] = [0; 6];
const EVERYBODY: [u8; 6] = [0xff; 6];
const ARP: [u8; 2] = [0x08, 0x06];
/// Ethernet and IPv4, of six and four bytes.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// ICMP of IPv6, and its messages.
const ICMP: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Whoever was asked answers, and what was known before holds no more.
const ASKED_AND_NEW: u8 = 0x60;
/// Hops left of what no router forwarded.
const FROM_HERE: u8 = 255;
/// Bytes of a message with its option, and of the header before it.
const MESSAGE: usize = 32;
const HEADER: usize = 40;

impl Said {
    /// Asks for an address.
    pub(crate) fn asks(hardware: [u8; 6], address: IpAddr, to_address: IpAddr) -> Self {
        Self { operation: Operation::Asks, hardware, address, to_hardware: UNKNOWN, to_address }
    }

    /// The answer of a station that has the address which was asked for.
    pub(crate) fn answered(&self, hardware: [u8; 6]) -> Self {
        Self {
            operation: Operation::Answers,
            hardware,
            address: self.to_address,
            to_hardware: self.hardware,
            to_address: self.address,
        }
    }

    /// The frame that says it, with the tag of a VLAN.
    pub(crate) fn frame(&self, vlan: Option<u16>) -> Vec<u8> {
        let mut bytes = match (self.address, self.to_address) {
            (IpAddr::V6(address), IpAddr::V6(to)) => self.discovery(vlan, address, to),
            (address, to) => self.arp(vlan, [address, to]),
        };
        bytes.resize(bytes.len().max(SHORTEST), 0);
        bytes
    }

    fn arp(&self, vlan: Option<u16>, addresses: [IpAddr; 2]) -> Vec<u8> {
        let (to, operation) = match self.operation {
            Operation::Asks => (EVERYBODY, 1),
            Operation::Answers => (self.to_hardware, 2),
        };
        let mut bytes = ethernet(to, self.hardware, vlan, ARP);
        bytes.extend_from_slice(&KIND);
        bytes.extend_from_slice(&[0, operation]);
        for (hardware, address) in [self.hardware, self.to_hardware].into_iter().zip(addresses) {
            bytes.extend_from_slice(&hardware);
            if let IpAddr::V4(address) = address {
                bytes.extend_from_slice(&address.octets());
            }
        }
        bytes
    }

    fn discovery(&self, vlan: Option<u16>, address: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
        let asks = self.operation == Operation::Asks;
        let [.., a, b, c] = to.octets();
        // Those of all addresses that end so hear a question.
        let everybody =
            Ipv6Addr::from_bits(0xff02_0000_0000_0000_0000_0001_ff00_0000 | u128::from(last_24(to)));
        let (hardware, destination) =
            if asks { ([0x33, 0x33, 0xff, a, b, c], everybody) } else { (self.to_hardware, to) };
        let mut message = match asks {
            true => vec![SOLICITATION, 0, 0, 0, 0, 0, 0, 0],
            false => vec![ADVERTISEMENT, 0, 0, 0, ASKED_AND_NEW, 0, 0, 0],
        };
        message.extend(if asks { to } else { address }.octets());
        message.extend([if asks { 1 } else { 2 }, 1]);
        message.extend(self.hardware);
        let sum = checksum(under(address, destination, &message));
        message[2..4].copy_from_slice(&sum.to_ne_bytes());
        let mut bytes = ethernet(hardware, self.hardware, vlan, IPV6);
        bytes.extend_from_slice(&[0x60, 0, 0, 0, 0, MESSAGE as u8, ICMP, FROM_HERE]);
        bytes.extend(address.octets());
        bytes.extend(destination.octets());
        bytes.extend(message);
        bytes
    }

    /// Reads a frame without tag; `None` if it says something else, or is torn.
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        match frame.get(12..14)? {
            kind if kind == ARP => Self::read_arp(&frame[14..]),
            kind if kind == IPV6 => Self::read_discovery(frame.get(6..12)?.try_into().ok()?, &frame[14..]),
            _ => None,
        }
    }

    fn read_arp(said: &[u8]) -> Option<Self> {
        let said = said.strip_prefix(&KIND)?;
        let operation = match said.get(..2)? {
            [0, 1] => Operation::Asks,
            [0, 2] => Operation::Answers,
            _ => return None,
        };
        let station = |at: usize| {
            let hardware: [u8; 6] = said.get(at..at + 6)?.try_into().ok()?;
            let address: [u8; 4] = said.get(at + 6..at + 10)?.try_into().ok()?;
            Some((hardware, Ipv4Addr::from(address).into()))
        };
        let ((hardware, address), (to_hardware, to_address)) = (station(2)?, station(12)?);
        Some(Self { operation, hardware, address, to_hardware, to_address })
    }

    fn read_discovery(from: [u8; 6], packet: &[u8]) -> Option<Self> {
        let (header, rest) = packet.split_at_checked(HEADER)?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        if header[0] >> 4 != 6 || header[6..8] != [ICMP, FROM_HERE] {
            return None;
        }
        let message = rest.get(..length)?;
        let address = |bytes: &[u8]| Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?));
        let (source, destination) = (address(&header[8..24])?, address(&header[24..40])?);
        let target = address(message.get(8..24)?)?;
        if checksum(under(source, destination, message)) != 0 {
            return None;
        }
        // The option says whose it is; a frame that leads itself on may come of another station.
        let option = |kind: u8| message.get(24..)?.strip_prefix(&[kind, 1])?.get(..6)?.try_into().ok();
        match message[..2] {
            [SOLICITATION, 0] if !source.is_unspecified() => Some(Self {
                operation: Operation::Asks,
                hardware: option(1).unwrap_or(from),
                address: source.into(),
                to_hardware: UNKNOWN,
                to_address: target.into(),
            }),
            [ADVERTISEMENT, 0] => Some(Self {
                operation: Operation::Answers,
                hardware: option(2).unwrap_or(from),
                address: target.into(),
                to_hardware: UNKNOWN,
                to_address: destination.into(),
            }),
            _ => None,
        }
    }
}

fn last_24(address: Ipv6Addr) -> u32 {
    address.to_bits() as u32 & 0x00ff_ffff
}

/// What the checksum of a message is of (RFC 8200 §8.1).
fn under(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u64 {
    let length = (message.len() as u32).to_be_bytes();
    let pseudo = [&source.octets()[..], &destination.octets(), &length, &[0, 0, 0, ICMP]].concat();
    sum(&pseudo) + sum(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 2];

    #[test]
    fn a_question_goes_to_everybody_and_its_answer_to_whoever_asked() {
        let [here, there] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)].map(IpAddr::from);
        let asks = Said::asks(OURS, here, there);
        let frame = asks.frame(None);
        assert_eq!(
            (frame.len(), &frame[..14]),
            (60, &[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6][..])
        );
        assert_eq!(Said::read(&frame), Some(asks));
        let answers = asks.answered(THEIRS);
        assert_eq!((answers.hardware, answers.address, answers.to_address), (THEIRS, there, here));
        let frame = answers.frame(Some(5));
        assert_eq!(frame[..18], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 5, 8, 6]);
        assert_eq!(Said::read(&frame), None, "tagged");
        let without: Vec<u8> = [&frame[..12], &frame[16..]].concat();
        assert_eq!(Said::read(&without), Some(answers));
        assert_eq!(Said::read(&without[..40]), None, "torn");
    }

    #[test]
    fn a_neighbour_of_ipv6_is_asked_by_a_group_and_answers_to_whoever_asked() {
        let [here, there]: [IpAddr; 2] = ["2001:2::1".parse().unwrap(), "2001:2::a1:b2c3".parse().unwrap()];
        let asks = Said::asks(OURS, here, there);
        let frame = asks.frame(None);
        assert_eq!(frame[..14], [0x33, 0x33, 0xff, 0xa1, 0xb2, 0xc3, 2, 0, 0, 0, 0, 1, 0x86, 0xdd]);
        assert_eq!(frame[38..54], "ff02::1:ffa1:b2c3".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!((frame.len(), Said::read(&frame)), (86, Some(asks)));
        let answers = asks.answered(THEIRS);
        let frame = answers.frame(Some(5));
        assert_eq!(frame[..18], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 5, 0x86, 0xdd]);
        let without: Vec<u8> = [&frame[..12], &frame[16..]].concat();
        assert_eq!(Said::read(&without), Some(Said { to_hardware: UNKNOWN, ..answers }));
        assert_eq!(Said::read(&without[..80]), None, "torn");
        let mut damaged = without;
        damaged[70] ^= 1;
        assert_eq!(Said::read(&damaged), None, "damaged");
        // Who asks whether an address is taken has none to be answered at.
        let nobody = Said::asks(OURS, Ipv6Addr::UNSPECIFIED.into(), there);
        assert_eq!(Said::read(&nobody.frame(None)), None);
    }
}
