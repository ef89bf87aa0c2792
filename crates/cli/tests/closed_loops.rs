//! Clients with their own clocks: processes of this program. Counts are asserted, never durations.

mod command;

use command::Bench;
use serde_json::Value;

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn every_packet_of_every_client_is_served_or_dropped() {
    let bench = Bench::new();
    for arrival in ["yield:n=4", "clients:n=8,think=exp(1ms)", "clients:n=8,think=tick(20ms)"] {
        let words = ["--service-time", "50us", "--queue", "0", "--json", "--times", "times"];
        let service = bench.serve(&words);
        let target = format!("{}?reply=none", service.target());
        let words = ["trial", &target, "--duration=300ms", "--arrival", arrival, "--json", "-q", "-o", "-"];
        let json = bench.run(&words).json();
        let served: Value = serde_json::from_str(&service.interrupt()).unwrap();
        assert!(count(&json["offered"]) > 0, "{arrival}: {json}");
        assert_eq!(count(&json["forwarded"]), count(&served["unanswered"]), "{arrival}: {served}");
        // The questions how many arrived come to the same socket, and find it full too.
        let questions = count(&served["dropped_socket"]).checked_sub(count(&json["lost"]));
        assert!(questions.is_some_and(|questions| questions <= 5), "{arrival}: {json} {served}");
        let times = std::fs::read_to_string(bench.path("times")).unwrap();
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
