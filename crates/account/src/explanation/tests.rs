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
    let packets = trial(times, stalls);
    let lost = packets.iter().filter(|packet| packet.back_ns.is_none()).count() as u64;
    let lost_at: LostAt =
        BTreeMap::from([("receive_buffer".to_owned(), lost), ("unexplained".to_owned(), 0)]);
    explain(&Evidence {
        packets: &packets,
        payload_bytes: 64,
        family: Family::V4,
        offered: times.len() as u64,
        lost,
        lost_at: Some(&lost_at),
        watched: None,
        duration_ns: times.last().unwrap() + 1,
        seed: 7,
    })
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
    assert!(
        found
            .remedies
            .iter()
            .any(|remedy| matches!(remedy.change, Change::Buffer { times: 2 | 4, .. }) && found.helps(remedy))
    );
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
    assert!(
        !found.helps(found.remedies.iter().find(|remedy| remedy.change == Change::ConstantArrivals).unwrap())
    );
}

#[test]
fn more_than_can_be_served_is_lost_by_the_load() {
    let fast: Vec<u64> = (0..40_000).map(|n| n * 25_000).collect();
    let found = explained(&fast, &Stalls::default());
    assert_eq!(found.cause, Some(Cause::Load));
    assert!((found.load.unwrap() - 1.6).abs() < 0.02, "{:?}", found.load);
    assert!(found.model.unwrap().error().unwrap().abs() < 0.02, "{:?}", found.model);
    assert_eq!(found.when.unwrap().shape, Shape::AllTheTime);
    assert!(found.remedies[0].lost.lost < found.lost / 10, "{:?}", found.remedies);
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
    let watched = dropline_trial::Watched { buffer_bytes: Some(64 * 832), ..Default::default() };
    let found = explain(&Evidence {
        packets: &packets,
        payload_bytes: 64,
        family: Family::V4,
        offered: 2_000,
        lost: 50,
        lost_at: Some(&lost_at),
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
        watched: None,
        duration_ns: 100_000,
        seed: 7,
    });
    assert_eq!((found.model, found.server.is_none()), (None, true));
    assert!(found.lacks.contains(&Lack::NoReplies));
    assert!((found.arrivals.rate_pps.unwrap() - 1e6).abs() < 1.0);
}
