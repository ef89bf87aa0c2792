//! What is between: routers, VLANs, devices that tell flows apart.

use super::{Bench, Namespace, Pair, bridge, closes, count, ready, trial};
use dropline_lab::{Bridged, End, connect};

/// A router between two interfaces, which have no addresses, and the target that it is.
fn router() -> (Namespace, [Namespace; 2], String) {
    let [client, middle, target] = ["client", "router", "target"].map(|role| Namespace::new(role).unwrap());
    for (namespace, device, port, address) in [
        (&client, Pair::NEAR, Bridged::TO_CLIENT, "10.7.1.1/24"),
        (&target, Pair::FAR, Bridged::TO_TARGET, "10.7.2.1/24"),
    ] {
        let end = End { namespace, device, address: None };
        connect(end, End { namespace: &middle, device: port, address: Some(address) }).unwrap();
    }
    middle.set("net.ipv4.ip_forward", "1").unwrap();
    ready(&middle);
    let target_word = format!("link:{}/{},{}/{}", client.name(), Pair::NEAR, target.name(), Pair::FAR);
    (middle, [client, target], target_word)
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_router_is_asked_for_its_address_and_answered_ours() {
    let (middle, _ends, target) = router();
    for engine in ["xdp", "packet"] {
        let target = format!("{target}?via=10.7.1.1&src=10.7.1.2&dst=10.7.2.2&engine={engine}");
        // A router writes into what it forwards, and from some 12 kpps on memory of forwarded frames comes again.
        let trial = trial(&target, &["--load=50kpps", "--duration=500ms"]);
        closes(&trial);
        let (offered, forwarded) = (count(&trial, "offered"), count(&trial, "forwarded"));
        assert!(offered > 4_000 && 2 * forwarded > offered, "{trial}");
    }
    let known = middle.ip(&["neigh", "show", "dev", Bridged::TO_TARGET]).unwrap();
    assert!(known.contains("10.7.2.2 lladdr"), "{known}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn where_no_router_has_the_address_no_frame_is_sent() {
    let bench = Bench::new();
    let (_middle, _ends, target) = router();
    let target = format!("{target}?via=10.7.1.9&src=10.7.1.2&dst=10.7.2.2");
    let ended = bench.run(&["trial", &target, "--load=1kpps", "--duration=100ms", "-q", "-o", "-"]);
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    assert!(ended.errors.contains("nobody behind") && ended.errors.contains("10.7.1.9"), "{}", ended.errors);
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn frames_of_a_vlan_have_its_tag_where_they_pass() {
    for (engine, vlan, share) in [("xdp", 5, 10), ("packet", 5, 10), ("xdp", 6, 0)] {
        let (lab, target) = bridge();
        let rule = "table bridge dropline { chain f { type filter hook forward priority 0; \
                    vlan id 5 numgen inc mod 10 == 9 drop; }; }";
        lab.bridge.nft(rule).unwrap();
        let target = format!("{target}?vlan={vlan}&engine={engine}");
        let trial = trial(&target, &["--load=50kpps", "--duration=500ms"]);
        let (offered, forwarded) = (count(&trial, "offered"), count(&trial, "forwarded"));
        let dropped = offered.checked_div(share).unwrap_or(0);
        assert!((offered - forwarded).abs_diff(dropped) <= 1, "{trial}");
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_device_that_tells_flows_apart_sees_as_many_as_were_asked_for() {
    for engine in ["xdp", "packet"] {
        let (lab, target) = bridge();
        // Of 32 flows the last eight: a quarter.
        let rule = "table bridge dropline { chain f { type filter hook forward priority 0; \
                    ip saddr 198.18.0.25-198.18.0.32 udp sport 49176-49183 drop; }; }";
        lab.bridge.nft(rule).unwrap();
        let trial = trial(&format!("{target}?flows=32&engine={engine}"), &["--load=16kpps", "--duration=1s"]);
        closes(&trial);
        let (offered, dropped) = (count(&trial, "offered"), count(&trial["lost_at"], "netfilter"));
        assert!(dropped.abs_diff(offered / 4) <= 8, "{trial}");
    }
}
