//! Who can get a packet that no router passes on: the stations of a segment.

use super::path;
use super::view::View;
use crate::error::Detour;
use dropline_netrules::bridging::{Astray, Bridge};
use dropline_netrules::firewall::Seat;
use dropline_netrules::links::Link;
use dropline_netrules::routes::{Flow, Neighbour, Route, hardware_text};
use dropline_netrules::visit::{By, Tuple};
use dropline_netrules::way::{Connections, Node};
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
/// towards it, and what is passed.
///
/// `packet` is what leaves: none of the rules that it may meet leads it elsewhere.
pub(crate) fn holder(
    here: View,
    through: u32,
    packet: &Tuple,
    gateway: Option<IpAddr>,
) -> Result<Passed, Gap> {
    let Some(address) = packet.destination else { return Err(Gap::Nobody) };
    let mut views = vec![here];
    path::add_all_others(&mut views)?;
    let mut segment = Segment::of(views);
    let stations = segment.stations(through)?;
    for &(at, entrance) in &stations {
        let is_bridge = segment.link(at, entrance).is_some_and(Link::is_bridge);
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
    for &(at, entrance) in stations.iter().filter(|&&(at, _)| at != 0) {
        if segment.views[at].route(address).is_some_and(|route| route.local) {
            let hop = gateway.unwrap_or(address);
            found = match segment.detour(through, hop, gateway, (at, entrance))? {
                None => {
                    if let Some(astray) = segment.flooded((0, through), (at, entrance), hop)? {
                        return Err(Gap::Diverted(astray));
                    }
                    let taken = segment.taken_from(through, at);
                    return taken
                        .map_or_else(|| Ok(segment.passed((0, through), (at, entrance), &stations)), Err);
                }
                Some(detour) => Err(Gap::Diverted(detour)),
            };
        }
    }
    found
}

/// What packets to an address may pass that no router passes on, and replies to them.
#[derive(Debug)]
pub(crate) struct Passed {
    /// The namespaces; the first is where packets leave.
    pub(crate) views: Vec<View>,
    /// Of each, the interfaces.
    pub(crate) interfaces: Vec<BTreeSet<u32>>,
    /// Those of them by which packets come in for whoever has the interface.
    pub(crate) ends: Vec<BTreeSet<u32>>,
    /// Which of them has the address, and the interface that they come in by.
    pub(crate) holder: (usize, u32),
}

impl Passed {
    /// The interface `loopback` alone.
    pub(crate) fn loopback(here: View, loopback: u32) -> Self {
        Self {
            views: vec![here],
            interfaces: vec![[loopback].into()],
            ends: vec![BTreeSet::new()],
            holder: (0, loopback),
        }
    }

    /// What carries least of the way to an address, in words, and how many bytes in one piece.
    pub(crate) fn carries_least(&mut self, address: IpAddr) -> Option<(String, u32)> {
        let each = self.views.iter_mut().zip(&self.interfaces).enumerate();
        let least = each.filter_map(|(at, (view, interfaces))| {
            view.carries_least(interfaces, Some(address).filter(|_| at == 0))
        });
        least.min_by_key(|(_, mtu)| *mtu)
    }

    /// What leads replies of a flow to where nothing of the way is, by their type of service alone or by all else, as `kinds`
    /// say.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn replies_led_elsewhere(
        &mut self,
        flow: &Flow,
        kinds: &[bool],
    ) -> io::Result<Option<String>> {
        let (at, _) = self.holder;
        if at == 0 {
            return Ok(None);
        }
        // What is no station's own, as where a host answers for another, is the near end's.
        let (before, [far, behind @ ..]) = self.views.split_at_mut(at) else { return Ok(None) };
        let stations = std::cell::RefCell::new(before.iter_mut().skip(1).chain(behind).collect::<Vec<_>>());
        let is_a_stations = |hop: IpAddr| {
            stations.borrow_mut().iter_mut().any(|view| view.route(hop).is_some_and(|route| route.local))
        };
        let on_way = &self.interfaces[at];
        let elsewhere = |route: &Route| {
            !route.local
                && (route.encapsulated
                    || route.through.is_some_and(|through| !on_way.contains(&through))
                    || route.gateway.is_some_and(is_a_stations))
        };
        for &by_service in kinds {
            if let Some(led) = far.led_elsewhere(flow, by_service, elsewhere)? {
                return Ok(Some(led));
            }
        }
        Ok(None)
    }
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
    /// Interfaces that take what is for others.
    takers: Vec<(usize, Link)>,
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
            takers: Vec::new(),
        }
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
        Ok(known
            .filter(others)
            .map(|known| Detour::Neighbour { hop, hardware: hardware_text(&known.hardware) }))
    }

    /// Who takes what is sent to the station that has the address, or what it replies, and is another, or a program that may be
    /// a machine of its own (macvtap).
    fn taken_from(&mut self, through: u32, holder: usize) -> Option<Gap> {
        let of_replies = self.above(0, through).into_iter().filter(|(_, link)| {
            self.links[holder].iter().any(|replying| link.takes.takes_of(&replying.hardware))
        });
        let replies: Vec<_> = of_replies.collect();
        let own = |of: &usize, link: &Link| *of == 0 && link.index == through;
        let out = self.takers.iter().filter(|(of, link)| *of != holder && !own(of, link));
        let taps = self.takers.iter().filter(|(_, link)| link.kind == "macvtap");
        let (of, link) = out.chain(taps).chain(&replies).next()?;
        let (interface, namespace) = (link.name.clone(), self.views[*of].name.clone());
        Some(Gap::Diverted(Detour::Taken { interface, namespace }))
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
                let name = |index| self.link(at, index).map(|link| link.name.clone()).unwrap_or_default();
                let (Astray::Known(port) | Astray::Flooded(port)) = astray;
                return Ok(Some(Detour::Bridge {
                    bridge: format!("{} of {}", name(index), self.views[at].name).into(),
                    hardware: hardware_text(hardware).into(),
                    port: name(port).into(),
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
    fn passed(self, from: Node, (holder, entrance): Node, stations: &BTreeSet<Node>) -> Passed {
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
            Passed { views: views_of, interfaces: Vec::new(), ends: Vec::new(), holder: holder_of };
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
        let sent_by = self.link(0, through).map(|link| link.hardware.clone()).unwrap_or_default();
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
                "dummy" => stations.extend(self.on_top(at, index, &sent_by)),
                "macvlan" | "ipvlan" => {
                    let (below, lower) = self.other_end(at, &link).ok_or(Gap::Unseen(link.name))?;
                    stations.extend(self.on_top(below, lower.index, &sent_by));
                    self.connections.add((at, index), (below, lower.index));
                    exits.push((below, lower.index));
                }
                "veth" => {
                    let (to, far) = self.other_end(at, &link).ok_or(Gap::Unseen(link.name))?;
                    stations.extend(self.on_top(to, far.index, &sent_by));
                    stations.insert((to, far.master.unwrap_or(far.index)));
                    self.connections.add((at, index), (to, far.index));
                    self.passed.insert((to, far.index));
                    match far.master.and_then(|master| self.link(to, master)) {
                        None => {}
                        Some(bridge) if bridge.is_bridge() => {
                            let bridge = bridge.index;
                            exits.push((to, bridge));
                            stations.extend(self.on_top(to, bridge, &sent_by));
                        }
                        Some(other) => return Err(Gap::LeadsOff(other.name.clone())),
                    }
                }
                _ => return Err(Gap::LeadsOff(link.name)),
            }
        }
        Ok(stations)
    }

    /// The interfaces on top of one, each with its namespace: what arrives there for their addresses is theirs, and of some
    /// (passthru, source) what that hardware address sent to others too.
    fn on_top(&mut self, at: usize, below: u32, sent_by: &[u8]) -> BTreeSet<Node> {
        let mut found = BTreeSet::new();
        for (of, link) in self.above(at, below) {
            // Where a program reads what such an interface takes (macvtap), nothing of this segment is for it.
            if link.kind.ends_with("vlan") {
                found.insert((of, link.index));
                self.passed.insert((of, link.index));
                self.below.insert((at, below));
                self.connections.add((of, link.index), (at, below));
            }
            if link.takes.takes_of(sent_by) {
                self.takers.push((of, link));
            }
        }
        found
    }

    fn above(&mut self, at: usize, below: u32) -> Vec<(usize, Link)> {
        let kinds = ["macvlan", "macvtap", "ipvlan", "ipvtap"];
        let all =
            self.links.iter().enumerate().flat_map(|(of, links)| links.iter().map(move |link| (of, link)));
        let is_one = |link: &Link| link.other == Some(below) && kinds.contains(&link.kind.as_str());
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
