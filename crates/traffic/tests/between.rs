//! What is between two interfaces, found by pairs of interfaces in namespaces of the test's own.

#![allow(clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

use dropline_account::{Role, Snapshot, Way};
use dropline_lab::{Bridged, End, Namespace, Pair, built_or_skipped, connect};
use dropline_traffic::Counters;

/// Names of the interfaces that frames may pass, by the role of their namespace.
fn passed(read: &Snapshot, role: Role) -> Vec<String> {
    let spaces = read.spaces.iter().filter(|space| space.role == role);
    let devices = spaces.flat_map(|space| space.devices.iter().flatten());
    let mut names: Vec<String> = devices.filter(|one| one.on_path).map(|one| one.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn the_namespace_of_a_bridge_between_two_interfaces_is_found_and_no_other() {
    let Some(lab) = built_or_skipped(Bridged::new()) else { return };
    // A namespace beside the way, at which the client has another interface.
    let beside = Namespace::new("beside").unwrap();
    let ends = [(&lab.client, "spare"), (&beside, "other")];
    let [a, b] = ends.map(|(namespace, device)| End { namespace, device, address: None });
    connect(a, b).unwrap();
    let (near, far) = (lab.client.path(), lab.target.path());
    let mut counters = Counters::between([(Some(&near), Pair::NEAR), (Some(&far), Pair::FAR)]).unwrap();
    let read = counters.read();
    assert_eq!(passed(&read, Role::Near), [Pair::NEAR]);
    assert_eq!(passed(&read, Role::Far), [Pair::FAR]);
    assert_eq!(passed(&read, Role::Between), ["bridge", "lo", Bridged::TO_CLIENT, Bridged::TO_TARGET]);
    let bridge = read.spaces.iter().find(|space| space.role == Role::Between).unwrap();
    let port = bridge.devices.iter().flatten().find(|one| one.name == Bridged::TO_TARGET).unwrap();
    assert_eq!(counters.last(Way::Out), Some((bridge.id, port.index)));
    // What leaves by its ports goes to the one end, or to the other.
    let back = bridge.devices.iter().flatten().find(|one| one.name == Bridged::TO_CLIENT).unwrap();
    assert_eq!((port.leaves, back.leaves), (Some(Way::Out), Some(Way::Back)));
    assert_eq!(counters.last(Way::Back), Some((bridge.id, back.index)));
    assert!(Counters::between([(Some(&near), "none"), (Some(&far), Pair::FAR)]).is_err());
}

#[test]
fn a_bridge_in_the_namespace_of_both_interfaces_is_found_too() {
    let Some(lab) = built_or_skipped(Namespace::new("lab")) else { return };
    for (end, port) in [("near", "first"), ("far", "second")] {
        let [a, b] = [end, port].map(|device| End { namespace: &lab, device, address: None });
        connect(a, b).unwrap();
    }
    let path = lab.path();
    let mut counters = Counters::between([(Some(&path), "near"), (Some(&path), "far")]).unwrap();
    let read = counters.read();
    assert_eq!(passed(&read, Role::Near), ["far", "first", "lo", "near", "second"]);
    let second = read.spaces[0].devices.iter().flatten().find(|one| one.name == "second").unwrap();
    assert_eq!(counters.last(Way::Out), Some((read.spaces[0].id, second.index)));
}

#[test]
fn between_the_two_ends_of_a_pair_is_nothing() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    let (near, far) = (lab.client.path(), lab.target.path());
    let mut counters = Counters::between([(Some(&near), Pair::NEAR), (Some(&far), Pair::FAR)]).unwrap();
    let read = counters.read();
    assert_eq!(
        (passed(&read, Role::Near), passed(&read, Role::Far)),
        (vec!["near".into()], vec!["far".into()])
    );
    let near = read.spaces.iter().find(|space| space.role == Role::Near).unwrap();
    assert_eq!(
        counters.last(Way::Out).map(|last| last.0),
        Some(near.id),
        "what the near end drops, the far one had no room for"
    );
}
