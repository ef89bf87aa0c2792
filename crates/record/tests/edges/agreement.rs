//! Whether the numbers of a trial follow from one another, and the trial from the header.

use super::{against, answered, changed, header, limits, line, record, trial};
use dropline_record::{BoundsLine, CaveatLine, Count, LoadUnit, Record, SliceLine, TrialLine};
use dropline_stats::Histogram;
use dropline_trial::{Arrival, Delay, Part, Slice, TrafficProfile, Trial};
use serde_json::json;
use std::time::Duration;

/// A trial whose record has one trial, against another target.
fn of(target: &str, trial: &Trial) -> Record {
    let mut record = Record::begin(header());
    record.header.target = target.into();
    record.trials.push(line(trial, target, Duration::ZERO));
    record
}

fn ours(trial: &Trial) -> String {
    against(&of("sim:hard", trial))
}

#[test]
fn bounds_may_be_the_same_and_those_that_are_not_borne_out_may_cross() {
    let bounds = |lower, lower_valid, median, upper| {
        let line = json!({
            "lower_pps": lower, "lower_valid": lower_valid, "upper_pps": upper, "upper_valid": true, "median_pps": median,
        });
        changed(&record(&[(100, 0), (200, 20)]), |record| {
            record.trials[1].bounds = vec![serde_json::from_value(line).unwrap()];
        })
    };
    assert_eq!(bounds(100.0, true, Some(100.0), 100.0), "");
    assert_eq!(bounds(200.0, false, None, 100.0), "");
    for (lower, median, upper, says) in [
        (200.0, None, 100.0, "\"lower_pps\" is 200, and \"upper_pps\" is 100"),
        (100.0, Some(99.0), 200.0, "\"lower_pps\" is 100, and \"median_pps\" is 99"),
        (100.0, Some(201.0), 200.0, "\"median_pps\" is 201, and \"upper_pps\" is 200"),
    ] {
        assert!(bounds(lower, true, median, upper).contains(says), "{says}");
    }
    assert!(
        bounds(50.0, true, None, 200.0).contains("none of them was made"),
        "it was asked for, and not tried"
    );
}

#[test]
fn a_trial_of_a_search_has_no_bounds_or_those_of_each_goal() {
    let bounds = |count: usize| {
        changed(&record(&[(100, 0)]), |record| {
            record.trials[0].bounds =
                vec![BoundsLine { lower_pps: Some(100.0), ..BoundsLine::default() }; count];
        })
    };
    assert_eq!((bounds(0), bounds(1)), (String::new(), String::new()));
    assert!(bounds(2).contains("the number of bounds is 2, and its goals makes it 1"), "{}", bounds(2));
}

#[test]
fn a_search_makes_as_many_trials_as_were_allowed_and_not_one_more() {
    let three = record(&[(100, 0), (200, 20), (150, 0)]);
    let most =
        |most| changed(&three, |record| record.header.search.as_mut().unwrap().max_trials = Some(most));
    assert_eq!(most(3), "");
    assert!(most(2).contains("before it came 2 trials, and 2 were allowed"));
    // Other limits hold from where they stand.
    let later = |after, most| {
        changed(&three, |record| {
            record.header.search.as_mut().unwrap().max_trials = Some(1);
            record.limits.push(limits(after, None, most));
        })
    };
    assert_eq!((later(1, None), later(1, Some(3))), (String::new(), String::new()));
    assert!(later(2, None).contains("and 1 were allowed"));
    assert_eq!(three.to_object().get("limits"), None, "they are told where there are any");
    let mut other = three;
    other.limits.push(limits(1, None, Some(3)));
    assert_eq!(other.to_object()["limits"][0]["max_trials"], 3);
}

#[test]
fn a_trial_begins_as_long_as_the_budget_is_not_exceeded_or_a_certificate_may_take_longer() {
    let three = record(&[(100, 0), (200, 20), (150, 0)]);
    let budget = |budget, certify| {
        changed(&three, |record| {
            let search = record.header.search.as_mut().unwrap();
            (search.budget_s, search.certify) = (Some(budget), certify);
        })
    };
    assert_eq!((budget(2.0, false), budget(1.999, true)), (String::new(), String::new()));
    assert_eq!(budget(2.0 - 1e-10, false), "", "the last digits of sums differ");
    assert!(budget(1.999, false).contains("2 s were spent before it, and 1.999 s were allowed"));
    let mut long = record(&[(100, 0), (200, 20), (150, 0)]);
    (long.trials[1].elapsed_s, long.trials[2].at_s) = (1202.0, 1203.0);
    long.header.search.as_mut().unwrap().certify = true;
    let budget =
        |budget| changed(&long, |record| record.header.search.as_mut().unwrap().budget_s = Some(budget));
    assert_eq!(budget(3.0), "", "twenty minutes more");
    assert!(
        budget(2.9).contains("1203 s were spent before it, and 1202.9 s were allowed"),
        "{}",
        budget(2.9)
    );
}

#[test]
fn a_load_of_a_search_is_between_those_that_were_asked_for() {
    for (load, is_asked) in [(50, true), (1000, true), (49, false), (1001, false)] {
        assert_eq!(against(&record(&[(load, 0)])).is_empty(), is_asked, "{load}");
    }
    let mut one = record(&[(100, 0)]);
    let search = one.header.search.as_mut().unwrap();
    (search.min_load_pps, search.max_load_pps) = (100.0, 100.0);
    assert_eq!(against(&one), "");
    one.header.search.as_mut().unwrap().max_load_pps = 99.0;
    assert!(against(&one).contains("its lowest load is 100, and its highest is 99"));
}

#[test]
fn sums_of_times_may_differ_in_their_last_digits() {
    let at = |at: f64| changed(&record(&[(100, 0), (200, 20)]), |record| record.trials[1].at_s = at);
    assert_eq!((at(1.0 + 5e-10), at(1.0 - 5e-10)), (String::new(), String::new()));
    for other in [1.0 + 2e-9, 1.0 - 2e-9, 0.0, 2.0] {
        assert!(at(other).contains("at_s is"), "{other}");
    }
    let good = answered(&[(100, 0), (200, 20)], &json!({ "result": "irregular", "why": "unfinished" }));
    assert_eq!(against(&good), "");
    for (seconds, elapsed) in [(2.1, 2.0), (2.0, 2.1)] {
        let why = changed(&good, |record| {
            let result = record.result.as_mut().unwrap();
            (result.trial_seconds, result.elapsed_s) = (seconds, elapsed);
        });
        assert!(why.contains("the trials before it: "), "{why}");
    }
}

#[test]
fn replies_that_came_otherwise_are_part_of_the_loss() {
    let replies = |truncated, extended, changed| {
        let (reply_truncated, reply_extended, reply_changed) =
            (Some(truncated), Some(extended), Some(changed));
        ours(&Trial { reply_truncated, reply_extended, reply_changed, ..trial(1, 100, 9) })
    };
    assert_eq!(replies(3, 4, 2), "");
    assert!(replies(3, 4, 3).contains("10 replies came shortened"));
}

#[test]
fn no_more_packets_leave_than_were_intended_and_no_more_come_back_unless_a_caveat_says_so() {
    let counts = |intended, offered, forwarded| Trial { intended, offered, forwarded, ..trial(1, 100, 0) };
    assert_eq!(
        (ours(&counts(Some(100), 100, 100)), ours(&counts(None, 900, 900))),
        (String::new(), String::new())
    );
    assert!(ours(&counts(Some(100), 101, 100)).contains("offered is 101, and intended is 100"));
    assert!(ours(&counts(Some(100), 99, 100)).contains("forwarded is 100, and offered is 99"));
    let mut said = of("sim:hard", &counts(Some(100), 99, 100));
    said.trials[0].caveats.push(CaveatLine::said("more_than_offered", "so"));
    assert_eq!(against(&said), "");
    // What a pipeline counts is not packets.
    let mut samples = of("flowgraph:x", &counts(Some(100), 99, 100));
    samples.header.load_unit = LoadUnit::Samples;
    assert_eq!(against(&samples), "");
}

#[test]
fn a_trial_lasts_about_as_long_as_was_asked_and_no_longer_than_it_took() {
    let lasted = |target: &str, ms: u64| {
        let duration = Duration::from_millis(ms);
        against(&of(target, &Trial { duration, elapsed: Duration::from_secs(3), ..trial(1, 100, 0) }))
    };
    for (target, shortest, longest) in
        [("sim:hard", 900, 1100), ("udp://127.0.0.1:7", 900, 1100), ("exec:x", 500, 2000)]
    {
        assert_eq!(
            (lasted(target, shortest), lasted(target, longest)),
            (String::new(), String::new()),
            "{target}"
        );
        for beyond in [shortest - 1, longest + 1] {
            assert!(lasted(target, beyond).contains("intended_duration_s is 1"), "{target} {beyond}");
        }
    }
    assert_eq!(lasted("replay:x", 2500), "", "others are asked for what they like");
    let took = |duration, elapsed| {
        let (duration, elapsed) = (Duration::from_micros(duration), Duration::from_micros(elapsed));
        ours(&Trial { duration, elapsed, ..trial(1, 100, 0) })
    };
    assert_eq!(took(1_001_000, 1_000_000), "");
    assert!(took(1_001_001, 1_000_000).contains("which is less"));
    let mut stopped = of("sim:hard", &Trial { duration: Duration::from_millis(100), ..trial(1, 100, 0) });
    assert_ne!(against(&stopped), "");
    stopped.trials[0].caveats.push(CaveatLine::said("interrupted", "so"));
    assert_eq!(against(&stopped), "", "it was stopped");
}

#[test]
fn what_was_intended_is_what_the_load_asks_for_give_or_take_a_packet_for_each_part() {
    let intended = |streams: u32, directions: u32, intended| {
        let parts = |count| if count > 0 { Part::equal(count) } else { Vec::new() };
        let profile = TrafficProfile {
            streams: parts(streams),
            directions: parts(directions),
            ..TrafficProfile::default()
        };
        let one = Trial { intended: Some(intended), offered: 50, forwarded: 50, ..trial(1, 100, 0) };
        let mut record = of("sim:hard", &one);
        record.header.profile = (&profile).into();
        against(&record)
    };
    for (streams, directions) in [(1, 1), (0, 0), (3, 1), (1, 2), (3, 2)] {
        let parts = u64::from(streams.max(1) * directions.max(1));
        let allowed = Arrival::constant().intends(trial(1, 100, 0).input, parts).unwrap();
        for within in [*allowed.start(), *allowed.end()] {
            assert_eq!(intended(streams, directions, within), "", "{streams} {directions}: {within}");
        }
        for beyond in [allowed.start() - 1, allowed.end() + 1] {
            assert!(intended(streams, directions, beyond).contains("and its load for 1 s is"), "{beyond}");
        }
    }
}

#[test]
fn nothing_is_counted_faster_than_the_highest_load() {
    // A million million packets in each of the second and the three that it took.
    let counted = |change: fn(&mut TrialLine, u64), count| {
        let mut record = of("sim:hard", &Trial { elapsed: Duration::from_secs(3), ..trial(1, 100, 0) });
        change(&mut record.trials[0], count);
        against(&record)
    };
    let most = 4_000_000_000_000;
    for change in [
        (|line: &mut TrialLine, count| line.duplicated = Some(Count(count))) as fn(&mut TrialLine, u64),
        |line, count| line.reordered = Some(Count(count)),
        |line, count| line.late = Some(Count(count)),
    ] {
        assert_eq!(counted(change, most), "");
        assert!(counted(change, most + 1).contains("no service is that fast"));
    }
}

#[test]
fn a_part_is_no_more_than_the_whole() {
    let mut values = Histogram::new();
    values.record_n(34_000, 100);
    let delay = Delay { histogram: Some(values), ..Delay::default() };
    let delays = |lost, service| {
        let delays = (delay.clone(), Delay::default());
        let (delay, service_delay) = if service { (delays.1, delays.0) } else { delays };
        ours(&Trial { delay, service_delay, ..trial(1, 100, lost) })
    };
    assert_eq!((delays(0, false), delays(0, true)), (String::new(), String::new()));
    assert!(delays(1, false).contains("the count of delay_ns is 100, and forwarded is 99"));
    assert!(delays(1, true).contains("the count of service_delay_ns is 100, and forwarded is 99"));
    let negative = |negative| {
        let delay = Delay { negative, negative_min_ns: Some(-1), ..Delay::default() };
        ours(&Trial { delay, ..trial(1, 100, 1) })
    };
    assert_eq!(negative(99), "");
    assert!(negative(100).contains("the count of negative delays is 100, and forwarded is 99"));
}

#[test]
fn slices_have_no_more_than_their_trial_and_of_our_own_trials_all_but_a_hundredth() {
    let sliced = |target: &str, change: &dyn Fn(&mut SliceLine)| {
        let half = Slice { duration: Duration::from_millis(550), offered: 500, forwarded: 500, delay: None };
        let mut record = of(target, &Trial { slices: vec![half; 2], ..trial(1, 1000, 0) });
        change(&mut record.trials[0].slices[1]);
        against(&record)
    };
    let udp = "udp://127.0.0.1:7";
    assert_eq!(sliced(udp, &|_| ()), "", "they last a tenth longer, and have every packet");
    assert!(sliced(udp, &|slice| slice.duration_s = 0.551).contains("its slices last 1.10"));
    for (part, change) in [
        ("offered", (|slice: &mut SliceLine, count| slice.offered = Count(count)) as fn(&mut SliceLine, u64)),
        ("forwarded", |slice, count| slice.forwarded = Count(count)),
    ] {
        let with = |target, count| sliced(target, &|slice| change(slice, count));
        assert_eq!(with(udp, 490), "", "{part}");
        assert!(
            with(udp, 489).contains(&format!("the slices' {part} is 989, and {part} is 1000, which is more"))
        );
        assert!(
            with(udp, 501)
                .contains(&format!("the slices' {part} is 1001, and {part} is 1000, which is less"))
        );
        assert_eq!(with("sim:hard", 100), "", "others may have sliced less");
    }
}

#[test]
fn a_trials_seed_follows_from_the_headers_where_the_generator_is_ours() {
    let other = Trial { seed: 7, ..trial(1, 100, 0) };
    assert!(ours(&other).contains("seed is 7"));
    assert_eq!(against(&of("sim:hard?seed=3", &other)), "", "it has a seed of its own");
    assert_eq!(against(&of("replay:x", &other)), "");
    let mut watched = of("udp://127.0.0.1:7", &other);
    (watched.header.verb, watched.header.search) = ("watch".into(), None);
    assert_eq!(against(&watched), "", "nobody drew it");
    watched.header.verb = "trial".into();
    assert!(against(&watched).contains("seed is 7"));
}

#[test]
fn a_watch_hears_packets_that_are_shorter_than_ours_can_be() {
    let of_bytes = |verb: &str, packet_bytes| {
        let mut record = record(&[]);
        (record.header.verb, record.header.search) = (verb.into(), None);
        let more = record.header.profile.frame_bytes - record.header.profile.packet_bytes;
        (record.header.profile.packet_bytes, record.header.profile.frame_bytes) =
            (packet_bytes, packet_bytes + more);
        against(&record)
    };
    let shortest = dropline_trial::Packet::SHORTEST;
    assert_eq!((of_bytes("watch", 0), of_bytes("trial", shortest)), (String::new(), String::new()));
    assert!(of_bytes("trial", shortest - 1).contains("packet_bytes"));
    assert!(of_bytes("watch", 65_535).contains("packet_bytes"));
}

#[test]
fn the_turns_of_a_comparison_are_of_the_target_on_their_side() {
    let turns = |phase: Option<&str>, target: &str| {
        let mut record = of("sim:hard against sim:soft", &trial(1, 100, 0));
        (record.header.verb, record.header.search) = ("compare".into(), None);
        record.trials[0].target = target.into();
        record.trials[0].phase = phase.map(str::to_owned);
        against(&record)
    };
    for (phase, target) in [(Some("A"), "sim:hard"), (Some("B"), "sim:soft"), (None, "sim:soft")] {
        assert_eq!(turns(phase, target), "", "{phase:?} {target}");
    }
    for (phase, target) in [(Some("A"), "sim:soft"), (Some("B"), "sim:hard"), (Some("A"), "sim:har")] {
        assert!(turns(phase, target).contains("target is"), "{phase:?} {target}");
    }
}

#[test]
fn an_answer_has_the_level_and_the_reason_that_belong_to_it() {
    let trials = [(100, 0), (200, 20)];
    let of = |answer| against(&answered(&trials, &answer));
    for why in ["at_maximum", "below_minimum", "generator_limited", "target_starved", "unfinished"] {
        assert_eq!(of(json!({ "result": "irregular", "why": why })), "", "{why}");
        let regular = json!({ "result": "regular", "lower_pps": 100.0, "upper_pps": 200.0, "why": why });
        assert!(of(regular).contains("goal 1 is regular, and why is"), "{why}");
    }
    assert!(of(json!({ "result": "irregular" })).contains("goal 1 is irregular, and why is \"\""));
    let certified = json!({ "lower_pps": 200.0, "upper_pps": 100.0, "conditional_throughput_pps": null, "result": "regular" });
    let with = json!({ "result": "regular", "lower_pps": 100.0, "upper_pps": 200.0, "certified": certified });
    assert!(of(with).contains("\"lower_pps\" is 200"));
    let leveled = answered(&trials, &json!({ "result": "at_maximum", "lower_pps": 100.0, "level": 0.95 }));
    let level = |of_header| {
        changed(&leveled, |record| {
            let search = record.header.search.as_mut().unwrap();
            (search.algorithm, search.level) = ("credible".into(), Some(of_header));
        })
    };
    assert_eq!(level(0.95), "");
    assert!(level(0.9).contains("level of goal 1 is 0.95"));
}
