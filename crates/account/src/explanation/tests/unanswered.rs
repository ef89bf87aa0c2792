//! What a program takes from its socket and does not answer.

use super::*;

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
