//! `compare`, `inject` and `fit` on files: exit codes and answers, without measuring anything.

mod command;

use command::Bench;

/// Two paths, at 54 and 129 us; the first moved by so much, with so many events at 250 us.
fn histogram(moved: u64, slow: u64) -> String {
    let mut text = String::from("delay_usecs\tcount\n");
    for (at, events) in [(50 + moved, 400), (125, 100)] {
        for step in 0..9u64 {
            let count = events * (5 - step.abs_diff(4));
            text.push_str(&format!("{}\t{count}\n", at + step));
        }
    }
    if slow > 0 {
        text.push_str(&format!("250\t{slow}\n"));
    }
    text
}

#[test]
fn a_regression_is_exit_code_1_and_its_reverse_is_not() {
    let bench = Bench::new();
    bench.write("before.tsv", &histogram(0, 10));
    bench.write("after.tsv", &histogram(30, 90));
    let worse = bench.run(&["compare", "before.tsv", "after.tsv", "--above", "200us", "--json"]);
    assert_eq!(worse.code, Some(1), "{}", worse.errors);
    assert!(
        worse.text.contains("\"verdict\": \"regressed\"") || worse.text.contains("\"verdict\":\"regressed\"")
    );
    bench.done(&["compare", "after.tsv", "before.tsv", "--above", "200us"]);
    bench.done(&["compare", "before.tsv", "before.tsv", "--above", "200us"]);
}

#[test]
fn a_slow_path_that_grew_is_exit_code_1_though_the_typical_event_is_faster() {
    let bench = Bench::new();
    bench.write("before.tsv", &histogram(30, 10));
    bench.write("after.tsv", &histogram(0, 90));
    let mixed = bench.run(&["compare", "before.tsv", "after.tsv", "--above", "200us"]);
    assert_eq!(mixed.code, Some(1), "{}", mixed.errors);
    assert!(mixed.text.starts_with("MIXED"), "{}", mixed.text);
}

#[test]
fn a_stored_pair_tells_how_often_a_mode_crossed() {
    let bench = Bench::new();
    bench.write("before.tsv", &histogram(0, 0));
    bench.write("after.tsv", &histogram(20, 0));
    let found = bench.done(&["inject", "--stored", "before.tsv", "after.tsv", "--delay", "20us", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&found.text).unwrap();
    let modes = found["modes"].as_array().unwrap();
    assert_eq!(modes.len(), 2, "{found:#}");
    let mean = |mode: usize| modes[mode]["once"]["value"].as_f64().unwrap();
    assert!((mean(0) - 1.0).abs() < 0.05 && mean(1) < 0.05, "{found:#}");
    assert_eq!(modes[0]["verdict"], "undecided", "without rounds nobody knows how surely");
}

#[test]
fn a_pair_of_plain_files_has_no_rounds_and_the_chance_of_its_counts_is_no_doubt_of_the_model() {
    let bench = Bench::new();
    let mut state = 1u64;
    let mut values = |more: u64| -> String {
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 4_000
        };
        (0..1500).map(|_| format!("{}\n", 50_000 + (0..6).map(|_| uniform()).sum::<u64>() + more)).collect()
    };
    bench.write("before.txt", &values(0));
    bench.write("after.txt", &values(30_000));
    let stored = ["inject", "--stored", "before.txt", "after.txt", "--delay", "30us", "--unit", "ns"];
    let found = bench.done(&[&stored[..], &["--json"]].concat()).json();
    assert_eq!(found["modes"][0]["verdict"], "on_path", "{found:#}");
    let said: Vec<&str> =
        found["caveats"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert!(!said.contains(&"model_off"), "{found:#}");
    let text = bench.done(&stored).text;
    assert!(text.contains("1500 events without the delay and 1500 events with it"), "{text}");
    assert!(!text.contains("rounds of no delay"), "{text}");
}

#[test]
fn a_report_of_imported_delays_names_the_verbs_that_show_them() {
    let bench = Bench::new();
    bench.write("delays.tsv", &histogram(0, 0));
    bench.done(&["import", "delays.tsv", "-o", "delays.jsonl"]);
    let ended = bench.run(&["report", "delays.jsonl"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.errors.contains("dropline fit delays.jsonl"), "{}", ended.errors);
    bench.done(&["fit", "delays.jsonl", "--html", "delays.html"]);
}

#[test]
fn what_cannot_be_injected_is_said() {
    let bench = Bench::new();
    let refused = |words: &[&str], says: &str| {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.errors);
        assert!(ended.errors.contains(says), "{words:?} should say {says:?}: {}", ended.errors);
    };
    refused(&["inject", "udp://127.0.0.1:9", "--probe", "request", "--delay", "3us"], "--start");
    refused(&["inject", "udp://127.0.0.1:9", "--probe", "request"], "--delay");
    refused(&["inject", "--stored", "a", "b", "--delay", "3"], "unit");
}

#[test]
fn a_responder_lists_its_probes_and_a_name_that_it_has_not_is_refused() {
    let bench = Bench::new();
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (target, start) = (
        format!("udp://127.0.0.1:{port}"),
        format!("{} serve --listen 127.0.0.1:{port}", env!("CARGO_BIN_EXE_dropline")),
    );
    let listed = bench.done(&[
        "inject",
        &target,
        "--start",
        &start,
        "--list",
        "--json",
        "--quiet",
        "--duration",
        "1s",
    ]);
    let listed: serde_json::Value = serde_json::from_str(&listed.text).unwrap();
    assert_eq!(listed["probes"], serde_json::json!(["request", "query"]), "{listed:#}");
}

/// The C service of `c/trace`, each tenth of whose answers takes the long way, with a port for it.
#[cfg(target_os = "linux")]
fn c_service(bench: &Bench) -> (String, String) {
    let program = bench.path("service");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../c/trace/service.c");
    let done = std::process::Command::new("cc")
        .args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread", "-o"])
        .args([program.as_os_str(), source.as_ref()])
        .status()
        .unwrap_or_else(|why| panic!("cc is missing ({why}): cargo xtask setup test installs it"));
    assert!(done.success());
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    (format!("udp://127.0.0.1:{port}"), format!("{} {port}", program.display()))
}

#[test]
#[cfg(target_os = "linux")]
fn a_c_program_is_delayed_where_it_is_told_and_only_who_passes_there() {
    let bench = Bench::new();
    let (target, start) = c_service(&bench);
    let inject = |more: &[&str]| -> serde_json::Value {
        let words = ["inject", &target, "--start", &start, "--json", "--quiet", "--load", "500pps"];
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        serde_json::from_str(&bench.done(&words).text).unwrap()
    };
    let listed = inject(&["--list", "--duration", "1s"]);
    assert_eq!(listed["probes"], serde_json::json!(["parse", "long_way"]), "{listed:#}");
    let crossings = |probe: &str| {
        let found = inject(&["--probe", probe, "--delay", "50us", "--duration", "4s"]);
        let realised = found["realised_us"].as_f64().unwrap();
        assert!(realised >= 50.0, "it waits for as long as it is told: {realised}");
        found["crossings"].as_f64().unwrap()
    };
    let (all, some) = (crossings("parse"), crossings("long_way"));
    assert!(
        all > 0.0 && (0.05..0.2).contains(&(some / all)),
        "one of ten takes the long way: {some} of {all}"
    );
}
