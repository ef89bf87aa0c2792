//! Who can get a packet that no router passes on: the stations of a segment.

use super::firewall::Seat;
use super::links::{Link, Neighbour};
use super::path;
use super::view::View;
use super::visit::{By, Tuple};
use crate::error::Detour;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// Why nobody on a segment is known to hold an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// This interface is no virtual one between namespaces: behind it may be anything.
    LeadsOff(String),
    /// What is at the other end of this interface is not to be seen.
    Unseen(String),
    /// All stations were seen, and none of them has the address.
    Nobody,
    /// A rule of a station's firewall leads packets elsewhere.
    LedAway(String),
    /// A station has the address, and the next hop is another.
    Diverted(Detour),
    /// The system had nothing left to look with.
    NotLooked(String),
}

impl From<io::Error> for Gap {
    fn from(why: io::Error) -> Self {
        Self::NotLooked(why.to_string())
    }
}

/// The namespace that has `address` and gets what leaves `here` by interface `through` for that address, or for the `gateway`
/// towards it: a number that its files share.
///
/// `packet` is what leaves: none of the rules that it may meet leads it elsewhere.
pub(crate) fn holder(here: View, through: u32, packet: &Tuple, gateway: Option<IpAddr>) -> Result<u64, Gap> {
    let Some(address) = packet.destination else { return Err(Gap::Nobody) };
    let mut views = vec![here];
    path::add_all_others(&mut views)?;
    let mut segment = Segment::of(views);
    let stations = segment.stations(through)?;
    for &(at, entrance) in &stations {
        let is_bridge = segment.link(at, entrance).is_some_and(|link| link.kind == "bridge");
        let view = &mut segment.views[at];
        let by = if is_bridge { By::ANY } else { view.by(entrance) };
        let back = packet.source.and_then(|source| view.route(source)?.through);
        let back = back.map_or(By::ANY, |index| view.by(index));
        let has_it = view.route(address).is_some_and(|route| route.local);
        let seat = if has_it { Seat::Far(&by, &back) } else { Seat::Between(&by) };
        let mut through = seat.through(packet);
        if is_bridge && has_it {
            through.extend(Seat::Between(&by).through(packet));
        }
        if let Some(rule) = view.leads_away(&through)? {
            return Err(Gap::LedAway(rule));
        }
    }
    let mut found = Err(Gap::Nobody);
    for (at, entrance) in stations.into_iter().filter(|&(at, _)| at != 0) {
        if segment.views[at].route(address).is_some_and(|route| route.local) {
            found = match segment.detour(through, gateway.unwrap_or(address), gateway, (at, entrance))? {
                None => return Ok(segment.views[at].id),
                Some(detour) => Err(Gap::Diverted(detour)),
            };
        }
    }
    found
}

/// The namespaces of this machine and their interfaces; the first is where packets leave.
struct Segment {
    views: Vec<View>,
    links: Vec<Vec<Link>>,
}

impl Segment {
    fn of(mut views: Vec<View>) -> Self {
        let links = views.iter_mut().map(|view| view.links().unwrap_or_default()).collect();
        Self { views, links }
    }

    fn link(&self, at: usize, index: u32) -> Option<&Link> {
        self.links[at].iter().find(|link| link.index == index)
    }

    /// Ports of a bridge.
    fn ports(&self, at: usize, bridge: u32) -> impl Iterator<Item = (usize, u32)> {
        self.links[at]
            .iter()
            .filter(move |link| link.master == Some(bridge))
            .map(move |link| (at, link.index))
    }

    /// Who else gets what leaves the first by `through` for the next hop, and not the station: another address, or the
    /// address of another's hardware. Where nobody knows that of the hop yet, who has it is asked with the first packet.
    fn detour(
        &mut self,
        through: u32,
        hop: IpAddr,
        gateway: Option<IpAddr>,
        (at, entrance): (usize, u32),
    ) -> io::Result<Option<Detour>> {
        if let Some(gateway) = gateway.filter(|&gateway| !self.views[at].has_address(entrance, gateway)) {
            return Ok(Some(Detour::Gateway(gateway)));
        }
        let known = self.views[0].neighbour(through, hop)?.filter(|known| known.found);
        let others = |known: &Neighbour| self.links[at].iter().all(|link| link.hardware != known.hardware);
        Ok(known.filter(others).map(|known| Detour::Neighbour { hop, hardware: known.hardware_text() }))
    }

    /// The namespaces that a packet may get to which leaves the first by `through`, each with the interface that it comes in
    /// by. A pair of interfaces has two ends, a bridge as many as its ports; whatever else is on the way may lead anywhere.
    fn stations(&mut self, through: u32) -> Result<BTreeSet<(usize, u32)>, Gap> {
        let (mut stations, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut exits = vec![(0, through)];
        while let Some((at, index)) = exits.pop() {
            if !seen.insert((at, index)) {
                continue;
            }
            let link = self.link(at, index).cloned().ok_or_else(|| Gap::Unseen(format!("number {index}")))?;
            match link.kind.as_str() {
                "bridge" => exits.extend(self.ports(at, index)),
                "veth" => {
                    let (to, far) = self.other_end(at, &link).ok_or(Gap::Unseen(link.name))?;
                    stations.insert((to, far.master.unwrap_or(far.index)));
                    match far.master.and_then(|master| self.link(to, master)) {
                        None => {}
                        Some(bridge) if bridge.kind == "bridge" => exits.extend(self.ports(to, bridge.index)),
                        Some(other) => return Err(Gap::LeadsOff(other.name.clone())),
                    }
                }
                _ => return Err(Gap::LeadsOff(link.name)),
            }
        }
        Ok(stations)
    }

    fn other_end(&mut self, at: usize, link: &Link) -> Option<(usize, Link)> {
        let to = match link.other_namespace {
            None => Some(at),
            Some(named) => {
                (0..self.views.len()).find(|&to| path::number(&mut self.views, at, to) == Some(named))
            }
        }?;
        self.link(to, link.other?).map(|far| (to, far.clone()))
    }
}
