//! Each counter of the IP and UDP layers alone: which place it names, and what is taken off it before it may claim packets.

use super::{account, because, device, echo, in_each_role, in_stack, named, placed, quiet, seen};
use dropline_account::{Bars, Device, Outcome, Place, Role, Snapshot, Space, Stack, Way};

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
    let of = |lost, role| named(&account(&echo(lost, 0), &seen(in_stack(role, stack))));
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
        assert_eq!(
            placed(&found),
            [("return_netfilter", firewall), ("return_send_buffer", buffer)],
            "{role:?}"
        );
    }
}

#[test]
fn a_refused_send_in_both_counters_is_the_send_buffers_only_as_far_as_no_firewall_can_have_it() {
    let found = |errors, discards, firewalls: Option<u64>| {
        let stack = Stack { send_buffer_errors: errors, out_discards: discards, ..Stack::default() };
        let reasons = firewalls.map(|packets| [(Place::Netfilter, packets)].into());
        let account = account(&echo(1000, 0), &Snapshot { reasons, ..seen(in_stack(Role::Far, stack)) });
        (
            named(&account),
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
    assert_eq!(named(&account(&echo(1000, 0), &seen(barred))), []);
    let reasons = Some([(Place::Netfilter, 60)].into());
    for (ruled_way, place) in
        [(Some(Way::Back), "return_netfilter"), (Some(Way::Out), "netfilter"), (None, "netfilter")]
    {
        let ruled = Space { ruled: Some(true), ruled_way, ..quiet(Role::Between) };
        let grown = Snapshot { reasons: reasons.clone(), ..seen(ruled) };
        assert_eq!(named(&account(&echo(1000, 0), &grown)), [(place.to_owned(), 60)]);
    }
}

#[test]
fn a_reply_without_a_route_is_not_at_the_send_buffer_that_was_once_full() {
    let stack = Stack { send_buffer_errors: 7, out_no_routes: 7, ..Stack::default() };
    let found = account(&echo(7, 0), &seen(in_stack(Role::Far, stack)));
    assert_eq!((placed(&found), because(&found).len()), (vec![("return_no_route", 7)], 0));
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
        let device = Device { received: 1300, ..device("eth") };
        let before =
            Space { hooked: Some(true), devices: Some(vec![device]), ..in_stack(Role::Far, stack(700, 700)) };
        let nowhere = Space { ruled: Some(true), ..in_stack(Role::Far, stack(700, 700)) };
        // As many as were lost by chance are told apart by watching on alone.
        for (space, forwarded) in [(inside, 700), (before, 700), (nowhere, 690)] {
            let grown = seen(space.clone());
            let found =
                dropline_account::account(&echo(1000, forwarded), &grown, |_| Some(Snapshot::default()));
            let places = placed(&found);
            let is_right = |(place, _): &(&str, u64)| ["netfilter", "ingress", "unexplained"].contains(place);
            assert!(places.iter().all(is_right), "{places:?} of {counted:?} in {space:?}");
        }
    }
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
