//! Programs that are no part of the workspace have lock files of their own, which nothing else would notice to be
//! behind: `--locked` builds of them would fail.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use tree::root;

/// Directories with a lock file of their own.
const APART: [&str; 3] = ["fuzz", "crates/flowgraph", "python"];

/// A package of a lock file.
#[derive(Default)]
struct Locked {
    version: String,
    dependencies: BTreeSet<String>,
}

/// Ours (without a source), and those of others.
fn lock_file(directory: &str) -> [BTreeMap<String, Vec<Locked>>; 2] {
    let text = std::fs::read_to_string(root().join(directory).join("Cargo.lock")).unwrap();
    let mut found = [BTreeMap::new(), BTreeMap::new()];
    for package in text.split("[[package]]\n").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
            line.map(|word| word.trim_matches('"').to_owned())
        };
        let listed = package.split("dependencies = [\n").nth(1).and_then(|rest| rest.split(']').next());
        let names = listed.unwrap_or_default().lines().filter_map(|line| {
            Some(line.trim().trim_matches(['"', ',']).split(' ').next()?.to_owned())
                .filter(|name| !name.is_empty())
        });
        let locked = Locked { version: value("version").unwrap(), dependencies: names.collect() };
        let kind = usize::from(value("source").is_some());
        found[kind].entry(value("name").unwrap()).or_insert_with(Vec::new).push(locked);
    }
    found
}

/// What each package in a directory depends on, but for its tests.
fn declared(directory: &str) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root().join(directory))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().unwrap().iter().filter(|one| one["kind"] != "dev");
        all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (package["name"].as_str().unwrap().to_owned(), of(package))).collect()
}

#[test]
fn lock_files_of_programs_apart_know_what_our_crates_depend_on() {
    let workspace = declared(".");
    for directory in APART {
        let own = declared(directory);
        for (name, locked) in &lock_file(directory)[0] {
            let declared =
                own.get(name).or(workspace.get(name)).unwrap_or_else(|| panic!("{name} is no crate of ours"));
            assert_eq!(
                &locked[0].dependencies, declared,
                "{directory}/Cargo.lock is behind {name}: cargo metadata in {directory} mends it"
            );
        }
    }
}

#[test]
fn the_fuzzer_is_built_with_the_packages_that_we_are() {
    let of_workspace = &lock_file(".")[1];
    for (name, locked) in &lock_file("fuzz")[1] {
        let Some(ours) = of_workspace.get(name) else { continue };
        for package in locked {
            let same = ours.iter().any(|our| our.version == package.version);
            assert!(
                same,
                "fuzz/Cargo.lock has {name} {}: copy Cargo.lock there, then cargo metadata",
                package.version
            );
        }
    }
}
