//! Asking for interfaces, their queueing disciplines, the route to an address and the next hop.

use super::netlink::Netlink;
use dropline_netrules::bridging::BridgeEntry;
use dropline_netrules::links::{Link, Qdisc};
use dropline_netrules::message::{Attributes, Request, word};
use dropline_netrules::routes::{self, Flow, Neighbour, Route, written};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
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
    netlink.ask(&Link::all(), |message| links.extend(Link::read(message)))?;
    Ok(links)
}

/// What tells of interfaces that are switched off.
pub(crate) fn told() -> io::Result<Netlink> {
    Netlink::told_of(libc::NETLINK_ROUTE, libc::RTMGRP_LINK as u32)
}

/// Interfaces that were switched off since the last time.
pub(crate) fn switched_off(told: &mut Netlink) -> Vec<u32> {
    let mut off = Vec::new();
    let _ =
        told.news(|message| off.extend(Link::read(message).filter(|link| !link.on).map(|link| link.index)));
    off
}

/// All queueing disciplines that stand directly at an interface.
pub(crate) fn qdiscs(netlink: &mut Netlink) -> io::Result<Vec<Qdisc>> {
    let mut qdiscs = Vec::new();
    netlink.ask(&Qdisc::all(), |message| qdiscs.extend(Qdisc::read(message)))?;
    Ok(qdiscs)
}

/// The way of UDP packets.
pub(crate) fn route(netlink: &mut Netlink, flow: &Flow) -> io::Result<Option<Route>> {
    let mut route = None;
    netlink.ask(&flow.asked(), |message| route = Route::read(message))?;
    Ok(route)
}

/// The tables of all bridges.
pub(crate) fn bridge_tables(netlink: &mut Netlink) -> io::Result<Vec<BridgeEntry>> {
    let mut entries = Vec::new();
    netlink.ask(&BridgeEntry::all(), |message| entries.extend(BridgeEntry::read(message)))?;
    Ok(entries)
}

/// The routes of all tables that lead to other hosts.
pub(super) fn routes(netlink: &mut Netlink) -> io::Result<Vec<routes::Entry>> {
    let mut entries = Vec::new();
    netlink.ask(&routes::Entry::all(), |message| entries.extend(routes::Entry::read(message)))?;
    Ok(entries)
}

/// Interfaces with an address that reaches beyond their link.
pub(super) fn addressed(netlink: &mut Netlink) -> io::Result<BTreeSet<u32>> {
    const OF_LINK: u8 = 253;
    let mut found = BTreeSet::new();
    netlink.ask(&Request::all(GET_ADDRESS, &[0; 8]), |message| {
        let reaches =
            message.kind == NEW_ADDRESS && message.body.get(3).is_some_and(|&scope| scope < OF_LINK);
        found.extend(word(message.body, 4).filter(|_| reaches));
    })?;
    Ok(found)
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
    let mut found = None;
    netlink.ask(&Neighbour::asked(through, address), |message| found = Neighbour::read(message))?;
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
