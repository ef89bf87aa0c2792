//! Interfaces and their queueing disciplines, as netlink tells them.

use crate::message::{Attributes, Message, Request, double, text, word};
use std::collections::BTreeMap;

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
    /// What that bridge does with it.
    pub port: Option<Port>,
    /// Whether it is a bridge that keeps the addresses which it hears.
    pub keeps_addresses: bool,
    /// What it is, in the words of `ip link`; empty for one of hardware.
    pub kind: String,
    /// The interface below it or at its other end.
    pub other: Option<u32>,
    /// The namespace of that one, as numbered here; `None` if it is this one.
    pub other_namespace: Option<u32>,
    /// Of a vxlan, the interface by which what it carries leaves.
    pub carried_by: Option<u32>,
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

/// What a bridge does with a port (`IFLA_BRPORT_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Whether it forwards at all.
    pub forwards: bool,
    /// Whether the bridge keeps which addresses it hears there.
    pub learns: bool,
    /// Whether frames go out there for addresses that the bridge does not know.
    pub floods: bool,
}

impl Port {
    /// As the settings of a port say.
    fn read(settings: &[u8]) -> Self {
        const FORWARDING: u8 = 3;
        let byte = |kind| Attributes::find(settings, 0, kind).and_then(|value| value.first().copied());
        Self {
            forwards: byte(1).is_none_or(|state| state == FORWARDING),
            learns: byte(8).is_none_or(|on| on != 0),
            floods: byte(9).is_none_or(|on| on != 0),
        }
    }
}

/// What a queueing discipline dropped, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its interface.
    pub index: u32,
    /// In front of the interface, or behind it.
    pub side: Side,
    /// Its kind, in the words of tc.
    pub kind: String,
    /// Packets dropped.
    pub drops: u64,
    /// Packets that wait in it now.
    pub waiting: u64,
}

/// Where a queueing discipline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What arrives passes it.
    Arriving,
    /// Filters of either side stand at it (clsact), and its one counter has what both dropped.
    Either,
    /// What leaves passes it; the outermost, in which those inside are counted.
    Leaving,
}

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;

impl Link {
    /// Asks for all of them.
    pub fn all() -> Request {
        Request::all(GET_LINK, &[0; 16])
    }

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
                    if link.kind == "bridge" {
                        // Of no age is what is not kept.
                        let settings = Attributes::find(value, 0, 2).unwrap_or_default();
                        let age = Attributes::find(settings, 0, 4).and_then(|age| word(age, 0));
                        link.keeps_addresses = age != Some(0);
                    }
                    if link.kind == "vxlan" {
                        let settings = Attributes::find(value, 0, 2).unwrap_or_default();
                        link.carried_by = Attributes::find(settings, 0, 3).and_then(|below| word(below, 0));
                    }
                    let of_bridge = Attributes::find(value, 0, 4).is_some_and(|kind| text(kind) == "bridge");
                    let settings = Attributes::find(value, 0, 5).filter(|_| of_bridge);
                    link.port = settings.map(Port::read);
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

    /// Whether it is one with ports.
    pub fn is_bridge(&self) -> bool {
        self.kind == "bridge"
    }

    /// Whether what leaves by it arrives in its namespace.
    pub fn is_loopback(&self) -> bool {
        self.kind.is_empty() && self.name == "lo"
    }

    /// Whether it is on top of another that others may be on too (macvlan and its like).
    pub fn is_stacked(&self) -> bool {
        ["macvlan", "macvtap", "ipvlan", "ipvtap"].contains(&self.kind.as_str())
    }

    /// Whether it is neither part of another interface of its namespace nor on top of one.
    pub fn stands_alone(&self) -> bool {
        let on_top = self.other.is_some_and(|other| other != 0 && other != self.index)
            && self.other_namespace.is_none();
        !on_top && self.master.is_none()
    }
}

impl Qdisc {
    /// Asks for all that stand directly at an interface.
    pub fn all() -> Request {
        Request::all(GET_QDISC, &[0; 20])
    }

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
        let kind = Attributes::find(message.body, FIXED, 1).map(text).unwrap_or_default();
        let side = match word(message.body, 12)? {
            ROOT => Side::Leaving,
            INGRESS if kind == "clsact" => Side::Either,
            INGRESS => Side::Arriving,
            _ => return None,
        };
        let statistics = Attributes::find(message.body, FIXED, 7)?;
        let queue = Attributes::find(statistics, 0, 3)?;
        let (waiting, drops) = (word(queue, 0)?.into(), word(queue, 8)?.into());
        Some(Self { index, side, kind, drops, waiting })
    }

    /// Whether all that it is given leaves as soon as the interface has room.
    pub fn holds_nothing_back(&self) -> bool {
        const PLAIN: [&str; 10] =
            ["noqueue", "pfifo", "bfifo", "pfifo_fast", "mq", "fq", "fq_codel", "codel", "sfq", "prio"];
        PLAIN.contains(&self.kind.as_str())
    }

    /// Packets that wait, by interface, in those in front of it.
    pub fn waiting(qdiscs: &[Self]) -> BTreeMap<u32, u64> {
        Self::sums(qdiscs, Side::Leaving, |qdisc| qdisc.waiting)
    }

    /// Drops by interface on one side.
    pub fn drops(qdiscs: &[Self], side: Side) -> BTreeMap<u32, u64> {
        Self::sums(qdiscs, side, |qdisc| qdisc.drops)
    }

    fn sums(qdiscs: &[Self], side: Side, of: impl Fn(&Self) -> u64) -> BTreeMap<u32, u64> {
        let mut sums = BTreeMap::new();
        for qdisc in qdiscs.iter().filter(|qdisc| qdisc.side == side) {
            *sums.entry(qdisc.index).or_insert(0_u64) += of(qdisc);
        }
        sums
    }
}
