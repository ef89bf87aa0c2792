//! LTTng as the recorder, babeltrace2 as a reader, C++ and Python as languages. `make test-trace` installs what these
//! need and runs them; counts are asserted, never durations.

#![allow(clippy::disallowed_methods)]

mod command;
mod traced;

use command::{Bench, Ended};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const NEEDED: &str = "make test-trace installs it";

/// LTTng has one daemon for all tests: they take turns.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c/trace")
}

/// What `cargo xtask setup trace` built.
fn provider() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_dropline"));
    let built = program.ancestors().nth(2).unwrap().join("trace/libdropline_lttng.so");
    assert!(built.is_file(), "{} is missing: {NEEDED}", built.display());
    built
}

fn compiled(name: &str, compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let done = Command::new(compiler)
        .args(["-O2", "-pthread", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-o")
        .args([&program, &sources().join(source)])
        .status()
        .unwrap();
    assert!(done.success(), "{source}");
    program
}

fn trial(bench: &Bench, target: &str) -> Ended {
    let mut command = bench.command(&["trial", target, "--duration=60s", "--json", "-q", "-o", "r.jsonl"]);
    Ended::from(command.env("DROPLINE_LTTNG", provider()).output().unwrap())
}

fn counts(json: &Value) -> (u64, u64, u64) {
    let counts = &json["passages"]["pipes"][0]["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    (count("tx"), count("rx"), count("passed"))
}

/// Lines that babeltrace2 prints of a trace, one an event; it must not warn.
fn babeltrace(directory: &Path) -> usize {
    let read = Command::new("babeltrace2").arg(directory).output().expect(NEEDED);
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert_eq!(String::from_utf8_lossy(&read.stderr), "", "babeltrace2 warns");
    read.stdout.iter().filter(|&&byte| byte == b'\n').count()
}

/// Processes that run that program.
fn running(name: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let names = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|found| found.trim() == name).count()
}

#[test]
#[ignore = "needs LTTng: make test-trace"]
fn what_a_killed_run_had_of_lttng_ends_with_it_or_is_removed_by_the_next() {
    let _turn = TURN.lock();
    let bench = Bench::new();
    std::fs::create_dir(bench.path("tmp")).unwrap();
    let command = |words: &[&str]| {
        let mut command = bench.command(words);
        command.env("DROPLINE_LTTNG", provider()).env("TMPDIR", bench.path("tmp"));
        command
    };
    let left = || std::fs::read_dir(bench.path("tmp")).unwrap().count();
    let sessions = || {
        let listed = Command::new("lttng").args(["--no-sessiond", "list"]).output().unwrap();
        String::from_utf8_lossy(&listed.stdout).matches("dropline-lttng-").count()
    };
    let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !is_so() {
            assert!(std::time::Instant::now() < until, "{what}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    // With a daemon that the run starts, and with one that is there before and after it.
    let before = running("lttng-sessiond");
    for is_there in [false, true] {
        if is_there {
            let mut daemon = Command::new("lttng-sessiond");
            daemon.args(["--daemonize", "--no-kernel", "--pidfile"]).arg(bench.path("daemon"));
            assert!(daemon.status().unwrap().success());
        }
        let words = ["trial", "flowgraph:exec?recorder=lttng:sleep 1000", "--duration=600s", "-q", "-o", "-"];
        let mut run = command(&words).spawn().unwrap();
        let daemons = before + 1;
        wait_until("it makes a session", &|| running("lttng-sessiond") >= daemons && sessions() == 1);
        run.kill().unwrap();
        run.wait().unwrap();
        if !is_there {
            wait_until("its daemon ends", &|| running("lttng-sessiond") == before);
        }
        assert!(left() > 0, "a killed run removes nothing");
        let words = ["trial", "flowgraph:exec?recorder=lttng:true", "--duration=1s", "-q", "-o", "-"];
        command(&words).output().unwrap();
        assert_eq!((left(), sessions()), (0, 0), "the next one does");
    }
    // The test's own daemon.
    Command::new("kill").arg(bench.read("daemon").trim()).status().unwrap();
}

#[test]
#[ignore = "needs LTTng: make test-trace"]
fn an_enabled_session_gets_every_event_of_a_program_that_was_not_linked_with_lttng() {
    let _turn = TURN.lock();
    let c = compiled("lttng-copy", "cc", "copy.c", &["-std=c11", "-D_GNU_SOURCE"]);
    for program in [c, traced::thirty_lines_of_rust()] {
        let linked = Command::new("ldd").arg(&program).output().unwrap();
        assert!(!String::from_utf8_lossy(&linked.stdout).contains("lttng"), "it is linked with LTTng");
        let bench = Bench::new();
        let ended = trial(
            &bench,
            &format!("flowgraph:exec?granularity=32768&recorder=lttng:'{}'", program.display()),
        );
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        let json = ended.json();
        assert_eq!(counts(&json), (1000, 1000, 1000), "{json}");
        let recorder = &json["passages"]["recorder"];
        assert_eq!((&recorder["name"], &recorder["discarded"]), (&"lttng".into(), &0.into()));
        assert_eq!(babeltrace(&bench.path("r.jsonl.events")), 2000);
        bench.done(&["export", "r.jsonl", "--to", "chrome", "-o", "r.json"]);
    }
}

#[test]
#[ignore = "needs LTTng: make test-trace"]
fn a_session_that_gets_no_event_is_an_error() {
    let _turn = TURN.lock();
    let bench = Bench::new();
    let ended = trial(&bench, "flowgraph:exec?recorder=lttng:true");
    assert_eq!((ended.code, ended.errors.contains("got no event")), (Some(4), true), "{}", ended.errors);
}

/// Pipes of the program that two recorders follow.
const PIPES: u32 = 11;

#[test]
#[ignore = "needs LTTng: make test-trace"]
fn two_recorders_of_one_run_give_the_same_percentiles() {
    let _turn = TURN.lock();
    let bench = Bench::new();
    let part = traced::part("granules_that_take_ten_milliseconds");
    let ended = trial(&bench, &format!("flowgraph:exec?recorder=both:{part} {PIPES}"));
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let ring = ended.json();
    let lttng = bench.done(&["trial", "flowgraph:ctf:r.jsonl.events", "--json", "-q", "-o", "-"]).json();
    assert_eq!((counts(&ring), counts(&lttng)), ((100, 100, 100), (100, 100, 100)));
    assert_eq!(ring["passages"]["recorder"]["name"], "ring");
    let percentile = |json: &Value, pipe: usize, at: usize| {
        json["passages"]["pipes"][pipe]["percentiles"][at]["value_ns"].as_f64().unwrap()
    };
    // p5, p50 and p95. Each delay is of 10 ms at least: threads would have to stand still between the two stamps of an
    // event in five of a hundred, in half of the pipes.
    for at in 0..3 {
        let apart = |pipe| (percentile(&lttng, pipe, at) / percentile(&ring, pipe, at) - 1.0).abs();
        let mut apart: Vec<f64> = (0..PIPES as usize).map(apart).collect();
        apart.sort_by(f64::total_cmp);
        assert!(apart[PIPES as usize / 2] < 0.01, "percentile {at}: {apart:?}");
    }
}

#[test]
#[ignore = "needs babeltrace2: make test-trace"]
fn babeltrace2_reads_what_our_rings_recorded() {
    let bench = Bench::new();
    let program = compiled("babeltrace-copy", "cc", "copy.c", &["-std=c11", "-D_GNU_SOURCE"]);
    let ended = trial(&bench, &format!("flowgraph:exec:'{}'", program.display()));
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    bench.done(&["export", "r.jsonl", "--to", "ctf", "-o", "r.ctf"]);
    assert_eq!(babeltrace(&bench.path("r.ctf")), 2000);
}

#[test]
#[ignore = "needs Python: make test-trace"]
fn programs_in_cplusplus_and_in_python_are_followed() {
    let cplusplus = compiled("copy-cpp", "c++", "copy.cpp", &["-std=c++11"]);
    let library = compiled(
        "libdropline_trace.so",
        "cc",
        "python/dropline_trace.c",
        &["-D_GNU_SOURCE", "-shared", "-fPIC"],
    );
    let python = format!("python3 '{}'", sources().join("python/copy.py").display());
    for (command, pipe) in [(format!("'{}'", cplusplus.display()), 2), (python, 3)] {
        let bench = Bench::new();
        let target = format!("flowgraph:exec?granularity=1000:{command}");
        let mut trial = bench.command(&["trial", &target, "--json", "-q", "-o", "-"]);
        let ended = Ended::from(
            trial
                .env("DROPLINE_TRACE_LIBRARY", &library)
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .output()
                .unwrap(),
        );
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.errors);
        let json = ended.json();
        assert_eq!((counts(&json), &json["offered"]), ((250, 250, 250), &250_000.into()), "{command}");
        assert_eq!(json["passages"]["pipes"][0]["pipe"], pipe);
    }
}
