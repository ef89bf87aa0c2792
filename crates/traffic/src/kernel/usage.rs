//! Who uses an interface: whose packets frames of a trial would be among, and where they would be led on.

use super::links;
use super::look_error::seen;
use super::path::{add_all_others, number};
use super::view::View;
use dropline_netrules::firewall::Seat;
use dropline_netrules::links::{Link, Qdisc, Side};
use dropline_netrules::routes::Entry;
use dropline_netrules::visit::Tuple;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::Path;

/// What the kernel tells of an interface that frames leave or come out at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How others use it, in words that follow its name.
    pub used: Option<String>,
    /// What stands in front of it that may drop what leaves, or hold it back, and that frames which its driver is given pass by.
    pub in_front: Option<String>,
}

/// An interface: its namespace and its number there.
type LinkPlace = (usize, u32);

/// All namespaces that this user may enter; the first is that of the interface.
struct Machine {
    views: Vec<View>,
    links: Vec<Vec<Link>>,
    tables: BTreeMap<usize, Tables>,
}

/// What a namespace says of its interfaces.
struct Tables {
    routes: Vec<Entry>,
    addressed: BTreeSet<u32>,
}

impl Usage {
    /// Of an interface, named by the file of its namespace, `None` for the calling thread's, and by its name there, that packets to
    /// an address come out at; nothing if it is not there.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub fn of(namespace: Option<&Path>, interface: &str, to: IpAddr) -> io::Result<Self> {
        let here = View::here()?;
        let view = namespace.map_or_else(View::here, View::of_file)?;
        let is_own = view.id == here.id;
        let mut views = vec![view];
        add_all_others(&mut views)?;
        let links: Vec<_> = views.iter_mut().map(|view| view.links().unwrap_or_default()).collect();
        let mut machine = Machine { views, links, tables: BTreeMap::new() };
        let Some(own) = machine.links[0].iter().find(|link| link.name == interface).cloned() else {
            return Ok(Self::default());
        };
        let in_front = machine.in_front(&own)?;
        let used = match machine.own_use(&own, is_own, to)? {
            None => machine.use_of_others(own.index)?,
            used => used,
        };
        Ok(Self { used, in_front })
    }
}

impl Machine {
    /// How it is used itself.
    fn own_use(&mut self, own: &Link, is_own: bool, to: IpAddr) -> io::Result<Option<String>> {
        let version = if to.is_ipv6() { "ipv6" } else { "ipv4" };
        let setting =
            Path::new("/proc/sys/net").join(version).join("conf").join(&own.name).join("forwarding");
        let read = self.views[0].inside(|| std::fs::read_to_string(setting));
        let forwards = read?.is_ok_and(|text| text.trim() != "0");
        let tables = self.tables(0)?;
        Ok(match tables.use_of(own.index) {
            Some(how) if is_own || how != ADDRESSED => Some(how.into()),
            _ if forwards && tables.routes.iter().any(|route| route.leads_to(to)) => {
                Some(format!("passes on to others what it receives (net.{version}.conf.IF.forwarding)"))
            }
            _ => None,
        })
    }

    /// How one is used that it is a part of, that it is on, or that is on it.
    fn use_of_others(&mut self, own: u32) -> io::Result<Option<String>> {
        let stack = self.stack((0, own));
        for (&(at, index), relation) in &stack {
            let Some(link) = self.link((at, index)).cloned().filter(|link| link.on) else { continue };
            if let Some(how) = self.tables(at)?.use_of(index) {
                return Ok(Some(format!("{relation} {}, which {how}", self.name((at, &link)))));
            }
            let is_other = |port: &&Link| {
                port.master == Some(index)
                    && port.on
                    && !stack.contains_key(&(at, port.index))
                    && (at, port.index) != (0, own)
            };
            if let Some(port) = self.links[at].iter().find(is_other) {
                let name = self.name((at, &link));
                return Ok(Some(format!("{relation} {name}, of which {} is another port", port.name)));
            }
        }
        Ok(None)
    }

    /// What frames of an interface share with others: what it is a part of, what is on it, what it is on, and what is on that; each
    /// with how they stand to one another.
    fn stack(&mut self, own: LinkPlace) -> BTreeMap<LinkPlace, &'static str> {
        let mut found = BTreeMap::new();
        let mut queue = vec![(own, "")];
        while let Some((place, relation)) = queue.pop() {
            let (below, above) = (self.below(place), self.above(place));
            let master = self.link(place).and_then(|link| link.master).map(|master| (place.0, master));
            let down = if relation.is_empty() { "is on" } else { "shares its link with" };
            let up = if relation.is_empty() { "is below" } else { "shares its link with" };
            let part = if relation.is_empty() { "is a port of" } else { up };
            let next = below.into_iter().map(|place| (place, down));
            let next = next
                .chain(above.into_iter().map(|place| (place, up)))
                .chain(master.map(|place| (place, part)));
            for (place, relation) in next.collect::<Vec<_>>() {
                if place != own && !found.contains_key(&place) {
                    found.insert(place, relation);
                    queue.push((place, relation));
                }
            }
        }
        found
    }

    /// The interface that one is on.
    fn below(&mut self, (at, index): LinkPlace) -> Option<LinkPlace> {
        let link = self.link((at, index))?;
        if let Some(by) = link.carried_by.filter(|&by| by != 0) {
            return Some((at, by));
        }
        let other = link.other.filter(|&other| other != 0 && !is_pair(link))?;
        // Numbers of two namespaces may be the same.
        let Some(elsewhere) = link.other_namespace else { return (other != index).then_some((at, other)) };
        let space = (0..self.views.len())
            .find(|&of| of != at && number(&mut self.views, at, of) == Some(elsewhere))?;
        Some((space, other))
    }

    /// The interfaces that are on one, wherever they are.
    fn above(&mut self, place: LinkPlace) -> Vec<LinkPlace> {
        let may_be =
            |link: &Link| !is_pair(link) && (link.other == Some(place.1) || link.carried_by == Some(place.1));
        let spaces = self.links.iter().enumerate();
        let near = spaces.flat_map(|(at, links)| {
            links.iter().filter(|link| may_be(link)).map(move |link| (at, link.index))
        });
        let near: Vec<LinkPlace> = near.collect();
        near.into_iter().filter(|&one| self.below(one) == Some(place)).collect()
    }

    fn link(&self, (at, index): LinkPlace) -> Option<&Link> {
        self.links[at].iter().find(|link| link.index == index)
    }

    /// Its name; where it is in another namespace, with that.
    fn name(&self, (at, link): (usize, &Link)) -> String {
        match at {
            0 => link.name.clone(),
            _ => format!("{} of {}", link.name, self.views[at].name),
        }
    }

    /// What stands in front of an interface.
    fn in_front(&mut self, own: &Link) -> io::Result<Option<String>> {
        let view = &mut self.views[0];
        let qdiscs = view.qdiscs().unwrap_or_default();
        let here = |qdisc: &&Qdisc| qdisc.index == own.index;
        let holds = |qdisc: &&Qdisc| match qdisc.side {
            Side::Leaving => !qdisc.holds_nothing_back(),
            Side::Either => true,
            Side::Arriving => false,
        };
        if let Some(qdisc) = qdiscs.iter().filter(here).find(holds) {
            return Ok(Some(format!("the queueing discipline {}", qdisc.kind)));
        }
        let (by, firewall) = (view.by(own.index), view.firewall()?);
        let bars = |packet: Tuple| Seat::Near(&by).ways(&packet)[0].iter().find_map(|way| firewall.bars(way));
        Ok([true, false].into_iter().map(Tuple::any).find_map(bars))
    }

    fn tables(&mut self, at: usize) -> io::Result<&Tables> {
        if !self.tables.contains_key(&at) {
            let none = || Tables { routes: Vec::new(), addressed: BTreeSet::new() };
            let tables = match self.views[at].netlink() {
                None => none(),
                Some(netlink) => Tables {
                    routes: seen(links::routes(netlink))?.unwrap_or_default(),
                    addressed: seen(links::addressed(netlink))?.unwrap_or_default(),
                },
            };
            self.tables.insert(at, tables);
        }
        Ok(&self.tables[&at])
    }
}

/// Whether what leaves by it comes out at another one, and neither is on the other.
fn is_pair(link: &Link) -> bool {
    ["veth", "netkit", "vxcan"].contains(&link.kind.as_str())
}

const ADDRESSED: &str = "has an address of this machine";

impl Tables {
    fn use_of(&self, index: u32) -> Option<&'static str> {
        let through = self.routes.iter().filter(|route| route.through.contains(&index));
        match () {
            () if Entry::are_wide(through) => Some("carries a default route of its namespace"),
            () if self.addressed.contains(&index) => Some(ADDRESSED),
            () => None,
        }
    }
}
