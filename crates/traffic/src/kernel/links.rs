//! Interfaces, their queueing disciplines, the route to an address and the next hop, as netlink tells them.

use super::netlink::{Attributes, Message, Netlink, Request, double, half, text, word};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// One interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its hardware address; empty if it has none.
    pub hardware: Vec<u8>,
    /// Switched on.
    pub on: bool,
    /// Switched on, and what it leads to is there.
    pub up: bool,
    /// Bytes of the longest IP packet that it carries in one piece; 0 where that is not told.
    pub mtu: u32,
    /// The interface it belongs to: a bridge.
    pub master: Option<u32>,
    /// What it is, in the words of `ip link`; empty for one of hardware.
    pub kind: String,
    /// What it takes of that which arrives at the interface below it, beside what is for its own address.
    pub takes: Takes,
    /// The interface below it or at its other end.
    pub other: Option<u32>,
    /// The namespace of that one, as numbered here; `None` if it is this one.
    pub other_namespace: Option<u32>,
    /// Times that it found or lost its peer, or was switched off.
    pub carrier_changes: u64,
    /// A program looks at packets before anything else does (XDP).
    pub program: bool,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that left.
    pub transmitted: u64,
    /// Packets dropped on arrival.
    pub receive_drops: u64,
    /// Packets dropped instead of sent.
    pub transmit_drops: u64,
    /// Packets with another host's hardware address.
    pub other_host: u64,
}

/// What an interface on top of another (macvlan, macvtap) takes of that which arrives there for other addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    #[default]
    Nothing,
    /// All (passthru).
    All,
    /// Copies of what these hardware addresses sent (source).
    From(Vec<Vec<u8>>),
}

impl Takes {
    /// As the settings of an interface of that kind say; the mode is their attribute 1, the list 5.
    fn read(settings: &[u8]) -> Self {
        const PASSTHRU: u32 = 8;
        const SOURCE: u32 = 16;
        match Attributes::find(settings, 0, 1).and_then(|mode| word(mode, 0)) {
            Some(PASSTHRU) => Self::All,
            Some(SOURCE) => {
                let listed = Attributes::find(settings, 0, 5).unwrap_or_default();
                Self::From(Attributes::behind(listed, 0).map(|(_, address)| address.to_vec()).collect())
            }
            _ => Self::Nothing,
        }
    }

    /// Whether that is anything of what this hardware address sends.
    pub(crate) fn takes_of(&self, hardware: &[u8]) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::From(listed) => listed.iter().any(|address| address == hardware),
        }
    }
}

/// What a queueing discipline dropped, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its interface.
    pub index: u32,
    /// In front of the interface, or behind it.
    pub side: Side,
    /// Packets dropped.
    pub drops: u64,
}

/// Where a queueing discipline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What arrives passes it.
    Arriving,
    /// What leaves passes it; the outermost, in which those inside are counted.
    Leaving,
}

/// The way to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Whether it is an address of this namespace.
    pub local: bool,
    /// The interface.
    pub through: Option<u32>,
    /// The next hop, where it is not the address itself.
    pub gateway: Option<IpAddr>,
    /// Where packets come from that do not say.
    pub source: Option<IpAddr>,
    /// Whether packets are put into others on it, whose way is another.
    pub encapsulated: bool,
    /// The table that it is of.
    pub table: Option<u32>,
    /// Bytes of the longest packet that it carries in one piece, where that is known of it.
    pub mtu: Option<u32>,
}

/// Packets whose way is asked for. What is not told of them (no port is 0) is met by no rule that tells packets by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    /// Where they come from; `None`: where the kernel likes.
    pub(crate) from: Option<SocketAddr>,
    pub(crate) to: SocketAddr,
    /// The interface that their socket is bound to.
    pub(crate) through: Option<u32>,
    /// The mark and the type of service that they have.
    pub(crate) mark: u32,
    pub(crate) service: u8,
    /// Whose socket it is; `None`: ours.
    pub(crate) user: Option<u32>,
}

impl Flow {
    /// Plain packets of ours.
    pub(crate) fn plain(from: Option<SocketAddr>, to: SocketAddr, through: Option<u32>) -> Self {
        Self { from, to, through, mark: 0, service: 0, user: None }
    }
}

/// A next hop, as the table of neighbours has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    /// Whether its hardware address is known.
    pub(crate) found: bool,
    /// That; empty where it is not known, or there is none.
    pub(crate) hardware: Vec<u8>,
    /// Whether somebody wrote it there: nobody was asked for it.
    pub(crate) written: bool,
}

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const GET_NAMESPACE: u16 = 90;

/// Interfaces that belong to a bridge or a bond: what arrives at them for this host arrives there once more.
pub(crate) fn shown_again() -> Vec<u32> {
    let links = Netlink::open(libc::NETLINK_ROUTE).and_then(|mut netlink| links(&mut netlink));
    let links = links.unwrap_or_default();
    let shows_again = |link: &Link| ["bridge", "bond", "team"].contains(&link.kind.as_str());
    let above = |index: u32| links.iter().find(|link| link.index == index);
    let part = |link: &&Link| link.master.and_then(above).is_some_and(shows_again);
    links.iter().filter(part).map(|link| link.index).collect()
}

/// All interfaces.
pub(crate) fn links(netlink: &mut Netlink) -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    netlink.ask(&Request::all(GET_LINK, &[0; 16]), |message| links.extend(Link::read(message)))?;
    Ok(links)
}

/// What tells of interfaces that are switched off.
pub(crate) fn told() -> io::Result<Netlink> {
    Netlink::told_of(libc::NETLINK_ROUTE, libc::RTMGRP_LINK as u32)
}

/// Interfaces that were switched off since the last time.
pub(crate) fn switched_off(told: &mut Netlink) -> Vec<u32> {
    let mut off = Vec::new();
    told.news(|message| off.extend(Link::read(message).filter(|link| !link.on).map(|link| link.index)));
    off
}

/// All queueing disciplines that stand directly at an interface.
pub(crate) fn qdiscs(netlink: &mut Netlink) -> io::Result<Vec<Qdisc>> {
    let mut qdiscs = Vec::new();
    netlink.ask(&Request::all(GET_QDISC, &[0; 20]), |message| qdiscs.extend(Qdisc::read(message)))?;
    Ok(qdiscs)
}

/// The way of UDP packets.
pub(crate) fn route(netlink: &mut Netlink, flow: &Flow) -> io::Result<Option<Route>> {
    /// rtnetlink.h: the answer has the table in which the route was found.
    const TELL_THE_TABLE: u32 = 0x1000;
    let (family, to) = written(flow.to.ip());
    let from = flow.from.map(|from| written(from.ip()).1);
    let bits = |address: &[u8]| (address.len() * 8) as u8;
    let mut fixed = [0; 12];
    (fixed[0], fixed[1], fixed[2]) = (family, bits(&to), from.as_deref().map_or(0, bits));
    fixed[3] = flow.service;
    fixed[8..].copy_from_slice(&TELL_THE_TABLE.to_ne_bytes());
    let ports = [(28, flow.from.map_or(0, |from| from.port())), (29, flow.to.port())];
    let mut request = Request::one(GET_ROUTE, &fixed).with(1, &to).with(27, &[libc::IPPROTO_UDP as u8]);
    for (kind, port) in ports.into_iter().filter(|(_, port)| *port != 0) {
        request = request.with(kind, &port.to_be_bytes());
    }
    if let Some(from) = from {
        request = request.with(2, &from);
    }
    let numbers = [(4, flow.through), (16, Some(flow.mark).filter(|&mark| mark != 0)), (25, flow.user)];
    for (kind, number) in numbers {
        if let Some(number) = number {
            request = request.with(kind, &number.to_ne_bytes());
        }
    }
    let mut route = None;
    netlink.ask(&request, |message| route = Route::read(message))?;
    Ok(route)
}

/// Whether one of this namespace's addresses is one of its interface `index`.
pub(crate) fn has_address(netlink: &mut Netlink, index: u32, address: IpAddr) -> io::Result<bool> {
    /// Bytes of `ifaddrmsg`.
    const FIXED: usize = 8;
    let (family, bytes) = written(address);
    let mut found = false;
    netlink.ask(&Request::all(GET_ADDRESS, &[family, 0, 0, 0, 0, 0, 0, 0]), |message| {
        // The own end's address is attribute 2; IPv6 has it in 1 where there is no other end.
        let own = [2, 1].iter().find_map(|&kind| Attributes::find(message.body, FIXED, kind));
        found |= message.kind == NEW_ADDRESS && word(message.body, 4) == Some(index) && own == Some(&bytes);
    })?;
    Ok(found)
}

/// What the table of neighbours says of a next hop; an error if the kernel never asked for it.
pub(crate) fn neighbour(
    netlink: &mut Netlink,
    through: u32,
    address: IpAddr,
) -> io::Result<Option<Neighbour>> {
    let (family, bytes) = written(address);
    let mut fixed = [0; 12];
    fixed[0] = family;
    fixed[4..8].copy_from_slice(&through.to_ne_bytes());
    let mut found = None;
    let request = Request::one(GET_NEIGHBOUR, &fixed).with(1, &bytes);
    netlink.ask(&request, |message| found = Neighbour::read(message))?;
    Ok(found)
}

/// The number that the namespace of an open file has in this one; `None` if it has none.
pub(crate) fn namespace_number(netlink: &mut Netlink, file: u32) -> Option<u32> {
    let mut number = None;
    let request = Request::one(GET_NAMESPACE, &[0; 4]).with(3, &file.to_ne_bytes());
    netlink
        .ask(&request, |message| number = Attributes::find(message.body, 4, 1).and_then(|v| word(v, 0)))
        .ok()?;
    number.filter(|&number| number != u32::MAX)
}

impl Link {
    /// Reads one from a netlink message; `None` if it is another message, or torn.
    pub fn read(message: Message<'_>) -> Option<Self> {
        /// Bytes of `ifinfomsg`.
        const FIXED: usize = 16;
        const SWITCHED_ON: u32 = 1;
        const PEER_THERE: u32 = 1 << 16;
        if message.kind != NEW_LINK {
            return None;
        }
        let flags = word(message.body, 8)?;
        let mut link = Self {
            index: word(message.body, 4)?,
            on: flags & SWITCHED_ON != 0,
            up: flags & SWITCHED_ON != 0 && flags & PEER_THERE != 0,
            ..Self::default()
        };
        for (kind, value) in Attributes::behind(message.body, FIXED) {
            match kind {
                1 => link.hardware = value.to_vec(),
                3 => link.name = text(value),
                4 => link.mtu = word(value, 0).unwrap_or(0),
                5 => link.other = word(value, 0),
                10 => link.master = word(value, 0),
                18 => {
                    link.kind = Attributes::find(value, 0, 1).map(text).unwrap_or_default();
                    if ["macvlan", "macvtap"].contains(&link.kind.as_str()) {
                        link.takes = Attributes::find(value, 0, 2).map(Takes::read).unwrap_or_default();
                    }
                }
                // The statistics: 64 bits each.
                23 => {
                    let count = |at: usize| double(value, 8 * at).unwrap_or(0);
                    link.received = count(0);
                    link.transmitted = count(1);
                    link.receive_drops = count(6);
                    link.transmit_drops = count(7);
                    link.other_host = count(24);
                }
                35 => link.carrier_changes = word(value, 0).unwrap_or(0).into(),
                37 => link.other_namespace = word(value, 0),
                43 => {
                    let attached = Attributes::find(value, 0, 2);
                    link.program = attached.is_some_and(|how| how.first().is_some_and(|&how| how != 0));
                }
                _ => {}
            }
        }
        (!link.name.is_empty()).then_some(link)
    }

    /// Whether what leaves by it arrives in its namespace.
    pub(crate) fn is_loopback(&self) -> bool {
        self.kind.is_empty() && self.name == "lo"
    }

    /// Whether it is neither part of another interface of its namespace nor on top of one.
    pub fn stands_alone(&self) -> bool {
        let on_top = self.other.is_some_and(|other| other != 0 && other != self.index)
            && self.other_namespace.is_none();
        !on_top && self.master.is_none()
    }
}

impl Qdisc {
    /// Reads one from a netlink message; `None` if it is another message, torn, or inside another discipline.
    pub fn read(message: Message<'_>) -> Option<Self> {
        /// Bytes of `tcmsg`.
        const FIXED: usize = 20;
        const ROOT: u32 = u32::MAX;
        const INGRESS: u32 = 0xffff_fff1;
        if message.kind != NEW_QDISC {
            return None;
        }
        let index = word(message.body, 4)?;
        let side = match word(message.body, 12)? {
            ROOT => Side::Leaving,
            INGRESS => Side::Arriving,
            _ => return None,
        };
        let statistics = Attributes::find(message.body, FIXED, 7)?;
        let queue = Attributes::find(statistics, 0, 3)?;
        Some(Self { index, side, drops: word(queue, 8)?.into() })
    }

    /// Drops by interface on one side.
    pub fn drops(qdiscs: &[Self], side: Side) -> BTreeMap<u32, u64> {
        let mut drops = BTreeMap::new();
        for qdisc in qdiscs.iter().filter(|qdisc| qdisc.side == side) {
            *drops.entry(qdisc.index).or_insert(0_u64) += qdisc.drops;
        }
        drops
    }
}

impl Route {
    /// Reads one from a netlink message; `None` if it is another message, or torn.
    pub fn read(message: Message<'_>) -> Option<Self> {
        /// Bytes of `rtmsg`.
        const FIXED: usize = 12;
        const LOCAL: u8 = 2;
        if message.kind != NEW_ROUTE {
            return None;
        }
        let attribute = |kind| Attributes::find(message.body, FIXED, kind);
        Some(Self {
            local: *message.body.get(7)? == LOCAL,
            through: attribute(4).and_then(|value| word(value, 0)),
            // One of the other version of IP stands behind the number of its family.
            gateway: attribute(5).or_else(|| attribute(18)?.get(2..)).and_then(address),
            source: attribute(7).and_then(address),
            encapsulated: attribute(21).or(attribute(22)).is_some(),
            table: attribute(15).and_then(|value| word(value, 0)),
            mtu: attribute(8).and_then(|metrics| word(Attributes::find(metrics, 0, 2)?, 0)),
        })
    }
}

impl Neighbour {
    /// Its hardware address as it is mostly written: `02:00:5e:10:00:01`.
    pub(crate) fn hardware_text(&self) -> String {
        self.hardware.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
    }

    /// Reads one from a netlink message; `None` if it is another message, or torn.
    fn read(message: Message<'_>) -> Option<Self> {
        /// Bytes of `ndmsg`.
        const FIXED: usize = 12;
        const INCOMPLETE: u16 = 1;
        const FAILED: u16 = 0x20;
        const UNASKED: u16 = 0x40;
        const PERMANENT: u16 = 0x80;
        let state = half(message.body, 8).filter(|_| message.kind == NEW_NEIGHBOUR)?;
        let found = state & (INCOMPLETE | FAILED) == 0;
        let hardware = Attributes::find(message.body, FIXED, 2).filter(|_| found).unwrap_or_default();
        Some(Self { found, hardware: hardware.to_vec(), written: state & (UNASKED | PERMANENT) != 0 })
    }
}

/// An address as the kernel writes it, with the number of its family.
pub(crate) fn written(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

pub(crate) fn address(value: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(value).ok().map(IpAddr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_an_interface_of_its_own_and_its_address_local() {
        let mut netlink = Netlink::open(libc::NETLINK_ROUTE).unwrap();
        let links = links(&mut netlink).unwrap();
        let lo = links.iter().find(|link| link.name == "lo").unwrap();
        assert!(lo.stands_alone() && lo.up && !lo.program, "{lo:?}");
        let flow = Flow::plain(None, "127.0.0.1:0".parse().unwrap(), None);
        let to_itself = route(&mut netlink, &flow).unwrap().unwrap();
        assert_eq!((to_itself.local, to_itself.through, to_itself.gateway), (true, Some(lo.index), None));
        let nobody = neighbour(&mut netlink, lo.index, "127.0.0.9".parse().unwrap());
        assert_eq!(nobody.ok().flatten(), None);
        qdiscs(&mut netlink).unwrap();
    }

    #[test]
    fn a_request_that_the_kernel_refuses_is_an_error_and_not_the_next_ones_answer() {
        let mut netlink = Netlink::open(libc::NETLINK_ROUTE).unwrap();
        assert!(netlink.ask(&Request::one(65_000, &[0; 16]), |_| {}).is_err());
        assert!(!links(&mut netlink).unwrap().is_empty());
    }
}
