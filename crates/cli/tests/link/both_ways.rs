//! Frames that go both ways at once.

use super::{Bench, Bridged, Pair, bridge, closes, codes, count, ready_both, sent, trial, trials};
use dropline_lab::{Bottleneck, End, Namespace, connect};
use serde_json::Value;

const BOTH: &str = "--directions=west=1,east=1";

/// The first direction of a trial and the second, whose counts sum to those of the trial.
fn directions(trial: &Value) -> [&Value; 2] {
    let directions = trial["directions"].as_array().unwrap_or_else(|| panic!("no directions in {trial}"));
    for key in ["intended", "offered", "forwarded", "generator_lost", "lost"] {
        assert_eq!(
            directions.iter().map(|one| count(one, key)).sum::<u64>(),
            count(trial, key),
            "{key}: {trial}"
        );
    }
    directions.iter().for_each(closes);
    directions.iter().collect::<Vec<_>>().try_into().unwrap()
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn each_direction_has_its_share_of_the_load_and_its_own_counts_and_places() {
    for engine in ["xdp", "packet"] {
        let (lab, target) = bridge();
        ready_both(&lab.bridge);
        // Of what goes to the client, a tenth is lost.
        let rule = format!(
            "table bridge dropline {{ chain f {{ type filter hook forward priority 0; \
             oifname \"{}\" udp dport 9 numgen inc mod 10 == 9 drop; }}; }}",
            Bridged::TO_CLIENT
        );
        lab.bridge.nft(&rule).unwrap();
        let target = format!("{target}?engine={engine}");
        let trial = trial(&target, &["--load=30kpps", "--duration=1s", "--directions=west=2,east=1"]);
        closes(&trial);
        let [west, east] = directions(&trial);
        assert_eq!((&west["name"], &east["name"]), (&"west".into(), &"east".into()));
        assert_eq!((count(west, "intended"), count(east, "intended")), (20_000, 10_000), "{trial}");
        assert_eq!(count(west, "lost"), 0, "{trial}");
        let (offered, dropped) = (count(east, "offered"), count(&east["lost_at"], "netfilter"));
        assert!(offered > 2_000 && dropped.abs_diff(offered / 10) <= 1, "{trial}");
        for one in [west, east] {
            assert_eq!(count(&one["delay_ns"], "count"), count(one, "forwarded"), "{trial}");
        }
        let left = sent(&lab.bridge, Bridged::TO_TARGET);
        let through = count(west, "forwarded");
        assert!((through + 1..=through + 20).contains(&left), "{left} of {through}: {trial}");
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_search_finds_where_both_directions_hold_and_tells_each_ones_own_limit() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    ready_both(&lab.bridge);
    let shapers = [("8mbit", Bridged::TO_TARGET, 1e6), ("4mbit", Bridged::TO_CLIENT, 0.5e6)];
    for (rate, port, _) in shapers {
        Bottleneck { rate, burst_bytes: 15_000, limit_bytes: 3_000 }.at(&lab.bridge, port).unwrap();
    }
    // Of a second's frames of 106 bytes.
    let [_, east] = shapers.map(|(_, _, bytes)| (bytes + 15_000.0 + 3_000.0) / 106.0);
    let words =
        ["search", &target, "--packet=64B", "--goal=0", "--min-load=2kpps", "--max-load=40kpps", BOTH];
    let ended = bench.run(&[&words[..], &["--budget=25s", "-o", "r.jsonl"]].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let record = bench.read("r.jsonl");
    let mut held = [0.0_f64; 2];
    for trial in trials(&record) {
        closes(&trial);
        let seconds = trial["duration_s"].as_f64().unwrap();
        let late_s = trial["lateness_ns"]["max"].as_f64().unwrap_or(0.0) * 1e-9;
        for ((held, one), (_, _, bytes)) in held.iter_mut().zip(directions(&trial)).zip(shapers) {
            let lost: u64 = count(one, "lost");
            assert_eq!(one["lost_at"]["qdisc"].as_u64().unwrap_or(0), lost, "{trial}");
            let load = one["intended_load_pps"].as_f64().unwrap();
            match lost {
                0 if trial["void"].is_null() => {
                    // The bucket is as full as the last trial left it; a shorter trial, and what leaves late, find more in it.
                    let most = (bytes * (seconds + late_s) + 18_000.0) / (106.0 * seconds);
                    assert!(load <= most * 1.005, "{load} {most}: {trial}");
                    *held = held.max(load);
                }
                0 => {}
                // All that is due in the trial is too much, or what the sender kept back for so long and let go at once.
                _ => {
                    let whole = (bytes * seconds + 18_000.0) / (106.0 * (seconds + late_s));
                    let lump = 18_000.0 / (106.0 * late_s);
                    assert!(whole.min(lump) * 0.99 <= load, "{load} {whole} {lump}: {trial}");
                }
            }
        }
    }
    assert!(held.iter().all(|held| *held > 0.0), "{held:?}");
    let result = record.lines().find(|line| line.contains("\"line\":\"result\"")).unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    let bound = |key: &str| result["goals"][0][key].as_f64();
    // The slower of both shapers, to a frame in each direction.
    assert!(bound("lower_pps").is_none_or(|lower| lower <= 2.0 * east + 2.0), "{east}: {result}");
    assert!(bound("upper_pps").is_none_or(|upper| 2.0 * east - 2.0 <= upper), "{east}: {result}");
    let report = bench.run(&["report", "r.jsonl"]);
    assert!(report.text.contains("west alone") && report.text.contains("east alone"), "{}", report.text);
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_router_is_asked_on_either_side_and_answered_there() {
    let [client, middle, target] = ["client", "router", "target"].map(|role| Namespace::new(role).unwrap());
    for (namespace, device, port, address) in [
        (&client, Pair::NEAR, Bridged::TO_CLIENT, "10.7.1.1/24"),
        (&target, Pair::FAR, Bridged::TO_TARGET, "10.7.2.1/24"),
    ] {
        let end = End { namespace, device, address: None };
        connect(end, End { namespace: &middle, device: port, address: Some(address) }).unwrap();
    }
    middle.set("net.ipv4.ip_forward", "1").unwrap();
    ready_both(&middle);
    let target = format!(
        "link:{}/{},{}/{}?via=10.7.1.1,10.7.2.1&src=10.7.1.2&dst=10.7.2.2&flows=4",
        client.name(),
        Pair::NEAR,
        target.name(),
        Pair::FAR
    );
    let trial = trial(&target, &["--load=10kpps", "--duration=500ms", BOTH]);
    closes(&trial);
    for one in directions(&trial) {
        let (offered, forwarded) = (count(one, "offered"), count(one, "forwarded"));
        assert!(offered > 500 && 2 * forwarded > offered, "{trial}");
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn frames_by_which_a_bridge_learns_are_not_those_of_other_programs() {
    let (lab, target) = bridge();
    ready_both(&lab.bridge);
    Bottleneck { rate: "1mbit", burst_bytes: 240, limit_bytes: 2_400 }
        .at(&lab.bridge, Bridged::TO_CLIENT)
        .unwrap();
    let words = ["--load=5kpps", "--duration=3500ms", "--directions=west=1,east=3"];
    let trial = trial(&target, &words);
    closes(&trial);
    assert!(count(&trial["lost_at"], "qdisc") > 0, "{trial}");
    assert!(!codes(&trial).contains(&"counters_shared"), "{trial}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn explain_says_how_one_direction_is_explained_and_that_does_it() {
    let bench = Bench::new();
    let (_lab, target) = bridge();
    let words =
        ["trial", &target, "--load=3kpps", "--frame=256B", "--duration=200ms", "--directions=west=2,east=1"];
    let ended = bench.run(&[&words[..], &["-v", "-o", "r.jsonl"]].concat());
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    // Lines end where a terminal does.
    let in_one = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one(&ended.text).contains("learning frames before each trial"), "{}", ended.text);
    let refused = bench.run(&["explain", "r.jsonl"]);
    let said = in_one(&refused.errors);
    assert!(said.contains("several directions"), "{said}");
    let (_, command) = said.split_once("in west by dropline ").unwrap_or_else(|| panic!("{said}"));
    let (command, _) = command.split_once(" , in another").unwrap_or_else(|| panic!("{said}"));
    let command = command.replace('\'', "");
    assert!(command.contains("--frame 256B --load 2000pps"), "{command}");
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend(["-q", "-o", "one.jsonl"]);
    let ended = bench.run(&words);
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.errors);
    let explained = bench.run(&["explain", "one.jsonl"]);
    assert_eq!(explained.code, Some(0), "{}", explained.errors);
}
