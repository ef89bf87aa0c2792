//! What may be other programs' in the counters of each namespace, and what of the trial may be lost ahead of it.

use super::*;
use crate::{Stack, TargetSockets, account};
use dropline_trial::Caveat;

fn space(id: u64, role: Role, stack: Stack) -> Space {
    Space {
        id,
        role,
        stack,
        devices: None,
        hooked: Some(false),
        ruled: Some(false),
        ruled_way: None,
        drops_arriving: crate::Bars::Nothing,
        drops_leaving: crate::Bars::Nothing,
        source_is_own: false,
        neighbour_found: None,
        flow: None,
    }
}

#[test]
fn what_other_namespaces_lost_behind_their_ip_layers_was_lost_ahead_of_this_one_and_what_it_sends_was_not() {
    let of = |id, role, out_discards| {
        let stack = Stack { out_discards, ..Stack::default() };
        Space { devices: Some(Vec::new()), ..space(id, role, stack) }
    };
    let outcome = Outcome { offered: 1000, forwarded: 600, ..Outcome::default() };
    let spaces = vec![of(1, Role::Near, 5), of(2, Role::Far, 7)];
    let grown = Snapshot { spaces, ..Snapshot::default() };
    let ahead = [0, 1].map(|at| grown.lost_ahead(&grown.spaces[at], &outcome));
    assert_eq!(ahead, [7, 5]);
    let shared = Snapshot { spaces: vec![of(1, Role::Both, 5)], ..Snapshot::default() };
    assert_eq!(shared.lost_ahead(&shared.spaces[0], &outcome), 5, "in one namespace both sides send");
}

#[test]
fn packets_of_others_at_the_targets_socket_are_said_and_a_few_beside_it_are_not() {
    let others_and_late = |drops: u64, got: u64, late: u64| {
        // 1 000 packets, of which 600 were read and answered; each reply is read here too.
        let stack = Stack {
            udp_read: 1200 + got,
            in_errors: drops,
            receive_buffer_errors: drops,
            received: 10_000,
            delivered: 10_000,
            ..Stack::default()
        };
        let space = space(1, Role::Both, stack);
        let target = Some(TargetSockets { drops, ..TargetSockets::default() });
        let grown = Snapshot { spaces: vec![space], target, ..Snapshot::default() };
        let outcome = Outcome { offered: 1000, forwarded: 600, late, ..Outcome::default() };
        let account = account(&outcome, &grown, |_| None);
        account.caveats.into_iter().find(|caveat| caveat.code() == "others_came")
    };
    let others = |drops: u64, got: u64| others_and_late(drops, got, 0);
    assert_eq!(others_and_late(400, 500, 500), None, "the target's own replies, after the drain");
    assert_eq!(others(400, 0), None, "all that was dropped is the trial's");
    assert_eq!(others(405, 0), None, "count queries are dropped too");
    assert_eq!(others(400, 40), None, "a few");
    let another_trial = Caveat::OthersCame { dropped: 400, came: 1600 };
    assert_eq!(others(800, 1200), Some(another_trial), "another trial of the same load");
    let beside = Caveat::OthersCame { dropped: 0, came: 500 };
    assert_eq!(others(400, 500), Some(beside), "to this socket, or to others of its namespace");
}

fn port(leaves: Option<Way>, received: u64, transmitted: u64) -> Device {
    Device { on_path: true, own: true, up: true, leaves, received, transmitted, ..Device::default() }
}

/// A namespace with these interfaces, to whose IP layer all came that they received.
fn at(role: Role, devices: Vec<Device>) -> Space {
    let received = devices.iter().map(|device| device.received).sum();
    Space { devices: Some(devices), ..space(role as u64, role, Stack { received, ..Stack::default() }) }
}

/// Between the two sides: what its interface towards us received and sent, and that towards the target.
fn router([from_us, to_us]: [u64; 2], [from_target, to_target]: [u64; 2]) -> Space {
    at(
        Role::Between,
        vec![port(Some(Way::Back), from_us, to_us), port(Some(Way::Out), from_target, to_target)],
    )
}

fn grown(spaces: &[&Space]) -> Snapshot {
    Snapshot { spaces: spaces.iter().copied().cloned().collect(), ..Snapshot::default() }
}

const LOST: u64 = 10_000;

fn all_lost() -> Outcome {
    Outcome { offered: LOST, ..Outcome::default() }
}

/// Of a loss of 10 000, what may have been lost ahead of the interfaces of the first of these.
fn ahead(spaces: &[&Space]) -> u64 {
    grown(spaces).lost_ahead(spaces[0], &all_lost())
}

/// The same ahead of its IP layer.
fn before(spaces: &[&Space]) -> u64 {
    grown(spaces).lost_before(spaces[0], &all_lost())
}

#[test]
fn ahead_of_a_namespace_as_many_were_lost_as_the_other_side_sent_and_it_did_not_get() {
    let [near, far] =
        [(880, 1000), (940, 900)].map(|(received, transmitted)| vec![port(None, received, transmitted)]);
    let (near, far) = (at(Role::Near, near), at(Role::Far, far));
    assert_eq!((ahead(&[&far, &near]), ahead(&[&near, &far])), (60, 20));
    let more = at(Role::Far, vec![port(None, 1040, 900)]);
    assert_eq!(ahead(&[&more, &near]), 40, "others' packets may hide as many");
    assert_eq!(ahead(&[&far]), 0, "nobody saw the other side");
    let aside = Device { on_path: false, ..port(None, 0, 30) };
    let near = Space { devices: Some(vec![port(None, 880, 1000), aside]), ..near };
    assert_eq!(ahead(&[&far, &near]), 60, "what left elsewhere did not go to it");
    let unseen = Space { devices: None, ..near.clone() };
    assert_eq!((ahead(&[&far, &unseen]), ahead(&[&unseen, &far])), (LOST, LOST));
}

#[test]
fn ahead_of_a_namespace_behind_another_they_may_be_lost_on_either_link_and_in_it() {
    let (near, far) =
        (at(Role::Near, vec![port(None, 865, 1000)]), at(Role::Far, vec![port(None, 930, 900)]));
    let router = router([990, 870], [890, 950]);
    assert_eq!(ahead(&[&far, &router, &near]), 10 + 40 + 20);
    assert_eq!(ahead(&[&near, &router, &far]), 10 + 20 + 5);
    assert_eq!(ahead(&[&router, &near, &far]), 10 + 10, "ahead of itself they are lost on links alone");
    assert_eq!(ahead(&[&router, &near]), 10, "of the other link nobody saw the other end");
    let second = Space { id: 9, ..router.clone() };
    for spaces in
        [[&far, &router, &second, &near], [&near, &router, &second, &far], [&router, &second, &far, &near]]
    {
        assert_eq!(ahead(&spaces), LOST, "nobody knows in which order they are passed");
    }
    assert_eq!(ahead(&[&far, &router]), LOST, "nobody saw who sent");
    let unseen = Space { devices: None, ..router };
    assert_eq!(ahead(&[&far, &unseen, &near]), LOST);
}

#[test]
fn what_a_namespace_on_the_way_sent_for_others_hides_as_many_that_it_lost() {
    let (near, far) = (at(Role::Near, vec![port(None, 0, 1000)]), at(Role::Far, vec![port(None, 1000, 0)]));
    let plain = router([1000, 0], [0, 1000]);
    assert_eq!(ahead(&[&far, &plain, &near]), 0);
    for (own, requested, hidden) in [(true, 0, 70), (false, 0, 70), (true, 5, 75)] {
        let mut router = plain.clone();
        let aside = Device { on_path: false, own, ..port(None, 70, 0) };
        router.devices.as_mut().unwrap().push(aside);
        router.stack.requested = requested;
        assert_eq!(
            ahead(&[&far, &router, &near]),
            hidden,
            "it came by another interface, or from a program here"
        );
    }
}

#[test]
fn what_we_were_refused_was_not_lost_ahead_of_the_target() {
    let drops = Device { queue_drops: Some(100), ..port(None, 0, 0) };
    let stack = Stack { out_discards: 50, out_no_routes: 20, ..Stack::default() };
    let of = |role| Space { stack, ..at(role, vec![drops.clone()]) };
    let outcome = Outcome { refused: 45, refused_by_queue: 93, refused_without_route: 11, ..all_lost() };
    let ahead = |spaces: &[&Space]| grown(spaces).lost_ahead(spaces[0], &outcome);
    let nothing = [Role::Near, Role::Far].map(|role| at(role, vec![port(None, 0, 0)]));
    assert_eq!(ahead(&[&nothing[1], &of(Role::Near)]), 7 + 5 + 9);
    assert_eq!(ahead(&[&nothing[0], &of(Role::Far)]), 170, "what a target is refused is not told to us");
    assert_eq!(ahead(&[&of(Role::Both)]), 7 + 5 + 9);
    assert_eq!(ahead(&[&of(Role::Far)]), 0, "what it sends is not lost ahead of it");
}

#[test]
fn where_nothing_counts_what_is_lost_all_of_the_loss_may_be() {
    let near = at(Role::Near, vec![port(None, 0, 100)]);
    let far = at(Role::Far, vec![port(None, 100, 0)]);
    assert_eq!(before(&[&far, &near]), 0);
    let uncounted = [
        Space { ruled: Some(true), ..near.clone() },
        Space { neighbour_found: Some(false), ..near.clone() },
        Space { devices: Some(vec![Device { up: false, ..port(None, 0, 100) }]), ..near.clone() },
        Space { devices: Some(vec![Device { carrier_changes: 1, ..port(None, 0, 100) }]), ..near.clone() },
    ];
    for near in &uncounted {
        assert_eq!(before(&[&far, near]), LOST, "{near:?}");
    }
    for known in
        [Space { ruled: None, ..near.clone() }, Space { neighbour_found: Some(true), ..near.clone() }]
    {
        assert_eq!(before(&[&far, &known]), 0, "{known:?}");
    }
}

#[test]
fn before_an_ip_layer_as_many_may_be_lost_as_came_to_the_interfaces_alone() {
    let came = |device: Device, stack: Stack, role| {
        before(&[&Space { devices: Some(vec![device]), ..space(1, role, stack) }])
    };
    let ip = |received, received_otherwise| Stack { received, received_otherwise, ..Stack::default() };
    assert_eq!(came(port(None, 100, 0), ip(80, 10), Role::Far), 10);
    let strange = Device { other_host: 4, ..port(None, 100, 0) };
    assert_eq!(came(strange.clone(), ip(96, 0), Role::Far), 4, "another host's address");
    assert_eq!(came(strange, ip(80, 10), Role::Far), 6);
    let counted = Device { ingress_drops: 3, receive_drops: 2, other_host: 0, ..port(None, 100, 0) };
    assert_eq!(came(counted.clone(), ip(100, 0), Role::Far), 5, "counted, and not received at all");
    // Sixteen more, or one in 256, come between the readings of two counters.
    assert_eq!(came(counted.clone(), ip(116, 0), Role::Far), 16 + 5);
    assert_eq!(came(counted.clone(), ip(117, 0), Role::Far), LOST);
    assert_eq!(came(counted.clone(), ip(117, 0), Role::Between), 5);
    let many = Device { received: 10_200, ..counted };
    assert_eq!(came(many.clone(), ip(10_240, 0), Role::Far), 40 + 5);
    assert_eq!(came(many, ip(10_241, 0), Role::Far), LOST);
    assert_eq!(before(&[&Space { devices: None, ..space(1, Role::Far, ip(0, 0)) }]), LOST);
}

#[test]
fn an_interface_below_another_hides_what_was_lost_if_anything_came_by_it() {
    for (received, role, lost) in
        [(1, Role::Far, LOST), (0, Role::Far, 0), (1, Role::Between, 0), (1, Role::Near, LOST)]
    {
        let below = Device { own: false, ..port(None, received, 0) };
        let namespace = Space {
            devices: Some(vec![port(None, 50, 0), below]),
            ..space(1, role, Stack { received: 50, ..Stack::default() })
        };
        assert_eq!(before(&[&namespace]), lost, "{received} {role:?}");
    }
}

/// A trial of which each count is another.
fn counted() -> Outcome {
    Outcome {
        offered: 1000,
        in_trains: 100,
        queries: 10,
        forwarded: 600,
        generator_lost: 31,
        late: 41,
        elsewhere: 1,
        reply_truncated: 2,
        reply_extended: 4,
        reply_changed: 8,
        duplicated: 50,
        refused: 70,
        unread: 6,
        ..Outcome::default()
    }
}
const DEPARTURES: u64 = 910;
const REPLIES: u64 = 687;

#[test]
fn what_came_to_the_ip_layer_beside_the_trials_packets_is_of_others() {
    let stack = Stack {
        received: 5000,
        fragments: 30,
        reassembled: 10,
        reassembly_failures: 3,
        incomplete: 4,
        icmp_received: 11,
        ..Stack::default()
    };
    let others = |role, outcome: &Outcome| space(1, role, stack).others_arrived(outcome, 9);
    let came = 5000 - 20 + 7 - 11;
    for (role, known) in [
        (Role::Near, REPLIES),
        (Role::Far, DEPARTURES),
        (Role::Both, DEPARTURES + REPLIES),
        (Role::Between, DEPARTURES + REPLIES),
    ] {
        assert_eq!(others(role, &counted()), came - (known - 9), "{role:?}");
    }
    let served = Some(crate::TargetCounts { received: 900, served: 800, dropped_queue: 0 });
    assert_eq!(others(Role::Near, &Outcome { target: served, ..counted() }), came - (800 - 9));
    assert_eq!(
        others(Role::Near, &Outcome { one_way: true, ..counted() }),
        came - (10 - 9),
        "answers to queries"
    );
}

#[test]
fn at_udp_a_train_is_its_packets_and_none_that_was_answered_can_have_been_lost() {
    let stack = Stack { udp_read: 3000, no_ports: 20, in_errors: 30, header_errors: 2, ..Stack::default() };
    let came = 3000 + 20 + 30 + 6;
    let others = |role, outcome: &Outcome, received, before| {
        // None vanished inside.
        let stack = Stack { received, delivered: received - 2, ..stack };
        space(1, role, stack).others_arrived_at_udp(outcome, before)
    };
    let one_by_one = Outcome { in_trains: 0, ..counted() };
    for (role, known) in [
        (Role::Near, REPLIES),
        (Role::Far, 1010),
        (Role::Both, 1010 + REPLIES),
        (Role::Between, 1010 + REPLIES),
    ] {
        assert_eq!(others(role, &one_by_one, 9000, 5), came - (known - 5 - 2), "{role:?}");
    }
    // So many came, whatever was lost: what was answered, and what came back.
    for (role, surely) in [(Role::Near, 600), (Role::Far, REPLIES), (Role::Both, REPLIES + 600)] {
        assert_eq!(others(role, &one_by_one, 9000, 8000), came - surely, "{role:?}");
    }
    let trains = Outcome { offered: 2000, ..counted() };
    assert_eq!(others(Role::Far, &trains, 9000, 1), came - (2010 - 3 * 128));
    assert_eq!(others(Role::Far, &one_by_one, 1500, 0), 1500 - 1010, "no more than came to the IP layer");
}

#[test]
fn what_sockets_got_and_what_programs_sent_beside_the_trials_is_of_others() {
    let stack = Stack {
        udp_read: 5000,
        receive_buffer_errors: 90,
        requested: 4000,
        icmp_sent: 13,
        ..Stack::default()
    };
    let (out, back) = (1010, REPLIES + 50 + 41);
    for (role, known, sent) in [
        (Role::Near, back, 4000 - 13 - (DEPARTURES + 70)),
        (Role::Far, out, 4000 - 13 - REPLIES),
        (Role::Both, out + back, 4000 - 13 - (DEPARTURES + 70 + REPLIES)),
        (Role::Between, out + back, 0),
    ] {
        let space = space(1, role, stack);
        // The target's dropped 40, our own socket 31; others' 19.
        assert_eq!(space.others_got(&counted(), 40), 5000 + 71 + 6 - known, "{role:?}");
        assert_eq!(space.others_got(&counted(), 400), 5000 + 90 + 6 - known, "{role:?}");
        assert_eq!(space.others_sent(&counted()), sent, "{role:?}");
    }
}

#[test]
fn what_leaves_a_namespace_on_the_way_and_is_not_known_to_have_come_for_it_is_of_others() {
    let others = |space: &Space, at: usize, ahead| {
        space.others_leaving(&space.devices.as_ref().unwrap()[at], &counted(), ahead)
    };
    // 910 came; 30 vanished inside, the queue dropped 40, and 70 of others went out beside.
    let mut out = router([910, 0], [0, 910 - 30 - 40 + 70]);
    out.devices.as_mut().unwrap()[1].queue_drops = Some(40);
    out.stack.requested = 70;
    assert_eq!((others(&out, 1, 0), others(&out, 1, 5)), (70, 75));
    let mut back = router([0, 687 - 10 + 7], [687, 0]);
    back.devices.as_mut().unwrap()[0].queue_drops = Some(10);
    assert_eq!(others(&back, 0, 0), 7);
    let both = at(Role::Between, vec![port(None, 0, 2000)]);
    assert_eq!(others(&both, 0, 4), 2000 - (DEPARTURES + REPLIES - 4));
    let near = Space {
        stack: Stack { requested: 2000, ..Stack::default() },
        ..at(Role::Near, vec![port(None, 0, 0)])
    };
    assert_eq!(others(&near, 0, 4), 2000 - DEPARTURES - 70);
}

#[test]
fn what_filters_dropped_was_leaving_as_far_as_none_of_it_can_have_been_arriving() {
    let filtered = |role, device: Device, received| {
        let space =
            Space { devices: Some(vec![device]), ..space(1, role, Stack { received, ..Stack::default() }) };
        space.filtered_leaving(&space.devices.as_ref().unwrap()[0])
    };
    let device = |received| Device { filter_drops: 30, ..port(None, received, 0) };
    assert_eq!((filtered(Role::Far, device(100), 100), filtered(Role::Far, device(100), 90)), (30, 20));
    assert_eq!(filtered(Role::Between, device(100), 100), 0);
    assert_eq!(filtered(Role::Far, device(100), 101), 0, "something came by another way");
    assert_eq!(filtered(Role::Far, Device { own: false, ..device(0) }, 0), 0);
}

#[test]
fn what_the_ip_layer_gave_to_interfaces_is_all_that_none_of_them_hides() {
    let given = |stack: Stack, devices| Space { devices, ..space(1, Role::Far, stack) }.given_and_not_sent();
    let stack = Stack { transmitted: 100, requested: 70, forwarded: 9, ..Stack::default() };
    let old = Stack { transmitted: 0, ..stack };
    let own = || port(None, 0, 60);
    assert_eq!((given(stack, Some(vec![own()])), given(old, Some(vec![own()]))), (Some(40), Some(19)));
    let below = |transmitted| Device { own: false, ..port(None, 0, transmitted) };
    assert_eq!(given(stack, Some(vec![own(), below(0)])), Some(40));
    assert_eq!((given(stack, Some(vec![own(), below(1)])), given(stack, None)), (None, None));
}

#[test]
fn what_came_to_interfaces_beside_the_trials_packets_is_of_others() {
    for (role, known) in [
        (Role::Near, REPLIES),
        (Role::Far, DEPARTURES),
        (Role::Both, DEPARTURES + REPLIES),
        (Role::Between, DEPARTURES + REPLIES),
    ] {
        let aside = Device { on_path: false, ..port(None, 77, 0) };
        let space = at(role, vec![port(None, 3000, 0), port(None, 500, 0), aside]);
        assert_eq!(space.others_at_interfaces(&counted(), 6), 3500 - (known - 6), "{role:?}");
    }
}
