//! What arrived where nothing comes back.

use crate::unruled;
use dropline_account::{Account, Outcome, Role, Snapshot, Stack, account};

/// Of 1000 packets 900 arrived, and four count queries were answered; as many packets met nobody at the target's
/// namespace, where other programs sent `others`.
fn met_nobody(others: u64) -> Account {
    let came = 1000 + 4 + 4 + others;
    let stack = Stack {
        received: came + 40,
        delivered: came + 40,
        icmp_received: 40,
        icmp_sent: 40,
        requested: came + 40,
        udp_read: came - 40,
        no_ports: 40,
        ..Stack::default()
    };
    let space = unruled(Role::Both, stack, Some(vec![]));
    let outcome = Outcome { offered: 1000, forwarded: 900, one_way: true, queries: 4, ..Outcome::default() };
    account(&outcome, &Snapshot { spaces: vec![space], ..Snapshot::default() }, |_| None)
}

#[test]
fn what_arrived_came_back_as_no_reply_so_that_another_programs_packets_are_not_taken_for_replies() {
    assert_eq!(met_nobody(0).lost_at["no_listener"], 40);
    assert_eq!(met_nobody(40).lost_at.get("no_listener"), None, "they may be the other program's");
    assert_eq!(met_nobody(30).lost_at["no_listener"], 10);
}
