//! Searches as a user runs them: seeded, kept, killed, resumed, shown.

mod command;

use command::{Bench, interrupt, wait_for_lines};
use serde_json::Value;
use std::process::Stdio;

/// A program that answers each trial after a moment, as a slow tester would.
const SLOW: &str = r#"exec:python3 -c "
import json, sys, time
for line in sys.stdin:
    open('asked', 'a').write(line)
    time.sleep(0.1)
    trial = json.loads(line)
    sent = int(trial['intended_load_pps'] * trial['duration_s'])
    answer = dict(intended=sent, offered=sent, forwarded=sent, duration_s=trial['duration_s'])
    print(json.dumps(answer), flush=True)
""#;

#[test]
fn a_newcomers_first_search_prints_the_answer_first() {
    let bench = Bench::new();
    let ended = bench.done(&["search", "sim:consistent"]);
    let goals: Vec<&str> =
        ended.text.lines().filter(|line| line.contains("no loss") || line.contains("0.5 % loss")).collect();
    assert!(goals.len() >= 2, "{}", ended.text);
    assert!(ended.text.contains("pps"), "{}", ended.text);
    assert!(!ended.text.contains('\u{1b}'), "no colour when piped");
    let record =
        ended.text.lines().find(|line| line.starts_with("record  dropline-")).expect("the next command");
    assert!(record.contains("--html"), "{record}");
}

#[test]
fn the_json_object_has_the_promised_fields() {
    let json = Bench::new().done(&["search", "sim:soft", "--json", "-o", "-", "-q"]).json();
    for field in "schema algorithm target goals trials trial_seconds elapsed_s environment caveats".split(' ')
    {
        assert!(!json[field].is_null(), "{field} is missing");
    }
    let goal = &json["goals"][1];
    for field in
        "loss_ratio exceed_ratio trial_duration_s initial_trial_duration_s duration_sum_s width lower_pps \
                  upper_pps median_pps level conditional_throughput_pps result certified"
            .split_whitespace()
    {
        assert!(goal.get(field).is_some(), "goals[].{field} is missing");
    }
    for field in "target intended_load_pps duration_s arrival seed intended offered forwarded lost duplicated \
                  reordered late generator_lost loss_ratio trial_loss_ratio elapsed_s stamp delay_kind delay_ns \
                  service_delay_ns lateness_ns negative slices lost_at caveats"
        .split_whitespace()
    {
        assert!(json["trials"][0].get(field).is_some(), "trials[].{field} is missing");
    }
    assert_eq!((goal["loss_ratio"].as_f64(), &goal["result"]), (Some(0.005), &Value::from("narrow")));
    assert_eq!((&json["algorithm"], goal["level"].as_f64()), (&Value::from("credible"), Some(0.95)));
    assert!(goal["lower_pps"].as_f64() <= goal["median_pps"].as_f64());
}

#[test]
fn a_certificate_adds_what_rfc_9971_says_of_the_same_goals() {
    let bench = Bench::new();
    let words = ["search", "sim:consistent", "--certify", "-q", "-o", "r.jsonl"];
    let ended = bench.done(&[&words[..], &["--require", "regular"]].concat());
    assert_eq!(ended.text.matches("by RFC 9971").count(), 2, "{}", ended.text);
    let json = bench.done(&["report", "r.jsonl", "--json"]).json();
    for goal in json["goals"].as_array().unwrap() {
        let certified = &goal["certified"];
        assert_eq!(
            (&goal["result"], &certified["result"]),
            (&Value::from("narrow"), &Value::from("regular"))
        );
        let (lower, upper) =
            (certified["lower_pps"].as_f64().unwrap(), certified["upper_pps"].as_f64().unwrap());
        assert!(lower < upper && 1.0 - lower / upper <= 0.005);
    }
    let mlr = bench.run(&["search", "sim:hard", "--algorithm=mlr", "--certify", "-q", "-o", "-"]);
    assert_eq!(mlr.code, Some(2), "mlr is regular by itself: {}", mlr.errors);
}

#[test]
fn the_same_seed_makes_the_same_search_and_another_seed_another() {
    let bench = Bench::new();
    let loads = |seed: &str| -> Vec<Value> {
        let json = bench.done(&["search", "sim:noisy", "--json", "-o", "-", "-q", "--seed", seed]).json();
        json["trials"].as_array().unwrap().iter().map(|trial| trial["intended_load_pps"].clone()).collect()
    };
    assert_eq!(loads("5"), loads("5"));
    assert_ne!(loads("5"), loads("6"));
}

#[test]
fn a_killed_search_is_resumed_without_losing_a_finished_trial() {
    let bench = Bench::new();
    let words = ["search", SLOW, "--max-load=1Mpps", "-q", "-o", "r.jsonl"];
    let mut child = bench.command(&words).stdout(Stdio::null()).spawn().unwrap();
    wait_for_lines(&bench.path("r.jsonl"), 4);
    // kill -9.
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = bench.read("r.jsonl").lines().count() - 1;
    let resumed = bench.done(&["search", "--resume", "r.jsonl", SLOW, "-q", "--json"]).json();
    let whole = bench.done(&["search", SLOW, "--max-load=1Mpps", "-q", "--json", "-o", "-"]).json();
    let loads = |json: &Value| -> Vec<Value> {
        json["trials"].as_array().unwrap().iter().map(|trial| trial["intended_load_pps"].clone()).collect()
    };
    assert!(kept >= 3 && loads(&resumed).len() > kept);
    assert_eq!(loads(&resumed), loads(&whole), "the same decisions");
    assert_eq!(resumed["goals"], whole["goals"]);
}

#[test]
fn ctrl_c_prints_and_keeps_what_is_known() {
    let bench = Bench::new();
    let words = ["search", SLOW, "--max-load=1Mpps", "-o", "r.jsonl"];
    let child = bench.command(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_lines(&bench.path("r.jsonl"), 3);
    interrupt(&child);
    let ended = command::Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130));
    assert!(ended.text.contains("--resume r.jsonl"), "{}", ended.text);
    let last: Value = serde_json::from_str(bench.read("r.jsonl").lines().last().unwrap()).unwrap();
    assert_eq!((&last["line"], &last["interrupted"]), (&Value::from("result"), &Value::from(true)));
    let resumed = bench.done(&["search", "--resume", "r.jsonl", SLOW, "-q", "--json"]).json();
    assert_eq!(resumed["interrupted"], false);
}

#[test]
fn lines_of_json_come_as_trials_end_and_a_reader_may_leave() {
    let bench = Bench::new();
    let lines = bench.done(&["search", "sim:hard", "--jsonl", "-q", "-o", "-"]).text;
    assert!(lines.lines().count() > 3);
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["line"] == "trial"));
    let script =
        format!("{} search sim:hard --jsonl -q -o - | head -n 1 > first", env!("CARGO_BIN_EXE_dropline"));
    let root = bench.path("");
    let status =
        std::process::Command::new("bash").args(["-o", "pipefail", "-c", &script]).current_dir(root).output();
    assert!(status.unwrap().stderr.is_empty(), "no panic, no message");
}

#[test]
fn a_gate_turns_the_result_into_an_exit_code() {
    let bench = Bench::new();
    let gate = |condition: &str| {
        bench.run(&["search", "sim:hard?capacity=9Mpps", "-q", "-o", "-", "--fail-if", condition]).code
    };
    assert_eq!(gate("load<8Mpps"), Some(0));
    assert_eq!(gate("load<9.5Mpps"), Some(1));
    assert_eq!(gate("load2<9.5Mpps"), Some(1));
    assert_eq!(gate("p99>1ms"), Some(2), "a search measures no delay but that of --delay-at");
    assert_eq!(gate("p99>1"), Some(2));
    let required =
        |words: &[&str]| bench.run(&[&["search", "sim:lossless", "-q", "-o", "-"], words].concat()).code;
    assert_eq!(required(&[]), Some(0), "at the maximum is an answer; the record says so");
    assert_eq!(required(&["--require", "narrow"]), Some(1));
    assert_eq!(required(&["--preset", "csit", "--require", "regular"]), Some(1));
    let narrow = |target: &str| bench.run(&["search", target, "-q", "-o", "-", "--require", "narrow"]).code;
    assert_eq!((narrow("sim:hard"), narrow("sim:noisy")), (Some(0), Some(1)));
}

#[test]
fn a_result_that_no_search_of_an_algorithm_has_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    for (words, word) in [
        (&["--require", "regular"][..], "--require narrow"),
        (&["--algorithm", "mlr", "--require", "narrow"], "--require regular"),
        (&["--preset", "rfc2544", "--require", "narrow"], "--require regular"),
    ] {
        let refused = bench.run(&[&["search", "sim:hard", "-q", "-o", "none.jsonl"], words].concat());
        assert_eq!(refused.code, Some(2), "{words:?}: {}", refused.errors);
        assert!(refused.errors.contains(word), "{words:?} should say {word}: {}", refused.errors);
        assert!(!bench.path("none.jsonl").exists(), "nothing was measured");
    }
    bench.done(&["search", "sim:hard", "--max-trials", "3", "-q", "-o", "r.jsonl"]);
    let again =
        bench.run(&["search", "--resume", "r.jsonl", "--max-trials", "4", "-q", "--require", "regular"]);
    assert!(again.code == Some(2) && again.errors.contains("--require narrow"), "{}", again.errors);
}

#[test]
fn repeated_searches_show_their_spread_and_keep_a_record_each() {
    let bench = Bench::new();
    let ended = bench.done(&["search", "sim:noisy", "--repeat", "3", "-q", "-o", "r.jsonl"]);
    assert!(ended.text.contains("no loss"), "{}", ended.text);
    for number in 1..=3 {
        let header: Value =
            serde_json::from_str(bench.read(&format!("r-{number}.jsonl")).lines().next().unwrap()).unwrap();
        assert_eq!(header["search"]["repetition"], serde_json::json!([number, 3]));
    }
    bench.done(&["report", "r-1.jsonl", "r-2.jsonl", "r-3.jsonl", "--html", "all.html"]);
    assert!(bench.read("all.html").contains("<svg"));
}

#[test]
fn a_scenario_says_what_flags_say_and_flags_win() {
    let bench = Bench::new();
    bench.write(
        "s.toml",
        "target = 'sim:hard'\nalgorithm = 'mdr'\nseed = 3\nquiet = true\njson = true\noutput = '-'\n\
         [[goal]]\nloss-ratio = '0'\ntrial = '5s'\n[[goal]]\nloss-ratio = '1%'\ntrial = '5s'\n",
    );
    let json = bench.done(&["search", "--scenario", "s.toml", "--seed", "4"]).json();
    assert_eq!((&json["algorithm"], &json["profile"]["seed"]), (&Value::from("mdr"), &Value::from(4)));
    assert_eq!(
        (json["goals"][1]["loss_ratio"].as_f64(), json["goals"][1]["trial_duration_s"].as_f64()),
        (Some(0.01), Some(5.0))
    );
}

#[test]
fn the_frame_sizes_of_rfc_2544_make_a_table() {
    let bench = Bench::new();
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/rfc2544-frame-sizes.toml");
    let ended = bench.done(&["search", "sim:hard", "--scenario", scenario, "-q", "-o", "r.jsonl"]);
    for size in [64, 128, 256, 512, 1024, 1280, 1518] {
        assert!(
            ended.text.lines().any(|line| line.trim().starts_with(&size.to_string())),
            "{size}: {}",
            ended.text
        );
    }
    assert!(bench.path("r-7.jsonl").exists());
}

#[test]
fn directions_with_unequal_loads_reach_the_program_and_the_record() {
    let bench = Bench::new();
    bench.done(&[
        "search",
        SLOW,
        "--max-load=1Mpps",
        "-q",
        "-o",
        "r.jsonl",
        "--directions=west=2,east=1",
        "--streams=voice=1,bulk=3",
        "--goal=0,sum=1s",
    ]);
    let asked: Value = serde_json::from_str(bench.read("asked").lines().next().unwrap()).unwrap();
    assert_eq!(asked["directions"], serde_json::json!([["west", 2], ["east", 1]]));
    assert_eq!(asked["streams"], serde_json::json!([["voice", 1], ["bulk", 3]]));
    let header: Value = serde_json::from_str(bench.read("r.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(header["load_is"], "the sum over 2 directions: west 2/3, east 1/3");
    for word in [
        "udp://127.0.0.1:9",
        "dns://127.0.0.1:9",
        "heartbeat://127.0.0.1:9",
        "wakeup:",
        "jack:",
        "flowgraph:futuresdr",
    ] {
        let refused = bench.run(&["trial", word, "--load=1kHz", "--directions=a=1,b=1", "-o", "-"]);
        let said = format!("--directions: {word} has one direction");
        assert!(refused.code == Some(2) && refused.errors.contains(&said), "{word}: {}", refused.errors);
    }
}

#[test]
fn the_examples_of_exec_in_the_documents_work() {
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/exec.md"))
            .unwrap();
    let program = document.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(program.lines().count() <= 10, "a ten-line example");
    let bench = Bench::new();
    bench.write("tester.py", program);
    let words = ["search", "exec:python3 tester.py", "--max-load=10Mpps", "--json", "-q", "-o", "-"];
    let json = bench.done(&words).json();
    let lower = json["goals"][0]["lower_pps"].as_f64().unwrap();
    let upper = json["goals"][0]["upper_pps"].as_f64().unwrap();
    assert!(lower <= 1e6 && 1e6 <= upper && json["goals"][0]["result"] == "narrow", "[{lower}, {upper}]");
}

#[test]
fn another_search_can_measure_with_dropline() {
    let bench = Bench::new();
    let target = format!("exec:{} measure sim:hard?capacity=9Mpps", env!("CARGO_BIN_EXE_dropline"));
    let through = bench
        .done(&["search", &target, "--min-load=10kpps", "--max-load=14880952pps", "--json", "-q", "-o", "-"])
        .json();
    let direct = bench.done(&["search", "sim:hard?capacity=9Mpps", "--json", "-q", "-o", "-"]).json();
    assert_eq!(through["goals"], direct["goals"]);
}

#[test]
fn a_record_exports_as_csv_and_its_schema_ships() {
    let bench = Bench::new();
    bench.done(&["search", "sim:hard", "-q", "-o", "r.jsonl"]);
    let csv = bench.done(&["export", "r.jsonl", "--to", "csv"]).text;
    let trials = bench.read("r.jsonl").lines().count() - 2;
    assert_eq!(csv.lines().count(), trials + 1);
    assert!(csv.lines().next().unwrap().contains("intended_load_pps"));
    let schema = bench.done(&["export", "r.jsonl", "--to", "schema"]).text;
    let shipped = include_str!("../../../schema/dropline-1.json");
    assert_eq!(schema, shipped);
}

#[test]
fn help_completions_and_man_pages_come_from_one_definition() {
    let bench = Bench::new();
    for verb in [
        "search",
        "trial",
        "serve",
        "report",
        "export",
        "measure",
        "experiment",
        "doctor",
        "completions",
        "man",
    ] {
        let help = bench.done(&[verb, "--help"]).text;
        assert!(help.contains("Example"), "{verb} --help has no example");
        let man = bench.done(&["man", verb]).text;
        assert!(man.contains(".TH"), "{verb} has no man page");
    }
    let page = bench.done(&["man", "heartbeat", "serve"]).text;
    assert!(page.contains("dropline-heartbeat-serve"), "{page}");
    for words in
        [&["man", "heartbeat-serve"][..], &["man", "dropline-heartbeat-serve"], &["man", "heartbeat serve"]]
    {
        assert_eq!(bench.done(words).text, page, "{words:?}");
    }
    assert_eq!(bench.done(&["man", "dropline"]).text, bench.done(&["man"]).text);
    for shell in ["bash", "zsh", "fish"] {
        assert!(bench.done(&["completions", shell]).text.contains("algorithm"), "{shell}");
    }
}

#[test]
fn what_a_search_says_it_forwards_is_what_came_through_and_not_the_load() {
    let bench = Bench::new();
    let words = ["--algorithm=mlr", "--max-load=8.4Mpps", "--goal=5%", "-q", "-o", "a.jsonl"];
    bench.done(&[&["search", "sim:soft"][..], &words].concat());
    let through =
        bench.done(&["report", "a.jsonl", "--json"]).json()["goals"][0]["conditional_throughput_pps"]
            .as_f64()
            .unwrap();
    assert!(through < 8.39e6, "{through}");
    let said = format!("{:.3} Mpps", (through / 1e3).floor() / 1e3);
    for form in ["--line", "--markdown"] {
        let text = bench.done(&["report", "a.jsonl", form]).text;
        let first = format!(
            "It forwards at least {said} with at most 5 % loss, of 8.400 Mpps, the highest load allowed"
        );
        assert!(text.contains(&first), "{first}: {text}");
    }
}
