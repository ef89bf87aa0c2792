//! What is on its way when a trial has sent all.

use super::{Bench, bridge, codes, count, trial, trials};
use dropline_lab::{Bottleneck, Bridged};

/// One frame leaves each 420 ms.
const SLOW: Bottleneck<'_> = Bottleneck { rate: "2000bit", burst_bytes: 220, limit_bytes: 4_000 };

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_device_is_waited_for_as_long_as_its_first_frames_took() {
    let (lab, target) = bridge();
    lab.shape(&SLOW).unwrap();
    let trial = trial(&target, &["--load=100pps", "--duration=100ms", "--drain=60s"]);
    assert_eq!((count(&trial, "offered"), count(&trial, "forwarded")), (10, 10), "{trial}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn what_waits_in_a_queue_at_the_end_is_late_and_said_to_wait_there() {
    let (lab, target) = bridge();
    lab.shape(&SLOW).unwrap();
    let trial = trial(&target, &["--load=100pps", "--duration=200ms", "--drain=100ms"]);
    let (lost, late) =
        (count(&trial, "offered") - count(&trial, "forwarded"), count(&trial["lost_at"], "late"));
    assert!(lost > 0 && lost.abs_diff(late) <= 1, "one may leave between two looks: {trial}");
    assert!(codes(&trial).contains(&"still_queued"), "{trial}");
    // The judge stayed for them: the system has none to lead on.
    let queue = lab.bridge.tc(&["-s", "qdisc", "show", "dev", Bridged::TO_TARGET]).unwrap();
    assert!(queue.contains("backlog 0b 0p"), "{queue}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_search_waits_for_what_a_long_queue_still_holds_of_its_last_trial() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    // Three seconds of frames.
    lab.shape(&Bottleneck { rate: "64kbit", burst_bytes: 1_600, limit_bytes: 24_000 }).unwrap();
    let words = [
        "search",
        &target,
        "--frame=64B",
        "--goal=0",
        "--min-load=400pps",
        "--max-load=4kpps",
        "--drain=200ms",
    ];
    let ended = bench.run(&[&words[..], &["--max-trials=3", "-q", "-o", "r.jsonl"]].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let trials = trials(&bench.read("r.jsonl"));
    assert_eq!(trials.len(), 3);
    assert!(codes(&trials[0]).contains(&"still_queued"), "{}", trials[0]);
    assert!(count(&trials[1], "late") > 0, "{}", trials[1]);
}
