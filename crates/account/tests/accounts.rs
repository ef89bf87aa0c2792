//! Where packets went, from counters as the kernel has them: one row of counters each, and any counters at all.

use dropline_account::{
    Account, Bars, Device, Outcome, Place, Role, Snapshot, Space, Stack, TargetCounts, TargetSockets, Way,
};
use proptest::prelude::*;

fn space(role: Role, stack: Stack, devices: Vec<Device>) -> Space {
    let id = role as u64;
    Space {
        id,
        role,
        stack,
        devices: Some(devices),
        hooked: Some(false),
        ruled: Some(false),
        drops_arriving: Bars::Unseen,
        drops_leaving: Bars::Unseen,
        source_is_own: false,
        neighbour_found: Some(true),
    }
}

fn device(name: &str) -> Device {
    Device { name: name.into(), on_path: true, own: true, up: true, ..Device::default() }
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
    let grown = Snapshot { spaces: vec![space(Role::Near, stack, vec![queue])], ..Snapshot::default() };
    let outcome = Outcome { refused: 120, refused_by_queue: 120, ..echo(880, 870) };
    assert_eq!(at(&account(&outcome, &grown)), [("unexplained", 10)]);
}

#[test]
fn a_send_that_was_refused_for_want_of_a_route_is_no_lost_reply() {
    let stack = Stack { out_no_routes: 124, ..Stack::default() };
    let outcome = Outcome { refused: 120, refused_without_route: 120, ..echo(880, 866) };
    let of = |role| {
        let grown = Snapshot { spaces: vec![space(role, stack, vec![])], ..Snapshot::default() };
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
    let account = account(&echo(200, 0), &Snapshot { spaces: vec![near], ..Snapshot::default() });
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
        spaces: vec![space(Role::Both, Stack::default(), vec![device("lo")])],
        backlog_drops: Some(1000),
        ..Snapshot::default()
    };
    assert_eq!(at(&account(&echo(10, 5), &grown)), [("unexplained", 5)]);
}

#[test]
fn a_routers_queue_is_on_the_way_that_its_interface_leads() {
    let port = |leaves, drops| Device { leaves: Some(leaves), queue_drops: Some(drops), ..device("port") };
    let ports = vec![port(Way::Out, 7), port(Way::Back, 4)];
    let grown =
        Snapshot { spaces: vec![space(Role::Between, Stack::default(), ports)], ..Snapshot::default() };
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
            spaces: vec![space(role, Stack::default(), vec![port])],
            target: Some(TargetSockets::default()),
            reasons: Some([(place, 300)].into()),
            ..Snapshot::default()
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

#[test]
fn one_tick_of_a_counter_stands_for_one_train_at_most() {
    let stray = |no_ports, in_trains| {
        let grown = Snapshot {
            spaces: vec![space(Role::Both, Stack { no_ports, ..Stack::default() }, vec![])],
            ..Snapshot::default()
        };
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
    let grown = Snapshot { spaces: vec![near], ..Snapshot::default() };
    let outcome = Outcome { one_way: true, ..echo(100, 95) };
    assert_eq!(at(&account(&outcome, &grown)), [("unexplained", 5)]);
}

#[test]
fn without_loss_there_is_nothing_to_doubt() {
    let stack = Stack { no_ports: 9, in_errors: 9, ..Stack::default() };
    let grown = Snapshot { spaces: vec![space(Role::Far, stack, vec![])], ..Snapshot::default() };
    let account = account(&echo(100, 100), &grown);
    let places: Vec<_> = account.lost_at.into_iter().collect();
    assert_eq!((places, account.caveats.len()), (vec![("unexplained".into(), 0)], 0));
}

fn counter() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0u64), 0..50u64, 0..100_000u64, any::<u32>().prop_map(u64::from)]
}

fn stack() -> impl Strategy<Value = Stack> {
    prop::array::uniform27(counter()).prop_map(|c| Stack {
        udp_read: c[0],
        no_ports: c[1],
        in_errors: c[2],
        receive_buffer_errors: c[3],
        send_buffer_errors: c[4],
        checksum_errors: c[5],
        memory_errors: c[6],
        received: c[7],
        delivered: c[8],
        forwarded: c[9],
        header_errors: c[10],
        address_errors: c[11],
        in_no_routes: c[12],
        unknown_protocols: c[13],
        in_discards: c[14],
        rp_filtered: c[15],
        fragments: c[16],
        reassembled: c[17],
        reassembly_failures: c[18],
        incomplete: c[19],
        transmitted: c[20],
        icmp_received: c[24],
        icmp_sent: c[25],
        requested: c[26],
        out_discards: c[21],
        out_no_routes: c[22],
        received_otherwise: c[23],
    })
}

fn any_device() -> impl Strategy<Value = Device> {
    let way = prop::sample::select(vec![None, Some(Way::Out), Some(Way::Back)]);
    (prop::array::uniform8(counter()), way, any::<[bool; 3]>(), any::<bool>()).prop_map(
        |(c, leaves, [on_path, own, up], seen)| Device {
            index: 1,
            name: "any".into(),
            on_path,
            leaves,
            own,
            up,
            carrier_changes: c[0],
            received: c[1],
            receive_drops: c[2],
            other_host: c[3],
            transmitted: c[4],
            transmit_drops: c[5],
            queue_drops: seen.then_some(c[6]),
            ingress_drops: c[7],
        },
    )
}

fn any_space() -> impl Strategy<Value = Space> {
    let role = prop::sample::select(vec![Role::Near, Role::Far, Role::Both, Role::Between]);
    let devices = prop::option::of(prop::collection::vec(any_device(), 0..3));
    let flags = prop::array::uniform3(prop::option::of(any::<bool>()));
    (role, stack(), devices, flags).prop_map(|(role, stack, devices, [hooked, ruled, neighbour_found])| {
        let bars = |of: Option<bool>| match of {
            None => Bars::Unseen,
            Some(true) => Bars::Ours,
            Some(false) => Bars::Others,
        };
        let [drops_arriving, drops_leaving] = [ruled, hooked].map(bars);
        let (id, source_is_own) = (role as u64, hooked == ruled);
        let counted = Space { drops_arriving, drops_leaving, source_is_own, ..space(role, stack, vec![]) };
        Space { id, devices, hooked, ruled, neighbour_found, ..counted }
    })
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let target = (0..2u64, counter(), counter()).prop_map(|(identity, drops, waiting_bytes)| TargetSockets {
        identity,
        drops,
        waiting_bytes,
    });
    let place = prop::sample::select(Place::ALL.to_vec());
    let reasons = prop::collection::btree_map(place, counter(), 0..4);
    (
        prop::collection::vec(any_space(), 0..4),
        prop::option::of(target),
        prop::option::of(counter()),
        prop::option::of(reasons),
    )
        .prop_map(|(spaces, target, backlog_drops, reasons)| Snapshot {
            spaces,
            target,
            backlog_drops,
            reasons,
        })
}

fn target_counts() -> impl Strategy<Value = TargetCounts> {
    prop::array::uniform3(counter()).prop_map(|[received, served, dropped_queue]| TargetCounts {
        received,
        served,
        dropped_queue,
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let counts = prop::option::of(target_counts());
    ((prop::array::uniform11(counter()), counter()), counts, any::<[bool; 2]>()).prop_map(
        |((c, refused_without_route), target, [closed, one_way])| Outcome {
            without_socket: 0,
            offered: c[0],
            forwarded: c[1],
            generator_lost: c[2],
            late: c[3],
            refused: c[4],
            refused_by_queue: c[5],
            duplicated: 0,
            refused_without_route,
            target,
            unread: c[6],
            reply_truncated: c[7],
            reply_changed: c[8],
            reply_extended: c[10],
            closed,
            in_trains: c[9],
            queries: c[3] / 2,
            one_way,
        },
    )
}

fn lost(outcome: &Outcome) -> u64 {
    outcome.offered.saturating_sub(outcome.forwarded).saturating_sub(outcome.generator_lost)
}

proptest! {
    #[test]
    fn whatever_the_counters_say_the_places_sum_to_the_loss(
        outcome in outcome(), before in snapshot(), after in snapshot()
    ) {
        let account = account(&outcome, &after.since(&before));
        prop_assert_eq!(account.lost_at.values().sum::<u64>(), lost(&outcome));
        prop_assert!(account.lost_at.contains_key("unexplained"));
        // That a link went down is said of a trial without loss too.
        let doubts = account.caveats.iter().filter(|caveat| caveat.code() != "link_down").count();
        prop_assert!(lost(&outcome) > 0 || doubts == 0);
    }

    #[test]
    fn a_target_that_counts_separates_the_ways(
        any in outcome(), counts in target_counts(), grown in snapshot()
    ) {
        let outcome = Outcome { target: Some(counts), ..any };
        let lost = lost(&outcome);
        let out = outcome.offered.saturating_sub(counts.served).min(lost);
        let account = account(&outcome, &grown);
        let back: u64 = account.lost_at.iter()
            .filter(|(key, _)| key.starts_with("re") && *key != "receive_buffer" || *key == "late")
            .map(|(_, count)| count).sum();
        prop_assert!(back <= lost - out);
    }
}

/// One namespace for both sides, in which another program sent `others` packets, and `icmp` messages were answers to packets
/// that nobody took.
fn beside(offered: u64, replies: u64, others: u64, icmp: u64, more: Stack) -> Snapshot {
    let sent = offered + replies + others + icmp;
    let stack = Stack { received: sent, requested: sent, icmp_received: icmp, icmp_sent: icmp, ..more };
    let udp_read = sent - icmp - more.no_ports;
    Snapshot {
        spaces: vec![space(Role::Both, Stack { delivered: sent, udp_read, ..stack }, vec![device("lo")])],
        ..Snapshot::default()
    }
}

#[test]
fn a_place_gets_no_packet_that_another_program_may_have_lost_there() {
    // A target that answers 2700 of 3000 and counts nothing; 180 datagrams of another program meet nobody.
    let closed_port = Stack { no_ports: 180, ..Stack::default() };
    let found = account(&echo(3000, 2700), &beside(3000, 2700, 180, 180, closed_port));
    assert_eq!((at(&found), codes(&found)), (vec![("unexplained", 300)], vec!["counters_shared"]));
    // The kernel's own reasons, in which all programs are mixed, do not bring them back.
    let reasons = Some([(Place::NoListener, 180)].into());
    let told = Snapshot { reasons, ..beside(3000, 2700, 180, 180, closed_port) };
    assert_eq!(account(&echo(3000, 2700), &told), found);
    // Of 500 that met nobody at most 180 were the other program's.
    let both = Stack { no_ports: 500, ..Stack::default() };
    let found = account(&echo(3000, 2600), &beside(3000, 2600, 180, 500, both));
    assert_eq!(at(&found), [("no_listener", 320), ("unexplained", 80)]);
    assert_eq!(found.caveats[0].to_string().matches("80 lost packets").count(), 1, "{:?}", found.caveats);
}

#[test]
fn packets_that_met_nobody_are_the_trials_where_nobody_else_sent_any() {
    // Ten more vanished where nothing counts.
    let dead = Stack { no_ports: 300, ..Stack::default() };
    let mut grown = beside(3000, 2690, 0, 300, dead);
    let found = account(&echo(3000, 2690), &grown);
    assert_eq!((at(&found), codes(&found)), (vec![("no_listener", 300), ("unexplained", 10)], vec![]));
    // Segments of TCP do not meet UDP's ports.
    grown.spaces[0].stack.received += 5000;
    grown.spaces[0].stack.delivered += 5000;
    assert_eq!(account(&echo(3000, 2690), &grown), found);
}

#[test]
fn what_comes_to_the_loss_and_not_one_packet_more_or_less_is_the_trials() {
    // Of the target's 3000 replies a rule took 300 on arrival: nobody can tell them from packets of other programs, but for
    // their number.
    let mut taken = beside(3000, 3000, 0, 0, Stack::default());
    taken.spaces[0].stack.delivered -= 300;
    let found = account(&echo(3000, 2700), &taken);
    assert_eq!((at(&found), codes(&found)), (vec![("netfilter", 300)], vec![]));
    let found = account(&echo(3000, 2650), &taken);
    assert_eq!((at(&found), codes(&found)), (vec![("unexplained", 350)], vec!["counters_shared"]));
    // Where the target says that it answered all, they are its replies.
    let counts = TargetCounts { received: 3000, served: 3000, dropped_queue: 0 };
    let found = account(&Outcome { target: Some(counts), ..echo(3000, 2650) }, &taken);
    assert_eq!((at(&found), codes(&found)), (vec![("return_netfilter", 300), ("unexplained", 50)], vec![]));
}

#[test]
fn a_loss_as_large_as_another_programs_by_chance_is_found_out_when_the_trial_is_over() {
    // Another program's hundred packets are dropped by a rule; the target kept silent about as many.
    let mut rule = beside(1000, 900, 100, 0, Stack::default());
    rule.spaces[0].stack.delivered -= 100;
    let told = |idle: Snapshot| {
        let found = dropline_account::account(&echo(1000, 900), &rule, |others| {
            assert_eq!(others, 100);
            Some(idle)
        });
        (at(&found)[0].0.to_owned(), codes(&found).len())
    };
    let mut still_drops = beside(0, 0, 8, 0, Stack::default());
    still_drops.spaces[0].stack.delivered -= 8;
    assert_eq!(told(still_drops), ("unexplained".to_owned(), 1));
    // Nobody's packets are dropped: these were replies. That other programs lose packets elsewhere says nothing.
    assert_eq!(told(beside(0, 0, 8, 0, Stack::default())), ("netfilter".to_owned(), 0));
    let elsewhere = beside(0, 0, 8, 8, Stack { no_ports: 8, ..Stack::default() });
    assert_eq!(told(elsewhere), ("netfilter".to_owned(), 0));
}

#[test]
fn a_count_query_to_a_target_is_no_other_programs_packet() {
    // Of 1000 one-way packets 40 met nobody; four queries and their answers passed the same counters.
    let stack = Stack { no_ports: 40, ..Stack::default() };
    let grown = beside(1004, 4, 0, 40, stack);
    let one_way = Outcome { one_way: true, queries: 4, ..echo(1000, 950) };
    let found = account(&one_way, &grown);
    assert_eq!((at(&found), codes(&found)), (vec![("no_listener", 40), ("unexplained", 10)], vec![]));
}

#[test]
fn a_reply_that_came_back_otherwise_is_no_other_programs_packet() {
    // Of 1000 packets 40 met nobody and 960 were answered: 50 late, and 30 shorter, 30 longer and 30 with other bytes.
    let kinds =
        Outcome { late: 50, reply_truncated: 30, reply_extended: 30, reply_changed: 30, ..echo(1000, 820) };
    let found = account(&kinds, &beside(1000, 960, 0, 40, Stack { no_ports: 40, ..Stack::default() }));
    assert_eq!((found.lost_at["no_listener"], codes(&found)), (40, vec![]));
}
