//! What was full, and how much it holds.

use super::{MS, Seen, times};
use dropline_account::explanation::BufferSeen;
use dropline_trial::{PacketTimes, TargetActivity};

/// A packet is lost when so many wait behind the one that is served.
fn full_at(waiting: u64) -> PacketTimes {
    let mut packets: Vec<_> = (0..=waiting).map(|n| (MS, Some(2 * MS + n))).collect();
    packets.push((MS + 1, None));
    times(&packets)
}

fn of(seen: &Seen) -> BufferSeen {
    seen.explained().buffer.unwrap()
}

#[test]
fn a_buffer_that_was_seen_holds_what_the_lost_packets_found_if_that_is_up_to_a_tenth_less() {
    let found = |waiting| {
        let watched = TargetActivity { buffer_bytes: Some(64 * 832), ..TargetActivity::default() };
        let buffer = of(&Seen::of(full_at(waiting)).watched(watched));
        assert_eq!((buffer.own_queue, buffer.inferred, buffer.bytes), (false, false, Some(64 * 832)));
        (buffer.packets, buffer.truesize_bytes, buffer.draining_packets)
    };
    assert_eq!(found(57), (64, 832, 48), "less than that was another loss");
    assert_eq!(found(58), (58, 64 * 832 / 58, 44));
    assert_eq!(found(63), (63, 64 * 832 / 63, 48));
    assert_eq!(found(64), (64, 832, 48));
}

#[test]
fn a_buffer_that_nobody_saw_holds_what_nine_of_ten_lost_packets_found_at_most() {
    let found = |waiting| of(&Seen::of(full_at(waiting))).packets;
    assert_eq!((found(20), found(1), found(0)), (20, 1, 1));
    // Eleven lost packets, each behind one more.
    let packets: Vec<_> = (0..24).map(|n| (MS + n, (n < 2 || n % 2 == 1).then_some(2 * MS + n))).collect();
    let buffer = of(&Seen::of(times(&packets)));
    assert_eq!((buffer.packets, buffer.inferred), (10, true));
    let nobody = Seen::of(times(&[(MS, Some(2 * MS))])).explained();
    assert_eq!(nobody.buffer, None, "none was lost");
}

#[test]
fn the_servers_own_queue_was_full_if_more_was_lost_there_than_in_its_buffer() {
    let found = |in_queue| {
        let places = [("receive_buffer", 5), ("service_queue", in_queue)];
        let watched = TargetActivity { buffer_bytes: Some(64 * 832), ..TargetActivity::default() };
        let buffer = of(&Seen::of(full_at(20)).watched(watched).lost_at(&places));
        (buffer.own_queue, buffer.packets, buffer.draining_packets)
    };
    assert_eq!((found(5), found(6)), ((false, 64, 48), (true, 20, 20)));
}

#[test]
fn packets_of_many_lengths_are_charged_as_the_one_in_the_middle() {
    let mut packets = PacketTimes::with_room(4, true);
    for (index, bytes) in (0..).zip([300, 10, 2000, 20]) {
        packets.departures.push_of(MS, Some(MS), 0, bytes);
        if index < 3 {
            packets.returns.as_mut().unwrap().note(index, 2 * MS);
        }
    }
    assert_eq!(of(&Seen::of(packets)).truesize_bytes, 1280);
}

#[test]
fn a_buffer_that_was_full_of_as_many_as_fit_charges_each_what_it_is_charged() {
    // Some room is left over behind the last packet that fits.
    let watched = TargetActivity { buffer_bytes: Some(64 * 832 + 700), ..TargetActivity::default() };
    for waiting in [64, 10] {
        let buffer = of(&Seen::of(full_at(waiting)).watched(watched.clone()));
        assert_eq!((buffer.packets, buffer.truesize_bytes), (64, 832));
    }
}

/// So many packets are lost while 40 wait at a server of 40 us, and a buffer of so many was seen.
fn what_waited(lost: u64, held: u64) -> (u64, Option<[u64; 2]>) {
    let mut packets = super::busy(40, 40 * super::US);
    packets.extend((0..lost).map(|n| (MS + 1 + n, None)));
    let watched = TargetActivity { buffer_bytes: Some(held * 832), ..TargetActivity::default() };
    let model = Seen::of(times(&packets)).watched(watched).explained().model.unwrap();
    (model.replay.lost, model.waited)
}

#[test]
fn what_waited_is_known_by_twenty_lost_packets_here_and_in_the_replay() {
    assert_eq!([what_waited(20, 40), what_waited(19, 40)], [(20, Some([40, 40])), (19, None)]);
    // A larger buffer has more wait in the replay, and lose fewer.
    assert_eq!([what_waited(26, 46), what_waited(25, 46)], [(20, Some([40, 46])), (19, None)]);
}
