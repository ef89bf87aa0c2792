//! Lost packets and the claims to them: each claim gets what is left, so that the places sum to the loss.

use crate::{Place, Site, Way};
use std::collections::BTreeMap;

/// Packets that were lost, and where so far.
///
/// Where it is known how many arrived, the two ways are separate: no place on one way can take what was lost
/// on the other.
#[derive(Clone, Debug)]
pub struct Ledger {
    lost: u64,
    left: Left,
    at: BTreeMap<Site, u64>,
    /// The same by whose counters said so: a namespace's, or those at both ends of a link.
    by: BTreeMap<(Site, Option<u64>), u64>,
    /// Whose are heard now.
    heard: Option<u64>,
    claims: Claims,
}

/// What was claimed, whatever was lost: at a place, on a way where that is known, by whose counters said so.
pub(crate) type Claims = BTreeMap<((Place, Option<Way>), Option<u64>), u64>;

/// What no place has claimed yet.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// It is not known on which way.
    Together(u64),
    /// It is.
    Apart { out: u64, back: u64 },
    /// Claims alone are kept.
    All,
}

impl Ledger {
    /// A loss of which the ways are not known.
    pub fn new(lost: u64) -> Self {
        Self {
            lost,
            left: Left::Together(lost),
            at: BTreeMap::new(),
            by: BTreeMap::new(),
            heard: None,
            claims: Claims::new(),
        }
    }

    /// One that gives every claim all that it asks for, and keeps them.
    pub(crate) fn of_claims() -> Self {
        Self { left: Left::All, ..Self::new(u64::MAX) }
    }

    /// What was claimed of it.
    pub(crate) fn claims(self) -> Claims {
        self.claims
    }

    /// A loss of which so many were lost before the target's program had them, at most all.
    pub fn apart(lost: u64, out: u64) -> Self {
        let out = out.min(lost);
        Self { left: Left::Apart { out, back: lost - out }, ..Self::new(lost) }
    }

    /// Packets that were lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Packets that no place has claimed; with a way, those that may have been lost on it.
    pub fn left(&self, way: Option<Way>) -> u64 {
        match (self.left, way) {
            (Left::Together(left), _) => left,
            (Left::All, _) => u64::MAX,
            (Left::Apart { out, back }, None) => out + back,
            (Left::Apart { out, .. }, Some(Way::Out)) => out,
            (Left::Apart { back, .. }, Some(Way::Back)) => back,
        }
    }

    /// Packets that each place got so far.
    pub fn places(&self) -> &BTreeMap<Site, u64> {
        &self.at
    }

    /// What is claimed from now on is said by these counters: of the namespace or link with this number.
    pub fn hear(&mut self, of: Option<u64>) {
        self.heard = of;
    }

    /// Gives a place on a way up to `packets` of what is left there; returns how many it got.
    pub fn claim(&mut self, site: Site, packets: u64) -> u64 {
        let left = match &mut self.left {
            Left::Together(left) => left,
            Left::All => return self.keep(site.place, Some(site.way), packets),
            Left::Apart { out, .. } if site.way == Way::Out => out,
            Left::Apart { back, .. } => back,
        };
        let got = packets.min(*left);
        *left -= got;
        if got > 0 {
            *self.at.entry(site).or_default() += got;
            *self.by.entry((site, self.heard)).or_default() += got;
        }
        got
    }

    fn keep(&mut self, place: Place, way: Option<Way>, packets: u64) -> u64 {
        if packets > 0 {
            *self.claims.entry(((place, way), self.heard)).or_default() += packets;
        }
        packets
    }

    /// The same where nobody can tell the way: what is left on the way out goes first.
    pub fn claim_either(&mut self, place: Place, packets: u64) -> u64 {
        if matches!(self.left, Left::All) {
            return self.keep(place, None, packets);
        }
        let out = self.claim(Site::out(place), packets);
        match self.left {
            Left::Together(_) | Left::All => out,
            Left::Apart { .. } => out + self.claim(Site::back(place), packets - out),
        }
    }

    /// Packets by place; what is left is unexplained, which is always there.
    pub fn close(self) -> BTreeMap<String, u64> {
        self.close_by_host(&BTreeMap::new())
    }

    /// The same, with the name of the host before the place where `hosts` has one.
    pub fn close_by_host(self, hosts: &BTreeMap<u64, String>) -> BTreeMap<String, u64> {
        let left = self.left(None);
        let mut places: BTreeMap<String, u64> = BTreeMap::new();
        for ((site, heard), packets) in self.by {
            let host = heard.and_then(|heard| hosts.get(&heard)).filter(|_| site != Site::UNEXPLAINED);
            let key = host.map_or_else(|| site.key(), |host| format!("{host}/{}", site.key()));
            *places.entry(key).or_default() += packets;
        }
        *places.entry(Site::UNEXPLAINED.key()).or_default() += left;
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_way_that_lost_nothing_has_no_places() {
        let mut ledger = Ledger::apart(10, 0);
        assert_eq!(ledger.claim(Site::out(Place::Qdisc), 10), 0);
        assert_eq!(ledger.claim_either(Place::Checksum, 4), 4);
        let places: Vec<_> = ledger.close().into_iter().collect();
        assert_eq!(places, [("return_checksum".into(), 4), ("unexplained".into(), 6)]);
    }

    proptest! {
        #[test]
        fn places_sum_to_the_loss_whatever_is_claimed(
            lost in 0..1000u64,
            out in proptest::option::of(0..1500u64),
            claims in prop::collection::vec((0..Place::ALL.len(), 0..3, 0..800u64), 0..30),
        ) {
            let mut ledger = out.map_or_else(|| Ledger::new(lost), |out| Ledger::apart(lost, out));
            for (place, way, packets) in claims {
                let place = Place::ALL[place];
                let before = ledger.left(None);
                let got = match way {
                    0 => ledger.claim(Site::out(place), packets),
                    1 => ledger.claim(Site::back(place), packets),
                    _ => ledger.claim_either(place, packets),
                };
                prop_assert!(got <= packets);
                prop_assert_eq!(ledger.left(None), before - got);
            }
            prop_assert_eq!(ledger.close().values().sum::<u64>(), lost);
        }
    }
}
