//! What other programs may have lost beside a trial.

use super::{account, at, codes, device, echo, space};
use dropline_account::{Device, Outcome, Place, Role, Snapshot, Stack, TargetCounts};

/// One namespace for both sides, in which another program sent `others` packets, and `icmp` messages were answers to packets
/// that nobody took.
fn beside(offered: u64, replies: u64, others: u64, icmp: u64, more: Stack) -> Snapshot {
    let sent = offered + replies + others + icmp;
    let stack = Stack { received: sent, requested: sent, icmp_received: icmp, icmp_sent: icmp, ..more };
    let udp_read = sent - icmp - more.no_ports;
    let lo = Device { received: sent, transmitted: sent, ..device("lo") };
    Snapshot {
        spaces: vec![space(Role::Both, Stack { delivered: sent, udp_read, ..stack }, vec![lo])],
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
    grown.spaces[0].devices.as_mut().unwrap()[0].received += 5000;
    assert_eq!(account(&echo(3000, 2690), &grown), found);
    // What came by an interface below another came there twice: any number may have been lost ahead of the ports.
    let below = Device { own: false, received: 5000, ..device("eth") };
    grown.spaces[0].devices.as_mut().unwrap().push(below);
    assert_eq!(at(&account(&echo(3000, 2690), &grown)), [("unexplained", 310)]);
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
