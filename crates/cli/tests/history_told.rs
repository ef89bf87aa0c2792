//! What a history tells of records that are not searches, of what cannot be read, and from wherever it is asked.

mod command;
mod nights;

use command::{Bench, Ended};
use nights::{add, is_whole, listed, nights, records};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// A history of the first so many nights.
fn history(count: usize) -> Bench {
    let bench = Bench::new();
    let names = nights(&bench, count);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(add(&bench, &names).code, Some(0));
    bench
}

/// Runs without the right of root to read what it may not.
fn without_rights(bench: &Bench, words: &[&str]) -> Ended {
    let rights = "--bounding-set=-dac_override,-dac_read_search";
    let mut command = Command::new("setpriv");
    command.args([rights, env!("CARGO_BIN_EXE_dropline")]).args(words).current_dir(bench.path(""));
    Ended::from(command.output().unwrap())
}

fn may(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_day_that_cannot_be_read_is_left_out_and_loses_nothing() {
    let bench = history(30);
    let (day, index) = (bench.path("nights/2026/03/01"), bench.read("nights/index.jsonl"));
    may(&day, 0o000);
    let told = without_rights(&bench, &["history", "list", "nights", "--json"]).json();
    let left: Vec<&Value> = told["left_out"].as_array().unwrap().iter().collect();
    assert_eq!((told["records"].as_array().unwrap().len(), left.len()), (6, 1), "{left:?}");
    assert_eq!(left[0]["source"], "2026/03/01");
    assert!(left[0]["why"].as_str().unwrap().contains("cannot be read: Permission denied"), "{left:?}");
    let trend = without_rights(&bench, &["trend", "nights", "--json"]);
    assert!(trend.code == Some(0) && trend.text.contains("cannot be read"), "{}{}", trend.text, trend.errors);
    let added =
        without_rights(&bench, &["history", "add", "29.jsonl", "--history", "nights", "--json"]).json();
    assert_eq!(added[0]["added"], "known");
    let anew = without_rights(&bench, &["history", "index", "nights", "--json"]).json();
    assert_eq!(anew["gone"], serde_json::json!([]));
    assert_eq!(bench.read("nights/index.jsonl"), index, "what is not seen is not forgotten");
    may(&day, 0o755);
    assert_eq!(listed(&bench, &[]).len(), 30);
    is_whole(&bench);
}

#[test]
fn a_list_says_what_trials_and_comparisons_found() {
    let bench = Bench::new();
    bench.done(&[
        "trial",
        "sim:hard?capacity=1kpps",
        "--load=2kpps",
        "--duration=1s",
        "-q",
        "--history",
        "nights",
    ]);
    let turns = ["compare", "--abba", "sim:queue", "sim:queue?seed=8", "--load=1kpps", "--duration=10s"];
    bench.done(&[&turns[..], &["-q", "--history", "nights"]].concat());
    let all = listed(&bench, &[]);
    let of = |kind: &str| all.iter().find(|line| line["kind"] == kind).unwrap()["trial"].clone();
    let trial = of("trial");
    assert!(trial["answer"].as_str().unwrap().contains("packets were lost"), "{trial}");
    assert_eq!((&trial["trials"], &trial["load_pps"]), (&Value::from(1), &Value::from(2000.0)));
    assert!(trial["loss_ratio"].as_f64().is_some_and(|ratio| (0.4..0.6).contains(&ratio)), "{trial}");
    let verdict = of("compare")["answer"].as_str().unwrap().to_owned();
    let words = ["IMPROVED", "REGRESSED", "EQUIVALENT", "NO EVIDENCE", "MIXED"];
    assert!(words.iter().any(|word| verdict.contains(word)), "{verdict}");
    let text = bench.done(&["history", "list", "nights"]).text;
    assert!(text.contains("packets were lost") && words.iter().any(|word| text.contains(word)), "{text}");
    let rows = bench.done(&["history", "export", "nights", "--to=jsonl"]).text;
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        rows.iter().all(|row| row["answer"].is_string() && row["trial_load_pps"].is_number()),
        "{rows:?}"
    );
    // An index that does not say that is made good from the records.
    let old: String =
        bench.read("nights/index.jsonl").lines().map(|line| without_trial(line) + "\n").collect();
    bench.write("nights/index.jsonl", &old);
    assert_eq!(listed(&bench, &[]), all);
}

fn without_trial(line: &str) -> String {
    let mut line: Value = serde_json::from_str(line).unwrap();
    line.as_object_mut().unwrap().remove("trial").unwrap();
    line.to_string()
}

#[test]
fn directories_in_which_nothing_is_left_go_with_their_records() {
    let bench = history(72);
    bench.write("nights/2026/03/01/note.txt", "mine");
    bench.done(&["history", "prune", "nights", "--keep=1", "--yes"]);
    let days = std::fs::read_dir(bench.path("nights/2026/03")).unwrap();
    let mut days: Vec<String> = days.map(|day| day.unwrap().file_name().into_string().unwrap()).collect();
    days.sort();
    assert_eq!(days, ["01", "03"], "one with a file of somebody else stays");
    assert_eq!(records(&bench.path("nights")).len(), 1);
    is_whole(&bench);
}

#[test]
fn the_environment_names_the_history_of_a_trend() {
    let bench = history(12);
    let mut unnamed = bench.command(&["trend", "--json"]);
    let told = Ended::from(unnamed.env("DROPLINE_HISTORY", "nights").output().unwrap());
    assert_eq!(told.json(), bench.done(&["trend", "nights", "--json"]).json());
    let nothing = bench.run(&["trend"]);
    assert!(nothing.code == Some(2) && nothing.errors.contains("DROPLINE_HISTORY"), "{}", nothing.errors);
}
