//! Where packets went, from counters as the kernel has them: one row of counters each, and any counters at all.

mod any_counters;
mod at_the_edges;
mod beside_others;
mod interface_counters;
mod other_counters;
mod stack_counters;

use dropline_account::{
    Account, Bars, Device, Outcome, Place, Role, Snapshot, Space, Stack, TargetCounts, TargetSockets, Way,
};

fn space(role: Role, stack: Stack, devices: Vec<Device>) -> Space {
    let id = role as u64;
    Space {
        id,
        role,
        stack,
        devices: Some(devices),
        hooked: Some(false),
        ruled: Some(false),
        ruled_way: None,
        drops_arriving: Bars::Unseen,
        drops_leaving: Bars::Unseen,
        source_is_own: false,
        neighbour_found: Some(true),
        flow: None,
    }
}

fn device(name: &str) -> Device {
    Device { name: name.into(), on_path: true, own: true, up: true, ..Device::default() }
}

/// A namespace in which nothing happened.
fn quiet(role: Role) -> Space {
    in_stack(role, Stack::default())
}

fn in_stack(role: Role, stack: Stack) -> Space {
    space(role, stack, vec![device("eth")])
}

fn in_device(role: Role, device: Device) -> Space {
    space(role, Stack::default(), vec![device])
}

fn seen(space: Space) -> Snapshot {
    Snapshot { spaces: vec![space], ..Snapshot::default() }
}

/// Nobody looks whether other programs lose packets.
fn account(outcome: &Outcome, grown: &Snapshot) -> Account {
    dropline_account::account(outcome, grown, |_| None)
}

fn echo(offered: u64, forwarded: u64) -> Outcome {
    Outcome { offered, forwarded, ..Outcome::default() }
}

fn at(account: &Account) -> Vec<(&str, u64)> {
    account
        .lost_at
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(key, count)| (key.as_str(), *count))
        .collect()
}

/// Places with packets, without what nobody explains.
fn placed(account: &Account) -> Vec<(&str, u64)> {
    at(account).into_iter().filter(|(place, _)| *place != "unexplained").collect()
}

/// The same, kept.
fn named(account: &Account) -> Vec<(String, u64)> {
    placed(account).into_iter().map(|(place, packets)| (place.to_owned(), packets)).collect()
}

fn because(account: &Account) -> Vec<String> {
    account.caveats.iter().map(ToString::to_string).collect()
}

/// A thousand lost packets meet a namespace of each role: near, far, both, between.
fn in_each_role(counted: impl Fn(Role) -> Space, expected: [Option<(&str, u64)>; 4]) {
    for (role, expected) in [Role::Near, Role::Far, Role::Both, Role::Between].into_iter().zip(expected) {
        let account = account(&echo(1000, 0), &seen(counted(role)));
        assert_eq!(placed(&account), expected.into_iter().collect::<Vec<_>>(), "{role:?}");
    }
}

fn codes(account: &Account) -> Vec<&str> {
    account.caveats.iter().map(|caveat| caveat.code()).collect()
}

#[test]
fn on_loopback_the_sockets_tell_the_ways_apart() {
    // 300 dropped at the target, 50 at our own reply socket; the namespace counts both.
    let stack = Stack {
        in_errors: 350,
        receive_buffer_errors: 350,
        received: 1650,
        delivered: 1650,
        ..Stack::default()
    };
    let grown = Snapshot {
        spaces: vec![space(Role::Both, stack, vec![device("lo")])],
        target: Some(TargetSockets { drops: 300, ..TargetSockets::default() }),
        ..Snapshot::default()
    };
    let account = account(&Outcome { generator_lost: 50, ..echo(1000, 650) }, &grown);
    assert_eq!((at(&account), codes(&account)), (vec![("receive_buffer", 300)], vec![]));
}

#[test]
fn a_socket_filter_is_told_from_a_full_buffer() {
    let stack = Stack { in_errors: 100, receive_buffer_errors: 30, ..Stack::default() };
    let grown = Snapshot {
        spaces: vec![space(Role::Far, stack, vec![])],
        target: Some(TargetSockets { drops: 100, ..TargetSockets::default() }),
        ..Snapshot::default()
    };
    let account = account(&echo(500, 400), &grown);
    assert_eq!(at(&account), [("receive_buffer", 30), ("socket_filter", 70)]);
}

#[test]
fn packets_that_udp_had_no_memory_for_are_told_from_those_without_room() {
    // The kernel counts such a drop at the socket, in InErrors and in MemErrors, and not in RcvbufErrors.
    let stack = Stack { in_errors: 90, receive_buffer_errors: 50, memory_errors: 40, ..Stack::default() };
    let target = |drops| Some(TargetSockets { drops, ..TargetSockets::default() });
    for target in [target(90), None] {
        let spaces = vec![space(Role::Far, stack, vec![])];
        let account = account(&echo(500, 410), &Snapshot { spaces, target, ..Snapshot::default() });
        assert_eq!(at(&account), [("receive_buffer", 50), ("udp_memory", 40)]);
        assert_eq!(codes(&account), Vec::<&str>::new());
    }
}

#[test]
fn what_others_lose_in_the_namespace_is_not_ours_and_is_said() {
    let stack = Stack { in_errors: 900, receive_buffer_errors: 900, no_ports: 40, ..Stack::default() };
    let grown = Snapshot {
        spaces: vec![space(Role::Far, stack, vec![])],
        target: Some(TargetSockets { drops: 10, ..TargetSockets::default() }),
        ..Snapshot::default()
    };
    let account = account(&echo(500, 490), &grown);
    assert_eq!((at(&account), codes(&account)), (vec![("receive_buffer", 10)], vec!["counters_shared"]));
}

#[test]
fn a_refused_send_is_not_lost_in_the_queue_that_refused_it() {
    let queue = Device { queue_drops: Some(120), ..device("near") };
    let stack = Stack { send_buffer_errors: 120, out_discards: 120, ..Stack::default() };
    let grown = seen(space(Role::Near, stack, vec![queue]));
    let outcome = Outcome { refused: 120, refused_by_queue: 120, ..echo(880, 870) };
    assert_eq!(at(&account(&outcome, &grown)), [("unexplained", 10)]);
}

#[test]
fn a_send_that_was_refused_for_want_of_a_route_is_no_lost_reply() {
    let stack = Stack { out_no_routes: 124, ..Stack::default() };
    let outcome = Outcome { refused: 120, refused_without_route: 120, ..echo(880, 866) };
    let of = |role| {
        let grown = seen(space(role, stack, vec![]));
        account(&outcome, &grown)
    };
    assert_eq!(at(&of(Role::Both)), [("return_no_route", 4), ("unexplained", 10)]);
    assert_eq!(at(&of(Role::Far)), [("return_no_route", 14)], "a namespace of its own counts none of ours");
}

#[test]
fn a_targets_own_counts_tell_the_ways_apart() {
    // Of 1000: 100 never came, 200 found its queue full, 50 wait in it, 650 were answered, 600 came back.
    let counts = TargetCounts { received: 900, served: 650, dropped_queue: 200 };
    let stack = Stack { no_ports: 500, ..Stack::default() };
    let spaces = vec![space(Role::Far, Stack::default(), vec![]), space(Role::Near, stack, vec![])];
    let grown = Snapshot { spaces, ..Snapshot::default() };
    let outcome = Outcome { target: Some(counts), late: 3, ..echo(1000, 600) };
    assert_eq!(
        at(&account(&outcome, &grown)),
        [
            ("late", 3),
            ("return_no_listener", 47),
            ("service_queue", 200),
            ("unexplained", 100),
            ("unread", 50)
        ],
        "nothing on the way back is put on the way out"
    );
}

#[test]
fn what_waits_for_a_neighbour_is_named_as_what_remains() {
    let out = Device { transmitted: 2, ..device("near") };
    let near = Space {
        neighbour_found: Some(false),
        ..space(Role::Near, Stack { transmitted: 200, ..Stack::default() }, vec![out])
    };
    let account = account(&echo(200, 0), &seen(near));
    assert_eq!(at(&account), [("neighbour", 200)]);
    assert_eq!(codes(&account), ["place_inferred"]);
}

#[test]
fn trains_that_a_backlog_dropped_are_the_remainder() {
    let lo = Device { receive_drops: 40, ..device("lo") };
    let stack = Stack { in_errors: 500, receive_buffer_errors: 500, ..Stack::default() };
    let grown = Snapshot {
        spaces: vec![space(Role::Both, stack, vec![lo])],
        target: Some(TargetSockets { drops: 500, ..TargetSockets::default() }),
        backlog_drops: Some(40),
        ..Snapshot::default()
    };
    let account = account(&Outcome { in_trains: 5_000, ..echo(8000, 6000) }, &grown);
    assert_eq!(at(&account), [("receive_buffer", 500), ("softnet", 1500)]);
    assert_eq!(codes(&account), ["place_inferred"]);
}

#[test]
fn the_backlog_of_other_namespaces_is_not_ours() {
    let grown = Snapshot {
        backlog_drops: Some(1000),
        ..seen(space(Role::Both, Stack::default(), vec![device("lo")]))
    };
    assert_eq!(at(&account(&echo(10, 5), &grown)), [("unexplained", 5)]);
}

#[test]
fn a_routers_queue_is_on_the_way_that_its_interface_leads() {
    let port = |leaves, drops| Device { leaves: Some(leaves), queue_drops: Some(drops), ..device("port") };
    let ports = vec![port(Way::Out, 7), port(Way::Back, 4)];
    let grown = seen(space(Role::Between, Stack::default(), ports));
    assert_eq!(at(&account(&echo(100, 89), &grown)), [("qdisc", 7), ("return_qdisc", 4)]);
}

#[test]
fn a_reason_names_what_no_counter_explains() {
    let reasons = [(Place::ReceiveBuffer, 60), (Place::Neighbour, 30)].into();
    let near =
        Space { neighbour_found: Some(false), ..space(Role::Near, Stack::default(), vec![device("near")]) };
    let grown = Snapshot {
        spaces: vec![near],
        target: Some(TargetSockets { drops: 60, ..TargetSockets::default() }),
        reasons: Some(reasons),
        ..Snapshot::default()
    };
    let account = account(&echo(100, 15), &grown);
    assert_eq!(at(&account), [("neighbour", 25), ("receive_buffer", 60)]);
    assert_eq!(codes(&account), ["place_inferred"]);
}

#[test]
fn what_is_dropped_elsewhere_on_the_machine_names_no_place_of_a_way_that_cannot_have_it() {
    let uncounted =
        [Place::Ingress, Place::LinkDown, Place::Neighbour, Place::Netfilter, Place::Softnet, Place::Unread];
    let found = |role, place| {
        let port = Device { leaves: Some(Way::Out), ..device("port") };
        let grown = Snapshot {
            target: Some(TargetSockets::default()),
            reasons: Some([(place, 300)].into()),
            ..seen(space(role, Stack::default(), vec![port]))
        };
        account(&echo(15_000, 14_700), &grown)
    };
    for place in uncounted {
        for role in [Role::Both, Role::Near, Role::Far, Role::Between] {
            let account = found(role, place);
            assert_eq!((at(&account), codes(&account)), (vec![("unexplained", 300)], vec![]), "{place:?}");
        }
    }
    let ruled = Space { ruled: Some(true), ..space(Role::Between, Stack::default(), vec![]) };
    let reasons = Some([(Place::Netfilter, 300)].into());
    let grown = Snapshot { spaces: vec![ruled], reasons, ..Snapshot::default() };
    let account = account(&echo(15_000, 14_700), &grown);
    assert_eq!((at(&account), codes(&account)), (vec![("netfilter", 300)], vec!["place_inferred"]));
}

/// Both ends share a namespace: what meets no listener is a request or a reply, and what was read there says which.
#[test]
fn replies_to_closed_ports_are_told_from_requests_that_met_no_listener() {
    let found = |read: u64| {
        let stack = Stack { no_ports: 100, udp_read: read, ..Stack::default() };
        let account = account(&echo(1000, 900), &seen(space(Role::Both, stack, vec![])));
        let places: Vec<(String, u64)> =
            at(&account).into_iter().map(|(place, count)| (place.to_owned(), count)).collect();
        (places, codes(&account).into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let at = |place: &str, count| (place.to_owned(), count);
    let inferred = vec!["place_inferred".to_owned()];
    assert_eq!(
        found(1900),
        (vec![at("return_no_listener", 100)], inferred.clone()),
        "the target read all requests"
    );
    assert_eq!(found(1800), (vec![at("no_listener", 100)], vec![]), "it read 900 of them");
    assert_eq!(found(1860), (vec![at("no_listener", 40), at("return_no_listener", 60)], inferred));
}

#[test]
fn one_tick_of_a_counter_stands_for_one_train_at_most() {
    let stray = |no_ports, in_trains| {
        let grown = seen(space(Role::Both, Stack { no_ports, ..Stack::default() }, vec![]));
        let lost_at = account(&Outcome { in_trains, ..echo(15_000, 13_500) }, &grown).lost_at;
        (lost_at["no_listener"], lost_at["unexplained"])
    };
    assert_eq!(stray(1, 9_000), (128, 1372));
    assert_eq!(stray(2, 9_000), (256, 1244));
    assert_eq!(stray(1, 3), (4, 1496), "so few left in trains at all");
    assert_eq!(stray(20, 9_000), (1500, 0));
}

#[test]
fn a_packet_that_nobody_wanted_takes_no_place_from_what_was_counted() {
    // One report to a multicast group that we did not join; it has no counter anywhere.
    let near = space(Role::Near, Stack { received: 1, ..Stack::default() }, vec![]);
    let port = Device { leaves: Some(Way::Out), queue_drops: Some(7), ..device("port") };
    let far = space(Role::Far, Stack { received: 100, delivered: 97, ..Stack::default() }, vec![]);
    let spaces = vec![near, space(Role::Between, Stack::default(), vec![port]), far];
    let account = account(&echo(110, 100), &Snapshot { spaces, ..Snapshot::default() });
    assert_eq!((at(&account), codes(&account)), (vec![("netfilter", 3), ("qdisc", 7)], vec![]));
}

#[test]
fn where_nothing_comes_back_nothing_is_lost_on_the_way_back() {
    let near = space(Role::Near, Stack { no_ports: 9, ..Stack::default() }, vec![]);
    let grown = seen(near);
    let outcome = Outcome { one_way: true, ..echo(100, 95) };
    assert_eq!(at(&account(&outcome, &grown)), [("unexplained", 5)]);
}

#[test]
fn without_loss_there_is_nothing_to_doubt() {
    let stack = Stack { no_ports: 9, in_errors: 9, ..Stack::default() };
    let grown = seen(space(Role::Far, stack, vec![]));
    let account = account(&echo(100, 100), &grown);
    let places: Vec<_> = account.lost_at.into_iter().collect();
    assert_eq!((places, account.caveats.len()), (vec![("unexplained".into(), 0)], 0));
}
