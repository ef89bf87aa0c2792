//! What trials count, and where frames were lost.

use super::{Bench, bridge, closes, codes, count, sent, trial, trial_of, trials};
use dropline_lab::{Bottleneck, Bridged, Pair};
use serde_json::Value;

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn every_frame_over_a_bridge_is_counted_whichever_engine_sends_it() {
    for engine in ["auto", "xdp", "packet"] {
        let (lab, target) = bridge();
        let target = format!("{target}?engine={engine}");
        let trial = trial(&target, &["--load=50kpps", "--duration=2s"]);
        closes(&trial);
        let offered = count(&trial, "offered");
        assert!((20_000..=100_000).contains(&offered), "{trial}");
        assert_eq!((count(&trial, "duplicated"), count(&trial, "late")), (0, 0), "{trial}");
        // The bridge's own counter, but for a few frames that were tried, and one that teaches it.
        let left = sent(&lab.bridge, Bridged::TO_TARGET);
        let through = count(&trial, "forwarded");
        assert!((through + 1..=through + 8).contains(&left), "{left} of {through}: {trial}");
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_frame_that_a_rule_of_the_bridge_drops_is_at_that_place() {
    let (lab, target) = bridge();
    // Of those that are tried before, some pass.
    let rule = "table bridge dropline { chain f { type filter hook forward priority 0; udp dport 9 numgen inc mod 10 == 9 drop; }; }";
    lab.bridge.nft(rule).unwrap();
    let trial = trial(&target, &["--load=20kpps", "--duration=1s"]);
    closes(&trial);
    let (offered, dropped) = (count(&trial, "offered"), count(&trial["lost_at"], "netfilter"));
    assert!(dropped.abs_diff(offered / 10) <= 1, "{trial}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_search_finds_the_limit_of_a_shaper_and_every_loss_is_at_its_queue() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    lab.shape(&Bottleneck { rate: "8mbit", burst_bytes: 15_000, limit_bytes: 3_000 }).unwrap();
    // A second's frames of 106 bytes that a bucket of so many lets through: 10⁶ and what it holds.
    let truth = (1e6 + 15_000.0 + 3_000.0) / 106.0;
    let words = ["search", &target, "--packet=64B", "--goal=0", "--min-load=1kpps", "--max-load=40kpps"];
    let ended = bench.run(&[&words[..], &["--budget=25s", "-q", "-o", "r.jsonl"]].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let record = bench.read("r.jsonl");
    let trials = trials(&record);
    trials.iter().for_each(closes);
    let lost: u64 = trials.iter().map(|trial| count(trial, "offered") - count(trial, "forwarded")).sum();
    let queued: u64 = trials.iter().map(|trial| trial["lost_at"]["qdisc"].as_u64().unwrap_or(0)).sum();
    assert!(lost > 0 && lost == queued, "{lost} lost, {queued} at the queue: {record}");
    let result = record.lines().find(|line| line.contains("\"line\":\"result\"")).unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    let bound = |key: &str| result["goals"][0][key].as_f64();
    // A machine that is too busy for any trial states no bound.
    assert!(bound("lower_pps").is_none_or(|lower| lower <= truth), "{truth}: {result}");
    assert!(bound("upper_pps").is_none_or(|upper| truth <= upper), "{truth}: {result}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn frames_pass_what_stands_in_front_of_the_first_interface() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    Bottleneck { rate: "80kbit", burst_bytes: 1_500, limit_bytes: 3_000 }
        .at(&lab.client, Pair::NEAR)
        .unwrap();
    let words = ["--load=1kpps", "--duration=200ms", "-q", "-o", "r.jsonl"];
    let ended = bench.run(&[&["trial", &target], &words[..]].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let record = bench.read("r.jsonl");
    assert!(
        record.contains("would pass by the queueing discipline tbf") && record.contains("raw socket"),
        "{record}"
    );
    // What its queue had no room for was not offered, and is not for want of a CPU.
    let trial = trial_of(&record);
    let limited = trial["caveats"].as_array().unwrap().iter().find(|one| one["code"] == "generator_limited");
    assert!(limited.is_some_and(|caveat| caveat.to_string().contains("queue of interface near")), "{trial}");
    let forced = bench.run(&[&["trial", &format!("{target}?engine=xdp")], &words[..4], &["-"]].concat());
    assert!(forced.code == Some(4) && forced.errors.contains("queueing discipline tbf"), "{}", forced.errors);
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_frame_that_came_out_for_another_port_is_told_as_changed_and_nothing_of_sockets() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    let rule = "table bridge dropline { chain f { type filter hook forward priority 0; \
                udp dport 9 numgen inc mod 10 == 9 udp dport set 10; }; }";
    lab.bridge.nft(rule).unwrap();
    let words = ["trial", &target, "--load=2kpps", "--duration=500ms", "-o", "r.jsonl"];
    let ended = bench.run(&words);
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let trial = trial_of(&bench.read("r.jsonl"));
    let (offered, changed) = (count(&trial, "offered"), count(&trial, "reply_changed"));
    assert!(changed.abs_diff(offered / 10) <= 1 && codes(&trial).contains(&"frames_differ"), "{trial}");
    let explained = bench.run(&["explain", "r.jsonl"]);
    for text in [&ended.text, &explained.text] {
        assert!(!text.contains("socket") && !text.contains("reply=any"), "{text}");
    }
    assert!(ended.text.contains("came out changed"), "{}", ended.text);
}
