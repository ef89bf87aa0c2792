//! What sockets, programs and the kernel's own reasons tell, each alone.

use super::{account, because, device, echo, in_stack, named, placed, seen};
use dropline_account::{Device, Outcome, Place, Role, Snapshot, Stack, TargetCounts, TargetSockets};

#[test]
fn a_socket_that_was_closed_takes_what_remains() {
    let closed = account(&Outcome { closed: true, ..echo(1000, 990) }, &Snapshot::default());
    assert_eq!(placed(&closed), [("unread", 10)]);
    assert!(because(&closed)[0].contains("closed its socket"), "{:?}", because(&closed));
    let waiting = account(&Outcome { unread: 4, ..echo(1000, 990) }, &Snapshot::default());
    assert_eq!((placed(&waiting), because(&waiting).len()), (vec![("unread", 4)], 0));
}

/// A target that ends in a trial: what comes then meets no socket, and the kernel counts it, however many datagrams other programs
/// read in that namespace meanwhile.
#[test]
fn what_came_after_a_target_closed_its_socket_met_none_whatever_others_read() {
    for others in [0, 30, 600, 6000] {
        let stack = Stack { udp_read: 1540 + 1538 + others, no_ports: 1460, ..Stack::default() };
        let grown = seen(in_stack(Role::Both, stack));
        let found = account(&Outcome { closed: true, ..echo(3000, 1538) }, &grown);
        assert_eq!(placed(&found), [("no_listener", 1460), ("unread", 2)], "{others}");
    }
}

#[test]
fn packets_in_trains_are_the_remainder_of_the_largest_place_that_counts_trains() {
    let stack = Stack { no_ports: 3, checksum_errors: 5, in_errors: 5, ..Stack::default() };
    let grown = seen(in_stack(Role::Far, stack));
    let trains = account(&Outcome { in_trains: 5_000, ..echo(1000, 900) }, &grown);
    assert_eq!(placed(&trains), [("checksum", 97), ("no_listener", 3)]);
    assert!(because(&trains)[0].contains("trains"), "{:?}", because(&trains));
    assert_eq!(placed(&account(&echo(1000, 900), &grown)), [("checksum", 5), ("no_listener", 3)]);
    // A socket counts each packet of a train: nothing remains for it.
    let full = Stack { in_errors: 5, receive_buffer_errors: 5, ..Stack::default() };
    let found = account(&Outcome { in_trains: 5_000, ..echo(1000, 900) }, &seen(in_stack(Role::Far, full)));
    assert_eq!(placed(&found), [("receive_buffer", 5)]);
}

#[test]
fn the_kernels_reasons_claim_what_no_counter_did() {
    let reasons = |place, packets| Some([(place, packets)].into());
    let stack = Stack { no_ports: 4, ..Stack::default() };
    let grown = Snapshot { reasons: reasons(Place::NoListener, 10), ..seen(in_stack(Role::Far, stack)) };
    let found = account(&echo(1000, 0), &grown);
    assert_eq!(placed(&found), [("no_listener", 10)]);
    assert!(because(&found)[0].contains("tracepoint"), "{:?}", because(&found));
    // Our own reply socket's drops are among the kernel's, and no loss of the target's.
    let grown = Snapshot { reasons: reasons(Place::ReceiveBuffer, 10), ..Snapshot::default() };
    let ours = |generator_lost| Outcome { generator_lost, ..echo(1000, 0) };
    assert_eq!(placed(&account(&ours(10), &grown)), []);
    assert_eq!(placed(&account(&ours(4), &grown)), [("receive_buffer", 6)]);
    let grown = Snapshot { reasons: reasons(Place::NoListener, 10), ..Snapshot::default() };
    assert_eq!(placed(&account(&ours(4), &grown)), [("no_listener", 10)], "of other places none are ours");
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
        (named(&found), found.caveats.len())
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
        named(&account(&Outcome { target, ..echo(1000, 0) }, &Snapshot::default()))
    };
    assert_eq!(counts(900, 600, 100), [("service_queue".to_owned(), 100), ("unread".to_owned(), 200)]);
    assert_eq!(counts(700, 600, 100), [("service_queue".to_owned(), 100)]);
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
        Device { received: 8, queue_drops: Some(4), carrier_changes: 3, ..device("eth") },
        Device { index: 2, received: 6, queue_drops: Some(4), ..device("eth") },
    ]);
    before.spaces[0].devices = Some(vec![Device {
        received: 3,
        queue_drops: Some(1),
        carrier_changes: 1,
        up: false,
        ..device("eth")
    }]);
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
