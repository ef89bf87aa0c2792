//! Pipelines of a user's: programs with tracepoints, started and measured. Counts are asserted, never durations.

mod command;
mod traced;

use command::{Bench, Ended, codes};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A target that is one of the programs with tracepoints.
fn part(parameters: &str, name: &str) -> String {
    format!("flowgraph:exec{parameters}:{}", traced::part(name))
}

fn thirty_lines_of_rust(parameters: &str) -> String {
    format!("flowgraph:exec{parameters}:'{}'", traced::thirty_lines_of_rust().display())
}

/// The thirty lines of C that the documents show, compiled.
fn thirty_lines_of_c() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c/trace/copy.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copy-c");
    let words = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-pthread", "-o"];
    assert!(Command::new("cc").args(words).args([&program, &source]).status().unwrap().success());
    program
}

fn trial(bench: &Bench, target: &str) -> Ended {
    bench.run(&["trial", target, "--duration=60s", "--json", "-q", "-o", "r.jsonl"])
}

#[test]
fn the_documents_show_the_examples_that_are_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let shown = read("docs/how-to/trace-a-pipeline.md");
    for example in ["crates/trace/examples/copy.rs", "c/trace/copy.c"] {
        // A lint of ours is no part of what a reader copies.
        let example = read(example).replace("#![allow(clippy::disallowed_methods)]\n\n", "");
        assert!(shown.contains(example.trim_end()), "docs/how-to/trace-a-pipeline.md shows another program");
        assert!(example.lines().count() <= 36, "thirty lines, or a few more");
    }
}

#[test]
fn every_granule_of_thirty_lines_of_rust_and_of_c_is_followed() {
    let c = format!("flowgraph:exec?granularity=32768:'{}'", thirty_lines_of_c().display());
    for target in [thirty_lines_of_rust("?granularity=32768"), c] {
        let bench = Bench::new();
        let ended = trial(&bench, &target);
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        let json = ended.json();
        assert_eq!(
            (&json["offered"], &json["forwarded"], &json["lost"]),
            (&32_768_000.into(), &32_768_000.into(), &0.into())
        );
        assert_eq!((&json["intended"], &json["delay_kind"]), (&Value::Null, &"passage".into()));
        let pipe = &json["passages"]["pipes"][0];
        let counts = &pipe["counts"];
        for (name, count) in
            [("tx", 1000), ("rx", 1000), ("passed", 1000), ("without_tx", 0), ("clocks_disagree", 0)]
        {
            assert_eq!(counts[name], count, "{name}: {counts}");
        }
        assert_eq!(pipe["percentiles"].as_array().unwrap().len(), 5);
        let slices = json["passages"]["timeline"]["lanes"][0]["slices"].as_array().unwrap();
        assert_eq!(slices.iter().map(|slice| slice[1].as_u64().unwrap()).sum::<u64>(), 1000);
        assert_eq!(json["passages"]["events"]["kept"], 2000);

        // The events beside the record are a trace, which reads as they were measured.
        let again = bench
            .done(&["trial", "flowgraph:ctf?granularity=32768:r.jsonl.events", "--json", "-q", "-o", "-"])
            .json();
        assert_eq!(again["passages"]["pipes"], json["passages"]["pipes"]);
        assert_eq!((&again["delay_ns"], &again["lost"]), (&json["delay_ns"], &json["lost"]));
    }
}

/// What the Trace Event Format (Google, "Trace Event Format", JSON Object Format) asks of each kind of event that is
/// written here.
fn check_chrome(trace: &Value) -> usize {
    assert!(matches!(trace["displayTimeUnit"].as_str(), Some("ms" | "ns")));
    let mut open = std::collections::BTreeMap::new();
    let mut passages = 0;
    for event in trace["traceEvents"].as_array().unwrap() {
        let ts = event["ts"].as_f64().unwrap();
        assert!(
            event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64() && ts >= 0.0,
            "{event}"
        );
        // Asynchronous events are one by category, id and process.
        let key = (event["cat"].to_string(), event["id"].to_string());
        match event["ph"].as_str().unwrap() {
            "b" => {
                assert!(event["cat"].is_string() && event["id"].is_string(), "{event}");
                assert_eq!(open.insert(key, ts), None, "{event}: begun twice");
            }
            "e" => {
                assert!(
                    open.remove(&key).is_some_and(|begun| begun <= ts),
                    "{event}: not begun, or ends before"
                );
                passages += 1;
            }
            "C" => assert!(event["args"].as_object().unwrap().values().all(Value::is_number), "{event}"),
            "M" => {
                assert!(matches!(event["name"].as_str(), Some("process_name" | "thread_name")), "{event}");
                assert!(event["args"]["name"].is_string(), "{event}");
            }
            other => panic!("{other} is no phase that is written here"),
        }
    }
    assert!(open.is_empty(), "begun and never ended: {open:?}");
    passages
}

#[test]
fn passages_are_exported_as_chromes_trace_events_and_as_a_trace() {
    let bench = Bench::new();
    assert_eq!(trial(&bench, &thirty_lines_of_rust("?granularity=32768")).code, Some(0));
    bench.done(&["export", "r.jsonl", "--to", "chrome", "-o", "r.json"]);
    assert_eq!(check_chrome(&serde_json::from_str(&bench.read("r.json")).unwrap()), 1000);
    let again: Value =
        serde_json::from_str(&bench.done(&["export", "r.jsonl", "--to", "chrome"]).text).unwrap();
    assert_eq!(check_chrome(&again), 1000);
    bench.done(&["export", "r.jsonl", "--to", "ctf", "-o", "r.ctf"]);
    let read = bench.done(&["trial", "flowgraph:ctf:r.ctf", "--json", "-q", "-o", "-"]).json();
    assert_eq!(read["passages"]["pipes"][0]["counts"]["passed"], 1000);
    for (words, code) in [
        (&["export", "r.jsonl", "--to", "ctf"][..], 2),
        (&["export", "r.jsonl", "--to", "ctf", "-o", "r.ctf"], 4),
        (&["export", "r.jsonl", "--to", "csv", "-o", "r.json"], 2),
    ] {
        assert_eq!(bench.run(words).code, Some(code), "{words:?}");
    }
    // The page of such a trial has its pipes.
    bench.done(&["report", "r.jsonl", "--html", "r.html"]);
    let page = bench.read("r.html");
    for plot in ["data-plot=\"lanes\"", "data-plot=\"heat\"", "The slowest passages"] {
        assert!(page.contains(plot), "{plot}");
    }
}

#[test]
fn a_trace_of_lttng_says_what_its_recorder_had_no_room_for() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ctf/tests/lttng");
    let bench = Bench::new();
    let ended =
        bench.run(&["trial", &format!("flowgraph:ctf:{}", trace.display()), "--json", "-q", "-o", "-"]);
    let json = ended.json();
    let recorder = &json["passages"]["recorder"];
    assert_eq!((&recorder["recorded"], &recorder["discarded"]), (&306.into(), &1695.into()), "{json}");
    assert_eq!((ended.code, codes(&json).contains(&"events_missing")), (Some(3), true));
    // Other names find nothing, and that is said.
    let other = format!("flowgraph:ctf?provider=futuresdr&pipe=block&n=items:{}", trace.display());
    let ended = bench.run(&["trial", &other, "-q", "-o", "-"]);
    assert_eq!((ended.code, ended.errors.contains("futuresdr:tx")), (Some(4), true), "{}", ended.errors);
}

#[test]
fn a_program_whose_lttng_provider_is_missing_runs_all_the_same() {
    let bench = Bench::new();
    let target = thirty_lines_of_rust("");
    let mut command = bench.command(&["trial", &target, "--json", "-q", "-o", "-"]);
    let ended = Ended::from(command.env("DROPLINE_LTTNG", "/nowhere/libdropline_lttng.so").output().unwrap());
    assert_eq!(ended.json()["forwarded"], 1000, "{}", ended.errors);
}

#[test]
fn a_ring_without_room_counts_what_it_could_not_take_and_the_trial_is_not_valid() {
    let bench = Bench::new();
    // Two events are all the room there is, so most are gone before anybody can look.
    let ended = trial(&bench, &thirty_lines_of_rust("?events=2&rings=2"));
    let json = ended.json();
    let recorder = &json["passages"]["recorder"];
    let all: u64 =
        ["recorded", "discarded", "homeless"].iter().map(|name| recorder[name].as_u64().unwrap()).sum();
    assert_eq!(all, 2000, "{recorder}");
    if recorder["recorded"] != 2000 {
        assert_eq!((ended.code, codes(&json).contains(&"events_missing")), (Some(3), true), "{json}");
        assert_eq!(json["lost"], 0, "what the recorder lost is not the pipeline's loss: {json}");
    }
}

#[test]
fn a_program_that_dies_leaves_what_it_had_recorded() {
    let bench = Bench::new();
    let json = trial(&bench, &part("", "a_hundred_granules_and_an_abort")).json();
    assert_eq!(json["forwarded"], 100);
    assert_eq!(json["passages"]["pipes"][0]["pipe"], 4);
    assert!(codes(&json).contains(&"program_failed"), "{json}");
}

#[test]
fn boundaries_that_a_source_does_not_trace_are_said() {
    let bench = Bench::new();
    let json = trial(&bench, &part("", "a_source_that_traces_every_second_boundary")).json();
    let counts = &json["passages"]["pipes"][0]["counts"];
    assert_eq!(
        (&counts["passed"], &counts["before_start"], &counts["without_tx"]),
        (&50.into(), &1.into(), &49.into())
    );
    assert!(codes(&json).contains(&"passages_unmatched"), "{json}");
}

#[test]
fn a_program_that_records_nothing_is_an_error_that_says_what_to_do() {
    let bench = Bench::new();
    let ended = trial(&bench, "flowgraph:exec:true");
    assert_eq!(ended.code, Some(4));
    assert!(ended.errors.contains("dropline_trace.h"), "{}", ended.errors);
    let ended = trial(&Bench::new(), "flowgraph:exec:/nowhere/at/all");
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    let ended = bench.run(&["trial", "flowgraph:ctf:/nowhere", "-q", "-o", "-"]);
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
}

/// A program in the place of the graphs', as a shell script.
fn in_the_place_of_a_graph(bench: &Bench, script: &str) -> Ended {
    use std::os::unix::fs::PermissionsExt as _;
    bench.write("dropline-futuresdr", &format!("#!/bin/sh\n{script}\n"));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bench.path("dropline-futuresdr"), executable).unwrap();
    let words = ["trial", "flowgraph:futuresdr?samples=1000", "--patience=200ms", "-q", "-o", "-"];
    let mut command = bench.command(&words);
    Ended::from(command.env("DROPLINE_FLOWGRAPHS", bench.path("")).output().unwrap())
}

#[test]
fn a_graph_that_stands_still_dies_or_answers_nonsense_is_an_error_that_says_so() {
    let bench = Bench::new();
    for (script, words) in [
        ("exec sleep 60", "neither moved a sample nor answered for 0.2 s"),
        ("echo no such scheduler >&2; exit 3", "no such scheduler"),
        ("read request; echo nonsense", "answered something that is not a trial"),
    ] {
        let ended = in_the_place_of_a_graph(&bench, script);
        assert_eq!((ended.code, ended.errors.contains(words)), (Some(4), true), "{script}: {}", ended.errors);
    }
}

#[test]
fn a_program_fails_a_check_by_its_percentiles() {
    let bench = Bench::new();
    let target = thirty_lines_of_rust("?granularity=32768");
    for (fail_if, code) in [("p50>1000s", 0), ("p99>1ns", 1), ("loss_ratio>0", 0)] {
        let ended = bench.run(&["trial", &target, "--fail-if", fail_if, "-q", "-o", "-"]);
        assert_eq!(ended.code, Some(code), "{fail_if}: {}", ended.errors);
    }
}

#[test]
fn a_program_at_its_own_pace_takes_no_load_and_is_not_searched() {
    let bench = Bench::new();
    let ended = bench.run(&["trial", "flowgraph:exec:true", "--load", "1Msps", "-q"]);
    assert_eq!((ended.code, ended.errors.contains("its own pace")), (Some(2), true), "{}", ended.errors);
    let ended = bench.run(&["search", "flowgraph:exec:true", "--max-load", "1Msps", "-q"]);
    assert_eq!((ended.code, ended.errors.contains("no load to search")), (Some(2), true), "{}", ended.errors);
}
