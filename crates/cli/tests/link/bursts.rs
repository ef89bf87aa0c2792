//! Back-to-back frames (RFC 9004).

use super::{Bench, Bridged, Pair, bridge, sent, signal, trials};
use dropline_lab::Bottleneck;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn the_longest_burst_of_each_frame_size_is_what_a_bucket_and_its_queue_hold() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    let (burst_bytes, limit_bytes) = (15_000, 6_000);
    Bottleneck { rate: "1mbit", burst_bytes, limit_bytes }.at(&lab.bridge, Bridged::TO_TARGET).unwrap();
    for frame in [64, 512, 1518_u32] {
        let record = format!("{frame}.jsonl");
        let words = ["search", &target, "--back-to-back=2", &format!("--frame={frame}B"), "-o", &record];
        let ended = bench.run(&words);
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        // The check sequence is not there. Each frame takes its bytes from the bucket; what finds too few waits, as many as have room.
        let bytes = frame - 4;
        let holds = f64::from(burst_bytes / bytes + limit_bytes / bytes);
        let mut longest: BTreeMap<String, (u64, u64, f64)> = BTreeMap::new();
        for trial in trials(&bench.read(&record)).iter().filter(|trial| trial["void"].is_null()) {
            let phase = trial["phase"].as_str().unwrap().to_owned();
            let (held, lost, filled) = longest.entry(phase).or_insert((0, u64::MAX, 0.0));
            let frames = trial["offered"].as_u64().unwrap();
            match trial["lost"].as_u64().unwrap() {
                // What comes into the bucket while the burst leaves.
                0 if frames > *held => {
                    let lasted_s = trial["duration_s"].as_f64().unwrap()
                        + trial["lateness_ns"]["max"].as_f64().unwrap() * 1e-9;
                    (*held, *filled) = (frames, 125_000.0 * lasted_s / f64::from(bytes));
                }
                0 => {}
                _ => *lost = frames.min(*lost),
            }
        }
        assert_eq!(longest.len(), 2);
        for (held, lost, filled) in longest.into_values() {
            assert_eq!(lost, held + 1, "{frame}");
            let longest = held as f64;
            assert!(
                holds - 1.0 <= longest && longest <= holds + filled + 1.0,
                "{held} of {holds} frames of {frame} B, {filled}"
            );
        }
        assert!(ended.text.contains("back to back") && ended.text.contains("9004)"), "{}", ended.text);
        // The record has the answer, whoever reads it.
        let shown = bench.run(&["report", &record, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.text).unwrap();
        let found = &shown["back_to_back"];
        assert_eq!(found["longest_frames"].as_array().unwrap().len(), 2, "{shown}");
        let mean = found["mean_frames"].as_f64().unwrap();
        assert!((holds - 1.0..).contains(&mean), "{shown}");
        let line = bench.run(&["report", &record, "--line"]);
        assert!(line.text.contains(&format!("{mean:.2} frames on the mean")), "{}", line.text);
    }
    let compared = |a: &str, b: &str| -> serde_json::Value {
        serde_json::from_str(&bench.run(&["compare", a, b, "--json"]).text).unwrap()
    };
    let same = compared("512.jsonl", "512.jsonl");
    let said = (&same["caveats"][0]["code"], &same["verdict"]);
    assert_eq!(said, (&"same_data".into(), &"no_evidence".into()), "{same}");
    let other = bench.run(&["compare", "64.jsonl", "512.jsonl"]);
    assert!(other.code == Some(2) && other.errors.contains("64 B"), "{}", other.errors);
    // One that was killed goes on where it stood.
    let record = bench.read("512.jsonl");
    let lines: Vec<&str> = record.lines().collect();
    std::fs::write(bench.path("cut.jsonl"), lines[..lines.len() - 3].join("\n") + "\n").unwrap();
    let resumed = bench.run(&["search", "--resume", "cut.jsonl"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.errors);
    let again = bench.read("cut.jsonl");
    assert!(again.starts_with(&lines[..lines.len() - 3].join("\n")), "{again}");
    assert_eq!(trials(&again).iter().filter(|trial| trial["phase"] == "burst 3").count(), 0);
    let result: serde_json::Value = serde_json::from_str(again.lines().last().unwrap()).unwrap();
    assert_eq!(result["back_to_back"]["longest_frames"].as_array().unwrap().len(), 2, "{result}");
    let ratio = compared("512.jsonl", "cut.jsonl")["ratio"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    let other = bench.run(&["search", "sim:hard", "--back-to-back"]);
    assert!(other.code == Some(2) && other.errors.contains("link:"), "{}", other.errors);
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_burst_in_which_the_sender_was_stopped_does_not_bound_the_longest() {
    let bench = Bench::new();
    let (lab, target) = bridge();
    // Of 6000 frames a second 5000 pass, and 100 beside: of 595 frames none is lost.
    let rule = "table bridge dropline { chain f { type filter hook forward priority 0; \
                udp dport 9 limit rate over 5000/second burst 100 packets drop; }; }";
    lab.bridge.nft(rule).unwrap();
    let words =
        ["search", &target, "--back-to-back=2", "--frame=64B", "--max-load=6kpps", "-q", "-o", "r.jsonl"];
    let mut child = bench.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Stopped in the middle of each of the first dozen long bursts: frames that left since it was quiet tell.
    let (mut before, mut last, mut since, mut stops) = (0, 0, Instant::now(), 0);
    while child.try_wait().unwrap().is_none() {
        let now = sent(&lab.client, Pair::NEAR);
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > Duration::from_millis(60) {
            before = now;
        }
        if now - before > 150 && stops < 12 {
            signal(&child, "STOP");
            std::thread::sleep(Duration::from_millis(50));
            signal(&child, "CONT");
            stops += 1;
        }
    }
    assert!(stops > 0);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let trials = trials(&bench.read("r.jsonl"));
    for trial in trials.iter().filter(|trial| trial["void"].is_null() && trial["lost"] != 0) {
        // A lump of ten frames is forgiven, and is as many fewer tokens.
        assert!(trial["offered"].as_u64().unwrap() > 560, "{trial}");
    }
}
