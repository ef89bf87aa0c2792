//! How much is enough for a claim, a doubt or a caveat, and how much is one too few.

use super::{
    account, at, because, codes, device, echo, in_device, in_stack, named, placed, quiet, seen, space,
};
use dropline_account::{
    Bars, Device, HostPath, Outcome, Place, Role, Snapshot, Space, Stack, TargetSockets, Way, account_path,
};
use dropline_trial::Caveat;

/// A namespace of both sides in which 300 packets, any of which may be another program's, are lost; so many of the trial's are.
fn counted_beside(lost: u64, no_ports: u64, vanished: u64) -> (u64, usize) {
    let [offered, replies] = [3000, 3000 - no_ports.min(lost)];
    let sent = offered + replies + 300;
    let stack = Stack {
        received: sent,
        delivered: sent - vanished,
        udp_read: sent - no_ports,
        requested: sent,
        no_ports,
        ..Stack::default()
    };
    let lo = Device { received: sent, transmitted: sent, ..device("lo") };
    let found = account(&echo(3000, 3000 - lost), &seen(space(Role::Both, stack, vec![lo])));
    (
        found.lost_at["unexplained"],
        codes(&found).into_iter().filter(|code| *code == "counters_shared").count(),
    )
}

#[test]
fn what_may_be_anothers_is_the_trials_where_it_is_as_many_as_were_lost_and_not_one_more_or_less() {
    assert_eq!([299, 300, 301].map(|lost| counted_beside(lost, 0, 300)), [(299, 1), (0, 0), (301, 1)]);
    assert_eq!([299, 300, 301].map(|lost| counted_beside(lost, 300, 0)), [(299, 1), (0, 0), (301, 1)]);
}

#[test]
fn a_counter_of_udp_is_not_doubted_for_what_other_protocols_do() {
    let none = Stack { udp_read: 960, received: 1000, delivered: 1000, ..Stack::default() };
    for (stack, place) in [
        (Stack { in_errors: 40, checksum_errors: 40, ..none }, "checksum"),
        (Stack { in_errors: 40, memory_errors: 40, ..none }, "udp_memory"),
        (Stack { no_ports: 40, ..none }, "no_listener"),
    ] {
        let with = |others: u64| {
            let stack = Stack { received: 1000 + others, delivered: 1000 + others, ..stack };
            let eth = Device { received: 1000 + others, ..device("eth") };
            account(&echo(1000, 950), &seen(space(Role::Far, stack, vec![eth])))
        };
        assert_eq!((at(&with(500)), at(&with(0))), (at(&with(0)), vec![(place, 40), ("unexplained", 10)]));
    }
}

#[test]
fn replies_that_nobody_takes_are_beyond_the_loss_as_far_as_more_met_nobody_than_were_lost() {
    let found = |lost: u64| {
        // The target read all requests; replies met nobody.
        let stack = Stack { no_ports: 100, udp_read: 2000 - lost, ..Stack::default() };
        let found = account(&echo(1000, 1000 - lost), &seen(space(Role::Both, stack, vec![])));
        (named(&found), codes(&found).iter().map(|code| (*code).to_owned()).collect::<Vec<_>>())
    };
    let at = |packets| vec![("return_no_listener".to_owned(), packets)];
    assert_eq!(found(100), (at(100), vec!["place_inferred".to_owned()]));
    assert_eq!(found(99), (at(99), vec!["counters_shared".to_owned(), "place_inferred".to_owned()]));
}

#[test]
fn what_met_nobody_once_the_target_was_gone_or_where_nothing_comes_back_was_no_reply() {
    let stack = Stack { no_ports: 100, udp_read: 1900, ..Stack::default() };
    let of = |role, outcome| {
        let found = account(&outcome, &seen(space(role, stack, vec![])));
        placed(&found).first().map(|it| it.0.to_owned())
    };
    assert_eq!(of(Role::Both, echo(1000, 900)).as_deref(), Some("return_no_listener"));
    for outcome in [Outcome { one_way: true, ..echo(1000, 900) }, Outcome { closed: true, ..echo(1000, 900) }]
    {
        assert_eq!(of(Role::Both, outcome).as_deref(), Some("no_listener"));
    }
    assert_eq!(of(Role::Far, echo(1000, 900)).as_deref(), Some("no_listener"));
    // What found no room or waited came to a socket too.
    for (stack, unread) in [(Stack { in_errors: 100, ..stack }, 0), (stack, 100)] {
        let stack = Stack { udp_read: 1800, ..stack };
        let found = account(&Outcome { unread, ..echo(1000, 800) }, &seen(space(Role::Both, stack, vec![])));
        assert!(placed(&found).contains(&("return_no_listener", 100)), "{:?}", found.lost_at);
    }
    let twice = Outcome { duplicated: 60, ..echo(1000, 900) };
    let found = account(&twice, &seen(space(Role::Both, stack, vec![])));
    assert_eq!(
        placed(&found),
        [("no_listener", 60), ("return_no_listener", 40)],
        "sixty of what was read are replies"
    );
}

#[test]
fn what_listened_for_answers_from_elsewhere_dropped_is_not_the_targets() {
    let stack = Stack { in_errors: 30, receive_buffer_errors: 30, ..Stack::default() };
    let outcome = Outcome { generator_lost: 8, elsewhere_dropped: 12, ..echo(1000, 500) };
    let buffer = |role| {
        let found = account(&outcome, &seen(in_stack(role, stack)));
        placed(&found)[0].1
    };
    assert_eq!((buffer(Role::Both), buffer(Role::Far)), (10, 30));
}

#[test]
fn what_was_seen_to_come_without_a_socket_is_among_what_met_nobody() {
    let stack = Stack { no_ports: 50, ..Stack::default() };
    let found =
        account(&Outcome { without_socket: 20, ..echo(1000, 900) }, &seen(in_stack(Role::Far, stack)));
    assert_eq!(placed(&found), [("no_listener", 50)]);
    let elsewhere = Outcome { elsewhere: 20, ..echo(1000, 900) };
    assert_eq!(placed(&account(&elsewhere, &Snapshot::default())), [("return_no_listener", 20)]);
}

#[test]
fn others_came_to_a_socket_by_what_it_dropped_beyond_eight_queries_or_by_64_that_are_one_in_twenty() {
    let said = |offered: u64, beyond: u64, got: u64| {
        // All were read and answered but a hundred, for which there was no room.
        let stack = Stack {
            udp_read: 2 * (offered - 100) + got,
            in_errors: 100 + beyond,
            receive_buffer_errors: 100 + beyond,
            received: 10_000,
            delivered: 10_000,
            ..Stack::default()
        };
        let target = Some(TargetSockets { drops: 100 + beyond, ..TargetSockets::default() });
        let grown = Snapshot { target, ..seen(space(Role::Both, stack, vec![])) };
        let found = account(&echo(offered, offered - 100), &grown);
        found.caveats.into_iter().find(|caveat| caveat.code() == "others_came")
    };
    let came = |dropped, came| Some(Caveat::OthersCame { dropped, came });
    assert_eq!((said(1000, 8, 0), said(1000, 9, 0)), (None, came(9, 9)));
    assert_eq!((said(1000, 0, 63), said(1000, 0, 64)), (None, came(0, 64)));
    assert_eq!((said(1280, 0, 64), said(1281, 0, 64)), (came(0, 64), None));
}

#[test]
fn what_a_discipline_dropped_on_arrival_is_not_taken_by_a_rule_once_more() {
    let rule = |own| {
        let eth = Device { received: 100, ingress_drops: 4, own, ..device("eth") };
        let stack = Stack { received: if own { 90 } else { 0 }, delivered: 90, ..Stack::default() };
        let aside = Device { received: 10, on_path: false, ..device("other") };
        let devices = if own { vec![eth] } else { vec![eth, aside] };
        let far = Space { hooked: Some(true), ..space(Role::Far, stack, devices) };
        named(&account(&echo(1000, 0), &seen(far)))
    };
    assert_eq!(rule(true), [("ingress".to_owned(), 10)], "four by the discipline and six by a rule");
    assert_eq!(
        rule(false),
        [("ingress".to_owned(), 14)],
        "what a port below another dropped is no part of it"
    );
}

#[test]
fn inferred_packets_of_one_reason_are_said_in_one_sum() {
    let cut = |role| {
        let device = Device { up: false, transmitted: 20, ..device("eth") };
        Space { stack: Stack { transmitted: 50, ..Stack::default() }, ..in_device(role, device) }
    };
    let grown = Snapshot { spaces: vec![cut(Role::Near), cut(Role::Far)], ..Snapshot::default() };
    let found = account(&echo(1000, 0), &grown);
    assert_eq!(placed(&found), [("link_down", 30), ("return_link_down", 30)]);
    assert!(
        matches!(&found.caveats[..], [Caveat::PlaceInferred { packets: 60, .. }]),
        "{:?}",
        because(&found)
    );
}

/// Of 1000 lost packets, where the kernel says that 30 were dropped for this.
fn by_reason(place: Place, spaces: Vec<Space>, target: Option<TargetSockets>) -> Vec<(String, u64)> {
    let grown = Snapshot { spaces, target, reasons: Some([(place, 30)].into()), ..Snapshot::default() };
    named(&account(&echo(1000, 0), &grown))
}

#[test]
fn a_reason_names_a_place_where_packets_can_vanish_uncounted() {
    let is_named = |place, space: Space| {
        by_reason(place, vec![quiet(Role::Near), space], Some(TargetSockets::default())).len()
    };
    let quiet = || quiet(Role::Far);
    let unseen = || Space { devices: None, ..quiet() };
    let dropping = in_device(Role::Far, Device { receive_drops: 1, ..device("eth") });
    let down = in_device(Role::Far, Device { up: false, ..device("eth") });
    for (place, space, named) in [
        (Place::Ingress, Space { hooked: Some(true), ..quiet() }, 1),
        (Place::Ingress, Space { hooked: None, ..quiet() }, 1),
        (Place::Netfilter, Space { ruled: None, ..quiet() }, 1),
        (Place::LinkDown, unseen(), 1),
        (Place::LinkDown, down, 1),
        (Place::Neighbour, Space { neighbour_found: None, ..quiet() }, 1),
        (Place::Neighbour, Space { role: Role::Both, neighbour_found: None, ..quiet() }, 0),
        (Place::Softnet, unseen(), 1),
        (Place::Softnet, dropping, 1),
        (Place::Unread, quiet(), 0),
        (Place::Late, quiet(), 0),
    ] {
        assert_eq!(is_named(place, space.clone()), named, "{place:?} {space:?}");
    }
    assert_eq!(by_reason(Place::Unread, vec![], None), [("unread".to_owned(), 30)]);
}

#[test]
fn a_reason_is_of_the_way_on_which_every_rule_that_may_drop_uncounted_drops() {
    let way = |ways: [Option<Way>; 2]| {
        let spaces = ways.map(|ruled_way| Space { ruled: Some(true), ruled_way, ..quiet(Role::Between) });
        let unruled = Space { ruled_way: Some(Way::Out), ..quiet(Role::Far) };
        by_reason(Place::Netfilter, [spaces.to_vec(), vec![unruled]].concat(), None)[0].0.clone()
    };
    assert_eq!(way([Some(Way::Back); 2]), "return_netfilter");
    for mixed in [[Some(Way::Back), None], [None, Some(Way::Back)], [Some(Way::Back), Some(Way::Out)]] {
        assert_eq!(way(mixed), "netfilter", "{mixed:?}");
    }
}

#[test]
fn a_reason_claims_what_is_beyond_both_ways_of_its_place() {
    let queue = |role| in_device(role, Device { queue_drops: Some(7), ..device("eth") });
    let found = by_reason(Place::Qdisc, vec![queue(Role::Near), queue(Role::Far)], None);
    assert_eq!(found, [("qdisc".to_owned(), 7 + 16), ("return_qdisc".to_owned(), 7)]);
}

/// Of a thousand packets so many arrived, one way, by a router of a path: what its places got, and what may be others'.
fn passed(router: Space, arrived: u64) -> (Vec<(String, u64)>, u64) {
    let path =
        HostPath { senders: "west".into(), left: Some(1000), came: arrived, hosts: vec!["router".into()] };
    let outcome = Outcome { one_way: true, ..echo(1000, arrived) };
    let found = account_path(&outcome, &seen(router), &path);
    let unplaced = found.caveats.iter().map(|caveat| match caveat {
        Caveat::CountersShared { unplaced, .. } => *unplaced,
        _ => 0,
    });
    (named(&found), unplaced.sum())
}

fn router(drops_arriving: Bars, drops_leaving: Bars, stack: Stack) -> Space {
    let port = |leaves, received, transmitted| Device {
        leaves: Some(leaves),
        received,
        transmitted,
        ..device("port")
    };
    let ports = vec![port(Way::Back, 1000, 0), port(Way::Out, 0, 900)];
    Space { id: 0, drops_arriving, drops_leaving, ..space(Role::Between, stack, ports) }
}

/// What a router of a path does not pass on, and gives to no interface; its rules may drop these.
fn routed(drops_arriving: Bars, drops_leaving: Bars, stack: Stack) -> (Vec<(String, u64)>, u64) {
    passed(router(drops_arriving, drops_leaving, stack), 900)
}

#[test]
fn what_a_router_lost_and_may_be_of_others_is_at_no_place_unless_it_is_what_was_lost() {
    // Fifty came by no interface of the way; 120 went nowhere.
    let stack = Stack { received: 1050, forwarded: 930, transmitted: 930, ..Stack::default() };
    let found = |arrived| passed(router(Bars::Ours, Bars::Ours, stack), arrived);
    let taken = |packets| vec![("router/netfilter".to_owned(), packets)];
    assert_eq!((found(880), found(870)), ((taken(120), 0), (taken(70), 50)));
}

#[test]
fn a_router_lost_what_its_rules_may_drop_wherever_they_stand() {
    let arriving = Stack { received: 1000, forwarded: 900, transmitted: 900, ..Stack::default() };
    let passing = Stack { received: 1000, forwarded: 1000, transmitted: 900, ..Stack::default() };
    let taken = vec![("router/netfilter".to_owned(), 100)];
    for stack in [arriving, passing] {
        for (bars, leaving) in [
            (Bars::Ours, Bars::Nothing),
            (Bars::Nothing, Bars::Ours),
            (Bars::Others, Bars::Ours),
            (Bars::Unseen, Bars::Nothing),
        ] {
            assert_eq!(routed(bars, leaving, stack), (taken.clone(), 0), "{bars:?} {leaving:?}");
        }
        assert_eq!(routed(Bars::Nothing, Bars::Nothing, stack), (vec![], 0));
        assert_eq!(routed(Bars::Others, Bars::Nothing, stack), (vec![], 100));
    }
    // A kernel that does not count what it gives to interfaces loses nothing by that.
    let old = Stack { received: 1000, forwarded: 1000, ..Stack::default() };
    assert_eq!(routed(Bars::Ours, Bars::Ours, old), (vec![], 0));
}
