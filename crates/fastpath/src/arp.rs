//! Who asks for the hardware address of an IPv4 address, and who answers (RFC 826).

use crate::frame::{SHORTEST, ethernet};
use std::net::Ipv4Addr;

/// What a message wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Asks = 1,
    Answers = 2,
}

/// A message of two stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arp {
    pub(crate) operation: Operation,
    /// Whose it is.
    pub(crate) hardware: [u8; 6],
    pub(crate) address: Ipv4Addr,
    /// Whom it is for; nobody's hardware address where that is asked for.
    pub(crate) to_hardware: [u8; 6],
    pub(crate) to_address: Ipv4Addr,
}

/// Ethernet and IPv4, of six and four bytes.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const EVERYBODY: [u8; 6] = [0xff; 6];
const UNKNOWN: [u8; 6] = [0; 6];
const ETHERTYPE: [u8; 2] = [0x08, 0x06];

impl Arp {
    /// Asks for an address.
    pub(crate) fn asks(hardware: [u8; 6], address: Ipv4Addr, to_address: Ipv4Addr) -> Self {
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
        let to = if self.operation == Operation::Asks { EVERYBODY } else { self.to_hardware };
        let mut bytes = ethernet(to, self.hardware, vlan, ETHERTYPE);
        bytes.extend_from_slice(&KIND);
        bytes.extend_from_slice(&[0, self.operation as u8]);
        for (hardware, address) in [(self.hardware, self.address), (self.to_hardware, self.to_address)] {
            bytes.extend_from_slice(&hardware);
            bytes.extend_from_slice(&address.octets());
        }
        bytes.resize(bytes.len().max(SHORTEST), 0);
        bytes
    }

    /// Reads a frame without tag; `None` if it says something else, or is torn.
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let said = frame.get(12..)?.strip_prefix(&ETHERTYPE)?.strip_prefix(&KIND)?;
        let operation = match said.get(..2)? {
            [0, 1] => Operation::Asks,
            [0, 2] => Operation::Answers,
            _ => return None,
        };
        let station = |at: usize| {
            let hardware: [u8; 6] = said.get(at..at + 6)?.try_into().ok()?;
            let address: [u8; 4] = said.get(at + 6..at + 10)?.try_into().ok()?;
            Some((hardware, Ipv4Addr::from(address)))
        };
        let ((hardware, address), (to_hardware, to_address)) = (station(2)?, station(12)?);
        Some(Self { operation, hardware, address, to_hardware, to_address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_goes_to_everybody_and_its_answer_to_whoever_asked() {
        let [ours, theirs] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
        let [here, there] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let asks = Arp::asks(ours, here, there);
        let frame = asks.frame(None);
        assert_eq!(
            (frame.len(), &frame[..14]),
            (60, &[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6][..])
        );
        assert_eq!(Arp::read(&frame), Some(asks));
        let answers = asks.answered(theirs);
        assert_eq!((answers.hardware, answers.address, answers.to_address), (theirs, there, here));
        let frame = answers.frame(Some(5));
        assert_eq!(frame[..18], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 5, 8, 6]);
        assert_eq!(Arp::read(&frame), None, "tagged");
        let without: Vec<u8> = [&frame[..12], &frame[16..]].concat();
        assert_eq!(Arp::read(&without), Some(answers));
        assert_eq!(Arp::read(&without[..40]), None, "torn");
    }
}
