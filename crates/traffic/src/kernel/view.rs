//! One network namespace, kept open: its tables and netlink sockets, read without entering it again.

use super::firewall;
use super::legacy_tables;
use super::links;
use super::look_error::seen;
use super::netlink::Netlink;
use super::redirects;
use super::routing;
use super::tables::{Tables, Version};
use dropline_account::Stack;
use dropline_netrules::bridging::BridgeEntry;
use dropline_netrules::firewall::{Firewall, Through};
use dropline_netrules::links::{Link, Qdisc, Side};
use dropline_netrules::routes::{Flow, Neighbour, Route};
use dropline_netrules::ruleset::Ruleset;
use dropline_netrules::visit::{By, Passes};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;
use std::thread::Builder;

/// The network namespace of a process that is not in ours.
#[derive(Debug)]
pub(crate) struct OtherNamespace(File);

impl OtherNamespace {
    /// Where a process is; `None` if it is in the namespace of the calling thread.
    ///
    /// # Errors
    /// If there is no such process, or this user may not see where it is.
    pub(crate) fn of_process(pid: u32) -> io::Result<Option<Self>> {
        let file = File::open(format!("/proc/{pid}/ns/net"))?;
        let here = std::fs::metadata("/proc/thread-self/ns/net")?.ino();
        Ok((file.metadata()?.ino() != here).then_some(Self(file)))
    }

    /// Does `work` on a thread inside.
    ///
    /// # Errors
    /// If this user may not enter it.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(&self.0, work)
    }
}

/// An open namespace.
#[derive(Debug)]
pub(crate) struct View {
    /// The number of its file: the same namespace has the same.
    pub(crate) id: u64,
    /// What a person knows it by.
    pub(crate) name: String,
    /// The namespace itself; `None` if only its tables may be read.
    file: Option<File>,
    netlink: Option<Netlink>,
    filter: Option<Netlink>,
    /// The latest ruleset that was read, and its generation.
    rules: Option<(u32, Arc<Ruleset>)>,
    /// Zones of connection tracking that these speak of.
    zones: Option<BTreeSet<u16>>,
    /// Tells of interfaces that are switched off, and how often each was: no counter does.
    told: Option<Netlink>,
    switched_off: BTreeMap<u32, u64>,
    snmp: Option<File>,
    netstat: Option<File>,
    snmp6: Option<File>,
    sockstat: Vec<File>,
    udp: Vec<File>,
}

impl View {
    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// If there is no `/proc`, or the system has nothing left to look with.
    pub(crate) fn here() -> io::Result<Self> {
        let file = File::open("/proc/thread-self/ns/net")?;
        let id = file.metadata()?.ino();
        let mut view = Self::tables_in(Path::new("/proc/thread-self/net"), id);
        view.file = Some(file);
        view.netlink = seen(Netlink::open(libc::NETLINK_ROUTE))?;
        view.filter = seen(Netlink::open(libc::NETLINK_NETFILTER))?;
        view.told = links::told().ok();
        Ok(view)
    }

    /// The namespace that a file stands for, entered on a thread of its own.
    ///
    /// # Errors
    /// If this user may not enter it, or it is none.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let view = inside(&file, Self::here)??;
        Ok(Self { name: named(path), ..view })
    }

    /// The tables of a process's namespace, `/proc/…/net`: all that a user may read who may not enter it.
    ///
    /// # Errors
    /// If they may not be read either.
    pub(crate) fn of_process(net: &Path) -> io::Result<Self> {
        let id = std::fs::metadata(net.join("snmp"))?.ino();
        Ok(Self::tables_in(net, id))
    }

    fn tables_in(net: &Path, id: u64) -> Self {
        let open = |name: &str| File::open(net.join(name)).ok();
        Self {
            id,
            name: "this network namespace".into(),
            file: None,
            netlink: None,
            filter: None,
            rules: None,
            zones: None,
            told: None,
            switched_off: BTreeMap::new(),
            snmp: open("snmp"),
            netstat: open("netstat"),
            snmp6: open("snmp6"),
            sockstat: [open("sockstat"), open("sockstat6")].into_iter().flatten().collect(),
            udp: [open("udp"), open("udp6")].into_iter().flatten().collect(),
        }
    }

    /// Does `work` on a thread inside.
    ///
    /// # Errors
    /// If it cannot be entered.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        inside(self.file.as_ref().ok_or(io::ErrorKind::PermissionDenied)?, work)
    }

    /// Counters of IP and UDP.
    pub(crate) fn stack(&self, version: Version) -> Stack {
        let text = |file: &Option<File>| file.as_ref().map(whole).unwrap_or_default();
        Tables {
            snmp: text(&self.snmp),
            netstat: text(&self.netstat),
            snmp6: text(&self.snmp6),
            sockstat: self.sockstat.iter().map(whole).collect(),
        }
        .stack(version)
    }

    /// What its interfaces and routes are asked with.
    pub(super) fn netlink(&mut self) -> Option<&mut Netlink> {
        self.netlink.as_mut()
    }

    /// What its firewall is asked with.
    pub(super) fn netfilter(&mut self) -> Option<&mut Netlink> {
        self.filter.as_mut()
    }

    /// Another hold of it.
    pub(super) fn file(&self) -> Option<File> {
        self.file.as_ref()?.try_clone().ok()
    }

    /// The table of UDP sockets, both versions.
    pub(crate) fn sockets(&self) -> String {
        self.udp.iter().map(whole).collect()
    }

    /// Its interfaces; `None` if they are not to be seen.
    pub(crate) fn links(&mut self) -> Option<Vec<Link>> {
        for index in self.told.iter_mut().flat_map(links::switched_off) {
            *self.switched_off.entry(index).or_default() += 1;
        }
        let mut links = links::links(self.netlink.as_mut()?).ok()?;
        for link in &mut links {
            link.carrier_changes += self.switched_off.get(&link.index).copied().unwrap_or(0);
        }
        Some(links)
    }

    /// What carries least of the route to an address and of these interfaces, in words, and how many bytes in one piece.
    pub(crate) fn carries_least(
        &mut self,
        interfaces: &BTreeSet<u32>,
        to: Option<IpAddr>,
    ) -> Option<(String, u32)> {
        let of_route = to.and_then(|to| Some((format!("the route to {to}"), self.route(to)?.mtu?)));
        let links = self.links()?;
        let own = links.into_iter().filter(|link| interfaces.contains(&link.index) && link.mtu > 0);
        let named = own.map(|link| (format!("interface {} of {}", link.name, self.name), link.mtu));
        named.chain(of_route).min_by_key(|(_, mtu)| *mtu)
    }

    /// Its queueing disciplines; `None` if they are not to be seen.
    pub(crate) fn qdiscs(&mut self) -> Option<Vec<Qdisc>> {
        links::qdiscs(self.netlink.as_mut()?).ok()
    }

    /// The way from here to an address; `None` if there is none.
    pub(crate) fn route(&mut self, address: IpAddr) -> Option<Route> {
        self.route_by(None, address)
    }

    /// The same of a socket that is bound to an interface.
    pub(crate) fn route_by(&mut self, through: Option<u32>, address: IpAddr) -> Option<Route> {
        let flow = Flow::plain(None, SocketAddr::new(address, 0), through);
        links::route(self.netlink.as_mut()?, &flow).ok()?
    }

    /// The way of packets of a flow; `None` if this user may not see, or there is none.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn route_of(&mut self, flow: &Flow) -> io::Result<Option<Route>> {
        self.netlink.as_mut().map_or(Ok(None), |netlink| routing::leading(links::route(netlink, flow)))
    }

    /// The name of the interface through which packets to an address leave.
    pub(crate) fn interface_towards(&mut self, address: IpAddr) -> Option<String> {
        let through = self.route(address)?.through?;
        self.links()?.into_iter().find(|link| link.index == through).map(|link| link.name)
    }

    /// Whether interface `index` has this address.
    pub(crate) fn has_address(&mut self, index: u32, address: IpAddr) -> bool {
        self.netlink
            .as_mut()
            .is_some_and(|netlink| links::has_address(netlink, index, address).is_ok_and(|found| found))
    }

    /// Whether the next hop towards `address` is known by its hardware address; `None` if it needs none.
    pub(crate) fn neighbour_found(&mut self, address: IpAddr) -> Option<bool> {
        let route = self.route(address)?;
        let hop = self.neighbour(route.through?, route.gateway.unwrap_or(address)).ok()??;
        Some(hop.found)
    }

    /// What is known of a next hop behind interface `through`.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn neighbour(&mut self, through: u32, hop: IpAddr) -> io::Result<Option<Neighbour>> {
        let Some(netlink) = self.netlink.as_mut() else { return Ok(None) };
        Ok(seen(links::neighbour(netlink, through, hop))?.flatten())
    }

    /// The tables of its bridges.
    ///
    /// # Errors
    /// If they could not be looked at.
    pub(crate) fn bridge_tables(&mut self) -> io::Result<Vec<BridgeEntry>> {
        let Some(netlink) = self.netlink.as_mut() else { return Ok(Vec::new()) };
        Ok(seen(links::bridge_tables(netlink))?.unwrap_or_default())
    }

    /// The number that another namespace has here.
    pub(crate) fn number_of(&mut self, other: &Self) -> Option<u32> {
        let file = other.file.as_ref()?.as_raw_fd();
        links::namespace_number(self.netlink.as_mut()?, u32::try_from(file).ok()?)
    }

    /// Where a rule of routing or a route leads some of the packets of a flow that leave here, in words, where that is
    /// `elsewhere`; with `by_service`, by their type of service alone.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn led_elsewhere(
        &mut self,
        flow: &Flow,
        by_service: bool,
        elsewhere: impl Fn(&Route) -> bool,
    ) -> io::Result<Option<String>> {
        let Some(netlink) = self.netlink.as_mut() else { return Ok(None) };
        match by_service {
            true => routing::led_elsewhere_by_service(netlink, &self.name, flow, elsewhere),
            false => routing::led_elsewhere(netlink, &self.name, flow, elsewhere),
        }
    }

    /// Its firewall, as far as this user may see it.
    ///
    /// # Errors
    /// If it could not be looked at.
    pub(crate) fn firewall(&mut self) -> io::Result<Firewall> {
        let rules = self.rules()?;
        let older = match legacy_tables::are_there() {
            true => seen(self.inside(legacy_tables::tables))?.transpose()?.flatten(),
            false => Some(Vec::new()),
        };
        Ok(Firewall { rules, older })
    }

    /// The ruleset of nftables, read anew where it is not the one that was read before.
    fn rules(&mut self) -> io::Result<Option<Arc<Ruleset>>> {
        let Some(filter) = &mut self.filter else { return Ok(None) };
        let generation = firewall::generation(filter);
        if let Some((known, rules)) = &self.rules
            && Some(*known) == generation
        {
            return Ok(Some(Arc::clone(rules)));
        }
        let rules = firewall::ruleset(filter)?.map(Arc::new);
        // What changed while it was read is read again the next time.
        let is_same = firewall::generation(filter) == generation;
        self.rules = generation.zip(rules.clone()).filter(|_| is_same);
        Ok(rules)
    }

    /// Zones of connection tracking that its rules may put packets into, and the one of all others, as they were when this was
    /// first asked.
    ///
    /// # Errors
    /// If they could not be looked at.
    pub(crate) fn zones(&mut self) -> io::Result<BTreeSet<u16>> {
        if let Some(zones) = &self.zones {
            return Ok(zones.clone());
        }
        let zones = self.firewall()?.zones();
        self.zones = Some(zones.clone());
        Ok(zones)
    }

    /// What a rule of its firewall, or a filter at an interface, does that leads these packets, or copies of them, to another
    /// host or lets routers pass them on; `None` where none does, or this user may not see its rules.
    ///
    /// # Errors
    /// If they could not be looked at.
    pub(crate) fn leads_away(&mut self, through: &[Through]) -> io::Result<Option<String>> {
        let firewall = self.firewall()?;
        let mut is_own = |address| self.route(address).is_some_and(|route| route.local);
        match firewall.leads_away(through, &mut is_own) {
            None => self.netlink.as_mut().map_or(Ok(None), redirects::leading_away),
            rule => Ok(rule),
        }
    }

    /// What packets pass that come or go by this interface: it, the bridge that it is a port of, or the ports that it has.
    pub(crate) fn by(&mut self, index: u32) -> By {
        let links = self.links().unwrap_or_default();
        let Some(link) = links.iter().find(|link| link.index == index) else { return By::ANY };
        let above = links.iter().find(|other| Some(other.index) == link.master);
        let frames = links.iter().filter(|other| {
            other.index == index || Some(other.index) == link.master || other.master == Some(index)
        });
        let named = |link: &Link| (link.name.clone(), link.index);
        By {
            packets: Passes::These(vec![named(above.unwrap_or(link))]),
            frames: Passes::These(frames.map(named).collect()),
        }
    }
}

/// The namespace that a file stands for, in words: one of `ip netns`, or a process's.
fn named(file: &Path) -> String {
    let last =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match file.strip_prefix("/proc") {
        Ok(of) => {
            let process = of.iter().next().map(Path::new).map(last).unwrap_or_default();
            format!("the network namespace of process {process}")
        }
        Err(_) => format!("network namespace {}", last(file)),
    }
}

/// Whether a queueing discipline or a program stands before the IP layer, at one of these interfaces.
pub(crate) fn is_hooked<'a>(mut links: impl Iterator<Item = &'a Link>, qdiscs: &[Qdisc]) -> bool {
    let arrives =
        |link: &Link| qdiscs.iter().any(|qdisc| qdisc.side != Side::Leaving && qdisc.index == link.index);
    links.any(|link| link.program || arrives(link))
}

/// Does `work` on a thread inside a namespace.
fn inside<T: Send>(namespace: &File, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let inside = Builder::new()
            .spawn_scoped(scope, || enter(namespace).map(|()| work()))
            .map_err(|why| io::Error::new(why.kind(), format!("a thread could not be started ({why})")))?;
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Moves the calling thread into a namespace.
pub(super) fn enter(file: &File) -> io::Result<()> {
    let kind = rustix::thread::LinkNameSpaceType::Network;
    Ok(rustix::thread::move_into_link_name_space(file.as_fd(), Some(kind))?)
}

/// What a file of the kernel says now. Empty if it does not say it any more.
pub(crate) fn whole(file: &File) -> String {
    let mut bytes = Vec::new();
    let mut part = [0; 8192];
    while let Ok(length @ 1..) = file.read_at(&mut part, bytes.len() as u64) {
        bytes.extend_from_slice(&part[..length]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_or_not_there_is_seen_as_none_and_what_could_not_be_looked_at_is_an_error() {
        let looked = |code| seen::<()>(Err(io::Error::from_raw_os_error(code)));
        for code in
            [libc::EPERM, libc::EACCES, libc::ENOENT, libc::EINVAL, libc::EPROTONOSUPPORT, libc::ESRCH]
        {
            assert!(looked(code).unwrap().is_none(), "{code}");
        }
        for code in [libc::EAGAIN, libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOBUFS] {
            assert_eq!(looked(code).unwrap_err().raw_os_error(), Some(code));
        }
    }

    #[test]
    fn a_table_is_read_whole_and_again() {
        let file = File::open("/proc/net/snmp").unwrap();
        let (first, second) = (whole(&file), whole(&file));
        assert!(
            first.contains("Udp:")
                && first.ends_with('\n')
                && second.lines().count() == first.lines().count()
        );
    }
}
