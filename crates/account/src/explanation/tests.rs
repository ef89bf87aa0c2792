use super::*;
use crate::losses::Shape;
use crate::{AddressFamily, Stalls};
use dropline_trial::{PacketTimes, TargetActivity};
use std::collections::BTreeMap;

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
fn what_the_replay_is_off_by_is_in_the_intervals_of_what_would_help() {
    let beside = |change, must_be_lost, measured, replayed| {
        let lost = Predicted { lost: 10, low: 8, high: 12 };
        let found = Remedy { change, lost, postpones: false, must_be_lost }.beside(measured, replayed);
        (found.low, found.lost, found.high)
    };
    let of = |measured, replayed| beside(Change::ConstantArrivals, 0, measured, replayed);
    assert_eq!(of([100; 2], 90), (8, 10, 22));
    assert_eq!(of([100; 2], 105), (3, 10, 12));
    assert_eq!(of([100; 2], 110), (0, 10, 12));
    assert_eq!(of([94, 120], 100), (2, 10, 32), "a doubted loss");
    assert_eq!(beside(Change::Worker, 7, [100; 2], 110).0, 7, "more came than it serves");
    assert_eq!(beside(Change::Worker, 9, [100; 2], 110).0, 8, "no replay knows better");
    assert_eq!(beside(Change::ConstantArrivals, 0, [9; 2], 10), (7, 10, 12), "other arrivals may lose more");
    for change in [Change::OwnCpu, Change::Worker, Change::HalfTheLoad] {
        assert_eq!(beside(change, 0, [9; 2], 10), (7, 9, 9), "no {change:?} makes it lose more than it did");
    }
}

#[test]
fn no_change_loses_fewer_than_its_own_service_time_lets_it() {
    // A second at 40 000 pps of a server that takes 40 us; half of the loss may not be the target's doing.
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let packets = trial(&fast, &Stalls::default());
    let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
    let lost_at: LostAt = BTreeMap::from([("receive_buffer".to_owned(), lost)]);
    let watched = TargetActivity {
        buffer_bytes: Some(64 * 832),
        busiest_cpu_ns: Some(24_000 * 36_000),
        waited_ns: Some(24_000 * 4_000),
        ..TargetActivity::default()
    };
    let found = explain(&Evidence {
        offered: 40_000,
        lost,
        lost_at: Some(&lost_at),
        doubts: Doubts { not_the_targets: lost / 2, ..Doubts::default() },
        watched: Some(&watched),
        duration_ns: 1_000_000_000,
        ..evidence(&packets)
    });
    let own = found.server.as_ref().unwrap().own_time.unwrap();
    // All that is served until the drain ends.
    let must = |service_ns: f64| 40_000 - (1.1e9 / service_ns) as u64 - 100;
    let own_cpu = found.with(|change| change == Change::OwnCpu).unwrap();
    assert!(own_cpu.low >= must(own.least_ns), "{own_cpu:?} {own:?}");
    for change in [Change::Batch { packets: 32 }, Change::ConstantArrivals] {
        let low = found.with(|tried| tried == change).unwrap().low;
        assert!(low >= must(39_000.0), "{change:?}: {low}");
    }
    for remedy in &found.remedies {
        assert!(remedy.lost.low >= remedy.must_be_lost, "{remedy:?}");
        assert!(remedy.lost.lost <= lost || found.verdict(remedy) == Verdict::DoesNot, "{remedy:?}");
    }
    let may_be_its_cpu = verdict(&found, Change::OwnCpu) != Verdict::DoesNot;
    assert_ne!((found.cause, may_be_its_cpu), (Some(Cause::Overload), true));
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
            busiest_cpu_ns: Some(24_000 * 5_000),
            waited_ns: Some(0),
            packets: 24_000,
            samples: vec![look(0, drops), look(1_000_000_000, drops)],
            ..TargetActivity::default()
        };
        explain(&Evidence {
            offered: 40_000,
            lost,
            lost_at: Some(&lost_at),
            unseen,
            watched: Some(&watched),
            duration_ns: 1_000_000_000,
            ..evidence(&packets)
        })
    };
    let own = found(Some(3), false);
    assert_eq!((own.unanswered, own.cause), (lost, Some(Cause::Overload)), "{:?} {:?}", own.model, own.lacks);
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
fn a_service_that_drops_every_twentieth_packet_by_itself_is_neither_overloaded_nor_without_a_cpu() {
    // Exponential gaps of 50 us in the mean at a server of 40 us: packets wait, and none finds a queue full.
    let mut state = 5u64;
    let mut now = 0u64;
    let times: Vec<u64> = (0..20_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now += (-50_000.0 * (((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64).ln()) as u64;
            now
        })
        .collect();
    let served = without_limit(&times, 40_000);
    let explained = |drops: &dyn Fn(usize) -> bool| {
        let mut packets = PacketTimes::with_room(times.len(), true);
        for (index, &at) in times.iter().enumerate() {
            packets.departures.push(at, Some(at), 0);
            if !drops(index) {
                packets.returns.as_mut().unwrap().note(index as u64, served[index]);
            }
        }
        let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
        let lost_at: LostAt = BTreeMap::from([("unexplained".to_owned(), lost)]);
        let look = |at_ns| dropline_trial::Look { at_ns, drops: Some(0), ..Default::default() };
        let watched = TargetActivity {
            buffer_bytes: Some(212_992),
            looks: 2,
            largest_queued_bytes: Some(20 * 832),
            cpu_ns: Some(40_000 * 20_000),
            busiest_cpu_ns: Some(40_000 * 20_000),
            waited_ns: Some(0),
            packets: 20_000 - lost,
            samples: vec![look(0), look(1_000_000_000)],
            ..TargetActivity::default()
        };
        explain(&Evidence {
            offered: 20_000,
            lost,
            lost_at: Some(&lost_at),
            watched: Some(&watched),
            duration_ns: now + 1,
            ..evidence(&packets)
        })
    };
    let every_twentieth = explained(&|index| index % 20 == 3);
    let model = every_twentieth.model.unwrap();
    assert_eq!(model.measured, 0, "no queue lost them: {model:?}");
    let buffer = every_twentieth.buffer.unwrap();
    assert_eq!(
        (buffer.own_queue, buffer.bytes),
        (false, Some(212_992)),
        "nothing shows another queue than the socket's"
    );
    assert_eq!((every_twentieth.cause, every_twentieth.remedies.len()), (None, 0));
    assert!(every_twentieth.lacks.contains(&Lack::CountAlone), "{:?}", every_twentieth.lacks);
    let when = every_twentieth.when.unwrap();
    assert_eq!((when.shape, when.every), (Shape::Regular, Some(20.0)));
    // One in twenty by chance has no rule, and is no full queue either.
    let by_chance = explained(&|index| (index * index + index / 3) % 97 < 5);
    assert_eq!((by_chance.cause, by_chance.when.unwrap().every), (None, None));
    // Nor are bursts, or what it drops at first.
    for found in [explained(&|index| index % 2000 < 50), explained(&|index| index < 30)] {
        assert_eq!((found.cause, found.buffer.unwrap().own_queue), (None, false), "{:?}", found.buffer);
    }
}

/// When each of these packets is answered by a server that serves one in so many ns, and loses none.
fn without_limit(times: &[u64], service_ns: u64) -> Vec<u64> {
    let mut free = 0u64;
    let served = |&at: &u64| {
        free = if at <= free { free } else { at + 30_000 } + service_ns;
        free + 4_000
    };
    times.iter().map(served).collect()
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
        offered: 2_000,
        lost: 50,
        lost_at: Some(&lost_at),
        watched: Some(&watched),
        duration_ns: 200_000_000,
        ..evidence(&packets)
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
    let found = explain(&Evidence { offered: 100, lost: 5, duration_ns: 100_000, ..evidence(&packets) });
    assert_eq!((found.model, found.server.is_none()), (None, true));
    assert!(found.lacks.contains(&Lack::NoReplies));
    assert!((found.arrivals.rate_pps.unwrap() - 1e6).abs() < 1.0);
}

#[test]
fn a_loss_by_a_rule_or_a_closed_port_or_a_cut_reply_has_no_remedy_however_many_more_were_lost_by_waiting() {
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let packets = trial(&fast, &Stalls::default());
    let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
    for place in ["netfilter", "no_listener", "rp_filter", "reply_truncated", "return_netfilter"] {
        for waited in [0, lost / 3] {
            let lost_at: LostAt =
                BTreeMap::from([(place.to_owned(), lost - waited), ("receive_buffer".to_owned(), waited)]);
            let found = explain(&Evidence {
                offered: 40_000,
                lost,
                lost_at: Some(&lost_at),
                doubts: Doubts { unplaced: lost, ..Doubts::default() },
                duration_ns: 1_000_000_000,
                ..evidence(&packets)
            });
            assert!(found.remedies.is_empty() && found.cause.is_none(), "{place}: {:?}", found.remedies);
            assert!(found.lacks.contains(&Lack::ElsewhereLost), "{place}: {:?}", found.lacks);
        }
    }
}

#[test]
fn a_doubted_loss_bounds_what_would_be_lost_with_every_change() {
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let packets = trial(&fast, &Stalls::default());
    let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
    let lost_at: LostAt = BTreeMap::from([("receive_buffer".to_owned(), lost)]);
    let found = |doubts: Doubts| {
        explain(&Evidence {
            offered: 40_000,
            lost,
            lost_at: Some(&lost_at),
            doubts,
            duration_ns: 1_000_000_000,
            ..evidence(&packets)
        })
    };
    let [sure, by_us, shared] = [
        found(Doubts::default()),
        found(Doubts { not_the_targets: 4_000, ..Doubts::default() }),
        found(Doubts { beyond: 4_000, ..Doubts::default() }),
    ];
    assert_eq!((sure.doubted, by_us.doubted, shared.doubted), (0, 4_000, 0));
    for doubted in [&by_us, &shared] {
        assert_eq!(doubted.model.unwrap().measured_between, [lost - 4_000, lost]);
        for remedy in &sure.remedies {
            let less = doubted.with(|change| change == remedy.change).unwrap();
            assert_eq!((less.lost, less.high), (remedy.lost.lost, remedy.lost.high));
            let by = remedy.lost.low - less.low;
            let is_least = less.low == remedy.must_be_lost.min(remedy.lost.low);
            assert!(is_least || (3_500..=4_000).contains(&by), "{remedy:?} {less:?}");
        }
    }
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
}
