//! Back-to-back frames (RFC 9004).

use super::{Bench, Bridged, bridge, trials};
use dropline_lab::Bottleneck;
use std::collections::BTreeMap;

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
        assert!(ended.text.contains("back to back") && ended.text.contains("RFC 9004"), "{}", ended.text);
    }
    let other = bench.run(&["search", "sim:hard", "--back-to-back"]);
    assert!(other.code == Some(2) && other.errors.contains("link:"), "{}", other.errors);
}
