//! Rules of the older tables of a firewall (iptables-legacy), which nftables does not show.
//!
//! Where a rule stands in its table is not looked at: each is held against a packet as if all came to it.

use crate::expressions::{Does, Part, To, Verdict, Zone};
use crate::message::{half, text, word};
use crate::registers::Certainty;
use crate::rule_match::MetRule;
use crate::visit::{ChainPlace, Passes, Tuple, Visit};
use std::net::IpAddr;

/// A table, as the kernel keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacyTable {
    /// Whether it is of version 4.
    pub is_version_4: bool,
    /// Its name.
    pub name: String,
    /// Its entries, one behind the other.
    pub entries: Vec<u8>,
}

/// Where an entry of a version has what (`struct ipt_entry`, `struct ip6t_entry`).
struct Layout {
    /// Bytes of an address.
    address: usize,
    /// The name of the interface that packets come by; that by which they leave, and what of both counts, follow.
    interfaces: usize,
    protocol: usize,
    inverted: usize,
    /// Offsets of the target and of the next entry.
    offsets: usize,
    /// What else is looked at.
    matches: usize,
}

const IPV4: Layout =
    Layout { address: 4, interfaces: 16, protocol: 80, inverted: 83, offsets: 88, matches: 112 };
const IPV6: Layout =
    Layout { address: 16, interfaces: 64, protocol: 128, inverted: 132, offsets: 140, matches: 168 };
/// Bytes of the counts in front of the matches.
const COUNTS: usize = 16;
/// Bytes of the name of an interface.
const NAME: usize = 16;
/// Bytes in front of what a match or a target has: their length, their name and its version.
const HEAD: usize = 32;
/// UDP.
const UDP: u16 = 17;

impl LegacyTable {
    /// The tables but for what each rule counted.
    pub fn without_counts(tables: Vec<Self>) -> Vec<Self> {
        let mut tables = tables;
        for table in &mut tables {
            let layout = if table.is_version_4 { IPV4 } else { IPV6 };
            let mut at = 0_usize;
            while let Some(next @ 1..) = half(&table.entries, at + layout.offsets + 2) {
                let counts = at + layout.matches - COUNTS..at + layout.matches;
                if let Some(counts) = table.entries.get_mut(counts) {
                    counts.fill(0);
                }
                at += usize::from(next);
            }
        }
        tables
    }

    /// What its rules may do to a packet on its way through these places.
    pub fn met(&self, packet: &Tuple, visits: &[Visit]) -> Vec<MetRule> {
        let is_of = packet.is_version_4 == self.is_version_4;
        let layout = self.layout();
        let meets = |entry: &[u8], target| layout.meets(entry, target, packet, visits) > Certainty::Not;
        let met = self.all().filter(|(entry, target, _)| is_of && meets(entry, *target));
        let met = met.filter(|(.., does)| !matches!(does, Does::Zones(Zone::Number(_))));
        met.map(|(.., does)| MetRule {
            does,
            address: match does {
                Does::Destination(To::Address(to)) | Does::Source(To::Address(to)) => Some(to),
                _ => None,
            },
            certainty: Certainty::Possibly,
            place: ChainPlace::Forward,
            is_of_frames: false,
            chain: format!("table {} of iptables-legacy", self.name),
        })
        .collect()
    }

    /// Zones of connection tracking that rules put packets into which give a number.
    pub fn zones(&self) -> Vec<u16> {
        let zone = |does| if let Does::Zones(Zone::Number(number)) = does { Some(number) } else { None };
        self.all().filter_map(|(.., does)| zone(does)).collect()
    }

    fn layout(&self) -> Layout {
        if self.is_version_4 { IPV4 } else { IPV6 }
    }

    /// Entries that do something, each with all behind it, where its target begins, and what it does.
    fn all(&self) -> impl Iterator<Item = (&[u8], usize, Does)> {
        let layout = self.layout();
        let entries = std::iter::successors(Some(self.entries.as_slice()), move |left| {
            let next = half(left, layout.offsets + 2).filter(|&next| next > 0)?;
            left.get(usize::from(next)..)
        });
        let layout = self.layout();
        entries.filter_map(move |entry| {
            let target = usize::from(half(entry, layout.offsets)?);
            Some((entry, target, layout.does(entry.get(target..)?)?))
        })
    }
}

impl Layout {
    /// What a target does to packets that matters.
    fn does(&self, target: &[u8]) -> Option<Does> {
        /// The verdict of one that has no name.
        const DROP: u32 = u32::MAX;
        let name = text(target.get(2..HEAD)?);
        let length = half(target, 0).map(usize::from)?;
        match Part::extension_that_does(&name, target.get(HEAD..length).unwrap_or_default()) {
            _ if name.is_empty() => (word(target, HEAD) == Some(DROP)).then_some(Does::Drops),
            Part::Does(does) => Some(does),
            Part::Verdict(Verdict::Drop) => Some(Does::Drops),
            Part::Verdict(Verdict::Queue) => Some(Does::Takes("NFQUEUE")),
            _ => None,
        }
    }

    fn meets(&self, entry: &[u8], target: usize, packet: &Tuple, visits: &[Visit]) -> Certainty {
        const INVERTED_SOURCE: u8 = 8;
        const INVERTED_DESTINATION: u8 = 0x10;
        const INVERTED_PROTOCOL: u8 = 0x40;
        let inverted = entry.get(self.inverted).copied().unwrap_or(0);
        let turned = |is_so: Certainty, bit: u8| if inverted & bit == 0 { is_so } else { !is_so };
        let source = turned(self.address(entry, 0, packet.source), INVERTED_SOURCE);
        let destination = turned(self.address(entry, 1, packet.destination), INVERTED_DESTINATION);
        let protocol = match half(entry, self.protocol) {
            Some(0) => Certainty::Certainly,
            Some(UDP) => turned(Certainty::Certainly, INVERTED_PROTOCOL),
            Some(_) => turned(Certainty::Not, INVERTED_PROTOCOL),
            None => Certainty::Possibly,
        };
        let mut meets = source.min(destination).min(protocol);
        // No table stands where frames are.
        let of_frames = |visit: &&Visit| {
            matches!(visit.place, ChainPlace::Ingress | ChainPlace::Egress) || visit.of_frames == Some(true)
        };
        let visits = || visits.iter().filter(|visit| !of_frames(visit));
        meets = meets.min(self.interface(entry, 0, inverted, visits().map(|visit| &visit.came)));
        meets = meets.min(self.interface(entry, 1, inverted, visits().map(|visit| &visit.leaves)));
        let mut at = self.matches;
        while at < target {
            let Some(length @ 1..) = half(entry, at).map(usize::from) else { break };
            let Some(one) = entry.get(at..at.saturating_add(length)).filter(|one| one.len() >= HEAD) else {
                break;
            };
            match Part::extension_that_looks(&text(&one[2..HEAD]), &one[HEAD..]) {
                Part::Ports(ports) => meets = meets.min(ports.meets(packet)),
                Part::Kinds(kinds, is_inverted) => meets = meets.min(packet.is_of(kinds, is_inverted)),
                _ => {}
            }
            at += length;
        }
        meets
    }

    /// Whether an address is in the first or second network of an entry.
    fn address(&self, entry: &[u8], which: usize, address: Option<IpAddr>) -> Certainty {
        let of = |at: usize| entry.get(at * self.address..(at + 1) * self.address);
        let (Some(network), Some(mask)) = (of(which), of(which + 2)) else { return Certainty::Possibly };
        if mask.iter().all(|&bits| bits == 0) {
            return Certainty::Certainly;
        }
        let octets = match address {
            Some(IpAddr::V4(address)) => address.octets().to_vec(),
            Some(IpAddr::V6(address)) => address.octets().to_vec(),
            None => return Certainty::Possibly,
        };
        let mut all = octets.iter().zip(mask).zip(network);
        match all.all(|((octet, mask), network)| octet & mask == *network) {
            true => Certainty::Certainly,
            false => Certainty::Not,
        }
    }

    /// Whether one of these interfaces is the one that is asked for, or is another where that is asked for.
    fn interface<'a>(
        &self,
        entry: &[u8],
        which: usize,
        inverted: u8,
        mut passed: impl Iterator<Item = &'a Passes>,
    ) -> Certainty {
        let of = |at: usize| entry.get(self.interfaces + at * NAME..self.interfaces + (at + 1) * NAME);
        let (Some(name), Some(mask)) = (of(which), of(which + 2)) else { return Certainty::Possibly };
        let counts = mask.iter().take_while(|&&bits| bits != 0).count();
        if counts == 0 {
            return Certainty::Certainly;
        }
        let is_it = |(other, _): &(String, u32)| {
            let other = other.bytes().chain(std::iter::repeat(0));
            other.zip(&name[..counts]).all(|(other, byte)| other == *byte)
        };
        let is_inverted = inverted & (1 << which) != 0;
        let may_be = passed.any(|passes| match passes {
            Passes::None => is_inverted,
            Passes::Any => true,
            Passes::These(these) => these.iter().any(|one| is_it(one) != is_inverted),
        });
        if may_be { Certainty::Possibly } else { Certainty::Not }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visit::By;
    use proptest::prelude::*;

    /// An entry as version 4 has it, for a protocol and a destination, with that target.
    fn entry(protocol: u16, to: Option<[u8; 4]>, target: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; 112];
        if let Some(to) = to {
            entry[4..8].copy_from_slice(&to);
            entry[12..16].copy_from_slice(&[255, 255, 255, 0]);
        }
        entry[80..82].copy_from_slice(&protocol.to_ne_bytes());
        entry[88..90].copy_from_slice(&112_u16.to_ne_bytes());
        entry[90..92].copy_from_slice(&(112_u16 + 40).to_ne_bytes());
        entry[96..112].fill(7);
        entry.extend(40_u16.to_ne_bytes());
        entry.extend(target);
        entry.resize(112 + 40, 0);
        entry
    }

    fn table(entries: &[Vec<u8>]) -> LegacyTable {
        LegacyTable { is_version_4: true, name: "mangle".into(), entries: entries.concat() }
    }

    fn met(entries: &[Vec<u8>]) -> Vec<Does> {
        let destination = "10.9.0.2".parse().ok();
        let packet = Tuple { destination, ..Tuple::any(true) };
        table(entries).met(&packet, &Visit::leaving(&By::ANY, true)).into_iter().map(|met| met.does).collect()
    }

    #[test]
    fn a_rule_of_an_older_table_is_found_behind_others_where_the_packet_may_meet_it() {
        let any = |target| entry(0, None, target);
        assert_eq!(met(&[any(b""), any(b"LOG"), any(b"TEE")]), [Does::Hands("TEE")]);
        assert_eq!(met(&[any(b"TTL"), any(b"")]), [Does::Lives("TTL")]);
        assert_eq!(met(&[any(b""), any(b"TEEN"), any(b"xTEE"), any(b"LOG"), any(b"HLX")]), []);
        assert_eq!((met(&[entry(6, None, b"TEE")]), met(&[entry(17, None, b"TEE")]).len()), (vec![], 1));
        let to = |to| met(&[entry(17, Some(to), b"TEE")]).len();
        assert_eq!((to([10, 9, 0, 0]), to([10, 9, 1, 0])), (1, 0));
    }

    #[test]
    fn what_rules_counted_is_no_change_of_them() {
        let mut counted = table(&[entry(17, None, b"TEE"), entry(17, None, b"LOG")]);
        let before = LegacyTable::without_counts(vec![counted.clone()]);
        counted.entries[152 + 100] = 9;
        assert_eq!(LegacyTable::without_counts(vec![counted.clone()]), before);
        counted.entries[152 + 80] = 6;
        assert_ne!(LegacyTable::without_counts(vec![counted]), before);
    }

    proptest! {
        #[test]
        fn any_bytes_are_entries_of_a_table_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            for is_version_4 in [true, false] {
                let table = LegacyTable { is_version_4, name: String::new(), entries: bytes.clone() };
                let _ = table.met(&Tuple::any(is_version_4), &Visit::arriving(&By::ANY, true));
                let _ = LegacyTable::without_counts(vec![table]);
            }
        }
    }
}
