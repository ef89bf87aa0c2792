//! What rules read of a packet of a trial.

use crate::expressions::Read;
use crate::registers::{Word, words_of};
use crate::visit::{ChainPlace, Passes, Tuple, Visit};
use std::net::IpAddr;

/// Numbers of what the kernel knows (`NFT_META_…`).
const PROTOCOL: u32 = 1;
const MARK: u32 = 3;
const IN_NUMBER: u32 = 4;
const OUT_NUMBER: u32 = 5;
const IN_NAME: u32 = 6;
const OUT_NAME: u32 = 7;
const USER: u32 = 10;
const GROUP: u32 = 11;
const VERSION: u32 = 15;
const TRANSPORT: u32 = 16;
/// Headers, by the number that parts of rules have for them.
const OF_LINK: u32 = 0;
const OF_NETWORK: u32 = 1;
const OF_TRANSPORT: u32 = 2;
/// UDP.
const UDP: u8 = 17;
/// The longest header that is looked into.
const HEADER: usize = 40;

impl Tuple {
    /// Words of what a rule reads of it at a place.
    pub(super) fn read(&self, what: Read, visit: Option<&Visit>) -> Vec<Word> {
        match what {
            Read::DestinationKind => {
                const UNICAST: u32 = 1;
                const LOCAL: u32 = 2;
                let kind = self.is_own.map(|is_own| if is_own { LOCAL } else { UNICAST }.swap_bytes());
                vec![kind.map(|kind| kind..=kind)]
            }
            Read::Header(base, offset, length) => {
                self.header(base, offset as usize, (length as usize).min(64))
            }
            Read::Meta(key) => self.meta(key, visit),
        }
    }

    fn meta(&self, key: u32, visit: Option<&Visit>) -> Vec<Word> {
        let is_version_4 = self.is_version_4;
        let bytes = match key {
            PROTOCOL => Some(ether_type(is_version_4).to_vec()),
            VERSION => Some(vec![if is_version_4 { 2 } else { 10 }]),
            TRANSPORT => Some(vec![UDP]),
            MARK => self.mark.map(|mark| mark.to_ne_bytes().to_vec()),
            // Whose a packet is stands at its socket, which it has until it has left.
            USER | GROUP => {
                let leaves = visit
                    .is_some_and(|visit| visit.place > ChainPlace::Forward && visit.came == Passes::None);
                let owner = self.owner.filter(|_| leaves);
                owner.map(|(user, group)| if key == USER { user } else { group }.to_ne_bytes().to_vec())
            }
            IN_NAME | OUT_NAME | IN_NUMBER | OUT_NUMBER => visit.and_then(|visit| interface(key, visit)),
            _ => None,
        };
        bytes.map_or_else(|| vec![None; 4], |bytes| words_of(&bytes).collect())
    }

    fn header(&self, base: u32, offset: usize, length: usize) -> Vec<Word> {
        let mut header = [None; HEADER];
        let mut put = |at: usize, bytes: &[u8]| {
            for (to, byte) in header[at..].iter_mut().zip(bytes) {
                *to = Some(*byte);
            }
        };
        match base {
            OF_LINK => put(12, &ether_type(self.is_version_4)),
            OF_NETWORK => {
                let (protocol, from, to) = if self.is_version_4 { (9, 12, 16) } else { (6, 8, 24) };
                put(protocol, &[UDP]);
                for (at, address) in [(from, self.source), (to, self.destination)] {
                    match address {
                        Some(IpAddr::V4(address)) => put(at, &address.octets()),
                        Some(IpAddr::V6(address)) => put(at, &address.octets()),
                        None => {}
                    }
                }
            }
            OF_TRANSPORT => return self.ports(offset, length),
            _ => {}
        }
        let bytes = (offset..offset.saturating_add(length)).map(|at| header.get(at).copied().flatten());
        of_bytes(&bytes.collect::<Vec<_>>())
    }

    /// Bytes of the two ports.
    fn ports(&self, offset: usize, length: usize) -> Vec<Word> {
        let (from, to) = (&self.source_ports, &self.destination_ports);
        let both = |from: u16, to: u16| u32::from(from) << 16 | u32::from(to);
        match (offset, length) {
            (0, 2) => vec![Some(both(*from.start(), 0)..=both(*from.end(), 0))],
            (2, 2) => vec![Some(both(*to.start(), 0)..=both(*to.end(), 0))],
            (0, 4) => vec![Some(both(*from.start(), *to.start())..=both(*from.end(), *to.end()))],
            _ => vec![None; length.div_ceil(4)],
        }
    }
}

/// The name or the number of an interface.
fn interface(key: u32, visit: &Visit) -> Option<Vec<u8>> {
    const NAME: usize = 16;
    let passes = if matches!(key, IN_NAME | IN_NUMBER) { &visit.came } else { &visit.leaves };
    // Of several, each may be the one.
    let (name, number) = match passes {
        Passes::None => ("", 0),
        Passes::These(these) if these.len() == 1 => (these[0].0.as_str(), these[0].1),
        _ => return None,
    };
    if matches!(key, IN_NUMBER | OUT_NUMBER) {
        return Some(number.to_ne_bytes().to_vec());
    }
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(NAME, 0);
    Some(bytes)
}

fn ether_type(is_version_4: bool) -> [u8; 2] {
    if is_version_4 { [0x08, 0x00] } else { [0x86, 0xdd] }
}

/// Words of bytes of which not all are known.
fn of_bytes(bytes: &[Option<u8>]) -> Vec<Word> {
    let word = |chunk: &[Option<u8>]| {
        let known: Vec<u8> = chunk.iter().copied().collect::<Option<_>>()?;
        words_of(&known).next().flatten()
    };
    bytes.chunks(4).map(word).collect()
}
