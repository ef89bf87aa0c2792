//! Where frames between two interfaces were lost, from counters alone.

use dropline_account::{Bars, Device, Frames, Place, Role, Snapshot, Space, Stack, Way, account_frames};
use dropline_trial::Caveat;
use std::collections::BTreeMap;

fn device(name: &str, index: u32) -> Device {
    Device {
        name: name.into(),
        index,
        on_path: true,
        own: true,
        up: true,
        queue_drops: Some(0),
        ..Device::default()
    }
}

fn space(id: u64, role: Role, devices: Vec<Device>) -> Space {
    Space {
        id,
        role,
        stack: Stack::default(),
        devices: Some(devices),
        hooked: Some(false),
        ruled: Some(false),
        ruled_way: None,
        drops_arriving: Bars::Nothing,
        drops_leaving: Bars::Nothing,
        source_is_own: false,
        neighbour_found: None,
        flow: None,
    }
}

/// Near, a bridge with two ports, and far; the bridge's second port is the other end of the far interface.
fn bridged(near: Device, first: Device, second: Device, far: Device) -> Snapshot {
    let spaces = vec![
        space(1, Role::Near, vec![near]),
        space(2, Role::Far, vec![far]),
        space(3, Role::Between, vec![first, second]),
    ];
    Snapshot { spaces, ..Snapshot::default() }
}

const LAST: Option<(u64, u32)> = Some((3, 21));

fn quiet() -> [Device; 4] {
    [device("near", 2), device("first", 20), device("second", 21), device("far", 2)]
}

fn lost_at(places: &[(&str, u64)]) -> BTreeMap<String, u64> {
    places.iter().map(|(place, frames)| ((*place).to_owned(), *frames)).collect()
}

#[test]
fn each_frame_is_at_the_place_that_dropped_it_and_what_our_own_end_dropped_is_ours() {
    let [mut near, first, mut second, mut far] = quiet();
    // The ring of the bridge's port, which its own end counts as dropped on arrival too.
    near.transmit_drops = 5;
    second.queue_drops = Some(7);
    second.transmit_drops = 11;
    far.receive_drops = 11;
    let frames = Frames { offered: 1000, forwarded: 970, changed: 4, ..Frames::default() };
    let mut first = first;
    first.receive_drops = 5;
    let (ours, account) = account_frames(&frames, &mut bridged(near, first, second, far), LAST, Way::Out);
    assert_eq!(ours, 11);
    assert_eq!(
        account.lost_at,
        lost_at(&[("qdisc", 7), ("reply_changed", 4), ("ring", 5), ("unexplained", 3)])
    );
    assert_eq!(account.caveats, []);
}

#[test]
fn what_an_interface_refused_was_not_offered_and_is_not_lost() {
    let [mut near, first, second, far] = quiet();
    near.transmit_drops = 9;
    let frames = Frames { offered: 100, forwarded: 98, refused: 7, ..Frames::default() };
    let (ours, account) = account_frames(&frames, &mut bridged(near, first, second, far), LAST, Way::Out);
    assert_eq!((ours, account.lost_at), (0, lost_at(&[("ring", 2), ("unexplained", 0)])));
}

#[test]
fn a_counter_that_has_more_than_was_lost_is_shared_with_others() {
    let [near, first, mut second, far] = quiet();
    second.queue_drops = Some(10);
    let frames = Frames { offered: 100, forwarded: 96, ..Frames::default() };
    let (_, account) = account_frames(&frames, &mut bridged(near, first, second, far), LAST, Way::Out);
    assert_eq!(account.lost_at, lost_at(&[("qdisc", 4), ("unexplained", 0)]));
    assert_eq!(account.caveats.iter().map(|caveat| caveat.code()).collect::<Vec<_>>(), ["counters_shared"]);
}

#[test]
fn what_still_waits_in_a_queue_is_late_where_nothing_dropped_it() {
    let [near, first, mut second, far] = quiet();
    (second.queue_drops, second.queue_waiting) = (Some(3), 40);
    let frames = Frames { offered: 100, forwarded: 90, ..Frames::default() };
    let (_, account) = account_frames(&frames, &mut bridged(near, first, second, far), LAST, Way::Out);
    assert_eq!(account.lost_at, lost_at(&[("late", 7), ("qdisc", 3), ("unexplained", 0)]));
    assert_eq!(account.caveats, [Caveat::StillQueued { lost: 10, queued: 7 }]);
}

#[test]
fn a_rule_is_named_by_the_kernels_reason_only_where_one_may_meet_frames() {
    for (ruled, places) in [
        (Some(true), lost_at(&[("netfilter", 6), ("unexplained", 0)])),
        (Some(false), lost_at(&[("unexplained", 6)])),
    ] {
        let [near, first, second, far] = quiet();
        let mut grown = bridged(near, first, second, far);
        grown.spaces[2].ruled = ruled;
        grown.reasons = Some(BTreeMap::from([(Place::Netfilter, 8)]));
        let frames = Frames { offered: 100, forwarded: 94, ..Frames::default() };
        assert_eq!(account_frames(&frames, &mut grown, LAST, Way::Out).1.lost_at, places);
    }
}

#[test]
fn what_an_interface_of_hardware_missed_is_our_own_end() {
    let [near, _, _, mut far] = quiet();
    far.receive_drops = 3;
    let spaces = vec![space(1, Role::Near, vec![near]), space(2, Role::Far, vec![far])];
    let frames = Frames { offered: 10, forwarded: 5, ..Frames::default() };
    let (ours, account) =
        account_frames(&frames, &mut Snapshot { spaces, ..Snapshot::default() }, None, Way::Out);
    assert_eq!((ours, account.lost_at), (3, lost_at(&[("unexplained", 2)])));
}

#[test]
fn what_a_place_dropped_of_our_own_frames_beside_the_trials_is_not_said_to_be_of_other_programs() {
    let beyond = |beside: u64| {
        let [near, first, mut second, far] = quiet();
        second.queue_drops = Some(24);
        let frames = Frames { offered: 100, forwarded: 80, beside, ..Frames::default() };
        let (_, account) = account_frames(&frames, &mut bridged(near, first, second, far), LAST, Way::Out);
        assert_eq!(account.lost_at, lost_at(&[("qdisc", 20), ("unexplained", 0)]));
        account.caveats
    };
    assert_eq!(beyond(4), []);
    assert_eq!(beyond(3), [Caveat::CountersShared { beyond: 1, unplaced: 0 }]);
}

/// A bridge whose ports lead back and out, each of whose counters is another number.
fn both_ways(last: Option<(u64, u32)>, way: Way, refused: u64) -> (u64, BTreeMap<String, u64>) {
    let [mut near, mut first, mut second, mut far] = quiet();
    (first.leaves, second.leaves) = (Some(Way::Back), Some(Way::Out));
    (first.queue_drops, first.transmit_drops, first.ingress_drops) = (Some(3), 5, 7);
    (second.queue_drops, second.transmit_drops, second.ingress_drops) = (Some(11), 13, 17);
    (first.queue_waiting, second.queue_waiting) = (100, 200);
    (near.leaves, far.leaves) = (Some(Way::Out), Some(Way::Back));
    (near.receive_drops, far.receive_drops) = (19, 23);
    (near.queue_drops, near.transmit_drops) = (Some(30), 4);
    (far.queue_drops, far.transmit_drops) = (Some(30), 4);
    let frames = Frames { offered: 1000, refused, ..Frames::default() };
    let (ours, account) = account_frames(&frames, &mut bridged(near, first, second, far), last, way);
    (ours, account.lost_at.into_iter().filter(|(_, frames)| *frames > 0).collect())
}

#[test]
fn frames_of_each_way_are_lost_where_interfaces_lead_that_way_or_take_what_comes_on_it() {
    let expected = |ours: u64, places: [u64; 4]| {
        let rest = 1000 - ours - places.iter().sum::<u64>();
        let [queue, ring, ingress, late] = places;
        let places =
            [("ingress", ingress), ("late", late), ("qdisc", queue), ("ring", ring), ("unexplained", rest)];
        (ours, places.into_iter().filter(|it| it.1 > 0).map(|(place, it)| (place.to_owned(), it)).collect())
    };
    // What the first interface refused was in its queue first, and then in its ring.
    assert_eq!(both_ways(None, Way::Out, 32), expected(23, [11, 13 + 2, 7, 200]));
    assert_eq!(both_ways(None, Way::Back, 32), expected(19, [3, 5 + 2, 17, 100]));
    assert_eq!(both_ways(None, Way::Out, 10), expected(23, [11 + 20, 13 + 4, 7, 200]));
    // A last port whose other end is ours: its full ring is ours too, on whichever way.
    assert_eq!(both_ways(LAST, Way::Out, 34), expected(13, [11, 0, 7, 200]));
    assert_eq!(both_ways(Some((3, 20)), Way::Back, 34), expected(5, [3, 0, 17, 100]));
}

#[test]
fn what_filters_drop_is_lost_on_arrival_and_a_frame_that_was_cut_or_grew_came_out() {
    let [near, mut first, second, far] = quiet();
    (first.ingress_drops, first.filter_drops) = (2, 6);
    let frames = Frames { offered: 100, forwarded: 80, truncated: 5, extended: 4, ..Frames::default() };
    let (_, account) = account_frames(&frames, &mut bridged(near, first, second, far), LAST, Way::Out);
    let places = [("ingress", 8), ("reply_extended", 4), ("reply_truncated", 5), ("unexplained", 3)];
    assert_eq!((account.lost_at, account.caveats), (lost_at(&places), vec![]));
}

#[test]
fn the_kernels_reasons_name_what_is_beyond_the_counters_and_the_other_way_gets_the_rest() {
    let [near, mut first, second, far] = quiet();
    first.ingress_drops = 4;
    let mut grown = bridged(near, first, second, far);
    grown.spaces[2].hooked = Some(true);
    grown.reasons = Some(BTreeMap::from([(Place::Ingress, 10)]));
    let frames = Frames { offered: 100, forwarded: 91, ..Frames::default() };
    let (_, account) = account_frames(&frames, &mut grown, LAST, Way::Out);
    assert_eq!(account.lost_at, lost_at(&[("ingress", 9), ("unexplained", 0)]));
    assert!(
        matches!(&account.caveats[..], [Caveat::PlaceInferred { packets: 5, .. }]),
        "{:?}",
        account.caveats
    );
    assert_eq!(grown.reasons.unwrap()[&Place::Ingress], 5);
}

#[test]
fn a_reason_names_a_place_only_where_frames_can_vanish_there_uncounted() {
    let named = |place, change: fn(&mut Space)| {
        let [near, first, second, far] = quiet();
        let mut grown = bridged(near, first, second, far);
        change(&mut grown.spaces[2]);
        grown.reasons = Some(BTreeMap::from([(place, 8)]));
        let frames = Frames { offered: 100, forwarded: 94, ..Frames::default() };
        let (_, account) = account_frames(&frames, &mut grown, LAST, Way::Out);
        account.lost_at["unexplained"] == 0
    };
    let unchanged = |_: &mut Space| {};
    for (place, may) in [
        (
            Place::Netfilter,
            [|space: &mut Space| space.ruled = None, |space: &mut Space| space.ruled = Some(true)],
        ),
        (
            Place::Ingress,
            [|space: &mut Space| space.hooked = None, |space: &mut Space| space.hooked = Some(true)],
        ),
        (
            Place::LinkDown,
            [
                |space: &mut Space| space.devices = None,
                |space: &mut Space| space.devices.as_mut().unwrap()[0].up = false,
            ],
        ),
    ] {
        assert_eq!(
            [named(place, may[0]), named(place, may[1]), named(place, unchanged)],
            [true, true, false],
            "{place:?}"
        );
    }
    assert!(!named(Place::Checksum, |space| space.hooked = None), "of other places nothing is said");
}

#[test]
fn nothing_is_doubted_where_nothing_was_lost_and_a_link_that_went_down_is_said() {
    let [near, first, mut second, far] = quiet();
    (second.queue_drops, second.carrier_changes, second.up) = (Some(5), 1, true);
    let frames = Frames { offered: 100, forwarded: 100, ..Frames::default() };
    let (_, account) = account_frames(&frames, &mut bridged(near, first, second, far), LAST, Way::Out);
    assert_eq!(account.caveats, [Caveat::LinkDown { interface: "second".into() }]);
}
