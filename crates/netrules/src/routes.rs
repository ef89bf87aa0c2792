//! The route of packets and the next hop on it, as netlink tells them.

use crate::message::{Attributes, Message, Request, half, word};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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

/// A route of a table, whether or not a rule of routing asks that table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first address that it leads to.
    pub to: IpAddr,
    /// So many bits of it have to be those of a packet's address.
    pub bits: u8,
    /// The interfaces by which it leads there.
    pub through: Vec<u32>,
}

/// Packets whose way is asked for. What is not told of them (no port is 0) is met by no rule that tells packets by it.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Where they come from; `None`: where the kernel likes.
    pub from: Option<SocketAddr>,
    /// Where they go.
    pub to: SocketAddr,
    /// The interface that their socket is bound to.
    pub through: Option<u32>,
    /// The interface by which they arrive, where they are to be sent on; `None`: they are sent from here.
    pub arrives: Option<u32>,
    /// The mark that they have.
    pub mark: u32,
    /// The type of service that they have.
    pub service: u8,
    /// Whose socket it is; `None`: ours.
    pub user: Option<u32>,
}

/// A next hop, as the table of neighbours has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Whether its hardware address is known.
    pub found: bool,
    /// That; empty where it is not known, or there is none.
    pub hardware: Vec<u8>,
    /// Whether somebody wrote it there: nobody was asked for it.
    pub written: bool,
}

const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;
/// UDP, and the families of addresses.
const UDP: u8 = 17;
const IPV4: u8 = 2;
const IPV6: u8 = 10;

impl Flow {
    /// Plain packets of ours.
    pub fn plain(from: Option<SocketAddr>, to: SocketAddr, through: Option<u32>) -> Self {
        Self { from, to, through, arrives: None, mark: 0, service: 0, user: None }
    }

    /// Asks for their way.
    pub fn asked(&self) -> Request {
        /// rtnetlink.h: the answer has the table in which the route was found.
        const TELL_THE_TABLE: u32 = 0x1000;
        let (family, to) = written(self.to.ip());
        let from = self.from.map(|from| written(from.ip()).1);
        let bits = |address: &[u8]| (address.len() * 8) as u8;
        let mut fixed = [0; 12];
        (fixed[0], fixed[1], fixed[2]) = (family, bits(&to), from.as_deref().map_or(0, bits));
        fixed[3] = self.service;
        fixed[8..].copy_from_slice(&TELL_THE_TABLE.to_ne_bytes());
        let ports = [(28, self.from.map_or(0, |from| from.port())), (29, self.to.port())];
        let mut request = Request::one(GET_ROUTE, &fixed).with(1, &to).with(27, &[UDP]);
        for (kind, port) in ports.into_iter().filter(|(_, port)| *port != 0) {
            request = request.with(kind, &port.to_be_bytes());
        }
        if let Some(from) = from {
            request = request.with(2, &from);
        }
        let numbers = [
            (3, self.arrives),
            (4, self.through),
            (16, Some(self.mark).filter(|&mark| mark != 0)),
            (25, self.user),
        ];
        for (kind, number) in numbers {
            if let Some(number) = number {
                request = request.with(kind, &number.to_ne_bytes());
            }
        }
        request
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

impl Entry {
    /// Asks for all of them, of both versions and in all tables.
    pub fn all() -> Request {
        Request::all(GET_ROUTE, &[0; 12])
    }

    /// Reads one that leads to other hosts from a netlink message; `None` if it is another message, or torn.
    pub fn read(message: Message<'_>) -> Option<Self> {
        /// Bytes of `rtmsg`, and of a next hop among several.
        const FIXED: usize = 12;
        const HOP: usize = 8;
        const TO_OTHERS: u8 = 1;
        let &[family, bits, ..] = message.body else { return None };
        if message.kind != NEW_ROUTE || *message.body.get(7)? != TO_OTHERS {
            return None;
        }
        let any = || if family == IPV6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let attribute = |kind| Attributes::find(message.body, FIXED, kind);
        let to = attribute(1).map_or_else(|| Some(any()), address)?;
        let mut through: Vec<u32> = attribute(4).and_then(|value| word(value, 0)).into_iter().collect();
        let mut hops = attribute(9).unwrap_or_default();
        while let (Some(length), Some(interface)) = (half(hops, 0), word(hops, 4)) {
            through.push(interface);
            hops = hops.get(usize::from(length).max(HOP).next_multiple_of(4)..).unwrap_or_default();
        }
        Some(Self { to, bits, through })
    }

    /// Whether it leads to an address.
    pub fn leads_to(&self, address: IpAddr) -> bool {
        let differ = match (self.to, address) {
            (IpAddr::V4(to), IpAddr::V4(address)) => (to.to_bits() ^ address.to_bits()).leading_zeros(),
            (IpAddr::V6(to), IpAddr::V6(address)) => (to.to_bits() ^ address.to_bits()).leading_zeros(),
            _ => return false,
        };
        differ >= self.bits.into()
    }

    /// Whether these together lead to half of all addresses or more, as a default route does, whole or in parts: of IPv4, or of IPv6's
    /// global ones (2000::/3).
    pub fn are_wide<'a>(routes: impl IntoIterator<Item = &'a Self>) -> bool {
        const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);
        const GLOBAL_BITS: u8 = 3;
        let is_global = |to: Ipv6Addr| to.to_bits() >> 125 == GLOBAL.to_bits() >> 125;
        let routes: BTreeSet<(u8, IpAddr)> = routes.into_iter().map(|route| (route.bits, route.to)).collect();
        let mut counted: Vec<Self> = Vec::new();
        let (mut of_v4, mut of_v6) = (0.0, 0.0);
        // Widest first: what lies in one that was counted is in it.
        for (bits, to) in routes {
            if counted.iter().any(|wider| wider.leads_to(to)) {
                continue;
            }
            let route = Self { to, bits, through: Vec::new() };
            match to {
                IpAddr::V4(_) => of_v4 += 0.5_f64.powi(bits.into()),
                IpAddr::V6(_) if route.leads_to(GLOBAL.into()) && bits <= GLOBAL_BITS => of_v6 = 1.0,
                IpAddr::V6(to) if is_global(to) => {
                    of_v6 += 0.5_f64.powi(i32::from(bits) - i32::from(GLOBAL_BITS))
                }
                IpAddr::V6(_) => {}
            }
            counted.push(route);
        }
        of_v4 >= 0.5 || of_v6 >= 0.5
    }
}

impl Neighbour {
    /// Asks for what is known of one behind an interface.
    pub fn asked(through: u32, address: IpAddr) -> Request {
        let (family, bytes) = written(address);
        let mut fixed = [0; 12];
        fixed[0] = family;
        fixed[4..8].copy_from_slice(&through.to_ne_bytes());
        Request::one(GET_NEIGHBOUR, &fixed).with(1, &bytes)
    }

    /// Whom a message tells the hardware address of, and that; of a bridge's table, the hardware address and the port that it is
    /// behind. `None` where it is not known, or if it is another message.
    pub fn told(message: Message<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
        const OF_BRIDGE: u8 = 7;
        const BRIDGE: u16 = 9;
        let known = Self::read(message).filter(|known| known.found)?;
        let attribute = |kind| Attributes::find(message.body, 12, kind);
        let interface = message.body.get(4..8)?;
        if message.body.first() == Some(&OF_BRIDGE) {
            return Some(([&known.hardware, attribute(BRIDGE)?].concat(), interface.to_vec()));
        }
        Some(([interface, attribute(1)?].concat(), known.hardware))
    }

    /// The port of a bridge behind which a message tells one of these hardware addresses to be.
    pub fn learnt(message: Message<'_>, hardware: &BTreeSet<Vec<u8>>) -> Option<u32> {
        const OF_BRIDGE: u8 = 7;
        const BRIDGE: u16 = 9;
        // Those of the namespace itself are permanent.
        const OWN: u16 = 0x80;
        let known = Self::read(message).filter(|_| message.body.first() == Some(&OF_BRIDGE))?;
        Attributes::find(message.body, 12, BRIDGE)
            .filter(|_| half(message.body, 8).is_some_and(|state| state & OWN == 0))?;
        word(message.body, 4).filter(|_| hardware.contains(&known.hardware))
    }

    /// Reads one from a netlink message; `None` if it is another message, or torn.
    pub fn read(message: Message<'_>) -> Option<Self> {
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

/// A hardware address as it is mostly written: `02:00:5e:10:00:01`.
pub fn hardware_text(hardware: &[u8]) -> String {
    hardware.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

/// An address as the kernel writes it, with the number of its family.
pub fn written(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (IPV4, address.octets().to_vec()),
        IpAddr::V6(address) => (IPV6, address.octets().to_vec()),
    }
}

/// The address that the kernel writes so.
pub fn address(value: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(value).ok().map(IpAddr::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::attribute;

    fn read(family: u8, bits: u8, kind: u8, attributes: &[Vec<u8>]) -> Option<Entry> {
        let mut body = vec![family, bits, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0];
        body.extend(attributes.concat());
        Entry::read(Message { kind: NEW_ROUTE, number: 1, body: &body })
    }

    #[test]
    fn routes_to_half_of_all_addresses_are_as_a_default_route_in_however_many_parts() {
        let wide = |words: &[&str]| {
            let read = |word: &&str| {
                let (to, bits) = word.split_once('/').unwrap();
                Entry { to: to.parse().unwrap(), bits: bits.parse().unwrap(), through: vec![7] }
            };
            Entry::are_wide(&words.iter().map(read).collect::<Vec<_>>())
        };
        for words in [
            &["0.0.0.0/0"][..],
            &["128.0.0.0/1"],
            &["0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/2"],
            &["0.0.0.0/3", "32.0.0.0/3", "64.0.0.0/3", "96.0.0.0/3"],
            &["::/0"],
            &["2000::/3"],
            &["2000::/4"],
            &["2000::/5", "2800::/5"],
        ] {
            assert!(wide(words), "{words:?}");
        }
        for words in [
            &["0.0.0.0/2"][..],
            &["0.0.0.0/2", "0.0.0.0/3", "0.0.0.0/2", "32.0.0.0/3"],
            &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
            &["fe80::/10", "fc00::/7", "ff00::/8"],
            &["2001:db8::/32"],
        ] {
            assert!(!wide(words), "{words:?}");
        }
    }

    #[test]
    fn a_route_of_any_table_leads_to_what_its_bits_say_by_all_its_interfaces() {
        let by = |index: u32| attribute(4, &index.to_ne_bytes());
        let half = read(IPV4, 1, 1, &[attribute(1, &[128, 0, 0, 0]), by(7)]).unwrap();
        assert_eq!((Entry::are_wide([&half]), half.through.as_slice()), (true, &[7][..]));
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            ["198.18.0.1", "10.0.0.1", "fe80::1"].map(|to| half.leads_to(address(to))),
            [true, false, false]
        );
        let net = read(IPV4, 15, 1, &[attribute(1, &[198, 18, 0, 0]), by(7)]).unwrap();
        assert!(net.leads_to(address("198.19.255.1")) && !net.leads_to(address("198.20.0.1")));
        assert!(!Entry::are_wide([&net]));
        let hop = |index: u32, more: &[u8]| {
            let length = 8 + more.len() as u16;
            [&length.to_ne_bytes()[..], &[0, 0], &index.to_ne_bytes(), more].concat()
        };
        let hops = [hop(3, &attribute(5, &[10, 0, 0, 1])), hop(5, &[])].concat();
        let all = read(IPV6, 0, 1, &[attribute(9, &hops)]).unwrap();
        assert_eq!((all.to, all.through.as_slice()), (address("::"), &[3, 5][..]));
        assert!(all.leads_to(address("2001:db8::1")) && !all.leads_to(address("10.0.0.1")));
        assert_eq!(
            read(IPV4, 32, 2, &[attribute(1, &[10, 0, 0, 1]), by(1)]),
            None,
            "one of its own addresses"
        );
    }
}
