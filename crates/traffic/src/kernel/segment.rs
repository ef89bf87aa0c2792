//! Who can get a packet that no router passes on: the stations of a segment.

use super::path;
use super::path_passed::PathPassed;
use super::view::View;
use crate::error::Detour;
use dropline_netrules::bridging::{Astray, Bridge};
use dropline_netrules::firewall::Seat;
use dropline_netrules::links::Link;
use dropline_netrules::routes::{Neighbour, hardware_text};
use dropline_netrules::visit::{By, Tuple};
use dropline_netrules::way::{Connections, Node};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// Why nobody on a segment is known to hold an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// This interface, of this kind, is no virtual one between namespaces: behind it may be anything.
    LeadsOff(String, String),
    /// What is at the other end of this interface is not to be seen.
    Unseen(String),
    /// All stations were seen, and none of them has the address; the other namespace that does, and the one that has the gateway
    /// towards it, by their names.
    Nobody { has: Option<String>, router: Option<String> },
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
/// towards it, and what is passed.
///
/// `packet` is what leaves: none of the rules that it may meet leads it elsewhere.
pub(crate) fn holder(
    here: View,
    through: u32,
    packet: &Tuple,
    gateway: Option<IpAddr>,
) -> Result<PathPassed, Gap> {
    let Some(address) = packet.destination else { return Err(Gap::Nobody { has: None, router: None }) };
    let mut views = vec![here];
    path::add_all_others(&mut views)?;
    let mut segment = Segment::of(views);
    let stations = segment.stations(through)?;
    for &(at, entrance) in &stations {
        let is_bridge = segment.link(at, entrance).is_some_and(Link::is_bridge);
        let view = &mut segment.views[at];
        let by = view.by(entrance);
        let back = packet.source.and_then(|source| view.route(source)?.through);
        let back = back.map_or(By::ANY, |index| view.by(index));
        let has_it = view.route(address).is_some_and(|route| route.local);
        let seat = if has_it { Seat::Far(&by, &back) } else { Seat::Between(&by) };
        let packet = Tuple { is_own: Some(has_it), ..packet.clone() };
        let mut through = seat.through(&packet);
        if is_bridge && has_it {
            through.extend(Seat::Between(&by).through(&packet));
        }
        if let Some(rule) = view.leads_away(&through)? {
            return Err(Gap::LedAway(rule));
        }
    }
    let holders: Vec<Node> =
        stations.iter().copied().filter(|&(at, _)| at != 0 && segment.has(at, address)).collect();
    let (Some(&first), hop) = (holders.first(), gateway.unwrap_or(address)) else {
        let router = gateway.and_then(|gateway| {
            stations.iter().map(|&(at, _)| at).find(|&at| at != 0 && segment.has(at, gateway))
        });
        let has = (1..segment.views.len()).find(|&at| segment.has(at, address));
        let name = |at: Option<usize>| at.map(|at| segment.views[at].name.clone());
        return Err(Gap::Nobody { has: name(has), router: name(router) });
    };
    if let Some(&(other, _)) = holders.iter().find(|(at, _)| *at != first.0) {
        let [one, other] = [first.0, other].map(|at| segment.views[at].name.clone().into());
        return Err(Gap::Diverted(Detour::Shared { one, other }));
    }
    let mut detour = None;
    for holder in holders {
        detour = segment.detour(through, hop, gateway, holder)?;
        if detour.is_none() {
            let beside = match segment.stacked((0, through), holder) {
                None => segment.flooded((0, through), holder, hop)?,
                stacked => stacked,
            };
            return match beside {
                Some(beside) => Err(Gap::Diverted(beside)),
                None => Ok(segment.passed((0, through), holder, &stations)),
            };
        }
    }
    Err(detour.map_or(Gap::Nobody { has: None, router: None }, Gap::Diverted))
}

/// The namespaces of this machine and their interfaces; the first is where packets leave.
struct Segment {
    views: Vec<View>,
    links: Vec<Vec<Link>>,
    /// Interfaces that packets may pass.
    passed: BTreeSet<Node>,
    /// How they are connected.
    connections: Connections,
    /// Interfaces of it that others are on top of: what is for those arrives there first.
    below: BTreeSet<Node>,
}

impl Segment {
    fn of(mut views: Vec<View>) -> Self {
        let links = views.iter_mut().map(|view| view.links().unwrap_or_default()).collect();
        Self {
            views,
            links,
            passed: BTreeSet::new(),
            connections: Connections::default(),
            below: BTreeSet::new(),
        }
    }

    fn link(&self, at: usize, index: u32) -> Option<&Link> {
        self.links[at].iter().find(|link| link.index == index)
    }

    /// Whether a namespace has an address.
    fn has(&mut self, at: usize, address: IpAddr) -> bool {
        self.views[at].route(address).is_some_and(|route| route.local)
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
        Ok(known
            .filter(others)
            .map(|known| Detour::Neighbour { hop, hardware: hardware_text(&known.hardware) }))
    }

    /// What else gets packets, or may at any moment, where interfaces are on top of one of the way: one of those that is not of the
    /// way itself, or whatever that one leads to. Which of them gets a packet hangs on what no rule says: modes, lists, hardware
    /// addresses and whether the others are there still. What is of either end's own namespace is nobody else's, but where a
    /// program reads it, which may be a machine of its own (macvtap).
    fn stacked(&mut self, from: Node, holder: Node) -> Option<Detour> {
        let way = self.connections.between(from, holder);
        for &(at, below) in &way {
            let tops = self.above(at, below);
            let is_own =
                |(of, link): &&(usize, Link)| [0, holder.0].contains(of) && link.kind.ends_with("vlan");
            let foreign = tops.iter().filter(|top| !way.contains(&(top.0, top.1.index)) && !is_own(top));
            let mut others: BTreeSet<Node> = foreign.map(|(of, link)| (*of, link.index)).collect();
            if tops.iter().any(|(of, link)| way.contains(&(*of, link.index))) {
                let is_top = |node: &Node| tops.iter().any(|(of, link)| (*of, link.index) == *node);
                let leads =
                    self.connections.of((at, below)).filter(|next| !way.contains(next) && !is_top(next));
                others.extend(leads);
            }
            if let Some(&other) = others.first() {
                let named = |node| self.named(node).into();
                return Some(Detour::Stacked { below: named((at, below)), other: named(other) });
            }
        }
        None
    }

    /// An interface in words.
    fn named(&self, (at, index): Node) -> String {
        let name = self.link(at, index).map(|link| link.name.as_str()).unwrap_or_default();
        format!("{name} of {}", self.views[at].name)
    }

    /// Where a bridge on the way would send packets for the station, or replies, beside it: into a port that leads elsewhere.
    fn flooded(&mut self, from: Node, holder: Node, hop: IpAddr) -> io::Result<Option<Detour>> {
        let way = self.connections.between(from, holder);
        let own = |segment: &Self, node: Node| segment.link(node.0, node.1).map(|link| link.hardware.clone());
        let known = self.views[0].neighbour(from.1, hop)?.filter(|known| known.found);
        // Who is not known is asked for first, and the bridge hears the answer; and a reply follows what it replies to.
        let is_asked = known.is_none();
        let to = known.map(|known| known.hardware).or_else(|| own(self, holder)).unwrap_or_default();
        let back = own(self, from).unwrap_or_default();
        let bridges =
            way.iter().copied().filter(|&(at, index)| self.link(at, index).is_some_and(Link::is_bridge));
        for (at, index) in bridges.collect::<Vec<_>>() {
            let table = self.views[at].bridge_tables()?;
            let bridge = Bridge { links: &self.links[at], index, table: &table };
            let towards = |end: Node| -> BTreeSet<u32> {
                let before = self.connections.reached(end, &[(at, index)].into());
                let next = self.connections.of((at, index)).filter(|next| before.contains(next));
                let own = (end == (at, index)).then_some(index);
                next.map(|(_, index)| index).chain(own).collect()
            };
            let (near, far) = (towards(from), towards(holder));
            let astray = bridge.astray(&to, &near, &far, is_asked).map(|astray| (astray, &to));
            let astray = astray.or_else(|| Some((bridge.astray(&back, &far, &near, true)?, &back)));
            if let Some((astray, hardware)) = astray {
                let (Astray::Known(port) | Astray::Flooded(port)) = astray;
                return Ok(Some(Detour::Bridge {
                    bridge: self.named((at, index)).into(),
                    hardware: hardware_text(hardware).into(),
                    port: self.link(at, port).map(|link| link.name.clone()).unwrap_or_default().into(),
                    is_known: matches!(astray, Astray::Known(_)),
                }));
            }
        }
        Ok(None)
    }

    /// Ports of bridges on the way that lead elsewhere.
    fn beside(&self, way: &BTreeSet<Node>) -> BTreeSet<Node> {
        let bridges = way.iter().filter(|(at, index)| self.link(*at, *index).is_some_and(Link::is_bridge));
        bridges.flat_map(|&bridge| self.connections.of(bridge)).filter(|port| !way.contains(port)).collect()
    }

    /// What is passed where that station has the address.
    fn passed(self, from: Node, (holder, entrance): Node, stations: &BTreeSet<Node>) -> PathPassed {
        let way = self.connections.between(from, (holder, entrance));
        // What is behind another port of a bridge comes there through that port alone.
        let near = self.connections.reached(from, &self.beside(&way));
        let Self { views, passed, below, .. } = self;
        let ends: BTreeSet<_> =
            stations.difference(&below).copied().filter(|station| near.contains(station)).collect();
        let of = |all: &BTreeSet<Node>, at: usize| -> BTreeSet<u32> {
            all.iter().filter(|(of, _)| *of == at).map(|(_, index)| *index).collect()
        };
        let (views_of, holder_of) = (Vec::new(), (0, entrance));
        let mut found =
            PathPassed { views: views_of, interfaces: Vec::new(), ends: Vec::new(), holder: holder_of };
        for (at, view) in views.into_iter().enumerate() {
            if at == holder {
                found.holder.0 = found.views.len();
            }
            if passed.iter().any(|(of, _)| *of == at) {
                found.views.push(view);
                found.interfaces.push(of(&near, at));
                found.ends.push(of(&ends, at));
            }
        }
        found
    }

    /// The namespaces that a packet may get to which leaves the first by `through`, each with the interface that it comes in
    /// by. A pair of interfaces has two ends, a bridge as many as its ports, and on top of each may be others (macvlan,
    /// ipvlan); whatever else is on the way may lead anywhere.
    fn stations(&mut self, through: u32) -> Result<BTreeSet<Node>, Gap> {
        let mut stations = BTreeSet::new();
        let mut exits = vec![(0, through)];
        while let Some((at, index)) = exits.pop() {
            if !self.passed.insert((at, index)) {
                continue;
            }
            for port in self.ports(at, index).collect::<Vec<_>>() {
                self.connections.add((at, index), port);
            }
            let link = self.link(at, index).cloned().ok_or_else(|| Gap::Unseen(format!("number {index}")))?;
            match link.kind.as_str() {
                "bridge" => exits.extend(self.ports(at, index)),
                // What leaves by it is gone.
                "dummy" => stations.extend(self.on_top(at, index)),
                "macvlan" | "ipvlan" => {
                    let (below, lower) = self.other_end(at, &link).ok_or(Gap::Unseen(link.name))?;
                    stations.extend(self.on_top(below, lower.index));
                    self.connections.add((at, index), (below, lower.index));
                    exits.push((below, lower.index));
                }
                "veth" => {
                    let (to, far) = self.other_end(at, &link).ok_or(Gap::Unseen(link.name))?;
                    stations.extend(self.on_top(to, far.index));
                    stations.insert((to, far.master.unwrap_or(far.index)));
                    self.connections.add((at, index), (to, far.index));
                    self.passed.insert((to, far.index));
                    match far.master.and_then(|master| self.link(to, master)) {
                        None => {}
                        Some(bridge) if bridge.is_bridge() => {
                            let bridge = bridge.index;
                            exits.push((to, bridge));
                            stations.extend(self.on_top(to, bridge));
                        }
                        Some(other) => return Err(Gap::LeadsOff(other.name.clone(), other.kind.clone())),
                    }
                }
                _ => return Err(Gap::LeadsOff(link.name, link.kind)),
            }
        }
        Ok(stations)
    }

    /// The interfaces on top of one, each with its namespace: what arrives there for their addresses is theirs.
    fn on_top(&mut self, at: usize, below: u32) -> BTreeSet<Node> {
        let above = self.above(at, below);
        // Where a program reads what such an interface takes (macvtap), nothing of this segment is for it.
        let stations = above.iter().filter(|(_, link)| link.kind.ends_with("vlan"));
        let found: BTreeSet<Node> = stations.map(|(of, link)| (*of, link.index)).collect();
        for &top in &found {
            self.passed.insert(top);
            self.below.insert((at, below));
            self.connections.add(top, (at, below));
        }
        found
    }

    fn above(&mut self, at: usize, below: u32) -> Vec<(usize, Link)> {
        let all =
            self.links.iter().enumerate().flat_map(|(of, links)| links.iter().map(move |link| (of, link)));
        let is_one = |link: &Link| link.other == Some(below) && link.is_stacked();
        let one: Vec<_> = all.filter(|(_, link)| is_one(link)).map(|(of, link)| (of, link.clone())).collect();
        one.into_iter()
            .filter(|(of, link)| self.other_end(*of, link).is_some_and(|(to, _)| to == at))
            .collect()
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
