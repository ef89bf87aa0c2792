//! Records of nights, made of searches and trials of simulated systems, and what is told of them.

use crate::command::{Bench, Ended};
use serde_json::Value;
use std::sync::OnceLock;

const SEEDS: usize = 12;

/// Searches of a noisy system whose limit is as high as at first, and of one whose limit fell.
fn searches() -> &'static [[Vec<Value>; SEEDS]; 2] {
    static SEARCHES: OnceLock<[[Vec<Value>; SEEDS]; 2]> = OnceLock::new();
    SEARCHES.get_or_init(|| {
        let bench = Bench::new();
        ["9Mpps", "8Mpps"].map(|capacity| {
            // Of a search whose answer does not stand there is no night.
            let mut found = (1..100).filter_map(|seed| search(&bench, capacity, seed));
            std::array::from_fn(|_| found.next().expect("most searches have an answer"))
        })
    })
}

/// The lines of a record, if its answer stands.
fn search(bench: &Bench, capacity: &str, seed: usize) -> Option<Vec<Value>> {
    let (target, seed) = (format!("sim:noisy?capacity={capacity}&seed={seed}"), seed.to_string());
    let name = format!("{capacity}-{seed}.jsonl");
    let words = [
        "search",
        &target,
        "--seed",
        &seed,
        "-q",
        "--budget=8s",
        "--max-load=12Mpps",
        "--goal=0.5%",
        "-o",
        &name,
    ];
    bench.done(&words);
    let stands = bench.run(&["trend", &name]).code == Some(0);
    stands.then(|| bench.read(&name).lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

pub(crate) fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// When a night was: a day after the one before it.
pub(crate) fn at(night: usize) -> String {
    format!("2026-{:02}-{:02}T01:00:00Z", 1 + night / 28, 1 + night % 28)
}

/// The record of a night, of a service that every night finds under the same address.
pub(crate) fn night(night: usize, fell: bool, change: impl FnOnce(&mut Value)) -> String {
    let mut lines = searches()[usize::from(fell)][night % SEEDS].clone();
    aim(&mut lines, "exec:./service");
    let header = &mut lines[0];
    header["started"] = at(night).into();
    header["environment"]["load_average"] = Value::Null;
    change(header);
    text(&lines)
}

/// Makes it a search of another target.
pub(crate) fn aim(lines: &mut [Value], target: &str) {
    lines
        .iter_mut()
        .filter(|line| line.get("target").is_some())
        .for_each(|line| line["target"] = target.into());
}

/// A directory with as many nights, of which those from `fell` on have a lower limit.
pub(crate) fn nights(bench: &Bench, directory: &str, count: usize, fell: usize) {
    std::fs::create_dir_all(bench.path(directory)).unwrap();
    for index in 0..count {
        bench.write(&format!("{directory}/{index:03}.jsonl"), &night(index, index >= fell, commit(index)));
    }
}

pub(crate) fn commit(index: usize) -> impl FnOnce(&mut Value) {
    move |header| header["environment"]["labels"] = serde_json::json!({ "commit": format!("c{index:03}") })
}

pub(crate) fn json(bench: &Bench, words: &[&str]) -> Value {
    bench.done(&[&["trend", "--json"], words].concat()).json()
}

pub(crate) fn gate(bench: &Bench) -> Ended {
    bench.run(&["trend", "nights", "--fail-if", "regressed"])
}

/// What is told, in one line.
pub(crate) fn flat(ended: &Ended) -> String {
    ended.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key} of {value}"))
}

/// The same nights as those of a simulated target, in a history: it can be searched again.
pub(crate) fn nights_of(bench: &Bench, target: &str, count: usize, fell: usize) {
    std::fs::create_dir_all(bench.path("nights")).unwrap();
    for index in 0..count {
        let record = night(index, index >= fell, commit(index)).replace("exec:./service", target);
        bench.write(&format!("nights/{index:03}.jsonl"), &record);
    }
    bench.done(&["history", "index", "nights"]);
}

/// The change of the only history.
pub(crate) fn change(bench: &Bench) -> Value {
    let found = json(bench, &["nights"]);
    let of_target = |series: &&Value| !list(series, "changes").is_empty();
    let series = list(&found, "series").iter().find(of_target).unwrap_or_else(|| panic!("a change: {found}"));
    assert!(list(&found, "left_out").is_empty(), "{found}");
    list(series, "changes")[0].clone()
}

/// Writes a record of each night, all of one target: the one that this says.
pub(crate) fn measured(
    bench: &Bench,
    directory: &str,
    target: &str,
    count: usize,
    words: impl Fn(usize) -> Vec<String>,
) {
    std::fs::create_dir_all(bench.path(directory)).unwrap();
    for index in 0..count {
        let words = words(index);
        bench.done(
            &[&words.iter().map(String::as_str).collect::<Vec<_>>()[..], &["-q", "-o", "one.record"]]
                .concat(),
        );
        let mut lines: Vec<Value> =
            bench.read("one.record").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        std::fs::remove_file(bench.path("one.record")).unwrap();
        if !target.contains(' ') {
            aim(&mut lines, target);
        }
        lines[0]["started"] = at(index).into();
        lines[0]["environment"]["load_average"] = Value::Null;
        bench.write(
            &format!("{directory}/{}-{index:03}.jsonl", target.replace([':', '/', '?'], "-")),
            &text(&lines),
        );
    }
}

pub(crate) fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

pub(crate) fn records(bench: &Bench, directory: &str) -> Vec<String> {
    let mut names: Vec<String> = bench
        .path(directory)
        .read_dir()
        .unwrap()
        .map(|entry| format!("{directory}/{}", entry.unwrap().file_name().into_string().unwrap()))
        .collect();
    names.sort();
    names
}

/// Makes a night of one that did not come to its end, as this does.
pub(crate) fn end(bench: &Bench, index: usize, how: impl Fn(&mut Vec<Value>)) {
    let name = format!("nights/{index:03}.jsonl");
    let mut lines: Vec<Value> =
        bench.read(&name).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    how(&mut lines);
    bench.write(&name, &text(&lines));
}

/// Nights whose limits are as high as these say, of the first level.
pub(crate) fn levels(bench: &Bench, directory: &str, levels: &[f64], change: impl Fn(usize, &mut Value)) {
    std::fs::create_dir_all(bench.path(directory)).unwrap();
    for (index, level) in levels.iter().enumerate() {
        let mut lines: Vec<Value> = night(index, false, |header| change(index, header))
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        // Of trials that are not there, none contradicts another limit.
        lines.drain(1..lines.len() - 1);
        let result = lines.last_mut().unwrap();
        (result["trial_seconds"], result["elapsed_s"]) = (0.0.into(), 0.0.into());
        result["loss_curve"] = serde_json::json!([]);
        for goal in result["goals"].as_array_mut().unwrap() {
            goal["outlook"] = Value::Null;
            for key in ["lower_pps", "median_pps", "upper_pps"] {
                goal[key] = goal[key].as_f64().map(|pps| pps * level).into();
            }
        }
        bench.write(&format!("{directory}/{index:03}.jsonl"), &text(&lines));
    }
}

/// So many nights at each of these levels.
pub(crate) fn steps(all: &[(usize, f64)]) -> Vec<f64> {
    all.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count)).collect()
}
