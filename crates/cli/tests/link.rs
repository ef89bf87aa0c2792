//! A bridge between two interfaces, measured by frames: `make test-link` installs what these need and runs them, as root; counts
//! are asserted, never durations.

#![allow(clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

mod command;

use command::Bench;
use dropline_lab::{Bottleneck, Bridged, Pair};
use serde_json::Value;
use std::time::{Duration, Instant};

const NEEDED: &str = "needs root and ethtool: make test-link";

/// A bridge whose ports take live frames, and the target that it is. Nothing but a trial's frames passes it: who asks for hardware
/// addresses is answered by nobody, and its interfaces have none of their own.
fn bridge() -> (Bridged, String) {
    let lab = Bridged::new().unwrap();
    for (namespace, device) in [(&lab.client, Pair::NEAR), (&lab.target, Pair::FAR)] {
        namespace.ip(&["addr", "flush", "dev", device]).unwrap();
    }
    let gro = ["-K", Bridged::TO_CLIENT, "gro", "on"];
    assert!(lab.bridge.command("ethtool").args(gro).status().expect(NEEDED).success(), "{NEEDED}");
    let target = format!("link:{}/{},{}/{}", lab.client.name(), Pair::NEAR, lab.target.name(), Pair::FAR);
    (lab, target)
}

fn trial(target: &str, more: &[&str]) -> Value {
    let bench = Bench::new();
    let words = [&["trial", target, "--frame=64B", "-q", "-o", "r.jsonl"], more].concat();
    let ended = bench.run(&words);
    // A busy machine makes trials that say more about it than about the target, and counts them all the same.
    assert!(matches!(ended.code, Some(0 | 3)), "{words:?}: {}", ended.errors);
    trials(&bench.read("r.jsonl")).pop().unwrap()
}

/// The trials of a record.
fn trials(record: &str) -> Vec<Value> {
    let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["line"] == "trial").collect()
}

fn count(trial: &Value, key: &str) -> u64 {
    trial[key].as_u64().unwrap_or_else(|| panic!("no {key} in {trial}"))
}

/// Every frame that left came out, found no room at our own end, or was lost at a place that has a counter.
fn closes(trial: &Value) {
    let places: u64 =
        trial["lost_at"].as_object().unwrap().values().map(|frames| frames.as_u64().unwrap()).sum();
    let (offered, forwarded) = (count(trial, "offered"), count(trial, "forwarded"));
    assert_eq!(offered, forwarded + count(trial, "generator_lost") + places, "{trial}");
    assert_eq!(count(&trial["lost_at"], "unexplained"), 0, "{trial}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn every_frame_over_a_bridge_is_counted_whichever_engine_sends_it() {
    for engine in ["auto", "xdp", "packet"] {
        let (lab, target) = bridge();
        let target = format!("{target}?engine={engine}");
        let trial = trial(&target, &["--load=50kpps", "--duration=2s"]);
        closes(&trial);
        let offered = count(&trial, "offered");
        assert!((90_000..=100_000).contains(&offered), "{trial}");
        assert_eq!((count(&trial, "duplicated"), count(&trial, "late")), (0, 0), "{trial}");
        // The bridge's own counter, but for a few frames that were tried, and one that teaches it.
        let shown = lab.bridge.ip(&["-s", "-j", "link", "show", "dev", Bridged::TO_TARGET]).unwrap();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let left = shown[0]["stats64"]["tx"]["packets"].as_u64().unwrap();
        let through = count(&trial, "forwarded");
        assert!((through + 1..=through + 6).contains(&left), "{left} of {through}: {trial}");
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
    let ended = bench.run(&[&words[..], &["--budget=60s", "-q", "-o", "r.jsonl"]].concat());
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
fn a_killed_trial_leaves_no_program_behind() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    let shown = || lab.target.ip(&["link", "show", "dev", Pair::FAR]).unwrap();
    let becomes = |there: bool| {
        let until = Instant::now() + Duration::from_secs(60);
        while shown().contains("xdp") != there && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(shown().contains("xdp"), there, "{}", shown());
    };
    for engine in ["xdp", "packet"] {
        let target = format!("{target}?engine={engine}");
        let words = ["trial", &target, "--load=10kpps", "--duration=600s", "-q", "-o", "-"];
        let mut command = bench.command(&words);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        becomes(true);
        child.kill().unwrap();
        child.wait().unwrap();
        becomes(false);
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn where_nothing_comes_out_nothing_but_a_few_frames_is_sent() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    lab.bridge.ip(&["link", "set", "dev", Bridged::TO_TARGET, "nomaster"]).unwrap();
    let ended = bench.run(&["trial", &target, "--load=10kpps", "--duration=1s", "-q", "-o", "-"]);
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    assert!(ended.errors.contains("none came out at"), "{}", ended.errors);
    let shown: Value =
        serde_json::from_str(&lab.client.ip(&["-s", "-j", "link", "show", "dev", Pair::NEAR]).unwrap())
            .unwrap();
    let left = shown[0]["stats64"]["tx"]["packets"].as_u64().unwrap();
    assert!(left <= 8, "{left} left");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn an_interface_that_others_use_is_refused_unless_they_do_not_mind() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    lab.client.ip(&["addr", "add", "10.9.0.1/24", "dev", Pair::NEAR]).unwrap();
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2"]).unwrap();
    let words = ["--load=1kpps", "--duration=100ms", "-q", "-o", "-"];
    let refused = bench.run(&[&["trial", &target], &words[..]].concat());
    assert_eq!(refused.code, Some(4), "{}", refused.errors);
    assert!(refused.errors.contains("carries the default route"), "{}", refused.errors);
    let used = bench.run(&[&["trial", &format!("{target}?used=yes")], &words[..]].concat());
    assert!(matches!(used.code, Some(0 | 3)), "{}", used.errors);
    lab.client.ip(&["route", "del", "default"]).unwrap();
    // By whatever name: it is the namespace in which the program runs.
    let named = [&["trial", &target], &words[..]].concat();
    let inside = lab.client.run(|| bench.command(&named).output()).unwrap().unwrap();
    let errors = String::from_utf8_lossy(&inside.stderr);
    assert!(inside.status.code() == Some(4) && errors.contains("has an address"), "{errors}");
    lab.target.set(&format!("net.ipv4.conf.{}.forwarding", Pair::FAR), "1").unwrap();
    lab.target.ip(&["link", "add", "uplink", "type", "veth", "peer", "name", "beyond"]).unwrap();
    lab.target.ip(&["addr", "add", "10.9.7.1/24", "dev", "uplink"]).unwrap();
    lab.target.ip(&["link", "set", "dev", "uplink", "up"]).unwrap();
    lab.target.ip(&["link", "set", "dev", "beyond", "up"]).unwrap();
    lab.target.ip(&["route", "add", "default", "via", "10.9.7.2"]).unwrap();
    let passing = bench.run(&named);
    assert!(passing.code == Some(4) && passing.errors.contains("passes on to others"), "{}", passing.errors);
    let own = bench.run(&[&["trial", "link:lo,lo"], &words[..]].concat());
    assert_eq!(own.code, Some(2), "{}", own.errors);
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn frames_end_where_their_interface_goes_or_nothing_comes_out_any_more() {
    let bench = Bench::new();
    for (engine, gone, said) in [
        ("xdp", true, "went away"),
        ("packet", true, "went away"),
        ("xdp", false, "none came out at"),
        ("packet", false, "none came out at"),
    ] {
        let (lab, target) = bridge();
        let sent = || {
            let shown = lab.client.ip(&["-s", "-j", "link", "show", "dev", Pair::NEAR]).unwrap();
            let shown: Value = serde_json::from_str(&shown).unwrap();
            shown[0]["stats64"]["tx"]["packets"].as_u64().unwrap()
        };
        let target = format!("{target}?engine={engine}");
        let words = ["trial", &target, "--load=10kpps", "--duration=300s", "-q", "-o", "-"];
        let child = bench.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while sent() < 1_000 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        match gone {
            true => lab.client.ip(&["link", "del", "dev", Pair::NEAR]).unwrap(),
            false => lab.bridge.ip(&["link", "set", "dev", Bridged::TO_TARGET, "nomaster"]).unwrap(),
        };
        let ended = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(4), "{engine}: {errors}");
        assert!(errors.contains(said), "{engine}: {errors}");
        if !gone {
            assert!(sent() < 300 * 10_000 / 2, "{engine}: {} left", sent());
        }
    }
}
