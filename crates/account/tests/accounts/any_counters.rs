//! Any counters at all.

use super::{account, space};
use dropline_account::{
    Bars, Device, Outcome, Place, Role, Snapshot, Space, Stack, TargetCounts, TargetSockets, Way,
};
use proptest::prelude::*;

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
    (prop::array::uniform10(counter()), way, any::<[bool; 3]>(), any::<bool>()).prop_map(
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
            queue_waiting: c[9],
            ingress_drops: c[7],
            filter_drops: c[8],
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
            elsewhere: c[9] / 2,
            elsewhere_dropped: c[10],
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
