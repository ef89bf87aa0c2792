//! Clients with their own clocks: processes of this program. Counts are asserted, never durations.

#![allow(clippy::disallowed_methods)]

mod command;

use command::{Bench, interrupt, wait_for_lines};
use serde_json::Value;
use std::net::UdpSocket;
use std::process::Stdio;
use std::sync::mpsc::channel;

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn every_packet_of_every_client_is_served_or_dropped() {
    let bench = Bench::new();
    for arrival in ["yield:n=4", "clients:n=8,think=exp(1ms)", "clients:n=8,think=tick(20ms)"] {
        let times = format!("times of {}", arrival.split(':').collect::<Vec<_>>().join(" "));
        let words = ["--service-time", "50us", "--queue", "0", "--json", "--times", &times];
        let service = bench.serve(&words);
        let target = format!("{}?reply=none", service.target());
        let words = ["trial", &target, "--duration=300ms", "--arrival", arrival, "--json", "-q", "-o", "-"];
        let json = bench.run(&words).json();
        let served: Value = serde_json::from_str(&service.interrupt()).unwrap();
        assert!(count(&json["offered"]) > 0, "{arrival}: {json}");
        assert_eq!(count(&json["forwarded"]), count(&served["unanswered"]), "{arrival}: {served}");
        // The questions how many arrived come to the same socket, and find it full too. A tenth of a second is waited for the
        // answer to each, for as long as a service that gets no CPU is not through.
        let [lasted, elapsed] = ["duration_s", "elapsed_s"].map(|key| json[key].as_f64().unwrap());
        let asked = 5.max((10.0 * (elapsed - lasted)) as u64);
        let questions = count(&served["dropped_socket"]).checked_sub(count(&json["lost"]));
        assert!(questions.is_some_and(|questions| questions <= asked), "{arrival}: {json} {served}");
        let times = bench.read(&times);
        assert_eq!(times.lines().count() as u64, count(&served["received"]), "{arrival}");
        // It intended nothing, so nothing of what it intended is missing.
        assert!(json["intended"].is_null() && json["trial_loss_ratio"].is_null(), "{arrival}: {json}");
        let left = &json["arrivals"]["left"];
        assert_eq!(left["packets"], json["offered"], "{arrival}");
        assert!(json["arrivals"]["fidelity"].is_null() && left["ks"].is_null(), "{arrival}: {left}");
        assert!(json["arrivals"]["arrived"].is_null(), "nothing comes back");
        // Clients that yield were due at no time.
        let late = &json["lateness_ns"];
        assert!(
            if arrival == "yield:n=4" { late.is_null() } else { late["count"] == json["offered"] },
            "{late}"
        );
        let slept = &json["arrivals"]["thought"]["slept"]["packets"];
        assert!(if arrival.contains("exp") { *slept == json["offered"] } else { slept.is_null() }, "{slept}");
        let watched = &json["watched"];
        assert!(count(&watched["looks"]) > 1 && watched["pid"].is_u64(), "{watched}");
    }
}

#[test]
fn clients_that_await_their_replies_never_lose_one_to_a_queue_that_holds_them_all() {
    let bench = Bench::new();
    let service = bench.serve(&["--service-time", "100us", "--queue", "16"]);
    let arrival = "clients:n=8,think=exp(500us)";
    let words =
        ["trial", &service.target(), "--duration=300ms", "--arrival", arrival, "--json", "-q", "-o", "kept"];
    let json = bench.run(&words).json();
    assert_eq!((count(&json["lost"]), json["generator_lost"].as_u64()), (0, Some(0)), "{json}");
    assert_eq!(json["service_delay_ns"]["count"], json["offered"]);
    assert_eq!(json["arrivals"]["arrived"]["packets"], json["forwarded"]);
    assert_eq!(json["packets"]["kept"], json["offered"], "{}", json["packets"]);
    let explained = bench.done(&["explain", "kept"]);
    assert!(explained.text.contains("there is nothing to explain"), "{}", explained.text);
}

#[test]
fn a_load_is_refused_and_a_search_too() {
    let bench = Bench::new();
    for arrival in ["yield:n=4", "clients:n=4,think=1ms", "ticks:n=4,period=20ms"] {
        let trial = bench.run(&["trial", "udp://127.0.0.1:7007", "--load=1kpps", "--arrival", arrival]);
        assert_eq!(trial.code, Some(2));
        assert!(trial.errors.contains("has its own clocks and takes no load"), "{}", trial.errors);
        let search = bench.run(&["search", "udp://127.0.0.1:7007", "--arrival", arrival]);
        assert_eq!(search.code, Some(2));
        assert!(search.errors.contains("there is no load to search"), "{}", search.errors);
    }
    let simulated = bench.run(&["trial", "sim:hard", "--arrival", "yield:n=4", "-o", "-"]);
    assert_eq!(simulated.code, Some(2), "{}", simulated.errors);
}

#[test]
fn what_clients_of_one_tick_lose_is_what_the_socket_dropped_and_runs_are_kept() {
    let bench = Bench::new();
    let words = [
        "experiment",
        "poisson-loss",
        "--small",
        "--only",
        "ticks",
        "--keep",
        "runs",
        "--html",
        "page.html",
        "--json",
    ];
    let study = bench.done(&words).json();
    let run: Value = serde_json::from_str(bench.read("runs").trim()).unwrap();
    assert!(count(&run["offered"]) > 0);
    assert_eq!(count(&run["offered"]) - count(&run["received"]), count(&run["dropped"]), "{run}");
    assert_eq!(study["name"], "poisson-loss");
    assert!(!study["tables"].as_array().unwrap().is_empty());
    assert!(bench.read("page.html").contains("ticks of 20 ms"));
    // It is there already.
    let again = bench.done(&words);
    assert!(!again.errors.contains("run 1 of 1"), "{}", again.errors);
    assert_eq!(bench.read("runs").lines().count(), 1);
}

/// What a trial printed that was interrupted when `ready`; it lasts ten minutes by itself.
fn interrupted(bench: &Bench, words: &[&str], ready: impl FnOnce()) -> Value {
    let words = [&["trial"], words, &["--duration=600s", "--json", "-q", "-o", "r.jsonl"]].concat();
    let trial = bench.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    ready();
    interrupt(&trial);
    let output = trial.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let caveats = json["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|caveat| caveat["code"] == "interrupted"), "{caveats:?}");
    assert!(json["duration_s"].as_f64().unwrap() < 600.0, "{json}");
    let kept: Value = serde_json::from_str(bench.read("r.jsonl").lines().nth(1).unwrap()).unwrap();
    assert_eq!((&kept["offered"], &kept["forwarded"]), (&json["offered"], &json["forwarded"]));
    json
}

#[test]
fn an_interrupted_closed_loop_keeps_its_counts_and_its_replies_were_compared() {
    for arrival in ["clients:n=2,think=1ms", "yield:n=2"] {
        let echo = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = format!("udp://{}", echo.local_addr().unwrap());
        let (answered, enough) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 100];
            let mut number = 0;
            while let Ok((length, from)) = echo.recv_from(&mut bytes) {
                number += 1;
                // One bit of the last byte of each third, one of the index of each further third.
                let bit = [None, Some(length - 1), Some(13)][number % 3];
                bit.into_iter().for_each(|at| bytes[at] ^= 1);
                let _ = echo.send_to(&bytes[..length], from);
                if number == 300 {
                    answered.send(()).unwrap();
                }
            }
        });
        let bench = Bench::new();
        let json = interrupted(&bench, &[&target, "--arrival", arrival], || enough.recv().unwrap());
        let (offered, forwarded) = (count(&json["offered"]), count(&json["forwarded"]));
        let changed = count(&json["reply_changed"]);
        assert!(forwarded > 50 && changed > 100 && forwarded + changed <= offered, "{arrival}: {json}");
        assert_eq!((&json["duplicated"], &json["service_delay_ns"]["count"]), (&0.into(), &forwarded.into()));
    }
}

#[test]
fn an_interrupted_program_says_what_it_counted_until_then() {
    let bench = Bench::new();
    // It sends until its stdin ends.
    let program = "exec:python3 -c \"import sys; sys.stdin.readline(); print('asked', file=open('asked', 'w'), \
                   flush=True); sys.stdin.read(); print('{' + sys.argv[1] + '}')\" \
                   '\"intended\":5,\"offered\":5,\"forwarded\":4,\"duration_s\":0.2'";
    let json = interrupted(&bench, &[program, "--load=1kpps"], || wait_for_lines(&bench.path("asked"), 1));
    assert_eq!((count(&json["offered"]), count(&json["lost"])), (5, 1), "{json}");
}
