//! The firewall of one namespace: what its rules may do to the packets of a trial.

use crate::expressions::Does;
use crate::legacy_tables::LegacyTable;
use crate::rule_match::MetRule;
use crate::ruleset::Ruleset;
use crate::visit::{By, ChainPlace, Tuple, Visit};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

/// Rules of both kinds; `None` where this user may not see them.
#[derive(Clone, Debug, Default)]
pub struct Firewall {
    /// Those of nftables.
    pub rules: Option<Arc<Ruleset>>,
    /// The older tables.
    pub older: Option<Vec<LegacyTable>>,
}

/// A packet, and the places that it comes to, in order.
pub type Through = (Tuple, Vec<Visit>);

/// What a namespace is to packets, and what they pass to come and to go.
#[derive(Clone, Copy, Debug)]
pub enum Seat<'a> {
    /// They leave it, and replies come back.
    Near(&'a By),
    /// They come to it, and replies leave, by the second.
    Far(&'a By, &'a By),
    /// They leave and arrive there, by loopback.
    Both(&'a By),
    /// They pass it, or may end there too.
    Between(&'a By),
}

impl Seat<'_> {
    /// Packets and replies, each with its places.
    pub fn through(self, packet: &Tuple) -> Vec<Through> {
        let (own, reply) = (Tuple { is_own: Some(true), ..packet.clone() }, packet.reversed());
        let own_reply = Tuple { is_own: Some(true), ..reply.clone() };
        match self {
            Self::Near(by) => {
                let leaves = Tuple { is_own: Some(false), ..packet.clone() };
                vec![(leaves, Visit::leaving(by, true)), (own_reply, Visit::arriving(by, false))]
            }
            Self::Far(come, go) => {
                vec![(own, Visit::arriving(come, true)), (reply, Visit::leaving(go, false))]
            }
            Self::Both(by) => {
                let around = |begins| [Visit::leaving(by, begins), Visit::arriving(by, begins)].concat();
                vec![(own, around(true)), (own_reply, around(false))]
            }
            Self::Between(by) => vec![
                (packet.clone(), Visit::passing(by, true)),
                (packet.clone(), Visit::arriving(by, true)),
                (reply, Visit::passing(by, false)),
            ],
        }
    }
}

impl Seat<'_> {
    /// The same by the way that they go: packets, and replies.
    pub fn ways(self, packet: &Tuple) -> [Vec<Through>; 2] {
        let mut through = self.through(packet);
        let back = through.pop().into_iter().collect();
        [through, back]
    }
}

/// What rules may drop of a trial's packets, by where that shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Behind an interface, before the IP layer.
    pub before: bool,
    /// In the IP layer, of what arrives.
    pub arriving: bool,
    /// Of what leaves.
    pub leaving: bool,
    /// Where no counter of the IP layer shows it.
    pub of_frames: bool,
    /// Whether there are rules that drop anything at all.
    pub any: bool,
}

impl Firewall {
    fn met<'a>(&'a self, (packet, visits): &'a Through) -> impl Iterator<Item = MetRule> + 'a {
        let older = self.older.iter().flatten().flat_map(|table| table.met(packet, visits));
        self.rules.iter().flat_map(|rules| rules.met(packet, visits)).chain(older)
    }

    /// Whether this user may see all of them.
    pub fn is_seen(&self) -> bool {
        self.rules.is_some() && self.older.is_some()
    }

    /// What a rule does that leads packets, or copies of them, to another host or lets routers pass them on, and where it
    /// stands. `is_own` tells addresses of this namespace.
    pub fn leads_away(&self, through: &[Through], mut is_own: impl FnMut(IpAddr) -> bool) -> Option<String> {
        let mut through = through.to_vec();
        if self.untracks(&through) {
            // What comes back is then the first of a flow, too.
            through.iter_mut().flat_map(|(_, visits)| visits).for_each(|visit| visit.begins = true);
        }
        let (mut sets, mut translates) = (None, None);
        for one in &through {
            for met in self.met(one) {
                let said = |what: &str| Some(format!("{what} in {}", met.chain));
                match met.does {
                    Does::Hands(word) | Does::Takes(word) => return said(word),
                    Does::Lives(word) => sets = sets.or_else(|| said(word)),
                    Does::Zones(_) => sets = sets.or_else(|| said(ANY_ZONE)),
                    Does::Writes(base, first, length) => {
                        let what = what_is_set(one.0.is_version_4, base, first, length);
                        sets = sets.or_else(|| said(what?));
                    }
                    Does::Destination(_) | Does::Source(_) => {
                        let (word, meant) = match met.does {
                            Does::Source(_) => ("snat", one.0.source),
                            _ => ("dnat", one.0.destination),
                        };
                        // To where they are going anyway, or here.
                        if !met.address.is_some_and(|address| Some(address) == meant || is_own(address)) {
                            translates = translates.or_else(|| said(word));
                        }
                    }
                    _ => {}
                }
            }
        }
        // What gives packets away is the reason, whatever else is done to them; what leads all of a flow alike comes last.
        sets.or(translates)
    }

    /// Zones of connection tracking that its rules may put packets into, and the one of all others.
    pub fn zones(&self) -> BTreeSet<u16> {
        let older = self.older.iter().flatten().flat_map(LegacyTable::zones);
        self.rules.iter().flat_map(|rules| rules.zones()).chain(older).chain([0]).collect()
    }

    /// What rules may drop of these packets; `None` where they are not to be seen.
    pub fn drops(&self, through: &[Through]) -> Option<Dropped> {
        let (Some(rules), Some(older)) = (&self.rules, &self.older) else { return None };
        let mut dropped = Dropped { any: !older.is_empty() || rules.drops_any(), ..Dropped::default() };
        for met in through.iter().flat_map(|one| self.met(one)) {
            if !matches!(met.does, Does::Drops | Does::Takes(_)) {
                continue;
            }
            dropped.of_frames |= met.is_of_frames;
            match met.place {
                ChainPlace::Ingress => dropped.before = true,
                ChainPlace::Prerouting | ChainPlace::Input => dropped.arriving = true,
                ChainPlace::Output | ChainPlace::Postrouting | ChainPlace::Egress => dropped.leaving = true,
                // Where it stands is not known of the older ones.
                ChainPlace::Forward => (dropped.arriving, dropped.leaving) = (true, true),
            }
        }
        Some(dropped)
    }

    /// The chain of a rule in front of an interface that may drop these packets.
    pub fn bars(&self, through: &Through) -> Option<String> {
        let is_it = |met: &MetRule| met.place == ChainPlace::Egress && met.does == Does::Drops;
        self.met(through).find(is_it).map(|met| met.chain)
    }

    /// Whether a rule keeps the kernel from knowing flows: then replies are translated as if they were the first of one.
    fn untracks(&self, through: &[Through]) -> bool {
        through.iter().flat_map(|one| self.met(one)).any(|met| met.does == Does::Untracks)
    }
}

impl Dropped {
    /// What either of two may.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            before: self.before || other.before,
            arriving: self.arriving || other.arriving,
            leaving: self.leaving || other.leaving,
            of_frames: self.of_frames || other.of_frames,
            any: self.any || other.any,
        }
    }
}

/// What a rule does of which nobody can tell whether an entry from before is met by it.
const ANY_ZONE: &str =
    "a zone of connection tracking that is another for each packet, with whatever it has from before,";
/// Headers that a rule counts bytes from.
const OF_LINK: u32 = 0;
const OF_NETWORK: u32 = 1;
/// Where they have the addresses of their source, which replies go to, and of their destination; and Ethernet has them.
const ADDRESSES_IPV4: Range<u32> = 12..20;
const ADDRESSES_IPV6: Range<u32> = 8..40;
const ADDRESSES_LINK: Range<u32> = 0..12;
/// Where the two versions have the time to live, from the network header on; that of Ethernet before it may be longer by
/// tags.
const IN_IPV4: u32 = 8;
const IN_IPV6: u32 = 7;
const ETHERNET: u32 = 14;

/// What a rule writes that may lead packets of a version away: so many bytes of a header, from the first on.
fn what_is_set(is_version_4: bool, base: u32, first: u32, length: u32) -> Option<&'static str> {
    let bytes = first..first.saturating_add(length);
    let meets = |other: &Range<u32>| bytes.start < other.end && other.start < bytes.end;
    let (time, addresses) = if is_version_4 { (IN_IPV4, ADDRESSES_IPV4) } else { (IN_IPV6, ADDRESSES_IPV6) };
    let sets_time = match base {
        OF_NETWORK => bytes.contains(&time),
        OF_LINK => bytes.end > ETHERNET + IN_IPV6,
        _ => false,
    };
    let sets_address = match base {
        OF_NETWORK => meets(&addresses),
        OF_LINK => meets(&ADDRESSES_LINK),
        _ => false,
    };
    match (sets_time, sets_address) {
        (true, _) => Some("a time to live that is set"),
        (_, true) => Some("an address that is set"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_writes_an_address_or_the_time_to_live_is_told_from_one_that_writes_beside_them() {
        let [address, time] = ["an address that is set", "a time to live that is set"].map(Some);
        for (is_version_4, base, first, length, said) in [
            (true, OF_NETWORK, 16, 4, address),
            (true, OF_NETWORK, 18, 2, address),
            (true, OF_NETWORK, 12, 4, address),
            (true, OF_NETWORK, 4, 2, None),
            (true, OF_NETWORK, 8, 1, time),
            (true, OF_NETWORK, 8, 2, time),
            (true, OF_NETWORK, 0, 20, time),
            (true, OF_NETWORK, 0, 2, None),
            (true, OF_NETWORK, 6, 2, None),
            (false, OF_NETWORK, 6, 2, time),
            (false, OF_NETWORK, 24, 16, address),
            (false, OF_NETWORK, 8, 16, address),
            (false, OF_NETWORK, 1, 3, None),
            (true, OF_LINK, 0, 6, address),
            (true, OF_LINK, 12, 2, None),
            (true, OF_LINK, 22, 1, time),
            (true, 2, 8, 1, None),
        ] {
            let is_set = what_is_set(is_version_4, base, first, length);
            assert_eq!(is_set, said, "{is_version_4} {base} {first} {length}");
        }
    }
}
