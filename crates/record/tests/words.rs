//! What lines say by themselves: their words, their units, and the numbers that they hold for computing.

use dropline_record::{
    ArrivalsLine, ComparedSearches, DistributionLine, Header, LoadUnit, Purpose, TrialLine,
};
use dropline_stats::{Counted, Event, Meaning, Rounding};
use dropline_trial::graph::{Graph, Residence};
use dropline_trial::{
    ArrivalFidelity, Cycles, Direction, Extra, Passages, Rate, Replied, SampledLateness, Spaced, Stamp,
    Thought, Trial, TrialInput, Wakeups,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Numbers that differ from one another and from those of any other `from`.
fn spaced(from: u64) -> Spaced {
    let of = |n: u64| Some((from * 100 + n) as f64 / 8.0);
    Spaced {
        packets: from * 100 + 1,
        mean_gap_ns: of(2),
        variation: of(3),
        ks: of(4),
        ks_ideal: of(5),
        within_tenth: of(6),
        dispersion: [of(7), of(8), of(9)],
        backward: from * 100 + 10,
        stamp: if from.is_multiple_of(2) { Stamp::Kernel } else { Stamp::App },
    }
}

#[test]
fn arrivals_come_back_as_what_was_measured() {
    let kept = ArrivalFidelity {
        rate_error: Some(-0.25),
        intended: Some(spaced(1)),
        left: Some(spaced(2)),
        sampled: Some(spaced(3)),
        sampled_lateness: Some(SampledLateness { packets: 41, p50_ns: Some(42), p99_ns: Some(43) }),
        arrived: Some(spaced(5)),
        thought: Some(Thought { asked_ns: 61.5, slept: spaced(6) }),
        send_cost_ns: Some(71),
        ks_floor: Some(0.75),
    };
    assert_eq!(ArrivalsLine::from(&kept).kept(), kept);
}

#[test]
fn what_a_load_counts_has_its_units() {
    assert_eq!(LoadUnit::Packets.rates(), ["pps", "kpps", "Mpps", "Gpps"]);
    assert_eq!(LoadUnit::Samples.rates(), ["sps", "ksps", "Msps", "Gsps"]);
    assert_eq!(LoadUnit::Cycles.rates(), ["Hz", "kHz", "MHz", "GHz"]);
    assert_eq!(LoadUnit::Wakeups.rates(), ["/s", "k/s", "M/s", "G/s"]);
}

#[test]
fn a_record_of_one_trial_is_known_by_its_verb() {
    let stored = include_str!("records/dropline-1.jsonl").lines().next().unwrap();
    for (verb, one) in [("trial", true), ("watch", true), ("search", false), ("compare", false)] {
        let mut header: Value = serde_json::from_str(stored).unwrap();
        header["verb"] = verb.into();
        let header: Header = serde_json::from_value(header).unwrap();
        assert_eq!(header.is_of_one_trial(), one, "{verb}");
    }
}

#[test]
fn a_limit_that_regressed_is_worse_and_nothing_else_is() {
    let side = json!({
        "source": "a", "target": "sim:hard", "algorithm": "mlr", "started": "", "trials": 1, "elapsed_s": 1.0,
    });
    for (verdict, worse) in [
        ("regressed", true),
        ("mixed", true),
        ("improved", false),
        ("equivalent", false),
        ("no_evidence", false),
    ] {
        let compared = json!({
            "verdict": verdict, "goals": [], "smallest_effect": 0.0, "load_unit": "packets", "a": side, "b": side,
            "estimator": "", "caveats": [],
        });
        match serde_json::from_value::<ComparedSearches>(compared) {
            Ok(compared) => assert_eq!(compared.is_worse(), worse, "{verdict}"),
            Err(why) => panic!("{why}"),
        }
    }
}

#[test]
fn each_meaning_of_an_event_comes_back() {
    for event in [Event::Each, Event::MaximumOf(48), Event::Unknown] {
        for rounding in [Rounding::Floor, Rounding::Round] {
            for quantum_ns in [1.0, 0.1] {
                let meaning = Meaning { unit_ns: 1000, quantum_ns, rounding, event };
                let counted = Counted::ranges(meaning, [(1, 2, 3)], None).unwrap();
                let line = DistributionLine::new("file", "raw", "part", &counted, &[]);
                assert_eq!(line.counted().unwrap().meaning(), meaning);
            }
        }
    }
}

#[test]
fn what_one_kind_of_target_adds_comes_back_as_that_kind_with_its_old_names() {
    let graph = Graph {
        stages: 3,
        residence: vec![Residence { block: 1, ..Residence::default() }],
        ..Graph::default()
    };
    let passages = Passages { granularity: Some(64), ..Passages::default() };
    let input = TrialInput { load: Rate::pps(1e3).unwrap(), duration: Duration::from_secs(1) };
    let direction =
        Direction::of("west", &Trial { intended: Some(9), offered: 7, ..Trial::new(1, input, 7) });
    let kinds = [
        (vec!["cycles"], Extra::Cycles(Cycles { beyond: 2, xruns: 5, ..Cycles::default() })),
        (vec!["directions"], Extra::Directions(vec![direction])),
        (vec!["passages", "graph"], Extra::Graph(Box::new(graph.clone()), Some(passages.clone()))),
        (vec!["graph"], Extra::Graph(Box::new(graph), None)),
        (vec!["passages"], Extra::Passages(passages)),
        (vec!["replies"], Extra::Replied(Replied { classes: [("noerror".into(), 7)].into(), bytes: None })),
        (
            vec!["replies"],
            Extra::Replied(Replied { classes: [("noerror".into(), 7)].into(), bytes: Some(364) }),
        ),
        (vec!["woken"], Extra::Wakeups(Wakeups { policy: "SCHED_FIFO 80".into(), ..Wakeups::default() })),
    ];
    for (names, extra) in kinds {
        let input = TrialInput { load: Rate::pps(1e3).unwrap(), duration: Duration::from_secs(1) };
        let trial = Trial { extra: Some(extra), ..Trial::new(1, input, 7) };
        let line = TrialLine::new(&trial, "t", "constant", Purpose::Trial, Duration::ZERO);
        let written = serde_json::to_value(&line).unwrap();
        let all = ["woken", "passages", "cycles", "directions", "graph", "replies"];
        let found: Vec<_> = all.into_iter().filter(|name| written.get(name).is_some()).collect();
        assert_eq!(found, names);
        let read: TrialLine = serde_json::from_value(written).unwrap();
        assert_eq!(read.trial().unwrap().extra, trial.extra);
    }
}
