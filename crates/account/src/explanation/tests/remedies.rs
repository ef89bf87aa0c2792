//! What would help, and how much of the loss.

use super::*;

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
