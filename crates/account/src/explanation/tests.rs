use super::*;
use crate::losses::Shape;
use std::collections::BTreeMap;

/// What a server of 40 us with a buffer of 64 packets does with these arrivals, as a sender sees it.
fn trial(times: &[u64], stalls: &Stalls) -> PacketTimes {
    let mut packets = PacketTimes::with_room(times.len(), true);
    let mut waiting: std::collections::VecDeque<usize> = std::collections::VecDeque::new();
    let mut backs = vec![None; times.len()];
    let mut free = 0u64;
    let serve = |until: u64,
                 waiting: &mut std::collections::VecDeque<usize>,
                 free: &mut u64,
                 backs: &mut Vec<Option<u64>>| {
        while let Some(&next) = waiting.front() {
            // It wakes when it slept, and goes on at once when it did not.
            let ready = if times[next] <= *free { *free } else { times[next] + 30_000 };
            let begin = stalls.running_from(ready);
            if begin > until {
                break;
            }
            waiting.pop_front();
            *free = stalls.done(begin, 40_000);
            backs[next] = Some(*free + 4_000);
        }
    };
    for (index, &at) in times.iter().enumerate() {
        serve(at, &mut waiting, &mut free, &mut backs);
        if waiting.len() < 64 {
            waiting.push_back(index);
        }
    }
    serve(u64::MAX, &mut waiting, &mut free, &mut backs);
    for (index, &at) in times.iter().enumerate() {
        packets.departures.push(at, Some(at), 0);
        if let Some(back) = backs[index] {
            packets.returns.as_mut().unwrap().note(index as u64, back);
        }
    }
    packets
}

fn explained(times: &[u64], stalls: &Stalls) -> Explanation {
    explained_at("receive_buffer", times, stalls)
}

fn explained_at(place: &str, times: &[u64], stalls: &Stalls) -> Explanation {
    let packets = trial(times, stalls);
    let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
    let lost_at: LostAt = BTreeMap::from([(place.to_owned(), lost), ("unexplained".to_owned(), 0)]);
    explain(&Evidence {
        packets: &packets,
        payload_bytes: 64,
        family: Family::V4,
        offered: times.len() as u64,
        lost,
        lost_at: Some(&lost_at),
        unseen: false,
        watched: None,
        duration_ns: times.last().unwrap() + 1,
        seed: 7,
    })
}

fn verdict(found: &Explanation, change: Change) -> Verdict {
    found.verdict(found.remedies.iter().find(|remedy| remedy.change == change).unwrap())
}

/// What a process does with each packet.
#[derive(Clone, Copy)]
struct Habits {
    /// It runs.
    runs_ns: u64,
    /// Then it sleeps.
    sleeps_ns: u64,
    /// It has no CPU for these.
    starved: &'static [(u64, u64)],
    /// It sleeps through these whatever waits.
    paused: &'static [(u64, u64)],
}

/// A one-way target with a buffer of 256 packets, that gives each place back at once, as looks each millisecond see it
/// under 3 s of this load; the kernel counts its waiting for a CPU when it gets one.
fn one_way(gap_ns: u64, habits: Habits) -> (PacketTimes, TargetActivity) {
    let starved = Stalls::new(habits.starved.to_vec());
    let off = Stalls::new([habits.starved, habits.paused].concat());
    let mut packets = PacketTimes::with_room((3_000_000_000 / gap_ns) as usize, false);
    let mut watched = TargetActivity { buffer_bytes: Some(256 * 832), ..TargetActivity::default() };
    let (mut waiting, mut drops, mut taken, mut free, mut next) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for at_ns in (0..3_100_000_000).step_by(1_000_000) {
        loop {
            let arrives = Some(next * gap_ns).filter(|&at| at < 3_000_000_000).unwrap_or(u64::MAX);
            let reads = if waiting > 0 { off.running_from(free) } else { u64::MAX };
            if arrives.min(reads) > at_ns {
                break;
            }
            if reads <= arrives {
                (waiting, taken) = (waiting - 1, taken + 1);
                free = off.done(reads, habits.runs_ns) + habits.sleeps_ns;
            } else {
                packets.departures.push(arrives, Some(arrives), 0);
                free = free.max(arrives);
                next += 1;
                if waiting < 256 { waiting += 1 } else { drops += 1 }
            }
        }
        // A wait that has not ended is not counted yet.
        let until = if starved.runs_at(at_ns) { at_ns } else { 0 };
        let counted = watched.samples.last().map_or(0, |look: &dropline_trial::Look| look.waited_ns.unwrap());
        watched.samples.push(dropline_trial::Look {
            at_ns: at_ns as i64,
            queued_bytes: Some(waiting * 832),
            drops: Some(drops),
            cpu_ns: Some(taken * habits.runs_ns),
            waited_ns: Some(starved.within(0, until).max(counted)),
            switches: None,
        });
    }
    watched.packets = taken;
    watched.cpu_ns = Some(taken * habits.runs_ns);
    (packets, watched)
}

fn explained_one_way(gap_ns: u64, habits: Habits) -> Explanation {
    explained_in_quota(gap_ns, habits, None)
}

fn explained_in_quota(gap_ns: u64, habits: Habits, throttled: Option<Throttled>) -> Explanation {
    let (packets, watched) = one_way(gap_ns, habits);
    let watched = TargetActivity { throttled, ..watched };
    explained_of(&packets, &watched, watched.samples.last().unwrap().drops.unwrap())
}

/// Where so many of the packets were lost at the target's socket.
fn explained_of(packets: &PacketTimes, watched: &TargetActivity, lost: u64) -> Explanation {
    let lost_at: LostAt = BTreeMap::from([("receive_buffer".to_owned(), lost)]);
    explain(&Evidence {
        packets,
        payload_bytes: 64,
        family: Family::V4,
        offered: packets.len() as u64,
        lost,
        lost_at: Some(&lost_at),
        unseen: false,
        watched: Some(watched),
        duration_ns: 3_000_000_000,
        seed: 7,
    })
}

const SLEEPER: Habits = Habits { runs_ns: 60_000, sleeps_ns: 2_000_000, starved: &[], paused: &[] };
const SPINNER: Habits = Habits { runs_ns: 100_000, sleeps_ns: 0, ..SLEEPER };
const THREE_PAUSES: &[(u64, u64)] =
    &[(200_000_000, 500_000_000), (1_200_000_000, 1_500_000_000), (2_200_000_000, 2_500_000_000)];

#[test]
fn a_server_is_not_as_slow_as_a_queue_on_the_way_lets_its_replies_come() {
    let times: Vec<u64> = (0..4000).map(|index| index * 30_000).collect();
    let own = explained(&times, &Stalls::default());
    assert_eq!((own.cause, own.lacks.contains(&Lack::PacedElsewhere)), (Some(Cause::Load), false));
    let named = [
        ("return_qdisc", Lack::PacedByReturnQueue),
        ("return_send_buffer", Lack::PacedByReturnQueue),
        ("qdisc", Lack::PacedByQueue),
        ("return_softnet", Lack::PacedElsewhere),
    ];
    for (place, lack) in named {
        let found = explained_at(place, &times, &Stalls::default());
        assert!(found.lacks.contains(&lack), "{place}: {:?}", found.lacks);
        assert_eq!((found.server, found.load, found.cause), (None, None, None));
        assert!(found.model.is_none() && found.remedies.is_empty());
    }
}

/// Bursts that the buffer holds, at a target that was watched: none is lost.
fn watched_without_loss(cpu_us: u64, queued: u64) -> Explanation {
    let times: Vec<u64> = (0..4000).map(|index| index / 56 * 4_000_000 + index % 56 * 10_000).collect();
    let packets = trial(&times, &Stalls::default());
    let watched = TargetActivity {
        buffer_bytes: Some(256 * 832),
        every: std::time::Duration::from_micros(100),
        looks: 4_000,
        largest_queued_bytes: Some(queued * 832),
        cpu_ns: Some(4_000 * cpu_us * 1_000),
        packets: 4_000,
        ..TargetActivity::default()
    };
    explain(&Evidence {
        packets: &packets,
        payload_bytes: 64,
        family: Family::V4,
        offered: 4_000,
        lost: 0,
        lost_at: None,
        unseen: false,
        watched: Some(&watched),
        duration_ns: times.last().unwrap() + 1,
        seed: 7,
    })
}

#[test]
fn a_pace_far_above_the_cpu_time_is_not_the_servers_where_nothing_waited_at_its_socket() {
    let of = |cpu_us, queued| {
        let found = watched_without_loss(cpu_us, queued);
        (found.server.unwrap().service_from, found.lacks.contains(&Lack::PaceNotKnown))
    };
    assert_eq!(of(8, 1), (ServiceFrom::Cpu, true));
    assert_eq!(
        of(8, 30),
        (ServiceFrom::Replies, false),
        "they waited at its socket: it is that slow, and sleeps"
    );
    assert_eq!(of(35, 1), (ServiceFrom::Replies, false), "it ran all the time");
}

#[test]
fn a_one_way_target_that_sleeps_over_each_packet_waits_and_is_not_starved() {
    let found = explained_one_way(1_000_000, SLEEPER);
    let server = found.server.as_ref().unwrap();
    assert_eq!((server.service_from, server.stalls), (ServiceFrom::Queue, 0), "{server:?}");
    assert!((server.service_ns - 2_060_000.0).abs() < 20_000.0, "{server:?}");
    let serving = server.serving.unwrap();
    assert!(serving.share(serving.waiting_ns).unwrap() > 0.95, "{serving:?}");
    assert!(found.model.unwrap().error().unwrap().abs() < 0.05, "{:?}", found.model);
    assert_eq!(found.cause, Some(Cause::Load));
    assert_eq!(verdict(&found, Change::Worker), Verdict::Helps, "{:?}", found.remedies);
    assert_eq!(verdict(&found, Change::OwnCpu), Verdict::DoesNot, "{:?}", found.remedies);
}

#[test]
fn a_one_way_target_that_pauses_is_not_cured_by_a_cpu_of_its_own() {
    let paused = Habits { runs_ns: 20_000, sleeps_ns: 0, paused: THREE_PAUSES, ..SLEEPER };
    let found = explained_one_way(333_000, paused);
    let server = found.server.as_ref().unwrap();
    assert_eq!((found.cause, server.stalls), (Some(Cause::Stalls), 3), "{server:?}");
    assert!(server.paused_ns.unwrap() * 10 > server.stalled_ns * 9, "{server:?}");
    assert_eq!(verdict(&found, Change::OwnCpu), Verdict::DoesNot, "{:?}", found.remedies);
    assert_eq!(verdict(&found, Change::Worker), Verdict::MayHelp, "another may go on, or stop as well");
}

#[test]
fn a_one_way_target_that_is_kept_from_its_cpu_is_cured_by_one_of_its_own() {
    let found = explained_one_way(333_000, Habits { starved: THREE_PAUSES, ..SPINNER });
    let server = found.server.as_ref().unwrap();
    assert_eq!((found.cause, server.stalls), (Some(Cause::Stalls), 3), "{server:?}");
    assert!(server.not_scheduled_ns.unwrap() * 10 > server.stalled_ns * 9, "{server:?}");
    assert_eq!(verdict(&found, Change::OwnCpu), Verdict::Helps, "{:?}", found.remedies);
}

#[test]
fn a_target_that_its_quota_stops_is_cured_by_another_quota_and_not_by_a_cpu_of_its_own() {
    let starved = Habits { starved: THREE_PAUSES, ..SPINNER };
    let stopped =
        |ms: u64| Throttled { runtime_us: 20_000, period_us: 100_000, times: 9, stopped_ns: ms * 1_000_000 };
    let found = explained_in_quota(333_000, starved, Some(stopped(890)));
    assert_eq!((found.cause, found.throttled), (Some(Cause::Quota), Some(stopped(890))));
    assert_eq!(verdict(&found, Change::NoQuota), Verdict::Helps, "{:?}", found.remedies);
    assert!(found.with(|change| change == Change::OwnCpu).is_none(), "{:?}", found.remedies);
    let hardly = explained_in_quota(333_000, starved, Some(stopped(5)));
    assert_eq!(hardly.cause, Some(Cause::Stalls), "others had its CPU");
}

#[test]
fn a_loss_that_the_replay_exceeds_has_no_cause_and_no_remedy() {
    let (packets, mut watched) = one_way(50_000, SPINNER);
    let drops = watched.samples.last().unwrap().drops.unwrap();
    for look in &mut watched.samples {
        // Nothing tells how full its socket was: its CPU time is all there is.
        (look.queued_bytes, look.drops) = (None, None);
    }
    let with = |lost: u64| explained_of(&packets, &watched, lost);
    let agrees = with(drops);
    assert_eq!(agrees.cause, Some(Cause::Load), "{:?}", agrees.model);
    for lost in [drops / 2, drops * 17 / 10] {
        let found = with(lost);
        assert!(found.lacks.contains(&Lack::NotReplayed), "{:?}", found.model);
        assert!(found.cause.is_none() && found.remedies.is_empty(), "{:?}", found.cause);
    }
}

#[test]
fn what_the_replay_is_off_by_is_in_the_intervals_of_what_would_help() {
    let predicted = Predicted { lost: 10, low: 8, high: 12 };
    assert_eq!(predicted.beside(100, 90), Predicted { lost: 10, low: 8, high: 22 });
    assert_eq!(predicted.beside(100, 105), Predicted { lost: 10, low: 3, high: 12 });
    assert_eq!(predicted.beside(100, 110), Predicted { lost: 10, low: 0, high: 12 });
}

fn ticks() -> Vec<u64> {
    (0..50u64).flat_map(|tick| (0..128).map(move |n| tick * 20_000_000 + n * 100)).collect()
}

#[test]
fn clients_woken_by_one_tick_lose_by_their_arrivals() {
    let found = explained(&ticks(), &Stalls::default());
    assert!((50 * 64 - 1..=50 * 64).contains(&found.lost), "awake, it read the very first: {}", found.lost);
    assert_eq!(found.cause, Some(Cause::Arrivals));
    let buffer = found.buffer.unwrap();
    assert_eq!((buffer.inferred, buffer.own_queue), (true, false));
    assert!((62..=64).contains(&buffer.packets), "{buffer:?}");
    let error = found.model.unwrap().error().unwrap();
    assert!(error.abs() < 0.03, "{:?}", found.model);
    assert!(found.model.unwrap().md1k.unwrap() < 1e-6, "the mean load says nothing");
    assert!((found.load.unwrap() - 0.26).abs() < 0.01);
    assert!(found.remedies.iter().any(|remedy| matches!(remedy.change, Change::Buffer { times: 2 | 4, .. })
        && found.verdict(remedy) == Verdict::Helps));
    assert_eq!(found.with(|change| change == Change::ConstantArrivals).unwrap().high, 0);
    assert_eq!(found.lacks, [Lack::BufferNotSeen, Lack::LeftByApp]);
}

#[test]
fn a_server_that_is_kept_from_its_cpu_loses_by_its_stalls() {
    let steady: Vec<u64> = (0..20_000).map(|n| n * 50_000).collect();
    let stalls = Stalls::new(vec![(200_000_000, 208_000_000), (600_000_000, 607_000_000)]);
    let found = explained(&steady, &stalls);
    assert_eq!(found.cause, Some(Cause::Stalls));
    let when = found.when.as_ref().unwrap();
    assert_eq!((when.shape, when.bursts), (Shape::Bursts, 2));
    assert_eq!(when.while_stalled, Some(found.lost));
    let server = found.server.as_ref().unwrap();
    assert_eq!(server.stalls, 2);
    assert!((server.service_ns - 40_000.0).abs() < 200.0, "{}", server.service_ns);
    // This server gives each place back at once; the replay gives them back in quarters, and loses more.
    let error = found.model.unwrap().error().unwrap();
    assert!((0.0..0.2).contains(&error), "{:?}", found.model);
    assert_eq!(found.with(|change| change == Change::OwnCpu).unwrap().high, 0);
    assert_eq!(verdict(&found, Change::ConstantArrivals), Verdict::DoesNot);
}

#[test]
fn more_than_can_be_served_is_lost_by_the_load() {
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let found = explained(&fast, &Stalls::default());
    assert_eq!(found.cause, Some(Cause::Load));
    assert!((found.load.unwrap() - 1.6).abs() < 0.02, "{:?}", found.load);
    assert!(found.model.unwrap().error().unwrap().abs() < 0.02, "{:?}", found.model);
    assert_eq!(found.when.as_ref().unwrap().shape, Shape::AllTheTime);
    assert!(found.remedies[0].lost.lost < found.lost / 10, "{:?}", found.remedies);
    let roomier = found.remedies.iter().filter(|remedy| matches!(remedy.change, Change::Buffer { .. }));
    assert!(roomier.clone().count() == 1, "{:?}", found.remedies);
    for remedy in roomier {
        assert_ne!(found.verdict(remedy), Verdict::Helps, "a larger buffer is full a little later");
    }
}

#[test]
fn what_a_program_takes_and_does_not_answer_is_lost_in_its_own_queue() {
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let packets = trial(&fast, &Stalls::default());
    let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
    let lost_at: LostAt = BTreeMap::from([("unexplained".to_owned(), lost)]);
    let look = |at_ns, drops| dropline_trial::Look { at_ns, drops, ..Default::default() };
    let found = |drops, unseen| {
        let watched = TargetActivity {
            buffer_bytes: Some(212_992),
            every: std::time::Duration::from_millis(1),
            looks: 2,
            largest_queued_bytes: Some(832),
            // It sleeps for most of a packet's time: nothing but its own queue may hold what waits.
            cpu_ns: Some(24_000 * 5_000),
            packets: 24_000,
            samples: vec![look(0, drops), look(1_000_000_000, drops)],
            ..TargetActivity::default()
        };
        explain(&Evidence {
            packets: &packets,
            payload_bytes: 64,
            family: Family::V4,
            offered: 40_000,
            lost,
            lost_at: Some(&lost_at),
            unseen,
            watched: Some(&watched),
            duration_ns: 1_000_000_000,
            seed: 7,
        })
    };
    let own = found(Some(3), false);
    assert_eq!((own.unanswered, own.cause), (lost, Some(Cause::Load)), "{:?} {:?}", own.model, own.lacks);
    assert!(own.buffer.is_some_and(|buffer| buffer.own_queue && (62..=64).contains(&buffer.packets)));
    let model = own.model.unwrap();
    assert_eq!(model.measured, lost);
    assert!((model.md1k.unwrap() / lost as f64 - 1.0).abs() < 0.05, "{model:?}");
    assert!(!own.lacks.contains(&Lack::ElsewhereLost), "{:?}", own.lacks);
    // Where its socket, or a part of the way, was not to be seen, nothing is known of that.
    for (drops, unseen) in [(None, false), (Some(3), true)] {
        let found = found(drops, unseen);
        assert!(found.unanswered == 0 && found.lacks.contains(&Lack::ElsewhereLost), "{:?}", found.lacks);
    }
}

#[test]
fn a_trial_without_loss_has_nothing_to_cure() {
    let slow: Vec<u64> = (0..2_000).map(|n| n * 100_000).collect();
    let found = explained(&slow, &Stalls::default());
    assert_eq!((found.lost, found.when.is_none(), found.cause), (0, true, None));
    assert!(found.remedies.is_empty());
}

#[test]
fn a_loss_that_the_replay_does_not_show_is_not_cured_on_it() {
    let mut packets = PacketTimes::with_room(2_000, true);
    for n in 0..2_000u64 {
        // Two at a time: the second waits for the first.
        let at = n / 2 * 200_000;
        packets.departures.push(at, Some(at), 0);
        if !(500..550).contains(&n) {
            packets.returns.as_mut().unwrap().note(n, at + 44_000 + n % 2 * 40_000);
        }
    }
    let lost_at: LostAt = BTreeMap::from([("receive_buffer".to_owned(), 50)]);
    let watched = dropline_trial::TargetActivity { buffer_bytes: Some(64 * 832), ..Default::default() };
    let found = explain(&Evidence {
        packets: &packets,
        payload_bytes: 64,
        family: Family::V4,
        offered: 2_000,
        lost: 50,
        lost_at: Some(&lost_at),
        unseen: false,
        watched: Some(&watched),
        duration_ns: 200_000_000,
        seed: 7,
    });
    let model = found.model.unwrap();
    assert_eq!((model.replay.lost, model.measured), (0, 50));
    assert!(found.lacks.contains(&Lack::NotReplayed), "{:?}", found.lacks);
    assert!(found.remedies.is_empty() && found.cause.is_none(), "{:?}", found.remedies);
}

#[test]
fn packets_that_nobody_saw_come_back_leave_the_arrivals_alone() {
    let mut packets = PacketTimes::with_room(100, false);
    (0..100u64).for_each(|n| packets.departures.push(n * 1000, Some(n * 1000), 0));
    let found = explain(&Evidence {
        packets: &packets,
        payload_bytes: 64,
        family: Family::V4,
        offered: 100,
        lost: 5,
        lost_at: None,
        unseen: false,
        watched: None,
        duration_ns: 100_000,
        seed: 7,
    });
    assert_eq!((found.model, found.server.is_none()), (None, true));
    assert!(found.lacks.contains(&Lack::NoReplies));
    assert!((found.arrivals.rate_pps.unwrap() - 1e6).abs() < 1.0);
}
