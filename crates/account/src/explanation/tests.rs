use super::*;
use crate::losses::Shape;
use crate::{AddressFamily, Stalls};
use dropline_trial::{PacketTimes, TargetActivity};
use std::collections::BTreeMap;

mod remedies;
mod unanswered;
mod watched;

/// Of packets that were all served, in a second.
fn evidence(packets: &PacketTimes) -> Evidence<'_> {
    Evidence {
        packets,
        payload_bytes: 64,
        family: AddressFamily::V4,
        offered: packets.len() as u64,
        lost: 0,
        lost_at: None,
        doubts: Doubts::default(),
        unseen: false,
        watched: None,
        duration_ns: 1_000_000_000,
        drain_ns: 100_000_000,
        seed: 7,
    }
}

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
        offered: times.len() as u64,
        lost,
        lost_at: Some(&lost_at),
        duration_ns: times.last().unwrap() + 1,
        ..evidence(&packets)
    })
}

fn verdict(found: &Explanation, change: Change) -> Verdict {
    found.verdict(found.remedies.iter().find(|remedy| remedy.change == change).unwrap())
}

#[test]
fn a_server_is_not_as_slow_as_a_queue_on_the_way_lets_its_replies_come() {
    let times: Vec<u64> = (0..4000).map(|index| index * 30_000).collect();
    let own = explained(&times, &Stalls::default());
    assert_eq!((own.cause, own.lacks.contains(&Lack::PacedElsewhere)), (Some(Cause::NoCpuOrLoad), false));
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
        offered: 4_000,
        watched: Some(&watched),
        duration_ns: times.last().unwrap() + 1,
        ..evidence(&packets)
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
fn a_replay_in_which_far_more_wait_when_packets_are_lost_names_nothing() {
    // The program's own queue was full at 64; beside it the replay fills a socket of 256 that was never seen to be.
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let packets = trial(&fast, &Stalls::default());
    let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
    let lost_at: LostAt = BTreeMap::from([("service_queue".to_owned(), lost)]);
    let found = |replayed: u64| {
        let mut found = explain(&Evidence {
            offered: 40_000,
            lost,
            lost_at: Some(&lost_at),
            duration_ns: 1_000_000_000,
            ..evidence(&packets)
        });
        let model = found.model.as_mut().unwrap();
        model.waited = model.waited.map(|[seen, _]| [seen, replayed]);
        (model.waited, model.fits())
    };
    let (waited, fits) = found(64);
    assert!(waited.is_some_and(|[seen, _]| (62..=64).contains(&seen)) && fits, "{waited:?}");
    assert!(!found(256).1);
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
    assert_eq!(found.lacks, [Lack::BufferNotSeen, Lack::LeftByApp, Lack::CpuNotSeen]);
}

#[test]
fn a_server_that_does_nothing_for_a_while_loses_by_its_stalls() {
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
    // Nobody saw why it stalled: a CPU of its own may take all of it away, or nothing.
    let own_cpu = found.with(|change| change == Change::OwnCpu).unwrap();
    assert!(own_cpu.low == 0 && own_cpu.high >= found.lost, "{own_cpu:?}");
    assert_eq!(found.lacks, [Lack::BufferNotSeen, Lack::StallsUnexplained, Lack::LeftByApp], "that says it");
    assert_eq!(verdict(&found, Change::ConstantArrivals), Verdict::DoesNot);
}

#[test]
fn more_than_can_be_served_is_lost_by_the_load() {
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let found = explained(&fast, &Stalls::default());
    assert_eq!(found.cause, Some(Cause::NoCpuOrLoad), "nobody saw whether it had a CPU");
    assert!(found.lacks.contains(&Lack::CpuNotSeen), "{:?}", found.lacks);
    assert!((found.load.unwrap() - 1.6).abs() < 0.02, "{:?}", found.load);
    assert!(found.model.unwrap().error().unwrap().abs() < 0.02, "{:?}", found.model);
    assert_eq!(found.when.as_ref().unwrap().shape, Shape::AllTheTime);
    assert!(found.remedies[0].lost.lost < found.lost / 10, "{:?}", found.remedies);
    let roomier = found.remedies.iter().filter(|remedy| matches!(remedy.change, Change::Buffer { .. }));
    assert!(roomier.clone().count() == 1, "{:?}", found.remedies);
    for remedy in roomier {
        assert_eq!(found.verdict(remedy), Verdict::Postpones, "a larger buffer is full a little later");
    }
}

#[test]
fn packets_that_nobody_saw_come_back_leave_the_arrivals_alone() {
    let mut packets = PacketTimes::with_room(100, false);
    (0..100u64).for_each(|n| packets.departures.push(n * 1000, Some(n * 1000), 0));
    let found = explain(&Evidence { offered: 100, lost: 5, duration_ns: 100_000, ..evidence(&packets) });
    assert_eq!((found.model, found.server.is_none()), (None, true));
    assert!(found.lacks.contains(&Lack::NoReplies));
    assert!((found.arrivals.rate_pps.unwrap() - 1e6).abs() < 1.0);
}

#[test]
fn what_was_measured_without_the_times_of_its_packets_is_told_by_its_places_alone() {
    let packets = PacketTimes::with_room(0, false);
    let lost_at: LostAt = BTreeMap::from([("receive_buffer".to_owned(), 5)]);
    let found = explain(&Evidence {
        offered: 100,
        lost: 5,
        lost_at: Some(&lost_at),
        duration_ns: 1_000_000_000,
        ..evidence(&packets)
    });
    assert!(found.cause.is_none() && found.model.is_none() && found.remedies.is_empty());
    assert_eq!(found.lacks, [Lack::TimesNotKept]);
    // A search's trial: the target was watched, and no packet's times are kept to replay.
    let watched = dropline_trial::TargetActivity {
        buffer_bytes: Some(256 * 832),
        busiest_cpu_ns: Some(900_000_000),
        cpu_ns: Some(900_000_000),
        packets: 95,
        ..Default::default()
    };
    let found = explain(&Evidence {
        offered: 100,
        lost: 5,
        lost_at: Some(&lost_at),
        watched: Some(&watched),
        ..evidence(&packets)
    });
    assert_eq!((found.model, found.arrivals.largest_backlog), (None, None), "0 is not unknown");
    assert_eq!(found.lacks, [Lack::TimesNotKept]);
    // Where nothing was lost, nothing lacks.
    let found = explain(&Evidence { offered: 100, lost: 0, ..evidence(&packets) });
    assert_eq!(found.lacks, []);
}
