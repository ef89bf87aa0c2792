//! Graphs of FutureSDR and GNU Radio as a user measures and searches them. `make test-flowgraph` installs what these need
//! and runs them; counts are asserted, never durations.

mod command;

use command::{Bench, Ended, codes};
use serde_json::Value;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
#[ignore = "needs FutureSDR: make test-flowgraph"]
fn a_search_finds_where_a_graph_falls_behind_and_counts_samples() {
    let bench = Bench::new();
    let target = "flowgraph:futuresdr?pipes=2&stages=2&scheduler=smol1&backlog=10ms";
    let words = ["search", target, "--goal", "0.5%,trial=200ms,initial=200ms,width=20%", "--budget", "3s"];
    let ended = bench.run(&[&words[..], &["-o", "r.jsonl"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    assert!(ended.text.contains("sps") && !ended.text.contains("pps"), "{}", ended.text);
    assert!(ended.errors.contains("sps") && !ended.errors.contains("pps"), "{}", ended.errors);
    assert!(!ended.text.contains("payload"), "samples have no frames: {}", ended.text);
    let record: Vec<Value> =
        bench.read("r.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&record[0]["load_unit"], &record[0]["load_is"]),
        (&"samples".into(), &"the sum over all pipes".into())
    );
    let trials: Vec<&Value> = record.iter().filter(|line| line["line"] == "trial").collect();
    assert!(!trials.is_empty());
    for trial in trials {
        // Whatever was lost was lost in front of the graph.
        let at = |place: &str| trial["lost_at"][place].as_u64().unwrap_or(0);
        assert_eq!((Some(at("service_queue")), at("unexplained")), (trial["lost"].as_u64(), 0), "{trial}");
        assert_eq!(trial["offered"], trial["intended"]);
    }
}

#[test]
#[ignore = "needs FutureSDR: make test-flowgraph"]
fn the_scenario_for_continuous_integration_fails_only_by_its_percentiles() {
    let bench = Bench::new();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/flowgraph-latency.toml");
    let scenario = scenario.to_str().unwrap();
    let target = "flowgraph:futuresdr?pipes=6&stages=6&scheduler=flow&samples=20000000&warm-up=auto";
    let words = ["trial", target, "--scenario", scenario, "-q", "-o", "-"];
    let run = |fail_if: &str| bench.run(&[&words[..], &["--fail-if", fail_if]].concat());
    for (fail_if, code) in [("p50>1000s", 0), ("p50>1ns", 1)] {
        let ended = run(fail_if);
        assert_eq!(ended.code, Some(code), "{fail_if}: {}", ended.errors);
    }
    // As it stands, on a machine of any speed.
    let ended = bench.run(&words);
    assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.errors);
}

#[test]
#[ignore = "needs FutureSDR and GNU Radio: make test-flowgraph"]
fn ctrl_c_in_a_terminal_keeps_what_a_graph_had_passed_on() {
    for target in ["flowgraph:futuresdr?pipes=2&stages=2", "flowgraph:gnuradio?pipes=2&stages=2"] {
        let bench = Bench::new();
        let words = ["trial", target, "--duration=120s", "--json", "-q", "-o", "r.jsonl"];
        let mut command = bench.command(&words);
        // As a terminal starts it: signalled with all that it started.
        let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_bytes(&bench.path("r.jsonl.events"), 1 << 14);
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
        let ended = Ended::from(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(130), "{target}: {}", ended.errors);
        let trial = ended.json();
        assert!(codes(&trial).contains(&"interrupted"), "{target}: {trial}");
        assert!(trial["passages"]["pipes"][0]["counts"]["passed"].as_u64().unwrap() > 0, "{target}: {trial}");
    }
}

/// Waits until the files of a directory have so many bytes together.
fn wait_for_bytes(directory: &Path, bytes: u64) {
    for _ in 0..1200 {
        let files = directory.read_dir().into_iter().flatten().flatten();
        let written: u64 = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        if written >= bytes {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} never had {bytes} bytes", directory.display());
}
