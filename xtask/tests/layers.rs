//! Which crate may know which, held against `cargo metadata`: ARCHITECTURE.md has the picture of it.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use tree::{root, sources};

/// What each crate may depend on, of ours.
const MAY_KNOW: [(&str, &[&str]); 34] = [
    ("dropline-account", &["dropline-stats", "dropline-trial"]),
    ("dropline-fastpath", &["dropline-account", "dropline-payload", "dropline-stats", "dropline-trial"]),
    (
        "dropline-fleet",
        &[
            "dropline-account",
            "dropline-archive",
            "dropline-failure",
            "dropline-record",
            "dropline-targets",
            "dropline-traffic",
            "dropline-trial",
        ],
    ),
    ("dropline-heartbeat", &[]),
    ("dropline-jack", &["dropline-printable", "dropline-stats", "dropline-trial"]),
    ("dropline-lab", &[]),
    ("dropline-netrules", &[]),
    ("dropline-stats", &[]),
    ("dropline-passage", &["dropline-stats", "dropline-trial"]),
    ("dropline-payload", &["dropline-trial"]),
    ("dropline-trial", &["dropline-stats"]),
    ("dropline-sim", &["dropline-stats", "dropline-trial"]),
    ("dropline-search", &["dropline-trial"]),
    (
        "dropline-record",
        &["dropline-account", "dropline-printable", "dropline-search", "dropline-stats", "dropline-trial"],
    ),
    ("dropline-report", &["dropline-printable", "dropline-record", "dropline-table"]),
    (
        "dropline-traffic",
        &[
            "dropline-account",
            "dropline-netrules",
            "dropline-payload",
            "dropline-stats",
            "dropline-trace",
            "dropline-trial",
        ],
    ),
    ("dropline-table", &[]),
    ("dropline-trace", &[]),
    ("dropline-wakeup", &["dropline-stats", "dropline-trial"]),
    ("dropline-ctf", &[]),
    ("dropline-failure", &[]),
    ("dropline-http", &["dropline-failure"]),
    ("dropline-printable", &[]),
    ("dropline-store", &["dropline-failure"]),
    ("dropline-consent", &["dropline-failure", "dropline-traffic"]),
    ("dropline-openmetrics", &["dropline-printable", "dropline-stats"]),
    ("dropline-archive", &["dropline-failure", "dropline-record", "dropline-store"]),
    (
        "dropline-aggregator",
        &[
            "dropline-consent",
            "dropline-failure",
            "dropline-heartbeat",
            "dropline-openmetrics",
            "dropline-stats",
            "dropline-traffic",
        ],
    ),
    (
        "dropline-distributions",
        &[
            "dropline-archive",
            "dropline-failure",
            "dropline-openmetrics",
            "dropline-printable",
            "dropline-record",
            "dropline-report",
            "dropline-stats",
            "dropline-table",
            "dropline-trial",
        ],
    ),
    (
        "dropline-targets",
        &[
            "dropline-account",
            "dropline-aggregator",
            "dropline-archive",
            "dropline-consent",
            "dropline-ctf",
            "dropline-failure",
            "dropline-fastpath",
            "dropline-jack",
            "dropline-passage",
            "dropline-payload",
            "dropline-printable",
            "dropline-record",
            "dropline-search",
            "dropline-sim",
            "dropline-stats",
            "dropline-trace",
            "dropline-traffic",
            "dropline-trial",
            "dropline-wakeup",
        ],
    ),
    (
        "dropline-verbs",
        &[
            "dropline-account",
            "dropline-archive",
            "dropline-consent",
            "dropline-distributions",
            "dropline-failure",
            "dropline-http",
            "dropline-openmetrics",
            "dropline-table",
            "dropline-record",
            "dropline-report",
            "dropline-search",
            "dropline-stats",
            "dropline-targets",
            "dropline-trace",
            "dropline-traffic",
            "dropline-trial",
        ],
    ),
    (
        "dropline-experiments",
        &[
            "dropline-account",
            "dropline-aggregator",
            "dropline-archive",
            "dropline-consent",
            "dropline-distributions",
            "dropline-failure",
            "dropline-lab",
            "dropline-passage",
            "dropline-record",
            "dropline-report",
            "dropline-search",
            "dropline-sim",
            "dropline-stats",
            "dropline-targets",
            "dropline-trace",
            "dropline-traffic",
            "dropline-trial",
            "dropline-verbs",
            "dropline-wakeup",
        ],
    ),
    (
        "dropline",
        &[
            "dropline-aggregator",
            "dropline-archive",
            "dropline-distributions",
            "dropline-experiments",
            "dropline-failure",
            "dropline-fleet",
            "dropline-http",
            "dropline-printable",
            "dropline-record",
            "dropline-report",
            "dropline-search",
            "dropline-stats",
            "dropline-targets",
            "dropline-traffic",
            "dropline-trial",
            "dropline-verbs",
        ],
    ),
    ("xtask", &[]),
];

/// Crates that see no clock, socket, thread or file.
const PURE: [&str; 10] =
    ["account", "netrules", "passage", "payload", "record", "report", "search", "sim", "stats", "trial"];

/// Where unsafe code may stand.
const MAY_BE_UNSAFE: [&str; 7] = [
    "crates/fastpath/src/sys",
    "crates/heartbeat/src/sys",
    "crates/jack/src/sys",
    "crates/table/src/sys",
    "crates/trace/src/sys",
    "crates/traffic/src/sys",
    "crates/wakeup/src/sys",
];

#[test]
fn crates_know_only_what_the_architecture_allows() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    assert_eq!(names, MAY_KNOW.iter().map(|(name, _)| *name).collect(), "a crate is missing here, or gone");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let (_, allowed) = MAY_KNOW.iter().find(|(known, _)| *known == name).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let ours = dependency["name"].as_str().unwrap();
            let in_tests = dependency["kind"] == "dev";
            if names.contains(ours) && !in_tests {
                assert!(allowed.contains(&ours), "{name} must not know {ours}");
            }
        }
    }
}

#[test]
fn pure_crates_are_held_pure_by_the_same_lints() {
    let read =
        |name: &str| std::fs::read_to_string(root().join("crates").join(name).join("clippy.toml")).unwrap();
    let rules = read(PURE[0]);
    for forbidden in ["std::time::Instant", "std::net::UdpSocket", "std::fs::File", "std::thread::spawn"] {
        assert!(rules.contains(forbidden), "{forbidden} is not forbidden");
    }
    for name in PURE {
        assert_eq!(read(name), rules, "crates/{name}/clippy.toml differs");
    }
}

#[test]
fn unsafe_code_stands_where_the_architecture_says() {
    for file in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let path = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let allows = text.contains("allow(unsafe_code)") || text.contains("expect(unsafe_code");
        let may = MAY_BE_UNSAFE.iter().any(|place| path.starts_with(place));
        assert!(!allows || may, "{path} allows unsafe code");
    }
}

/// The folders of `traffic`, from the top down, as ARCHITECTURE.md has them.
fn folders_of_traffic() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = text.split_once("## The folders of `traffic`").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| name.to_owned()).collect()
}

/// What a file of `traffic` names of its own crate: `crate::send::send_queue` as `send/send_queue`, `super::` as where it is.
fn named_in(file: &str, text: &str) -> BTreeSet<String> {
    let parent = file.rsplit_once('/').map_or("", |(parent, _)| parent);
    let mut named = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//") && !line.contains("super::*"))
    {
        for (from, start) in [("crate::", ""), ("super::", parent)] {
            for (at, _) in line.match_indices(from) {
                let path = line[at + from.len()..].split("::");
                let name = |part: &str| {
                    part.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned)
                };
                let parts: Vec<String> =
                    [start.to_owned()].into_iter().chain(path.filter_map(name).take(2)).collect();
                named.insert(parts.join("/").trim_matches('/').to_owned());
            }
        }
    }
    named
}

#[test]
fn folders_of_traffic_use_only_those_below_them() {
    let folders = folders_of_traffic();
    let src = root().join("crates/traffic/src");
    let place = |file: &str| folders.iter().position(|folder| folder == file.split('/').next().unwrap());
    let files: BTreeMap<String, String> = sources(&src)
        .into_iter()
        .map(|file| {
            let name = file.strip_prefix(&src).unwrap().with_extension("").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(file).unwrap())
        })
        .filter(|(name, _)| name != "lib")
        .collect();
    for (file, text) in &files {
        let here =
            place(file).unwrap_or_else(|| panic!("ARCHITECTURE.md does not list the folder of {file}"));
        for named in named_in(file, text) {
            let there = place(&named).filter(|_| !named.is_empty());
            let there =
                there.unwrap_or_else(|| panic!("{file} uses `{named}`, which is no folder: name the file"));
            assert!(here <= there, "{file} uses {named}, which stands above it");
        }
    }
}
