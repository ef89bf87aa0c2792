//! What replies say about a server, at the edges of its rules, with exact times.

use super::{MS, Seen, US, busy, times};
use dropline_account::service_time::Served;

fn served(packets: &[(u64, Option<u64>)]) -> Served {
    Served::of(&times(packets)).unwrap()
}

#[test]
fn eight_packets_that_waited_are_enough_and_seven_are_not() {
    let found = served(&busy(8, 40 * US));
    assert_eq!((found.waited, found.mean_ns), (8, 40_000.0));
    assert_eq!(found.error_ns, 10_000.0, "of one run a quarter is not known");
    assert_eq!((found.idle_delay_ns, found.wake_ns), (74 * US, 30 * US));
    assert_eq!(Served::of(&times(&busy(7, 40 * US))), None);
}

#[test]
fn the_time_of_an_idle_packet_beside_its_service_is_not_service() {
    let found = served(&busy(8, 40 * US));
    let expected: Vec<(u64, u64)> = (0..9).map(|n| (1034 * US + n * 40 * US, 40 * US)).collect();
    assert_eq!(found.services, expected);
}

#[test]
fn a_packet_waited_if_it_left_the_ways_of_two_packets_before_the_reply_ahead_of_it() {
    let last = 1074 * US + 8 * 40 * US;
    for (before, waited) in [(8_001, 9), (8_000, 8), (7_999, 8)] {
        let mut packets = busy(8, 40 * US);
        packets.push((last - before, Some(last + 40 * US)));
        assert_eq!(served(&packets).waited, waited, "{before} ns before");
    }
}

#[test]
fn the_server_begins_with_a_packet_no_earlier_than_it_ends_with_the_one_ahead() {
    // An idle packet needs 2 us beside its service; one that comes 5 us before the server is free does not.
    let mut packets: Vec<_> = (0..=8).map(|n| (1000 * US, Some(1042 * US + n * 40 * US))).collect();
    let free = packets[8].1.unwrap();
    packets.push((free - 5 * US, Some(free + 37 * US)));
    let found = served(&packets);
    assert_eq!(found.idle_delay_ns, 42 * US);
    assert_eq!(found.services.last(), Some(&(free, 37 * US)));
}

#[test]
fn what_is_four_times_as_long_as_a_service_or_a_tenth_of_a_millisecond_longer_is_a_stall() {
    let with = |service: u64, last: u64| {
        let mut packets = busy(32, service);
        let free = packets[32].1.unwrap();
        packets.push((1000 * US, Some(free + last)));
        (free, served(&packets).stalls.intervals().to_vec())
    };
    for (service, longest) in [(40_000, 160_000), (10_000, 110_000)] {
        assert_eq!(with(service, longest).1, [], "{service}");
        let (free, stalls) = with(service, longest + 1);
        assert_eq!(stalls, [(free, free + longest + 1 - service)], "its own service is no stall");
    }
}

#[test]
fn replies_that_come_together_share_their_time() {
    let mut packets = busy(32, 40 * US);
    let free = packets[32].1.unwrap();
    // Two within a microsecond took 160 us each: no stall. Three that took longer are one, but for their services.
    packets.extend([(1000 * US, Some(free + 320 * US)), (1001 * US, Some(free + 321 * US))]);
    let found = served(&packets);
    assert_eq!((found.waited, found.stalls.total_ns()), (34, 0));
    assert_eq!(found.services.last(), Some(&(free, 160 * US)));
    packets.truncate(33);
    packets.extend([0, 1, 2].map(|n| (1000 * US, Some(free + 600 * US + n * 500))));
    let found = served(&packets);
    assert_eq!(found.stalls.intervals(), [(free, free + 480 * US)]);
    assert_eq!(found.waited, 32, "what stalled tells no service time");
    // A microsecond and a nanosecond is not together.
    packets.truncate(33);
    packets.extend([(1000 * US, Some(free + 40 * US)), (1000 * US, Some(free + 41 * US + 1))]);
    assert_eq!(served(&packets).services.last(), Some(&(free + 40 * US, 1001)));
}

#[test]
fn the_earliest_of_those_that_came_together_says_whether_they_waited() {
    let mut packets = busy(8, 40 * US);
    let free = packets[8].1.unwrap();
    packets.extend([(free + 5 * US, Some(free + 40 * US)), (free - 9 * US, Some(free + 40 * US))]);
    assert_eq!(served(&packets).waited, 10);
}

#[test]
fn one_in_four_idle_packets_is_faster_than_the_delay_of_an_idle_server() {
    let mut packets = busy(8, 40 * US);
    // With the one of 74 us six idle packets: the second fastest counts.
    for (n, delay) in (0..).zip([90, 60, 80, 70, 100]) {
        let left = 10_000 * US + n * 1000 * US;
        packets.push((left, Some(left + delay * US)));
    }
    let found = served(&packets);
    assert_eq!((found.idle_delay_ns, found.wake_ns), (70 * US, 26 * US));
}

#[test]
fn without_an_idle_packet_nothing_is_known_of_waking_up() {
    // The first two replies come together: it is not known how long one of them took.
    let packets: Vec<_> = (0..20).map(|n| (1000 * US, Some(1080 * US + n / 2 * 80 * US))).collect();
    let found = served(&packets);
    assert_eq!((found.mean_ns, found.waited), (40_000.0, 18));
    assert_eq!((found.idle_delay_ns, found.wake_ns), (44 * US, 0));
}

#[test]
fn the_usual_time_between_replies_is_that_of_the_run_in_the_middle() {
    // Runs of 16 packets that take 10, 40, 100 and 100 us each: the third by length counts, so 400 us is no stall.
    let mut packets = busy(0, 0);
    for each in [10, 40, 100, 100] {
        for _ in 0..16 {
            let last = packets.last().unwrap().1.unwrap();
            packets.push((1000 * US, Some(last + each * US)));
        }
    }
    let last = packets.last().unwrap().1.unwrap();
    packets.push((1000 * US, Some(last + 400 * US)));
    let found = served(&packets);
    assert_eq!((found.stalls.total_ns(), found.waited), (0, 65));
    assert_eq!(found.mean_ns, (16.0 * 250_000.0 + 400_000.0) / 65.0);
    // The mean's error is that of the four runs; the packet after them makes none.
    let error: f64 = [10_000.0, 40_000.0, 100_000.0, 100_000.0]
        .iter()
        .map(|run: &f64| (run - 62_500.0).powi(2))
        .sum::<f64>();
    assert!((found.error_ns - (error / 3.0 / 4.0).sqrt()).abs() < 1e-6, "{}", found.error_ns);
}

#[test]
fn what_an_idle_server_needs_to_wake_is_stated_from_four_packets_and_not_from_one() {
    // So many find it idle, each 200 ms after the last and 1.7 ms longer than a service of 2 ms; then a hundred at once.
    let of = |idle: u64| {
        let alone = (0..idle).map(|n| (n * 200 * MS, Some(n * 200 * MS + 3_704 * US)));
        let begin = idle * 200 * MS;
        let burst = (0..100).map(|n| (begin + n * US, Some(begin + 3_704 * US + n * 2 * MS)));
        let found = Seen::of(times(&alone.chain(burst).collect::<Vec<_>>())).explained();
        found.server.unwrap().wake_ns
    };
    assert_eq!((of(0), of(2), of(3)), (0, 0, 1_700 * US), "the first of the burst found it idle too");
}
