//! Where packets of one flow were lost that each host of a path counted by themselves: how many is known of each host and of each
//! link, whoever else sends there; counters of whole hosts say at which place alone.

use crate::hops::{HostPath, link};
use crate::ledger::Claims;
use crate::{Place, Role, Site, Space, Way};
use std::collections::BTreeMap;

/// Packets that are known to be lost on one host, or one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    of: u64,
    /// None: on either way.
    way: Option<Way>,
    packets: u64,
}

/// So many may pass between the readings of two counts.
const A_FEW: u64 = 16;

/// What each host and each link of a path lost, where all hosts counted the flow.
fn lost_each(path: &HostPath, spaces: &[Space]) -> Option<Vec<Lost>> {
    let mut lost = Vec::new();
    // What left for the next host, and what came back from it.
    let (mut left, mut came) = (path.left?, path.came);
    for at in 0..path.hosts.len() {
        let space = spaces.iter().find(|space| space.id == at as u64)?;
        let flow = space.flow?;
        let more = |left: u64, came: u64| left > came.saturating_add(A_FEW);
        let is_whole = if space.role == Role::Far {
            !more(flow.left_back, flow.came_out)
        } else {
            !more(flow.left_out, flow.came_out) && !more(flow.left_back, flow.came_back)
        };
        // What left and did not come passed where nobody counted; what came and did not leave is somebody else's, or another's copy.
        if !is_whole || more(flow.came_out, left) || more(came, flow.left_back) {
            return None;
        }
        let mut add = |of: u64, way: Option<Way>, packets: u64| lost.push(Lost { of, way, packets });
        add(link(at, Way::Out), Some(Way::Out), left.saturating_sub(flow.came_out));
        add(link(at, Way::Back), Some(Way::Back), flow.left_back.saturating_sub(came));
        if space.role == Role::Far {
            add(at as u64, None, flow.came_out.saturating_sub(flow.left_back));
        } else {
            add(at as u64, Some(Way::Out), flow.came_out.saturating_sub(flow.left_out));
            add(at as u64, Some(Way::Back), flow.came_back.saturating_sub(flow.left_back));
        }
        (left, came) = (flow.left_out, flow.came_back);
    }
    Some(lost)
}

/// What hosts and links lost, by place.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// By whose counters said so.
    pub(crate) at: BTreeMap<(Site, u64), u64>,
    /// Packets that a host lost of the flow and counted at its places, with more, so that nobody can tell at which.
    pub(crate) unplaced: u64,
}

/// Places what each host and each link lost of the flow: by what is `claimed` of whole hosts' counters as much as can only be the flow's,
/// and by what is `surely` so where less is claimed than was lost, for then something loses packets that nothing counts. What is known
/// to be lost on a host and at none of its places for certain is left out. `listens` where the target's socket was open throughout. `None` where not every host counted the flow.
pub(crate) fn places(
    path: &HostPath,
    spaces: &[Space],
    claimed: &Claims,
    surely: &Claims,
    listens: bool,
) -> Option<Placed> {
    let mut placed = Placed::default();
    for Lost { of, way, packets } in lost_each(path, spaces)? {
        if of >= link(0, Way::Out) {
            placed.at.insert((Site { way: way.unwrap_or(Way::Out), place: Place::Between }, of), packets);
            continue;
        }
        let role = spaces.iter().find(|space| space.id == of)?.role;
        let may_be = |claims: &Claims| {
            let mut here = here(claims, of, way);
            here.retain(|(site, _)| can_hold(role, site.place, listens));
            here
        };
        let mut here = may_be(claimed);
        // What the target's own socket did not take is known of it alone.
        let mut packets = packets;
        let own = |place: Place| listens && role == Role::Far && is_of_the_socket(place);
        for (site, counted) in here.iter().filter(|(site, _)| own(site.place)) {
            let got = packets.min(*counted);
            *placed.at.entry((*site, of)).or_default() += got;
            packets -= got;
        }
        here.retain(|(site, _)| !own(site.place));
        if sum(&here) < packets {
            here = may_be(surely);
            here.retain(|(site, _)| !own(site.place));
        }
        let all = sum(&here);
        let mut got = 0;
        for (site, counted) in here {
            // What all other places cannot have lost was lost there.
            let certain = packets.saturating_sub(all - counted).min(counted);
            *placed.at.entry((site, of)).or_default() += certain;
            got += certain;
        }
        placed.unplaced += packets.min(all).saturating_sub(got);
    }
    Some(placed)
}

/// Whether packets of the flow can be lost at a place of a host: what it passes on comes to no socket of its own, and where the target's
/// is open throughout, none meets a closed port.
fn can_hold(role: Role, place: Place, listens: bool) -> bool {
    match role {
        Role::Between => {
            !matches!(place, Place::NoListener | Place::Checksum | Place::Martian) && !is_of_the_socket(place)
        }
        _ => place != Place::NoListener || !listens,
    }
}

fn is_of_the_socket(place: Place) -> bool {
    matches!(
        place,
        Place::ReceiveBuffer | Place::UdpMemory | Place::SocketFilter | Place::Unread | Place::ServiceQueue
    )
}

/// What is claimed by a host's counters on a way, or on either.
fn here(claims: &Claims, of: u64, way: Option<Way>) -> Vec<(Site, u64)> {
    let is_it = |said: Option<Way>| said.is_none() || way.is_none() || said == way;
    let here = claims.iter().filter(|((_, heard), _)| *heard == Some(of));
    here.filter(|(((_, said), _), _)| is_it(*said))
        .map(|(((place, said), _), packets)| {
            (Site { way: said.or(way).unwrap_or(Way::Out), place: *place }, *packets)
        })
        .collect()
}

fn sum(here: &[(Site, u64)]) -> u64 {
    here.iter().map(|(_, packets)| packets).fold(0, |all: u64, one| all.saturating_add(*one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_counters_claim_on_their_own_way_and_on_either_where_they_say_none() {
        let (out, back) = (Some(Way::Out), Some(Way::Back));
        let claims: Claims = [
            (((Place::Qdisc, out), Some(1)), 3),
            (((Place::Qdisc, back), Some(1)), 4),
            (((Place::Netfilter, None), Some(1)), 5),
            (((Place::Netfilter, out), Some(2)), 6),
        ]
        .into();
        let found = |way| here(&claims, 1, way).into_iter().collect::<BTreeMap<_, _>>();
        let at = |way, place, packets| (Site { way, place }, packets);
        for way in [Way::Out, Way::Back] {
            let queued = if way == Way::Out { 3 } else { 4 };
            let expected = [at(way, Place::Qdisc, queued), at(way, Place::Netfilter, 5)];
            assert_eq!(found(Some(way)), expected.into(), "{way:?}");
        }
        let either = [
            at(Way::Out, Place::Qdisc, 3),
            at(Way::Back, Place::Qdisc, 4),
            at(Way::Out, Place::Netfilter, 5),
        ];
        assert_eq!(found(None), either.into());
    }

    fn host(id: u64, role: Role, [came_out, left_out, came_back, left_back]: [u64; 4]) -> Space {
        Space {
            id,
            role,
            stack: crate::Stack::default(),
            devices: None,
            hooked: None,
            ruled: None,
            ruled_way: None,
            drops_arriving: crate::Bars::Unseen,
            drops_leaving: crate::Bars::Unseen,
            source_is_own: false,
            neighbour_found: None,
            flow: Some(crate::Flow { came_out, left_out, came_back, left_back }),
        }
    }

    fn path(left: u64, came: u64, hosts: &[Space]) -> HostPath {
        let hosts = hosts.iter().map(|host| host.id.to_string()).collect();
        HostPath { senders: "west".into(), left: Some(left), came, hosts }
    }

    #[test]
    fn each_host_lost_what_came_and_did_not_leave_and_each_link_what_left_and_did_not_come() {
        let router = host(0, Role::Between, [990, 940, 900, 870]);
        let hosts = [router, host(1, Role::Far, [930, 0, 0, 905])];
        let (out, back) = (Some(Way::Out), Some(Way::Back));
        let found = lost_each(&path(1000, 862, &hosts), &hosts).unwrap();
        let expected = [
            (link(0, Way::Out), out, 10),
            (link(0, Way::Back), back, 8),
            (0, out, 50),
            (0, back, 30),
            (link(1, Way::Out), out, 10),
            (link(1, Way::Back), back, 5),
            (1, None, 25),
        ];
        assert_eq!(found, expected.map(|(of, way, packets)| Lost { of, way, packets }));
        assert_eq!(lost_each(&HostPath { left: None, ..path(0, 862, &hosts) }, &hosts), None);
        assert_eq!(lost_each(&path(1000, 862, &hosts), &hosts[..1]), None, "one was not read");
        let uncounted = [hosts[0].clone(), Space { flow: None, ..hosts[1].clone() }];
        assert_eq!(lost_each(&path(1000, 862, &hosts), &uncounted), None);
    }

    #[test]
    fn a_flow_is_known_where_no_more_than_a_few_packets_passed_elsewhere() {
        let is_known = |router: [u64; 4], target: [u64; 4], left, came| {
            let hosts = [host(0, Role::Between, router), host(1, Role::Far, target)];
            lost_each(&path(left, came, &hosts), &hosts).is_some()
        };
        let all = [1000; 4];
        let target = [1000, 0, 0, 1000];
        let more = |at: usize, more: u64, mut of: [u64; 4]| {
            of[at] += more;
            of
        };
        for (few, is) in [(16, true), (17, false)] {
            assert_eq!(is_known(all, target, 1000 - few, 1000), is, "more came than left");
            assert_eq!(is_known(all, target, 1000, 1000 + few), is, "more came back than left");
            assert_eq!(
                is_known(more(1, few, all), target, 1000, 1000),
                is,
                "more left a router than came to it"
            );
            assert_eq!(is_known(more(3, few, all), target, 1000, 1000), is, "the same on the way back");
            assert_eq!(is_known(all, more(3, few, target), 1000, 1000), is, "more answers than requests");
            assert_eq!(is_known(all, more(0, few, target), 1000, 1000), is, "more came to the target");
        }
        assert!(is_known(all, more(2, 99, more(1, 99, target)), 1000, 1000), "nothing passes the target");
    }

    /// Of a target that lost 60 packets of the flow, or a router that lost them on the way out, what each place got, and what none did.
    fn placed(
        role: Role,
        claimed: &[(Place, u64)],
        surely: &[(Place, u64)],
        listens: bool,
    ) -> (Vec<(Place, u64)>, u64) {
        let hosts = match role {
            Role::Far => [host(0, role, [1000, 0, 0, 940])],
            _ => [host(0, role, [1000, 940, 940, 940])],
        };
        let claims = |of: &[(Place, u64)]| -> Claims {
            of.iter().map(|&(place, packets)| (((place, Some(Way::Out)), Some(0)), packets)).collect()
        };
        let path = path(1000, 940, &hosts);
        let found = places(&path, &hosts, &claims(claimed), &claims(surely), listens).unwrap();
        let got = found.at.iter().filter(|(_, packets)| **packets > 0);
        (got.map(|((site, _), packets)| (site.place, *packets)).collect(), found.unplaced)
    }

    #[test]
    fn what_the_targets_socket_dropped_is_known_of_it_and_other_places_get_what_no_other_can_have() {
        use Place::{Netfilter, Qdisc, ReceiveBuffer, Ttl};
        let counted = [(ReceiveBuffer, 30), (Netfilter, 100)];
        let found = placed(Role::Far, &counted, &[], true);
        assert_eq!(found, (vec![(ReceiveBuffer, 30), (Netfilter, 30)], 0));
        // Where its socket was not open throughout, it is a place as others are.
        assert_eq!(placed(Role::Far, &counted, &[], false), (vec![(Netfilter, 30)], 30));
        assert_eq!(placed(Role::Far, &[(ReceiveBuffer, 70)], &[], true), (vec![(ReceiveBuffer, 60)], 0));
        for role in [Role::Far, Role::Between] {
            let found = placed(role, &[(Netfilter, 50), (Ttl, 40)], &[], true);
            assert_eq!(found, (vec![(Netfilter, 20), (Ttl, 10)], 30), "{role:?}");
            // As much as was lost is claimed: none of it by what nothing counts.
            assert_eq!(placed(role, &[(Qdisc, 60)], &[(Qdisc, 10)], true), (vec![(Qdisc, 60)], 0));
            assert_eq!(placed(role, &[(Qdisc, 59)], &[(Qdisc, 10)], true), (vec![(Qdisc, 10)], 0));
        }
        let sure =
            placed(Role::Far, &[(ReceiveBuffer, 20), (Qdisc, 39)], &[(ReceiveBuffer, 9), (Qdisc, 5)], true);
        assert_eq!(sure, (vec![(ReceiveBuffer, 20), (Qdisc, 5)], 0));
    }

    #[test]
    fn nothing_of_a_flow_is_lost_at_a_place_that_it_does_not_come_to() {
        let got = |role, place, listens| !placed(role, &[(place, 60)], &[(place, 60)], listens).0.is_empty();
        for place in Place::ALL {
            let is_a_sockets = matches!(
                place,
                Place::ReceiveBuffer
                    | Place::UdpMemory
                    | Place::SocketFilter
                    | Place::Unread
                    | Place::ServiceQueue
            );
            let is_an_ends = matches!(place, Place::NoListener | Place::Checksum | Place::Martian);
            assert_eq!(got(Role::Between, place, true), !is_a_sockets && !is_an_ends, "{place:?}");
            assert_eq!(got(Role::Far, place, true), place != Place::NoListener, "{place:?}");
            assert!(got(Role::Far, place, false), "{place:?}");
        }
    }
}
