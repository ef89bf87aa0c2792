//! Where packets were lost that pass several hosts: each host's counters in the order of the way, and what is lost between two.

use crate::{Device, Place, Role, Site, Snapshot, Space, Way};
use std::collections::BTreeMap;

/// The hosts that a trial's packets pass, in the order of the way to the target.
///
/// Namespaces of what is read there have the numbers 0, 1, … of their hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPath {
    /// Who sends, as the record says it.
    pub senders: String,
    /// Their packets that left for the first host; `None` where that is not known by packets.
    pub left: Option<u64>,
    /// Replies that came back to them.
    pub came: u64,
    /// The names of the hosts.
    pub hosts: Vec<String>,
}

/// Numbers of links begin here: beyond those of hosts.
const LINKS: u64 = 1 << 32;

impl HostPath {
    /// The links by which packets go to each host, as keys of places.
    pub(crate) fn links_out(&self) -> Vec<String> {
        let (names, key) = (self.names(), Site::out(Place::Between).key());
        (0..self.hosts.len()).map(|at| format!("{}/{key}", names[&link(at, Way::Out)])).collect()
    }

    /// The names before places, by the numbers of namespaces and of links.
    pub(crate) fn names(&self) -> BTreeMap<u64, String> {
        let each = |at: usize, name: &String| (at as u64, name.clone());
        let mut names: BTreeMap<u64, String> =
            self.hosts.iter().enumerate().map(|(at, name)| each(at, name)).collect();
        let before = std::iter::once(&self.senders).chain(&self.hosts);
        for (at, (from, to)) in before.zip(&self.hosts).enumerate() {
            names.insert(link(at, Way::Out), format!("{from}..{to}"));
            names.insert(link(at, Way::Back), format!("{to}..{from}"));
        }
        names
    }

    /// Packets that left the host before each and did not come there, and the same of replies; links at whose ends that
    /// is not to be seen are left out.
    pub(crate) fn lost_between(&self, grown: &Snapshot) -> Vec<(u64, Site, u64)> {
        let mut found = Vec::new();
        let mut before: Option<&Space> = None;
        for at in 0..self.hosts.len() {
            let Some(space) = grown.spaces.iter().find(|space| space.id == at as u64) else {
                before = None;
                continue;
            };
            let (left, came) = match (at, before) {
                (0, _) => (self.left, Some(self.came)),
                (_, Some(before)) => (sent(before, Way::Out), got(before, Way::Back)),
                (_, None) => (None, None),
            };
            for (way, left, came) in
                [(Way::Out, left, got(space, Way::Out)), (Way::Back, sent(space, Way::Back), came)]
            {
                let lost = left.zip(came).map_or(0, |(left, came)| left.saturating_sub(came));
                found.push((link(at, way), Site { way, place: Place::Between }, lost));
            }
            before = Some(space);
        }
        // A few frames of a link are the kernel's own questions: the largest claim first.
        found.sort_by_key(|(_, _, lost)| std::cmp::Reverse(*lost));
        found
    }
}

pub(crate) fn link(at: usize, way: Way) -> u64 {
    LINKS + 2 * at as u64 + u64::from(way == Way::Back)
}

/// Packets that left a host on a way.
fn sent(space: &Space, way: Way) -> Option<u64> {
    through(space, |device| leaves(space, device) == Some(way), |device| device.transmitted)
}

/// Packets that came to a host on a way.
fn got(space: &Space, way: Way) -> Option<u64> {
    let comes = |device: &Device| leaves(space, device).is_some_and(|leaves| leaves != way);
    through(space, comes, |device| device.received)
}

/// Which way packets go that leave by an interface: all of the target's host go back.
fn leaves(space: &Space, device: &Device) -> Option<Way> {
    if space.role == Role::Far { Some(Way::Back) } else { device.leaves }
}

fn through(space: &Space, is_it: impl Fn(&Device) -> bool, of: fn(&Device) -> u64) -> Option<u64> {
    let mut counts = space.devices().filter(|device| is_it(device)).map(of).peekable();
    counts.peek().is_some().then(|| counts.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bars, Outcome, Stack, TargetSockets, account_path};

    fn device(leaves: Way, received: u64, transmitted: u64) -> Device {
        let leaves = Some(leaves);
        Device { on_path: true, own: true, up: true, leaves, received, transmitted, ..Device::default() }
    }

    fn space(id: u64, role: Role, stack: Stack, devices: Vec<Device>) -> Space {
        Space {
            id,
            role,
            stack,
            devices: Some(devices),
            hooked: Some(false),
            ruled: Some(false),
            ruled_way: None,
            drops_arriving: if role == Role::Between { Bars::Ours } else { Bars::Nothing },
            drops_leaving: Bars::Nothing,
            source_is_own: false,
            neighbour_found: Some(true),
            flow: None,
        }
    }

    /// 1000 packets, of which a router's rule takes 100, the way to the target 40, the target's socket 60; of 800 replies
    /// the router gets all, and 10 do not come back.
    #[test]
    fn each_lost_packet_is_at_its_host_or_between_two() {
        let router = Stack { received: 1800, forwarded: 1800, transmitted: 1700, ..Stack::default() };
        let target = Stack {
            udp_read: 800,
            in_errors: 60,
            receive_buffer_errors: 60,
            received: 860,
            delivered: 860,
            requested: 800,
            transmitted: 800,
            ..Stack::default()
        };
        let spaces = vec![
            space(0, Role::Between, router, vec![device(Way::Back, 1000, 800), device(Way::Out, 800, 900)]),
            space(1, Role::Far, target, vec![device(Way::Back, 860, 800)]),
        ];
        let sockets = Some(TargetSockets { drops: 60, ..TargetSockets::default() });
        let grown = Snapshot { spaces, target: sockets, ..Snapshot::default() };
        let path = HostPath {
            senders: "west".into(),
            left: Some(1000),
            came: 790,
            hosts: vec!["router".into(), "target".into()],
        };
        let outcome = Outcome { offered: 1000, forwarded: 790, ..Outcome::default() };
        let found: Vec<(String, u64)> = account_path(&outcome, &grown, &path).lost_at.into_iter().collect();
        let at = |key: &str, packets| (key.to_owned(), packets);
        let expected = [
            at("router..target/between", 40),
            at("router..west/return_between", 10),
            at("router/netfilter", 100),
            at("target/receive_buffer", 60),
            at("unexplained", 0),
            at("west..router/between", 0),
        ];
        assert_eq!(found, expected);
        for key in found.iter().map(|(key, _)| key.as_str()) {
            assert!(Site::of_key(key).is_some(), "{key}");
        }
    }

    /// A path as the one above, with what passed of the flow: a router that others send strays to, and what answers.
    fn with_flows(
        strays: u64,
        router: crate::Flow,
        target: crate::Flow,
        netfilter: u64,
    ) -> BTreeMap<String, u64> {
        let of_router = Stack {
            received: 1900,
            forwarded: 1900,
            transmitted: 1900,
            no_ports: strays,
            ..Stack::default()
        };
        let of_target = Stack {
            received: target.came_out + strays,
            delivered: target.came_out + strays - netfilter,
            no_ports: strays,
            udp_read: target.came_out - netfilter,
            ..Stack::default()
        };
        let (between, far) = (
            vec![device(Way::Back, 9000, 9000), device(Way::Out, 9000, 8000)],
            vec![device(Way::Back, 7000, 7000)],
        );
        let spaces = vec![
            Space { flow: Some(router), ..space(0, Role::Between, of_router, between) },
            Space { flow: Some(target), drops_arriving: Bars::Ours, ..space(1, Role::Far, of_target, far) },
        ];
        let grown = Snapshot { spaces, target: Some(TargetSockets::default()), ..Snapshot::default() };
        let came = router.left_back;
        let hosts = vec!["router".into(), "target".into()];
        let path = HostPath { senders: "west".into(), left: Some(1000), came, hosts };
        let outcome = Outcome { offered: 1000, forwarded: came, ..Outcome::default() };
        let mut found = account_path(&outcome, &grown, &path).lost_at;
        found.retain(|_, packets| *packets > 0);
        found
    }

    fn flow(came_out: u64, left_out: u64, came_back: u64, left_back: u64) -> crate::Flow {
        crate::Flow { came_out, left_out, came_back, left_back }
    }

    #[test]
    fn what_others_lose_on_the_way_is_not_the_trials_where_its_own_flow_is_counted() {
        let found = with_flows(5000, flow(1000, 1000, 900, 900), flow(1000, 0, 0, 900), 100);
        assert_eq!(
            found,
            [("target/netfilter".to_owned(), 100)].into(),
            "strays at the router, and frames of others"
        );
        let found = with_flows(0, flow(1000, 1000, 950, 950), flow(950, 0, 0, 950), 0);
        assert_eq!(found, [("router..target/between".to_owned(), 50)].into());
        let found = with_flows(0, flow(1000, 1000, 1000, 930), flow(1000, 0, 0, 1000), 0);
        assert_eq!(found, [("unexplained".to_owned(), 70)].into(), "no counter of the router says where");
    }

    #[test]
    fn what_a_router_does_not_pass_back_is_lost_on_the_way_back() {
        let mut of_router = Stack { received: 2000, forwarded: 2000, transmitted: 1900, ..Stack::default() };
        let way = |router: crate::Flow, target: crate::Flow, stack: Stack| {
            let devices = vec![device(Way::Back, 1000, 900), device(Way::Out, 1000, 1000)];
            let spaces = vec![
                Space { flow: Some(router), ..space(0, Role::Between, stack, devices) },
                Space {
                    flow: Some(target),
                    ..space(1, Role::Far, Stack::default(), vec![device(Way::Back, 1000, 1000)])
                },
            ];
            let grown = Snapshot { spaces, target: Some(TargetSockets::default()), ..Snapshot::default() };
            let hosts = vec!["router".into(), "target".into()];
            let path = HostPath { senders: "west".into(), left: Some(1000), came: 900, hosts };
            let outcome = Outcome { offered: 1000, forwarded: 900, ..Outcome::default() };
            let mut found = account_path(&outcome, &grown, &path).lost_at;
            found.retain(|_, packets| *packets > 0);
            found
        };
        let back = way(flow(1000, 1000, 1000, 900), flow(1000, 0, 0, 1000), of_router);
        assert_eq!(back, [("router/return_netfilter".to_owned(), 100)].into());
        let out = way(flow(1000, 900, 900, 900), flow(900, 0, 0, 900), of_router);
        assert_eq!(out, [("router/netfilter".to_owned(), 100)].into());
        // Two places that counted as many: nobody can tell which of them had the flow's.
        of_router.header_errors = 100;
        of_router.received = 2100;
        let either = way(flow(1000, 900, 900, 900), flow(900, 0, 0, 900), of_router);
        assert_eq!(either, [("unexplained".to_owned(), 100)].into());
    }
}
