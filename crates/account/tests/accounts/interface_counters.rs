//! Each counter of an interface alone, and what is known of its link and its neighbours.

use super::{account, because, device, echo, in_device, in_each_role, named, placed, quiet, seen};
use dropline_account::{Bars, Device, Outcome, Role, Snapshot, Space, Stack, Way};

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
        let device = Device { transmitted: sent, filter_drops, ..device("eth") };
        let far = Space { stack, drops_leaving: Bars::Nothing, ..in_device(Role::Far, device) };
        let found = account(&echo(1000, 880), &seen(far));
        (named(&found), because(&found))
    };
    assert_eq!(of(880, 880, 0), (vec![("return_send_buffer".to_owned(), 120)], vec![]));
    assert_eq!(of(1000, 880, 0), (vec![], vec![]), "one that is not to be seen");
    // One packet in two counters is not two, of which one would be another program's.
    assert_eq!(of(1000, 880, 120), (vec![("return_qdisc".to_owned(), 120)], vec![]), "one that is counted");
}

#[test]
fn an_interfaces_counters_name_places_on_the_way_that_packets_go_through_it() {
    let queue = Device { queue_drops: Some(7), ..device("eth") };
    let (out, back) = (Some(("qdisc", 7)), Some(("return_qdisc", 7)));
    in_each_role(|role| in_device(role, queue.clone()), [out, back, back, out]);
    let ingress = Device { ingress_drops: 7, ..device("eth") };
    let (out, back) = (Some(("ingress", 7)), Some(("return_ingress", 7)));
    in_each_role(|role| in_device(role, ingress.clone()), [back, out, out, out]);
    // Between the two sides, packets that arrive through an interface go the other way than those that leave.
    for (leaves, expected) in [(Way::Out, "return_ingress"), (Way::Back, "ingress")] {
        let port = Device { leaves: Some(leaves), ..ingress.clone() };
        assert_eq!(placed(&account(&echo(1000, 0), &seen(in_device(Role::Between, port)))), [(expected, 7)]);
    }
    let strange = Device { other_host: 7, received: 7, ..device("eth") };
    // None of them is known to be a reply.
    let out = Some(("other_host", 7));
    in_each_role(|role| in_device(role, strange.clone()), [None, out, out, out]);
    // An interface that the trial's packets do not pass says nothing.
    let aside =
        Device { on_path: false, queue_drops: Some(7), ingress_drops: 7, other_host: 7, ..device("eth") };
    in_each_role(|role| in_device(role, aside.clone()), [None; 4]);
}

#[test]
fn drops_of_queues_are_taken_off_what_the_ip_layer_discarded() {
    let queues = vec![
        Device { queue_drops: Some(3), ..device("eth") },
        Device { queue_drops: Some(4), ..device("eth") },
    ];
    let stack = Stack { send_buffer_errors: 9, out_discards: 12, ..Stack::default() };
    let far = Space { stack, devices: Some(queues), ..quiet(Role::Far) };
    // Of 9 failed sends 7 were the queues'; of 12 discards 7 the queues' and 2 the buffer's.
    let found = account(&echo(1000, 0), &seen(far));
    assert_eq!(placed(&found), [("return_netfilter", 3), ("return_qdisc", 7), ("return_send_buffer", 2)]);
}

#[test]
fn sends_that_a_queue_refused_are_not_its_drops() {
    let queue = Device { queue_drops: Some(10), ..device("eth") };
    for (role, expected) in [
        (Role::Near, vec![("qdisc", 6)]),
        (Role::Both, vec![("return_qdisc", 6)]),
        (Role::Far, vec![("return_qdisc", 10)]),
        (Role::Between, vec![("qdisc", 10)]),
    ] {
        let outcome = Outcome { refused_by_queue: 4, ..echo(1000, 0) };
        let account = account(&outcome, &seen(in_device(role, queue.clone())));
        assert_eq!(placed(&account), expected, "{role:?}");
    }
}

#[test]
fn what_vanished_before_the_ip_layer_was_taken_by_a_rule_where_there_is_one() {
    // 100 arrived, 3 for other hosts; 80 came to IPv4 and 10 to IPv6: 7 vanished.
    let port = Device { received: 100, other_host: 3, on_path: false, ..device("eth") };
    let stack = Stack { received: 80, delivered: 80, received_otherwise: 10, ..Stack::default() };
    let hooked = |role, hooked| Space { hooked, ..Space { stack, ..in_device(role, port.clone()) } };
    for (role, place) in [(Role::Near, "return_ingress"), (Role::Far, "ingress"), (Role::Both, "ingress")] {
        let sure = account(&echo(1000, 0), &seen(hooked(role, Some(true))));
        assert_eq!((placed(&sure), because(&sure).len()), (vec![(place, 7)], 0), "{role:?}");
        let none = account(&echo(1000, 0), &seen(hooked(role, Some(false))));
        assert_eq!(placed(&none), [], "{role:?}");
        let unseen = account(&echo(1000, 0), &seen(hooked(role, None)));
        assert_eq!(placed(&unseen), [(place, 7)], "{role:?}");
        assert!(because(&unseen)[0].contains("came to the IP layer"), "{:?}", because(&unseen));
    }
    // A bridge's port is counted at the bridge too: it is not asked.
    let below = Device { own: false, ..port.clone() };
    let bridge =
        Space { hooked: Some(true), ..Space { stack: Stack::default(), ..in_device(Role::Far, below) } };
    assert_eq!(placed(&account(&echo(1000, 0), &seen(bridge))), []);
}

#[test]
fn the_larger_difference_claims_first() {
    let of = |role, came, sent| {
        let device = Device { received: came, transmitted: sent, ..device("eth") };
        Space { stack: Stack { received: came, ..Stack::default() }, ..in_device(role, device) }
    };
    let (near, far) = (of(Role::Near, 5, 10), of(Role::Far, 9, 5));
    let grown = Snapshot { spaces: vec![near, far], ..Snapshot::default() };
    // One packet is left; five were more than that, so they are not all the trial's.
    assert_eq!(placed(&account(&echo(10, 0), &grown)), [("netfilter", 9)]);
}

#[test]
fn packets_given_to_an_interface_that_was_down_are_lost_at_the_link() {
    let stack = Stack { transmitted: 50, ..Stack::default() };
    let gone = |up, carrier_changes| {
        let device = Device { up, carrier_changes, transmitted: 20, queue_drops: Some(10), ..device("eth") };
        Space { stack, ..in_device(Role::Near, device) }
    };
    for (up, changes) in [(false, 0), (true, 1), (true, 2), (false, 3)] {
        let found = account(&echo(1000, 0), &seen(gone(up, changes)));
        assert_eq!(placed(&found), [("link_down", 20), ("qdisc", 10)], "up {up}, {changes} changes");
        assert!(because(&found).last().unwrap().contains("was down"), "{:?}", because(&found));
        let said = found.caveats.iter().filter(|caveat| caveat.code() == "link_down").count();
        assert_eq!(said, usize::from(changes > 0), "a link that is down all the time did not go down");
    }
    assert_eq!(placed(&account(&echo(1000, 0), &seen(gone(true, 0)))), [("qdisc", 10)]);
    let far = Space { role: Role::Far, ..gone(false, 0) };
    assert_eq!(
        placed(&account(&echo(1000, 0), &seen(far))),
        [("return_link_down", 20), ("return_qdisc", 10)]
    );
}

#[test]
fn a_neighbour_that_was_not_found_takes_what_waited_and_the_questions() {
    let near = |neighbour_found, sent, left| {
        let stack = Stack { transmitted: sent, ..Stack::default() };
        let device = Device { transmitted: left, ..device("eth") };
        Space { neighbour_found, stack, ..in_device(Role::Near, device) }
    };
    let lost = |space| named(&account(&echo(1000, 0), &seen(space)));
    assert_eq!(lost(near(Some(false), 50, 3)), [("neighbour".to_owned(), 50)]);
    // At most so many frames are questions: more have left, and are lost elsewhere.
    assert_eq!(lost(near(Some(false), 50, 20)), [("neighbour".to_owned(), 38)]);
    for space in [near(Some(true), 50, 3), near(None, 50, 3), near(Some(false), 3, 3)] {
        assert_eq!(lost(space), []);
    }
    let found = account(&echo(1000, 0), &seen(near(Some(false), 50, 3)));
    assert!(because(&found)[0].contains("hardware address"), "{:?}", because(&found));
}

#[test]
fn the_backlog_is_ours_as_far_as_our_interfaces_dropped_on_arrival() {
    let lo = Device { receive_drops: 4, ..device("eth") };
    let grown = |space| Snapshot { backlog_drops: Some(10), ..seen(space) };
    assert_eq!(placed(&account(&echo(1000, 0), &grown(in_device(Role::Both, lo)))), [("softnet", 4)]);
    let unseen = Space { devices: None, ..quiet(Role::Both) };
    assert_eq!(placed(&account(&echo(1000, 0), &grown(unseen))), [("softnet", 10)]);
}
