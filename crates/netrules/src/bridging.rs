//! Where a bridge sends a frame: by its table of hardware addresses, or out of every port that may be.

use crate::links::Link;
use crate::message::{Attributes, Message, Request, half, word};
use std::collections::BTreeSet;

/// A line of a bridge's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeEntry {
    /// The bridge.
    pub bridge: u32,
    /// The port behind which the address is; the bridge itself for addresses of this namespace.
    pub behind: u32,
    /// The address.
    pub hardware: Vec<u8>,
}

/// Where a bridge would send frames that are for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Astray {
    /// Its table has the address behind that port.
    Known(u32),
    /// Its table does not have the address: out of all ports, that one among them.
    Flooded(u32),
}

/// A bridge, what its ports lead to, and its table.
#[derive(Clone, Debug)]
pub struct Bridge<'a> {
    /// Interfaces of its namespace.
    pub links: &'a [Link],
    /// Its own.
    pub index: u32,
    /// The tables of that namespace.
    pub table: &'a [BridgeEntry],
}

const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;
/// Bytes of `ndmsg`.
const FIXED: usize = 12;

impl BridgeEntry {
    /// Asks for the tables of all bridges.
    pub fn all() -> Request {
        const BRIDGE: u8 = 7;
        let mut fixed = [0; FIXED];
        fixed[0] = BRIDGE;
        Request::all(GET_NEIGHBOUR, &fixed)
    }

    /// Reads one from a netlink message; `None` if it is another message, torn, or of no bridge.
    pub fn read(message: Message<'_>) -> Option<Self> {
        /// An address of the namespace itself.
        const PERMANENT: u16 = 0x80;
        let body = message.body;
        let bridge = Attributes::find(body, FIXED, 9).and_then(|bridge| word(bridge, 0))?;
        let hardware = Attributes::find(body, FIXED, 2).filter(|_| message.kind == NEW_NEIGHBOUR)?.to_vec();
        let is_own = half(body, 8)? & PERMANENT != 0;
        Some(Self { bridge, behind: if is_own { bridge } else { word(body, 4)? }, hardware })
    }
}

impl Bridge<'_> {
    /// Where frames to a hardware address would go beside `there`, the ports (or the bridge itself) that lead to whom they
    /// are for, where they `came` from those. What answers before the first of them `is_heard` behind its port.
    pub fn astray(
        &self,
        hardware: &[u8],
        came: &BTreeSet<u32>,
        there: &BTreeSet<u32>,
        is_heard: bool,
    ) -> Option<Astray> {
        let of = |entry: &&BridgeEntry| entry.bridge == self.index && entry.hardware == hardware;
        let behind: BTreeSet<u32> = self.table.iter().filter(of).map(|entry| entry.behind).collect();
        if let Some(&other) = behind.difference(there).next() {
            return Some(Astray::Known(other));
        }
        let ports = || self.links.iter().filter(|link| link.master == Some(self.index));
        let port = |link: &Link| link.port.filter(|port| link.up && port.forwards);
        let keeps = self.links.iter().any(|link| link.index == self.index && link.keeps_addresses);
        let learns = |link: &Link| there.contains(&link.index) && port(link).is_some_and(|port| port.learns);
        if !behind.is_empty() || is_heard && keeps && ports().any(learns) {
            return None;
        }
        let beside = ports().find(|link| {
            let is_on_way = there.contains(&link.index) || came.contains(&link.index);
            !is_on_way && port(link).is_some_and(|port| port.floods)
        });
        beside.map(|link| Astray::Flooded(link.index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::Port;

    const TO: &[u8] = &[2, 0, 0, 0, 0, 7];
    const PLAIN: Port = Port { forwards: true, learns: true, floods: true };

    fn links(of_target: Port, of_stranger: Port) -> Vec<Link> {
        let port =
            |index, port| Link { index, up: true, master: Some(1), port: Some(port), ..Link::default() };
        let bridge = Link { index: 1, up: true, keeps_addresses: true, ..Link::default() };
        vec![bridge, port(2, PLAIN), port(3, of_target), port(4, of_stranger)]
    }

    fn astray(links: &[Link], behind: &[u32], is_heard: bool) -> Option<Astray> {
        let entry = |&behind: &u32| BridgeEntry { bridge: 1, behind, hardware: TO.to_vec() };
        let table: Vec<BridgeEntry> = behind.iter().map(entry).collect();
        Bridge { links, index: 1, table: &table }.astray(TO, &[2].into(), &[3].into(), is_heard)
    }

    #[test]
    fn a_bridge_floods_what_it_has_not_learnt_and_follows_its_table_wherever_that_leads() {
        let plain = links(PLAIN, PLAIN);
        assert_eq!((astray(&plain, &[3], false), astray(&plain, &[], true)), (None, None));
        assert_eq!(astray(&plain, &[], false), Some(Astray::Flooded(4)));
        assert_eq!(astray(&plain, &[4], true), Some(Astray::Known(4)));
        assert_eq!(astray(&plain, &[1], true), Some(Astray::Known(1)), "it is the bridge's own");
        let deaf = links(Port { learns: false, ..PLAIN }, PLAIN);
        assert_eq!(astray(&deaf, &[], true), Some(Astray::Flooded(4)));
        assert_eq!(astray(&deaf, &[3], true), None, "somebody wrote it there");
    }

    #[test]
    fn a_port_that_is_down_blocked_or_not_flooded_gets_nothing() {
        for port in [Port { floods: false, ..PLAIN }, Port { forwards: false, ..PLAIN }] {
            assert_eq!(astray(&links(PLAIN, port), &[], false), None, "{port:?}");
        }
        let mut down = links(PLAIN, PLAIN);
        down[3].up = false;
        assert_eq!(astray(&down, &[], false), None);
        let mut forgetful = links(PLAIN, PLAIN);
        forgetful[0].keeps_addresses = false;
        assert_eq!(astray(&forgetful, &[], true), Some(Astray::Flooded(4)), "as a hub does");
    }
}
