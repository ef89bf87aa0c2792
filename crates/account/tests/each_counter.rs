//! Each counter alone: whose it is, which place it names, and what is taken off it before it may claim packets.

use dropline_account::{
    Account, Bars, Device, Outcome, Place, Role, Snapshot, Space, Stack, TargetCounts, TargetSockets, Way,
};

const ROLES: [Role; 4] = [Role::Near, Role::Far, Role::Both, Role::Between];

/// A namespace in which nothing happened.
fn space(role: Role) -> Space {
    Space {
        id: role as u64,
        role,
        stack: Stack::default(),
        devices: Some(vec![device()]),
        hooked: Some(false),
        ruled: Some(false),
        ruled_way: None,
        drops_arriving: Bars::Unseen,
        drops_leaving: Bars::Unseen,
        source_is_own: false,
        neighbour_found: Some(true),
    }
}

fn device() -> Device {
    Device { name: "eth".into(), on_path: true, own: true, up: true, ..Device::default() }
}

fn in_stack(role: Role, stack: Stack) -> Space {
    Space { stack, ..space(role) }
}

fn in_device(role: Role, device: Device) -> Space {
    Space { devices: Some(vec![device]), ..space(role) }
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

/// Places with packets, without what nobody explains.
fn at(account: &Account) -> Vec<(&str, u64)> {
    let known = account.lost_at.iter().filter(|(key, count)| **count > 0 && *key != "unexplained");
    known.map(|(key, count)| (key.as_str(), *count)).collect()
}

fn because(account: &Account) -> Vec<String> {
    account.caveats.iter().map(ToString::to_string).collect()
}

/// A thousand lost packets meet a namespace of each role; what each role says is in the order of [`ROLES`].
fn in_each_role(counted: impl Fn(Role) -> Space, expected: [Option<(&str, u64)>; 4]) {
    for (role, expected) in ROLES.into_iter().zip(expected) {
        let account = account(&echo(1000, 0), &seen(counted(role)));
        assert_eq!(at(&account), expected.into_iter().collect::<Vec<_>>(), "{role:?}");
    }
}

#[test]
fn a_counter_of_the_stack_names_one_place_on_the_way_of_its_namespace() {
    let none = Stack::default();
    let rows = [
        (Stack { in_errors: 7, checksum_errors: 7, ..none }, "checksum"),
        (Stack { no_ports: 7, ..none }, "no_listener"),
        (Stack { rp_filtered: 7, ..none }, "rp_filter"),
        (Stack { header_errors: 7, ..none }, "ttl"),
        (Stack { in_no_routes: 3, address_errors: 4, ..none }, "no_route"),
        (Stack { reassembly_failures: 3, incomplete: 4, ..none }, "fragment"),
    ];
    for (stack, place) in rows {
        let back = format!("return_{place}");
        // Parts of replies and those of another program's packets look alike where the target tells nothing.
        let at_near = Some((back.as_str(), 7)).filter(|_| place != "fragment");
        // Where packets go both ways, the way out is asked first.
        in_each_role(
            |role| in_stack(role, stack),
            [at_near, Some((place, 7)), Some((place, 7)), Some((place, 7))],
        );
    }
}

#[test]
fn a_firewall_leaves_a_difference_and_in_our_namespace_it_may_be_of_anybodys_packets() {
    // What came in and went nowhere.
    let stack = Stack { received: 9, delivered: 2, ..Stack::default() };
    let of = |lost, role| at_of(&account(&echo(lost, 0), &seen(in_stack(role, stack))));
    let some = |place: &str| vec![(place.to_owned(), 7)];
    for role in [Role::Far, Role::Both, Role::Between] {
        assert_eq!((of(7, role), of(1000, role)), (some("netfilter"), some("netfilter")), "{role:?}");
    }
    // Nine packets came to us, of which none is known to be a reply: the seven are ours where that explains the loss.
    assert_eq!((of(7, Role::Near), of(1000, Role::Near)), (some("return_netfilter"), vec![]));
}

#[test]
fn full_buffers_of_the_targets_namespace_are_the_targets_where_its_socket_is_not_seen() {
    let stack = Stack { in_errors: 7, receive_buffer_errors: 7, ..Stack::default() };
    let here = Some(("receive_buffer", 7));
    in_each_role(|role| in_stack(role, stack), [None, here, here, None]);
    let filtered = Stack { in_errors: 7, ..Stack::default() };
    let here = Some(("socket_filter", 7));
    in_each_role(|role| in_stack(role, filtered), [None, here, here, None]);
    let memory = Stack { in_errors: 7, memory_errors: 7, ..Stack::default() };
    let here = Some(("udp_memory", 7));
    in_each_role(|role| in_stack(role, memory), [Some(("return_udp_memory", 7)), here, here, None]);
}

#[test]
fn a_targets_send_errors_are_on_the_way_back_and_ours_were_told_to_us() {
    let none = Stack::default();
    for (stack, place) in [
        (Stack { send_buffer_errors: 7, out_discards: 7, ..none }, "return_send_buffer"),
        (Stack { out_discards: 7, ..none }, "return_netfilter"),
        (Stack { out_no_routes: 7, ..none }, "return_no_route"),
    ] {
        let there = Some((place, 7));
        in_each_role(|role| in_stack(role, stack), [None, there, there, None]);
    }
    // In one namespace, what our own sends were refused is in the same counters, once in each.
    let stack = Stack { send_buffer_errors: 10, out_discards: 30, ..none };
    for (role, firewall, buffer) in [(Role::Both, 16, 10), (Role::Far, 20, 10)] {
        let found = account(&Outcome { refused: 4, ..echo(1000, 0) }, &seen(in_stack(role, stack)));
        assert_eq!(at(&found), [("return_netfilter", firewall), ("return_send_buffer", buffer)], "{role:?}");
    }
}

#[test]
fn a_refused_send_in_both_counters_is_the_send_buffers_only_as_far_as_no_firewall_can_have_it() {
    let found = |errors, discards, firewalls: Option<u64>| {
        let stack = Stack { send_buffer_errors: errors, out_discards: discards, ..Stack::default() };
        let reasons = firewalls.map(|packets| [(Place::Netfilter, packets)].into());
        let account = account(&echo(1000, 0), &Snapshot { reasons, ..seen(in_stack(Role::Far, stack)) });
        (
            at_of(&account),
            because(&account).into_iter().filter(|said| said.contains("the one or the other")).count(),
        )
    };
    let at = |places: &[(&str, u64)]| -> Vec<(String, u64)> {
        places.iter().map(|&(place, packets)| (place.to_owned(), packets)).collect()
    };
    // Nobody can tell: one of two, and that is said.
    assert_eq!(found(60, 60, None), (at(&[("return_send_buffer", 60)]), 1));
    // No firewall of the machine dropped any; one dropped as many; one dropped some.
    assert_eq!(found(60, 60, Some(0)), (at(&[("return_send_buffer", 60)]), 0));
    assert_eq!(found(60, 60, Some(60)), (at(&[("return_netfilter", 60)]), 1));
    assert_eq!(found(60, 60, Some(20)), (at(&[("return_netfilter", 20), ("return_send_buffer", 40)]), 1));
    // What is in one counter alone is sure, and uses up the kernel's reasons first.
    assert_eq!(found(0, 60, None), (at(&[("return_netfilter", 60)]), 0));
    assert_eq!(found(40, 60, Some(20)), (at(&[("return_netfilter", 20), ("return_send_buffer", 40)]), 0));
}

#[test]
fn a_rule_that_may_drop_replies_alone_is_on_the_way_back_and_where_nobody_tells_it_from_a_full_buffer_neither_is_named()
 {
    let stack = Stack { send_buffer_errors: 60, out_discards: 60, ..Stack::default() };
    let barred = Space { drops_leaving: Bars::Ours, ..in_stack(Role::Far, stack) };
    assert_eq!(at_of(&account(&echo(1000, 0), &seen(barred))), []);
    let reasons = Some([(Place::Netfilter, 60)].into());
    for (ruled_way, place) in
        [(Some(Way::Back), "return_netfilter"), (Some(Way::Out), "netfilter"), (None, "netfilter")]
    {
        let ruled = Space { ruled: Some(true), ruled_way, ..space(Role::Between) };
        let grown = Snapshot { reasons: reasons.clone(), ..seen(ruled) };
        assert_eq!(at_of(&account(&echo(1000, 0), &grown)), [(place.to_owned(), 60)]);
    }
}

#[test]
fn what_was_given_to_an_interface_and_did_not_leave_was_refused_by_no_full_buffer() {
    // Of 1 000 replies 120 were refused: by a program in front of the interface, which had all of them, or before they came
    // to the IP layer at all.
    let of = |given: u64, sent: u64, filter_drops: u64| {
        let stack = Stack {
            send_buffer_errors: 120,
            out_discards: 120,
            requested: given,
            transmitted: given,
            ..Stack::default()
        };
        let device = Device { transmitted: sent, filter_drops, ..device() };
        let far = Space { stack, drops_leaving: Bars::Nothing, ..in_device(Role::Far, device) };
        let found = account(&echo(1000, 880), &seen(far));
        (at_of(&found), because(&found))
    };
    assert_eq!(of(880, 880, 0), (vec![("return_send_buffer".to_owned(), 120)], vec![]));
    assert_eq!(of(1000, 880, 0), (vec![], vec![]), "one that is not to be seen");
    // One packet in two counters is not two, of which one would be another program's.
    assert_eq!(of(1000, 880, 120), (vec![("return_qdisc".to_owned(), 120)], vec![]), "one that is counted");
}

#[test]
fn a_reply_without_a_route_is_not_at_the_send_buffer_that_was_once_full() {
    let stack = Stack { send_buffer_errors: 7, out_no_routes: 7, ..Stack::default() };
    let found = account(&echo(7, 0), &seen(in_stack(Role::Far, stack)));
    assert_eq!((at(&found), because(&found).len()), (vec![("return_no_route", 7)], 0));
}

#[test]
fn an_interfaces_counters_name_places_on_the_way_that_packets_go_through_it() {
    let queue = Device { queue_drops: Some(7), ..device() };
    let (out, back) = (Some(("qdisc", 7)), Some(("return_qdisc", 7)));
    in_each_role(|role| in_device(role, queue.clone()), [out, back, back, out]);
    let ingress = Device { ingress_drops: 7, ..device() };
    let (out, back) = (Some(("ingress", 7)), Some(("return_ingress", 7)));
    in_each_role(|role| in_device(role, ingress.clone()), [back, out, out, out]);
    // Between the two sides, packets that arrive through an interface go the other way than those that leave.
    for (leaves, expected) in [(Way::Out, "return_ingress"), (Way::Back, "ingress")] {
        let port = Device { leaves: Some(leaves), ..ingress.clone() };
        assert_eq!(at(&account(&echo(1000, 0), &seen(in_device(Role::Between, port)))), [(expected, 7)]);
    }
    let strange = Device { other_host: 7, received: 7, ..device() };
    // None of them is known to be a reply.
    let out = Some(("other_host", 7));
    in_each_role(|role| in_device(role, strange.clone()), [None, out, out, out]);
    // An interface that the trial's packets do not pass says nothing.
    let aside = Device { on_path: false, queue_drops: Some(7), ingress_drops: 7, other_host: 7, ..device() };
    in_each_role(|role| in_device(role, aside.clone()), [None; 4]);
}

#[test]
fn drops_of_queues_are_taken_off_what_the_ip_layer_discarded() {
    let queues =
        vec![Device { queue_drops: Some(3), ..device() }, Device { queue_drops: Some(4), ..device() }];
    let stack = Stack { send_buffer_errors: 9, out_discards: 12, ..Stack::default() };
    let far = Space { stack, devices: Some(queues), ..space(Role::Far) };
    // Of 9 failed sends 7 were the queues'; of 12 discards 7 the queues' and 2 the buffer's.
    let found = account(&echo(1000, 0), &seen(far));
    assert_eq!(at(&found), [("return_netfilter", 3), ("return_qdisc", 7), ("return_send_buffer", 2)]);
}

#[test]
fn sends_that_a_queue_refused_are_not_its_drops() {
    let queue = Device { queue_drops: Some(10), ..device() };
    for (role, expected) in [
        (Role::Near, vec![("qdisc", 6)]),
        (Role::Both, vec![("return_qdisc", 6)]),
        (Role::Far, vec![("return_qdisc", 10)]),
        (Role::Between, vec![("qdisc", 10)]),
    ] {
        let outcome = Outcome { refused_by_queue: 4, ..echo(1000, 0) };
        let account = account(&outcome, &seen(in_device(role, queue.clone())));
        assert_eq!(at(&account), expected, "{role:?}");
    }
}

#[test]
fn what_vanished_before_the_ip_layer_was_taken_by_a_rule_where_there_is_one() {
    // 100 arrived, 3 for other hosts; 80 came to IPv4 and 10 to IPv6: 7 vanished.
    let port = Device { received: 100, other_host: 3, on_path: false, ..device() };
    let stack = Stack { received: 80, delivered: 80, received_otherwise: 10, ..Stack::default() };
    let hooked = |role, hooked| Space { hooked, ..Space { stack, ..in_device(role, port.clone()) } };
    for (role, place) in [(Role::Near, "return_ingress"), (Role::Far, "ingress"), (Role::Both, "ingress")] {
        let sure = account(&echo(1000, 0), &seen(hooked(role, Some(true))));
        assert_eq!((at(&sure), because(&sure).len()), (vec![(place, 7)], 0), "{role:?}");
        let none = account(&echo(1000, 0), &seen(hooked(role, Some(false))));
        assert_eq!(at(&none), [], "{role:?}");
        let unseen = account(&echo(1000, 0), &seen(hooked(role, None)));
        assert_eq!(at(&unseen), [(place, 7)], "{role:?}");
        assert!(because(&unseen)[0].contains("came to the IP layer"), "{:?}", because(&unseen));
    }
    // A bridge's port is counted at the bridge too: it is not asked.
    let below = Device { own: false, ..port.clone() };
    let bridge =
        Space { hooked: Some(true), ..Space { stack: Stack::default(), ..in_device(Role::Far, below) } };
    assert_eq!(at(&account(&echo(1000, 0), &seen(bridge))), []);
}

#[test]
fn what_vanished_in_the_ip_layer_is_a_firewalls_only_where_a_rule_may_drop_the_trials_packets() {
    let stack = Stack { received: 20, delivered: 13, ..Stack::default() };
    let far =
        |drops_arriving, source_is_own| Space { drops_arriving, source_is_own, ..in_stack(Role::Far, stack) };
    let of = |far| account(&echo(13 + 7, 13), &seen(far));
    for (bars, place, is_said) in [
        (Bars::Unseen, "netfilter", false),
        (Bars::Ours, "netfilter", false),
        (Bars::Nothing, "unexplained", false),
        (Bars::Others, "unexplained", true),
    ] {
        let account = of(far(bars, false));
        assert_eq!(account.lost_at[place], 7, "{bars:?} {account:?}");
        let says = account.caveats.iter().any(|caveat| caveat.code() == "counters_shared");
        assert_eq!(says, is_said, "{bars:?}");
    }
    assert_eq!(of(far(Bars::Nothing, true)).lost_at["martian"], 7);
    let refused = Stack { out_discards: 9, ..Stack::default() };
    let replies = |drops_leaving| Space { drops_leaving, ..in_stack(Role::Far, refused) };
    assert_eq!(of(replies(Bars::Ours)).lost_at["return_netfilter"], 7);
    assert_eq!(of(replies(Bars::Others)).lost_at["unexplained"], 7);
    // What no rule can have refused was refused by a full send buffer, whatever other namespaces' rules refuse.
    let full = Stack { out_discards: 7, send_buffer_errors: 7, ..Stack::default() };
    for (bars, place) in [(Bars::Nothing, "return_send_buffer"), (Bars::Ours, "return_netfilter")] {
        let far = Space { drops_leaving: bars, ..in_stack(Role::Far, full) };
        let reasons = Some([(Place::Netfilter, 99)].into());
        let account = account(&echo(13 + 7, 13), &Snapshot { reasons, ..seen(far) });
        assert_eq!(account.lost_at[place], 7, "{bars:?} {account:?}");
    }
}

/// Another program's packets are counted where nothing of the trial was lost, in as large a number as that which a rule took of
/// the trial's; and when the trial is over, it sends no more.
#[test]
fn what_others_lost_at_another_place_takes_nothing_from_what_a_rule_dropped() {
    let others = [
        Stack { no_ports: 300, delivered: 300, ..Stack::default() },
        Stack { in_errors: 300, checksum_errors: 300, delivered: 300, ..Stack::default() },
        Stack { rp_filtered: 300, ..Stack::default() },
        Stack { header_errors: 300, ..Stack::default() },
        Stack { in_no_routes: 300, ..Stack::default() },
        Stack { address_errors: 300, ..Stack::default() },
        Stack { fragments: 300, incomplete: 300, ..Stack::default() },
    ];
    for counted in others {
        let stack = |received: u64, delivered: u64| Stack {
            received: received + 300,
            delivered: delivered + counted.delivered,
            udp_read: delivered,
            ..counted
        };
        // In the IP layer, before it, and where nothing counts.
        let inside = Space { drops_arriving: Bars::Ours, ..in_stack(Role::Far, stack(1000, 700)) };
        let device = Device { received: 1300, ..device() };
        let before =
            Space { hooked: Some(true), devices: Some(vec![device]), ..in_stack(Role::Far, stack(700, 700)) };
        let nowhere = Space { ruled: Some(true), ..in_stack(Role::Far, stack(700, 700)) };
        // As many as were lost by chance are told apart by watching on alone.
        for (space, forwarded) in [(inside, 700), (before, 700), (nowhere, 690)] {
            let grown = seen(space.clone());
            let found =
                dropline_account::account(&echo(1000, forwarded), &grown, |_| Some(Snapshot::default()));
            let places = at(&found);
            let is_right = |(place, _): &(&str, u64)| ["netfilter", "ingress", "unexplained"].contains(place);
            assert!(places.iter().all(is_right), "{places:?} of {counted:?} in {space:?}");
        }
    }
}

#[test]
fn the_larger_difference_claims_first() {
    let of = |role, came, sent| {
        let device = Device { received: came, transmitted: sent, ..device() };
        Space { stack: Stack { received: came, ..Stack::default() }, ..in_device(role, device) }
    };
    let (near, far) = (of(Role::Near, 5, 10), of(Role::Far, 9, 5));
    let grown = Snapshot { spaces: vec![near, far], ..Snapshot::default() };
    // One packet is left; five were more than that, so they are not all the trial's.
    assert_eq!(at(&account(&echo(10, 0), &grown)), [("netfilter", 9)]);
}

#[test]
fn packets_given_to_an_interface_that_was_down_are_lost_at_the_link() {
    let stack = Stack { transmitted: 50, ..Stack::default() };
    let gone = |up, carrier_changes| {
        let device = Device { up, carrier_changes, transmitted: 20, queue_drops: Some(10), ..device() };
        Space { stack, ..in_device(Role::Near, device) }
    };
    for (up, changes) in [(false, 0), (true, 1), (true, 2), (false, 3)] {
        let found = account(&echo(1000, 0), &seen(gone(up, changes)));
        assert_eq!(at(&found), [("link_down", 20), ("qdisc", 10)], "up {up}, {changes} changes");
        assert!(because(&found).last().unwrap().contains("was down"), "{:?}", because(&found));
        let said = found.caveats.iter().filter(|caveat| caveat.code() == "link_down").count();
        assert_eq!(said, usize::from(changes > 0), "a link that is down all the time did not go down");
    }
    assert_eq!(at(&account(&echo(1000, 0), &seen(gone(true, 0)))), [("qdisc", 10)]);
    let far = Space { role: Role::Far, ..gone(false, 0) };
    assert_eq!(at(&account(&echo(1000, 0), &seen(far))), [("return_link_down", 20), ("return_qdisc", 10)]);
}

#[test]
fn a_neighbour_that_was_not_found_takes_what_waited_and_the_questions() {
    let near = |neighbour_found, sent, left| {
        let stack = Stack { transmitted: sent, ..Stack::default() };
        let device = Device { transmitted: left, ..device() };
        Space { neighbour_found, stack, ..in_device(Role::Near, device) }
    };
    let lost = |space| at_of(&account(&echo(1000, 0), &seen(space)));
    assert_eq!(lost(near(Some(false), 50, 3)), [("neighbour".to_owned(), 50)]);
    // At most so many frames are questions: more have left, and are lost elsewhere.
    assert_eq!(lost(near(Some(false), 50, 20)), [("neighbour".to_owned(), 38)]);
    for space in [near(Some(true), 50, 3), near(None, 50, 3), near(Some(false), 3, 3)] {
        assert_eq!(lost(space), []);
    }
    let found = account(&echo(1000, 0), &seen(near(Some(false), 50, 3)));
    assert!(because(&found)[0].contains("hardware address"), "{:?}", because(&found));
}

fn at_of(account: &Account) -> Vec<(String, u64)> {
    at(account).into_iter().map(|(key, count)| (key.to_owned(), count)).collect()
}

#[test]
fn a_socket_that_was_closed_takes_what_remains() {
    let closed = account(&Outcome { closed: true, ..echo(1000, 990) }, &Snapshot::default());
    assert_eq!(at(&closed), [("unread", 10)]);
    assert!(because(&closed)[0].contains("closed its socket"), "{:?}", because(&closed));
    let waiting = account(&Outcome { unread: 4, ..echo(1000, 990) }, &Snapshot::default());
    assert_eq!((at(&waiting), because(&waiting).len()), (vec![("unread", 4)], 0));
}

#[test]
fn packets_in_trains_are_the_remainder_of_the_largest_place_that_counts_trains() {
    let stack = Stack { no_ports: 3, checksum_errors: 5, in_errors: 5, ..Stack::default() };
    let grown = seen(in_stack(Role::Far, stack));
    let trains = account(&Outcome { in_trains: 5_000, ..echo(1000, 900) }, &grown);
    assert_eq!(at(&trains), [("checksum", 97), ("no_listener", 3)]);
    assert!(because(&trains)[0].contains("trains"), "{:?}", because(&trains));
    assert_eq!(at(&account(&echo(1000, 900), &grown)), [("checksum", 5), ("no_listener", 3)]);
    // A socket counts each packet of a train: nothing remains for it.
    let full = Stack { in_errors: 5, receive_buffer_errors: 5, ..Stack::default() };
    let found = account(&Outcome { in_trains: 5_000, ..echo(1000, 900) }, &seen(in_stack(Role::Far, full)));
    assert_eq!(at(&found), [("receive_buffer", 5)]);
}

#[test]
fn the_kernels_reasons_claim_what_no_counter_did() {
    let reasons = |place, packets| Some([(place, packets)].into());
    let stack = Stack { no_ports: 4, ..Stack::default() };
    let grown = Snapshot { reasons: reasons(Place::NoListener, 10), ..seen(in_stack(Role::Far, stack)) };
    let found = account(&echo(1000, 0), &grown);
    assert_eq!(at(&found), [("no_listener", 10)]);
    assert!(because(&found)[0].contains("tracepoint"), "{:?}", because(&found));
    // Our own reply socket's drops are among the kernel's, and no loss of the target's.
    let grown = Snapshot { reasons: reasons(Place::ReceiveBuffer, 10), ..Snapshot::default() };
    let ours = |generator_lost| Outcome { generator_lost, ..echo(1000, 0) };
    assert_eq!(at(&account(&ours(10), &grown)), []);
    assert_eq!(at(&account(&ours(4), &grown)), [("receive_buffer", 6)]);
    let grown = Snapshot { reasons: reasons(Place::NoListener, 10), ..Snapshot::default() };
    assert_eq!(at(&account(&ours(4), &grown)), [("no_listener", 10)], "of other places none are ours");
}

#[test]
fn a_counter_above_the_loss_is_shared_with_others() {
    let shared = |lost: u64, no_ports| {
        let grown = seen(in_stack(Role::Far, Stack { no_ports, ..Stack::default() }));
        let found = account(&echo(1000, 1000 - lost), &grown);
        found.caveats.iter().map(|caveat| caveat.code().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shared(10, 11), ["counters_shared"]);
    assert_eq!(shared(10, 10), [] as [&str; 0]);
    assert_eq!(shared(0, 11), [] as [&str; 0], "without loss there is nothing to doubt");
}

#[test]
fn more_full_buffers_than_the_targets_sockets_had_are_other_sockets() {
    // The namespace counts 30, of which 20 are our own reply socket's.
    let stack = Stack { in_errors: 30, receive_buffer_errors: 30, ..Stack::default() };
    let codes = |drops, generator_lost| {
        let target = Some(TargetSockets { drops, ..TargetSockets::default() });
        let grown = Snapshot { target, ..seen(in_stack(Role::Both, stack)) };
        let outcome = Outcome { generator_lost, ..echo(1000, 500) };
        let found = account(&outcome, &grown);
        (at_of(&found), found.caveats.len())
    };
    assert_eq!(codes(10, 20), (vec![("receive_buffer".into(), 10)], 0));
    assert_eq!(codes(9, 20), (vec![("receive_buffer".into(), 9)], 1));
    assert_eq!(codes(30, 0), (vec![("receive_buffer".into(), 30)], 0));
    assert_eq!(codes(29, 0), (vec![("receive_buffer".into(), 29)], 1));
}

#[test]
fn what_a_target_received_and_did_not_serve_waits_there() {
    let counts = |received, served, dropped_queue| {
        let target = Some(TargetCounts { received, served, dropped_queue });
        at_of(&account(&Outcome { target, ..echo(1000, 0) }, &Snapshot::default()))
    };
    assert_eq!(counts(900, 600, 100), [("service_queue".to_owned(), 100), ("unread".to_owned(), 200)]);
    assert_eq!(counts(700, 600, 100), [("service_queue".to_owned(), 100)]);
}

#[test]
fn the_backlog_is_ours_as_far_as_our_interfaces_dropped_on_arrival() {
    let lo = Device { receive_drops: 4, ..device() };
    let grown = |space| Snapshot { backlog_drops: Some(10), ..seen(space) };
    assert_eq!(at(&account(&echo(1000, 0), &grown(in_device(Role::Both, lo)))), [("softnet", 4)]);
    let unseen = Space { devices: None, ..space(Role::Both) };
    assert_eq!(at(&account(&echo(1000, 0), &grown(unseen))), [("softnet", 10)]);
}

#[test]
fn growth_is_now_less_before_counter_by_counter() {
    let mut before = seen(in_stack(Role::Far, Stack { no_ports: 5, ..Stack::default() }));
    before.backlog_drops = Some(2);
    before.reasons = Some([(Place::Ttl, 1)].into());
    let mut now = seen(in_stack(Role::Far, Stack { no_ports: 9, in_errors: 3, ..Stack::default() }));
    now.backlog_drops = Some(7);
    now.reasons = Some([(Place::Ttl, 4), (Place::Qdisc, 2)].into());
    now.spaces[0].devices = Some(vec![
        Device { received: 8, queue_drops: Some(4), carrier_changes: 3, ..device() },
        Device { index: 2, received: 6, queue_drops: Some(4), ..device() },
    ]);
    before.spaces[0].devices =
        Some(vec![Device { received: 3, queue_drops: Some(1), carrier_changes: 1, up: false, ..device() }]);
    let grown = now.since(&before);
    let space = &grown.spaces[0];
    assert_eq!((space.stack.no_ports, space.stack.in_errors), (4, 3));
    let devices = space.devices.as_ref().unwrap();
    let counted = |device: &Device| (device.received, device.queue_drops, device.carrier_changes, device.up);
    assert_eq!(counted(&devices[0]), (5, Some(3), 2, true));
    assert_eq!(counted(&devices[1]), (6, Some(4), 0, true), "a new interface counts from zero");
    assert_eq!(grown.backlog_drops, Some(5));
    assert_eq!(grown.reasons.unwrap().into_iter().collect::<Vec<_>>(), [(Place::Qdisc, 2), (Place::Ttl, 3)]);
    // A namespace that was not there before says nothing.
    assert_eq!(now.since(&Snapshot::default()).spaces, []);
}
