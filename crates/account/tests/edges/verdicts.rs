//! Which replays are believed, and what is said of a change.

use super::{MS, Seen, US, busy, times};
use dropline_account::explanation::{Doubts, Lack, Model};
use dropline_account::remedy::{Change, Predicted, Remedy, Verdict};
use dropline_trial::PacketTimes;
use dropline_trial::{Look, TargetActivity};

fn model(measured: u64, lost: u64, low: u64, high: u64) -> Model {
    Model {
        measured,
        measured_between: [measured; 2],
        replay: Predicted { lost, low, high },
        arrived: 10_000,
        waited: None,
        md1k: None,
        mm1k: None,
    }
}

#[test]
fn a_replay_fits_what_is_in_its_interval_or_off_by_a_fifth_at_most() {
    assert_eq!((model(0, 5, 0, 9).error(), model(100, 120, 0, 0).error()), (None, Some(1.2 - 1.0)));
    assert_eq!(model(200, 50, 0, 0).error(), Some(-0.75));
    for (measured, lost, low, high, fits) in [
        (100, 500, 100, 900, true),
        (100, 500, 101, 900, false),
        (900, 500, 100, 900, true),
        (901, 500, 100, 900, false),
        (100, 120, 110, 130, true),
        (100, 121, 110, 130, false),
        (100, 80, 70, 90, true),
        (100, 79, 70, 90, false),
        (0, 1, 1, 1, false),
        (0, 0, 0, 0, true),
    ] {
        assert_eq!(model(measured, lost, low, high).fits(), fits, "{measured}: {lost} ({low} to {high})");
    }
}

#[test]
fn a_replay_does_not_fit_by_few_served_packets_or_by_a_doubt_or_while_others_waited() {
    // Of 10 000, 9 000 were lost: off by 201 is little of what was lost, and more than a fifth of what was served.
    let nearly_all = |lost| model(9_000, lost, lost, lost).fits();
    assert_eq!([8_799, 8_800, 9_200, 9_201].map(nearly_all), [false, true, true, false]);
    let doubted = |least| Model { measured_between: [least, 300], ..model(300, 136, 121, 163) }.fits();
    assert_eq!([0, 149, 150, 163, 164].map(doubted), [false, false, true, true, false]);
    let waiting = |waited| Model { waited: Some(waited), ..model(300, 300, 300, 300) };
    for (waited, fits) in [([256, 256], true), ([256, 380], true), ([256, 512], false), ([512, 256], false)] {
        assert_eq!(waiting(waited).fits(), fits, "{waited:?}");
        assert_eq!(waiting(waited).contradicts_what_waited(), !fits, "{waited:?}");
    }
    assert!(waiting([1, 9]).fits(), "few are known to a packet or two");
}

#[test]
fn no_change_that_loses_more_than_was_lost_is_said_to_help() {
    let mut found = Seen::of(times(&[(MS, Some(2 * MS))])).explained();
    found.model = Some(model(100, 110, 90, 120));
    let lost = |lost| Remedy {
        change: Change::ConstantArrivals,
        lost: Predicted { lost, low: 0, high: 120 },
        postpones: false,
        must_be_lost: 0,
    };
    assert_eq!(
        [99, 100, 101].map(|it| found.verdict(&lost(it))),
        [Verdict::MayHelp, Verdict::MayHelp, Verdict::DoesNot]
    );
}

#[test]
fn a_change_helps_if_it_spares_half_of_the_loss_in_its_worst_case() {
    let mut found = Seen::of(times(&[(MS, Some(2 * MS))])).explained();
    let buffer = Change::Buffer { times: 2, rcvbuf_bytes: 1 };
    let queue = Change::Queue { times: 2, packets: 1 };
    let remedy = |change, low, high| Remedy {
        change,
        lost: Predicted { lost: low, low, high },
        postpones: false,
        must_be_lost: 0,
    };
    assert_eq!(found.verdict(&remedy(buffer, 0, 0)), Verdict::DoesNot, "nothing was replayed");
    found.model = Some(model(100, 100, 100, 100));
    for (low, high, verdict) in
        [(0, 50, Verdict::Helps), (50, 51, Verdict::MayHelp), (51, 51, Verdict::DoesNot)]
    {
        assert_eq!(found.verdict(&remedy(buffer, low, high)), verdict, "{low} to {high}");
    }
    for change in [buffer, queue, Change::Worker] {
        let only_later = Remedy { postpones: true, ..remedy(change, 0, 0) };
        assert_eq!(found.verdict(&only_later), Verdict::Postpones, "{change:?}");
    }
    assert_eq!(found.with(|_| true), None);
    found.remedies = vec![remedy(buffer, 3, 4), remedy(Change::Worker, 1, 2)];
    let worker = found.with(|change| change == Change::Worker);
    assert_eq!(worker, Some(Predicted { lost: 1, low: 1, high: 2 }));
}

#[test]
fn a_fiftieth_of_the_loss_elsewhere_is_not_missed() {
    let lacks = |elsewhere| {
        let places = [("receive_buffer", 100 - elsewhere), ("qdisc", elsewhere)];
        let seen = Seen::of(times(&[(MS, Some(2 * MS))])).lost_at(&places);
        seen.explained().lacks.contains(&Lack::ElsewhereLost)
    };
    assert_eq!((lacks(2), lacks(3)), (false, true));
}

#[test]
fn packets_a_second_are_counted_between_the_first_and_the_last() {
    let rate = |times: &[u64]| {
        let mut packets = PacketTimes::with_room(times.len(), false);
        times.iter().for_each(|&at| packets.departures.push(at, Some(at), 0));
        Seen::of(packets).explained().arrivals.rate_pps
    };
    assert_eq!((rate(&[]), rate(&[5]), rate(&[5, 5])), (None, None, None));
    assert_eq!(rate(&[MS, 2 * MS, 5 * MS]), Some(500.0));
}

/// Packets that a full queue of 40 lost at a server of 40 us.
fn of_waiting(places: &[(&str, u64)]) -> Seen {
    let mut packets = busy(40, 40 * US);
    packets.extend((0..24).map(|n| (MS + 1 + n, None)));
    Seen::of(times(&packets)).lost_at(places)
}

#[test]
fn only_where_most_was_lost_by_waiting_and_others_sent_nothing_there_is_something_to_change() {
    let is_changed = |seen: Seen| !seen.explained().remedies.is_empty();
    let beside = |netfilter| of_waiting(&[("receive_buffer", 24), ("netfilter", netfilter)]);
    assert_eq!([23, 24].map(beside).map(is_changed), [true, false]);
    let others = |others| Seen { doubts: Doubts { others, ..Doubts::default() }, ..beside(0) };
    assert_eq!([0, 1].map(others).map(is_changed), [true, false]);
}

#[test]
fn a_trial_that_lost_nothing_where_packets_wait_needs_no_replay_that_loses_as_many() {
    let watched = TargetActivity { buffer_bytes: Some(8 * 832), ..TargetActivity::default() };
    let found = Seen::of(times(&busy(32, 40 * US))).watched(watched).explained();
    assert!(found.model.is_some_and(|model| model.replay.lost > 0 && !model.fits()), "{:?}", found.model);
    assert!(!found.lacks.contains(&Lack::NotReplayed), "{:?}", found.lacks);
}

#[test]
fn packets_of_others_are_a_lack_of_a_loss_and_of_nothing_else() {
    let lacks = |lost, others| {
        let seen = Seen::of(times(&[(MS, Some(2 * MS))])).lost_at(&[("receive_buffer", lost)]);
        let seen = Seen { doubts: Doubts { others, ..Doubts::default() }, ..seen };
        seen.explained().lacks.contains(&Lack::OthersCame)
    };
    assert_eq!([lacks(1, 1), lacks(0, 1), lacks(1, 0)], [true, false, false]);
}

#[test]
fn a_program_that_took_most_of_what_was_lost_may_drop_packets_by_itself() {
    // Ten were taken and not answered when nothing waited.
    let mut packets = busy(32, 40 * US);
    packets.extend((0..10).map(|n| ((100 + n) * MS, None)));
    let look = |at_ns| Look { at_ns, drops: Some(0), ..Look::default() };
    let watched = TargetActivity {
        buffer_bytes: Some(256 * 832),
        samples: vec![look(0), look(1000 * MS as i64)],
        ..TargetActivity::default()
    };
    let beside = |place, lost| {
        let places = [(place, lost), ("unexplained", 10)];
        Seen::of(times(&packets)).watched(watched.clone()).lost_at(&places)
    };
    let seen = |full| beside("receive_buffer", full);
    let lacks = |full, lack| seen(full).explained().lacks.contains(&lack);
    assert_eq!([9, 10].map(|full| lacks(full, Lack::CountAlone)), [true, false]);
    assert_eq!([9, 10].map(|full| lacks(full, Lack::NotReplayed)), [false, true]);
    let by_a_rule = |lost| beside("netfilter", lost).explained().lacks.contains(&Lack::CountAlone);
    assert_eq!([9, 10].map(by_a_rule), [true, false]);
    let unseen = Seen { unseen: true, ..seen(9) };
    assert_eq!((seen(9).explained().unanswered, unseen.explained().unanswered), (10, 0));
}

#[test]
fn for_want_of_a_cpu_is_lost_what_one_would_spare_or_what_a_program_did_not_take() {
    let mut found = Seen::of(times(&[(MS, Some(2 * MS))])).explained();
    let of = |change| Remedy {
        change,
        lost: Predicted { lost: 40, low: 30, high: 50 },
        postpones: false,
        must_be_lost: 0,
    };
    (found.lost, found.lacks, found.remedies) = (100, vec![], vec![of(Change::Worker)]);
    let mut wanted = |unanswered, lacks: &[Lack]| {
        (found.unanswered, found.lacks) = (unanswered, lacks.to_vec());
        found.for_want_of_a_cpu()
    };
    let alone = [Lack::CountAlone];
    assert_eq!((wanted(0, &[]), wanted(0, &alone), wanted(40, &[])), (None, None, None));
    assert_eq!(wanted(40, &alone), Some(60));
    for change in [Change::OwnCpu, Change::NoQuota] {
        found.remedies.push(of(change));
        assert_eq!(found.for_want_of_a_cpu(), Some(70), "{change:?}");
        found.remedies.pop();
    }
}
