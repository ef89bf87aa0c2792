//! Searches of many nights, and a history of them.

// Each test file is a crate of its own and uses its part of this.
#![allow(dead_code)]

use crate::command::{Bench, Ended};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// A finished search of a simulated system.
pub(crate) fn search() -> &'static str {
    static SEARCH: OnceLock<String> = OnceLock::new();
    SEARCH.get_or_init(|| {
        let bench = Bench::new();
        bench.done(&["search", "sim:noisy", "-q", "--max-trials=30", "--goal=0.5%", "-o", "r.jsonl"]);
        bench.read("r.jsonl")
    })
}

/// The same, begun at another time.
pub(crate) fn night(number: usize) -> String {
    let (header, rest) = search().split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    let (day, hour) = (1 + number / 24, number % 24);
    header["started"] = format!("2026-03-{day:02}T{hour:02}:00:00Z").into();
    format!("{header}\n{rest}")
}

/// Writes the first so many nights, and returns their names.
pub(crate) fn nights(bench: &Bench, count: usize) -> Vec<String> {
    let name = |number: usize| {
        let name = format!("{number}.jsonl");
        bench.write(&name, &night(number));
        name
    };
    (0..count).map(name).collect()
}

/// Writes nights at one level, and behind them others at half of it, and returns their names.
pub(crate) fn changed(bench: &Bench, before: usize, after: usize) -> Vec<String> {
    let lower = ["search", "sim:noisy?capacity=5Mpps", "-q", "--max-trials=30", "--goal=0.5%"];
    bench.done(&[&lower[..], &["-o", "lower.record"]].concat());
    let lower = bench.read("lower.record").replace("sim:noisy?capacity=5Mpps", "sim:noisy");
    let (_, rest) = lower.split_once('\n').unwrap();
    let names = nights(bench, before + after);
    for (number, name) in names.iter().enumerate().skip(before) {
        bench.write(name, &format!("{}\n{rest}", night(number).split_once('\n').unwrap().0));
    }
    names
}

pub(crate) fn add(bench: &Bench, files: &[&str]) -> Ended {
    bench.run(&[&["history", "add", "--history", "nights", "--json"], files].concat())
}

pub(crate) fn listed(bench: &Bench, more: &[&str]) -> Vec<Value> {
    let told = bench.done(&[&["history", "list", "nights", "--json"], more].concat());
    told.json()["records"].as_array().unwrap().clone()
}

/// Every record below a directory, by its path from there on.
pub(crate) fn records(directory: &Path) -> BTreeMap<String, String> {
    fn walk(directory: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
            } else if name.ends_with(".jsonl") && name != "index.jsonl" {
                found.insert(name, std::fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(directory, "", &mut found);
    found
}

/// The index says what the records say, and says the same when it is made anew.
pub(crate) fn is_whole(bench: &Bench) {
    let before = bench.read("nights/index.jsonl");
    let checked = bench.run(&["history", "index", "nights", "--check", "--json"]);
    assert_eq!(checked.code, Some(0), "{}", checked.text);
    bench.done(&["history", "index", "nights"]);
    assert_eq!(bench.read("nights/index.jsonl"), before);
}

/// The pages below a directory by their names, each with how many headings and rows it has.
pub(crate) fn pages(directory: &Path) -> BTreeMap<String, usize> {
    fn walk(directory: &Path, prefix: &str, found: &mut BTreeMap<String, usize>) {
        for entry in directory.read_dir().unwrap().flatten() {
            let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
            } else {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                found.insert(name, text.matches("<h1").count() + text.matches("<tr").count());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(directory, "", &mut found);
    found
}
