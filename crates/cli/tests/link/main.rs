//! A bridge between two interfaces, measured by frames: `make test-link` installs what these need and runs them, as root; counts
//! are asserted, never durations.

#![allow(clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

mod both_ways;
mod bursts;
#[path = "../command/mod.rs"]
mod command;
mod counts;
mod paths;
mod reflecting;
mod safety;
mod waiting;

use command::Bench;
use dropline_lab::{Bridged, Namespace, Pair};
use serde_json::Value;

const NEEDED: &str = "needs root and ethtool: make test-link";

/// A bridge whose ports take live frames, and the target that it is. Nothing but a trial's frames passes it: who asks for hardware
/// addresses is answered by nobody, and its interfaces have none of their own.
fn bridge() -> (Bridged, String) {
    let lab = Bridged::new().unwrap();
    for (namespace, device) in [(&lab.client, Pair::NEAR), (&lab.target, Pair::FAR)] {
        namespace.ip(&["addr", "flush", "dev", device]).unwrap();
    }
    ready(&lab.bridge);
    let target = format!("link:{}/{},{}/{}", lab.client.name(), Pair::NEAR, lab.target.name(), Pair::FAR);
    (lab, target)
}

/// Lets the first interface take live frames: its other end, in the middle, needs GRO for that.
fn ready(middle: &Namespace) {
    ready_at(middle, Bridged::TO_CLIENT);
}

/// The same of both interfaces.
fn ready_both(middle: &Namespace) {
    [Bridged::TO_CLIENT, Bridged::TO_TARGET].iter().for_each(|port| ready_at(middle, port));
}

fn ready_at(middle: &Namespace, port: &str) {
    let gro = ["-K", port, "gro", "on"];
    assert!(middle.command("ethtool").args(gro).status().expect(NEEDED).success(), "{NEEDED}");
}

fn trial(target: &str, more: &[&str]) -> Value {
    let bench = Bench::new();
    let words = [&["trial", target, "--frame=64B", "-q", "-o", "r.jsonl"], more].concat();
    let ended = bench.run(&words);
    // A busy machine makes trials that say more about it than about the target, and counts them all the same.
    assert!(matches!(ended.code, Some(0 | 3)), "{words:?}: {}", ended.errors);
    trial_of(&bench.read("r.jsonl"))
}

/// The trials of a record.
fn trials(record: &str) -> Vec<Value> {
    let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["line"] == "trial").collect()
}

fn count(trial: &Value, key: &str) -> u64 {
    trial[key].as_u64().unwrap_or_else(|| panic!("no {key} in {trial}"))
}

/// Every frame that left came out, found no room at our own end, or was lost at a place that has a counter.
fn closes(trial: &Value) {
    let places: u64 =
        trial["lost_at"].as_object().unwrap().values().map(|frames| frames.as_u64().unwrap()).sum();
    let (offered, forwarded) = (count(trial, "offered"), count(trial, "forwarded"));
    assert_eq!(offered, forwarded + count(trial, "generator_lost") + places, "{trial}");
    assert_eq!(count(&trial["lost_at"], "unexplained"), 0, "{trial}");
}

/// The only trial of a record.
fn trial_of(record: &str) -> Value {
    trials(record).pop().unwrap_or_else(|| panic!("no trial in {record}"))
}

/// Packets that left by an interface.
fn sent(namespace: &Namespace, interface: &str) -> u64 {
    let shown = namespace.ip(&["-s", "-j", "link", "show", "dev", interface]).unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    shown[0]["stats64"]["tx"]["packets"].as_u64().unwrap()
}

/// Sends a signal, named as `kill` does.
fn signal(child: &std::process::Child, name: &str) {
    let sent =
        std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success(), "{name}");
}

/// The codes of a trial's caveats.
fn codes(trial: &Value) -> Vec<&str> {
    trial["caveats"].as_array().unwrap().iter().filter_map(|caveat| caveat["code"].as_str()).collect()
}
