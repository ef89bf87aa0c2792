//! The times of a trial, thinned for pictures.

use super::{MS, Seen, US, busy, times};
use dropline_account::explanation::{Moment, Part};
use dropline_trial::PacketTimes;

#[test]
fn a_trial_is_three_hundred_equal_parts_each_with_its_arrivals_losses_and_fullest_moment() {
    let packets = [
        (0, Some(500_000)),
        (100_000, Some(600_000)),
        (200_000, None),
        (MS, Some(1_400_000)),
        (300 * MS, Some(300 * MS + 1)),
    ];
    let found = Seen { duration_ns: 300 * MS, ..Seen::of(times(&packets)) }.explained().course;
    // The last packet is in it: each part is a nanosecond longer.
    let part = |n: u64, arrived, lost, backlog| Part {
        at_ns: n * 1_000_001,
        arrived,
        lost: Some(lost),
        backlog: Some(backlog),
        replayed: None,
    };
    assert_eq!(found.overview.len(), 300);
    assert_eq!(found.overview[..2], [part(0, 4, 1, 2), part(1, 0, 0, 0)]);
    assert_eq!(found.overview[298..], [part(298, 0, 0, 0), part(299, 1, 0, 0)]);

    let mut one_way = PacketTimes::with_room(2, false);
    [0, 5].into_iter().for_each(|at| one_way.departures.push(at, Some(at), 0));
    let found = Seen { duration_ns: 3000, ..Seen::of(one_way) }.explained().course;
    let part = Part { at_ns: 0, arrived: 2, ..Part::default() };
    assert_eq!((found.overview[0], found.overview[1].at_ns), (part, 10), "nobody saw which were lost");
    assert_eq!(Seen::of(PacketTimes::with_room(0, true)).explained().course.overview, []);
}

#[test]
fn the_replayed_backlog_of_the_parts_is_that_of_the_replay() {
    let mut packets = busy(40, 40 * US);
    packets.extend([(1001 * US, None), (1002 * US, None)]);
    let found = Seen { duration_ns: 300 * MS, ..Seen::of(times(&packets)) }.explained();
    let largest = found.course.overview.iter().filter_map(|part| part.replayed).max();
    assert_eq!(largest.map(u64::from), found.arrivals.largest_backlog);
    assert!(largest.is_some_and(|largest| largest > 30), "{largest:?}");
}

#[test]
fn around_a_loss_each_arrival_says_how_many_had_left_and_came_back_later() {
    let at = |ns: u64| 100 * MS + ns - MS;
    let packets = [
        (at(0) - 1, Some(at(0))),
        (at(0), Some(at(500_000))),
        (at(400_000), Some(at(1_200_000))),
        (at(500_000), Some(at(1_300_000))),
        (at(1_000_000), None),
        (at(2_000_000), Some(at(2_100_000))),
        (at(2_000_001), Some(at(2_100_000))),
    ];
    let moment = |ns, backlog, lost| Moment { at_ns: at(ns), backlog, lost };
    assert_eq!(
        Seen { duration_ns: 200 * MS, ..Seen::of(times(&packets)) }.explained().course.burst,
        [
            moment(0, 0, false),
            moment(400_000, 1, false),
            moment(500_000, 1, false),
            moment(1_000_000, 2, true),
            moment(2_000_000, 0, false),
        ],
        "a millisecond before the loss and one after it"
    );
}

#[test]
fn around_a_burst_half_its_length_is_shown() {
    let packets: Vec<_> =
        (90..=120u64).map(|ms| (ms * MS, (!(100..=110).contains(&ms)).then_some(ms * MS + 1000))).collect();
    let burst = Seen { duration_ns: 200 * MS, ..Seen::of(times(&packets)) }.explained().course.burst;
    let shown: Vec<u64> = burst.iter().map(|moment| moment.at_ns / MS).collect();
    assert_eq!(shown, (95..=115).collect::<Vec<_>>());
}

#[test]
fn stalls_are_shown_as_far_as_they_are_in_the_time_around_the_burst() {
    // Stalls from 2.354 to 9.96 ms and from 12 to 13 ms.
    let shown = |lost_us: u64| {
        let mut packets = busy(32, 40 * US);
        packets.extend(
            [(2_000, 10_000), (11_900, 12_000), (11_950, 13_040)]
                .map(|(left, back): (u64, u64)| (left * US, Some(back * US))),
        );
        packets.push((lost_us * US, None));
        let stalls =
            Seen { duration_ns: 20 * MS, ..Seen::of(times(&packets)) }.explained().course.burst_stalls;
        stalls.into_iter().map(|(from, to)| (from / US, to / US)).collect::<Vec<_>>()
    };
    assert_eq!(shown(10_500), [(9_500, 9_960)]);
    assert_eq!(shown(10_960), [], "it ends where the time begins");
    assert_eq!(shown(11_000), [], "it begins where the time ends");
    assert_eq!(shown(11_500), [(12_000, 12_500)]);
    assert_eq!(shown(12_500), [(12_000, 13_000)]);
}

#[test]
fn quantiles_of_gaps_lie_closer_towards_the_longest_one() {
    let gaps = |count: u64| {
        let mut packets = PacketTimes::with_room(count as usize + 1, false);
        let mut left = 0;
        packets.departures.push(0, Some(0), 0);
        for n in 1..=count {
            // Each length from 1 to 100 us once, not in order.
            left += (n * 37 % 101) * US;
            packets.departures.push(n * 10 * US, Some(left), 0);
        }
        Seen::of(packets).explained().course.gaps
    };
    assert_eq!(gaps(59), [], "too few");
    assert_eq!(gaps(60).len(), 61);
    let found = gaps(100);
    for (step, p, left_us) in [(0, 0.0, 1), (15, 0.25, 25), (30, 0.5, 50), (45, 0.95, 95), (60, 0.995, 99)] {
        assert!((found[step].p - p).abs() < 1e-12, "{step}: {:?}", found[step]);
        assert_eq!((found[step].intended_ns, found[step].left_ns), (10 * US, left_us * US), "{step}");
    }
}
