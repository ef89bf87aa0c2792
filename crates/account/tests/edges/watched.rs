//! What looks at a one-way target say of it: from what it took while packets waited, and from its CPU time.

use super::{MS, Seen, US};
use dropline_account::explanation::{ServerSeen, ServiceFrom, Serving};
use dropline_trial::{Look, PacketTimes, TargetActivity};

/// Between two looks.
#[derive(Clone, Copy)]
struct Step {
    length_ns: u64,
    /// Packets that it took; the queue grows by the others, or falls.
    taken: u64,
    dropped: u64,
    /// More that seem to wait at the second look than really do.
    beyond: u64,
    /// It ran; it had no CPU.
    cpu_ns: u64,
    waited_ns: u64,
}

/// A millisecond in which it took so many.
fn took(taken: u64) -> Step {
    Step { length_ns: MS, taken, dropped: 0, beyond: 0, cpu_ns: 0, waited_ns: 0 }
}

/// A target at which so many packets wait at first, and 16 come in each step, the last of them at its end. The times of the
/// first `kept` are known.
fn target(first: u64, steps: &[Step], kept: usize) -> Option<ServerSeen> {
    target_but(first, steps, kept, None)
}

/// The same where one of the looks, by its number, did not see what waits.
fn target_but(first: u64, steps: &[Step], kept: usize, unseen: Option<usize>) -> Option<ServerSeen> {
    let mut packets = PacketTimes::with_room(kept, false);
    let look = |at_ns: u64, waiting: u64| Look {
        at_ns: at_ns as i64,
        queued_bytes: Some(waiting * 832),
        drops: Some(0),
        cpu_ns: Some(0),
        waited_ns: Some(0),
        switches: None,
    };
    let mut watched = TargetActivity { samples: vec![look(0, first)], ..TargetActivity::default() };
    let (mut at, mut waiting) = (0, first);
    for step in steps {
        (1..=16).for_each(|n| {
            let left = at + n * step.length_ns / 16;
            packets.departures.push(left, Some(left), 0);
        });
        at += step.length_ns;
        waiting = waiting + 16 - step.taken - step.dropped;
        let before = *watched.samples.last().unwrap();
        let grown = |of: Option<u64>, more: u64| of.map(|of| of + more);
        watched.samples.push(Look {
            drops: grown(before.drops, step.dropped),
            cpu_ns: grown(before.cpu_ns, step.cpu_ns),
            waited_ns: grown(before.waited_ns, step.waited_ns),
            ..look(at, waiting + step.beyond)
        });
    }
    if let Some(at) = unseen {
        watched.samples[at].queued_bytes = None;
    }
    Seen::of(packets).watched(watched).explained().server
}

fn seen(first: u64, steps: &[Step]) -> ServerSeen {
    target(first, steps, 16 * steps.len()).unwrap()
}

/// Its mean service time with the error.
fn service(found: &ServerSeen) -> (f64, f64) {
    assert_eq!(found.service_from, ServiceFrom::Queue);
    (found.service_ns, found.service_error_ns)
}

#[test]
fn thirty_two_packets_that_were_taken_while_others_waited_are_enough() {
    assert_eq!(service(&seen(100, &[took(16), took(16)])), (62_500.0, 0.0));
    assert_eq!(target(100, &[took(16), took(15)], 32), None);
    assert_eq!(service(&seen(100, &[took(32)])), (31_250.0, 7_812.5), "of one run a quarter is not known");
    assert_eq!(target(31, &[took(32), took(10)], 32), None, "one of them came while it looked for more");
}

#[test]
fn what_was_dropped_was_not_taken() {
    let dropping = Step { dropped: 4, ..took(16) };
    assert_eq!(service(&seen(200, &[dropping; 4])), (62_500.0, 0.0));
}

#[test]
fn packets_taken_before_and_after_a_time_that_nobody_saw_are_no_run() {
    // Eight in a millisecond, two milliseconds unseen, and sixteen in one.
    let steps = [16, 16, 16, 8, 16, 16, 16, 16].map(took);
    assert_eq!(service(&target_but(100, &steps, 128, Some(5)).unwrap()), (62_500.0, 0.0));
}

#[test]
fn time_in_which_all_were_taken_or_dropped_may_be_idle() {
    let emptied = Step { length_ns: 3 * MS, dropped: 16, ..took(16) };
    let steps = [[took(16); 4].as_slice(), &[emptied]].concat();
    assert_eq!(service(&seen(16, &steps)), (62_500.0, 0.0));
}

#[test]
fn what_one_look_counts_too_much_the_next_counts_too_little() {
    // At the fourth look four packets more seem to wait than can: they are taken off the 36 that seem to be taken then.
    let steps = [
        took(16),
        took(16),
        took(16),
        Step { length_ns: 200_000, beyond: 20, ..took(16) },
        took(16),
        took(16),
    ];
    assert_eq!(service(&seen(200, &steps)).0, (62_500.0 * 4.0 + 1_200_000.0 / 32.0) / 5.0);
}

#[test]
fn looks_after_the_packets_that_were_kept_say_nothing() {
    let found = target(200, &[took(16), took(16), took(12), took(20)], 40).unwrap();
    assert_eq!(service(&found), (62_500.0, 0.0));
    // Later it seems to take four in each: what came meanwhile is not known.
    let steps = [[took(16); 2].as_slice(), &[took(20); 8]].concat();
    assert_eq!(service(&target(200, &steps, 40).unwrap()), (62_500.0, 0.0));
}

#[test]
fn a_stall_begins_and_ends_where_the_packets_taken_beside_it_leave_time_over() {
    let steps = [16, 16, 16, 8, 0, 0, 0, 12, 16, 16].map(took);
    let found = seen(100, &steps);
    // From 3.5 to 7.25 ms; without it all take the same time.
    assert_eq!((found.stalls, found.stalled_ns, found.stall_range_ns), (1, 3_750_000, Some([3_750_000; 2])));
    assert_eq!(service(&found), (62_500.0, 0.0));
}

#[test]
fn a_stall_in_front_of_which_none_waited_begins_with_the_first_packet_that_was_not_taken() {
    let found = seen(0, &[4, 0, 0, 0, 16, 16, 16, 16, 16].map(took));
    assert_eq!((found.stalls, found.stalled_ns), (1, 4 * MS - 5 * 62_500));
}

#[test]
fn what_is_as_long_as_four_services_or_a_tenth_of_a_millisecond_beside_one_is_no_stall() {
    for (each, longest) in [(62_500, 250_000), (20_000, 120_000)] {
        let stalls = |length_ns: u64| {
            let usual = Step { length_ns: 16 * each, ..took(16) };
            let still = Step { length_ns, ..took(0) };
            seen(100, &[usual, usual, usual, usual, still, usual, usual, usual]).stalls
        };
        assert_eq!((stalls(longest), stalls(longest + 1)), (0, 1), "{each}");
    }
}

#[test]
fn a_target_that_takes_a_tenth_of_what_it_could_is_not_still() {
    let stalls = |length_ns: u64| {
        let slow = Step { length_ns, ..took(1) };
        seen(100, &[took(16), took(16), took(16), slow, took(16), took(16)]).stalls
    };
    assert_eq!((stalls(625_000), stalls(625_001)), (0, 1));
}

#[test]
fn stalls_apart_are_two_and_what_it_did_in_them_is_added_up() {
    let pause = Step { cpu_ns: 100_000, waited_ns: 700_000, ..took(0) };
    let mut steps = [Step { cpu_ns: MS, ..took(16) }; 60];
    steps[10..13].fill(pause);
    steps[30..35].fill(Step { waited_ns: 200_000, ..pause });
    let found = seen(100, &steps);
    assert_eq!((found.stalls, found.stall_range_ns), (2, Some([3 * MS, 5 * MS])));
    assert_eq!(found.busy_ns, Some(8 * 100_000));
    assert_eq!(found.not_scheduled_ns, Some(3 * 700_000 + 5 * 200_000));
    assert_eq!(found.paused_ns, Some(3 * 200_000 + 5 * 700_000));
    let serving = Serving { cpu_ns: 52 * MS, not_scheduled_ns: 0, waiting_ns: 0 };
    assert_eq!(found.serving, Some(serving), "outside the stalls it ran all the time");
}

#[test]
fn fifty_milliseconds_of_serving_say_what_it_does_meanwhile() {
    let step = Step { cpu_ns: 400 * US, waited_ns: 500 * US, ..took(16) };
    let serving = seen(100, &[step; 50]).serving.unwrap();
    let expected = Serving { cpu_ns: 20 * MS, not_scheduled_ns: 25 * MS, waiting_ns: 5 * MS };
    assert_eq!((serving, serving.share(serving.not_scheduled_ns)), (expected, Some(0.5)));
    assert_eq!(seen(100, &[step; 49]).serving, None);
    assert_eq!(Serving::default().share(0), None);
}

/// A target of which nobody saw what its socket dropped: looks each 10 ms at how many wait, its CPU time and its waiting.
fn by_cpu(looks: &[(u64, u64, u64)], cpu_ns: u64) -> Option<ServerSeen> {
    let samples = (0..).zip(looks).map(|(n, &(waiting, cpu_ns, waited_ns))| Look {
        at_ns: n * 10_000_000,
        queued_bytes: Some(waiting * 832),
        cpu_ns: Some(cpu_ns),
        waited_ns: Some(waited_ns),
        ..Look::default()
    });
    let watched = TargetActivity {
        samples: samples.collect(),
        cpu_ns: Some(cpu_ns),
        packets: 10,
        ..TargetActivity::default()
    };
    Seen::of(PacketTimes::with_room(0, false)).watched(watched).explained().server
}

#[test]
fn a_target_that_used_a_tenth_of_its_cpu_while_packets_waited_did_not_stall() {
    let looks = [
        (1, 0, 0),
        (1, MS, 0),
        // Less than a tenth; five of the ten without a CPU.
        (1, 2 * MS - 1, 5 * MS),
        // None waits at its end, none at its beginning.
        (0, 2 * MS - 1, 5 * MS),
        (1, 2 * MS - 1, 5 * MS),
    ];
    let found = by_cpu(&looks, 80_000).unwrap();
    assert_eq!(
        (found.service_from, found.service_ns, found.service_error_ns, found.wake_ns),
        (ServiceFrom::Cpu, 8_000.0, 1_000.0, 0)
    );
    assert_eq!((found.stalls, found.stalled_ns), (1, 10 * MS));
    assert_eq!(
        (found.busy_ns, found.not_scheduled_ns, found.paused_ns),
        (Some(MS - 1), Some(5 * MS), Some(4 * MS + 1))
    );
    assert_eq!(by_cpu(&looks, 0), None, "no CPU time is no service time");
}

#[test]
fn a_wait_that_is_counted_late_is_no_longer_than_what_running_leaves_over() {
    // It ran at the end of the first 10 ms, and 100 ms of waiting were counted then that lie before and beside it.
    let found = by_cpu(&[(1, 0, 0), (1, MS / 2, 0), (1, MS, 100 * MS)], 80_000).unwrap();
    assert_eq!((found.stalls, found.stalled_ns), (1, 20 * MS), "stalls that touch are one");
    assert_eq!((found.busy_ns, found.not_scheduled_ns, found.paused_ns), (Some(MS), Some(19 * MS), Some(0)));
}
