//! What is between: routers, VLANs, devices that tell flows apart.

use super::{Bench, Namespace, Pair, bridge, closes, codes, count, ready_both, sent, trial, trial_of};
use dropline_lab::{Bridged, End, connect};
use std::time::{Duration, Instant};

/// A router between two interfaces, which have no addresses, and the target that it is.
fn router() -> (Namespace, [Namespace; 2], String) {
    router_at(["10.7.1.1/24", "10.7.2.1/24"])
}

/// The same with these addresses on either side.
fn router_at(addresses: [&str; 2]) -> (Namespace, [Namespace; 2], String) {
    let [client, middle, target] = ["client", "router", "target"].map(|role| Namespace::new(role).unwrap());
    for ((namespace, device, port), address) in
        [(&client, Pair::NEAR, Bridged::TO_CLIENT), (&target, Pair::FAR, Bridged::TO_TARGET)]
            .into_iter()
            .zip(addresses)
    {
        let end = End { namespace, device, address: None };
        connect(end, End { namespace: &middle, device: port, address: None }).unwrap();
        if address.contains(':') {
            // Who asks whether his own address is taken has none to ask others from, for a second.
            for (switch, value) in [("accept_dad", "0"), ("disable_ipv6", "0")] {
                middle.set(&format!("net.ipv6.conf.{port}.{switch}"), value).unwrap();
            }
            middle.ip(&["addr", "add", address, "dev", port, "nodad"]).unwrap();
        } else {
            middle.ip(&["addr", "add", address, "dev", port]).unwrap();
        }
    }
    middle.set("net.ipv4.ip_forward", "1").unwrap();
    middle.set("net.ipv6.conf.all.forwarding", "1").unwrap();
    ready_both(&middle);
    let target_word = format!("link:{}/{},{}/{}", client.name(), Pair::NEAR, target.name(), Pair::FAR);
    (middle, [client, target], target_word)
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn frames_of_ipv6_pass_a_bridge_with_or_without_a_tag() {
    for (engine, more, rule) in [
        ("xdp", "", "udp dport 9"),
        ("packet", "", "udp dport 9"),
        ("xdp", "&vlan=5&flows=3", "vlan id 5"),
        ("packet", "&vlan=5&flows=3", "vlan id 5"),
    ] {
        let (lab, target) = bridge();
        let rule = format!(
            "table bridge dropline {{ chain f {{ type filter hook forward priority 0; {rule} numgen inc mod 10 == 9 drop; }}; }}"
        );
        lab.bridge.nft(&rule).unwrap();
        let target = format!("{target}?ip=6&engine={engine}{more}");
        let trial = trial(&target, &["--load=20kpps", "--duration=500ms"]);
        let (offered, forwarded) = (count(&trial, "offered"), count(&trial, "forwarded"));
        assert!(offered > 2_000 && (offered - forwarded).abs_diff(offered / 10) <= 1, "{trial}");
        // What a rule drops of a VLAN no counter has.
        if more.is_empty() {
            closes(&trial);
        }
    }
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_router_of_ipv6_is_asked_for_its_address_and_answered_ours() {
    let (middle, _ends, target) = router_at(["2001:db8:1::1/64", "2001:db8:2::1/64"]);
    let ways = "via=2001:db8:1::1,2001:db8:2::1&src=2001:db8:1::2&dst=2001:db8:2::2&flows=4";
    for (engine, directions) in [("xdp", "one=1"), ("packet", "one=1"), ("xdp", "west=1,east=1")] {
        let words = ["--load=20kpps", "--duration=500ms", "--directions", directions];
        let trial = trial(&format!("{target}?{ways}&engine={engine}"), &words);
        closes(&trial);
        let (offered, forwarded) = (count(&trial, "offered"), count(&trial, "forwarded"));
        assert!(offered > 2_000 && 2 * forwarded > offered, "{trial}");
    }
    let known = middle.ip(&["-6", "neigh", "show", "dev", Bridged::TO_TARGET]).unwrap();
    assert!(known.contains("2001:db8:2::2 lladdr"), "{known}");
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

/// Performs a trial, and does `change` when so many frames of it have left; ends with exit code 3, and says `why`.
fn spoiled(target: &str, left: impl Fn() -> u64, change: impl FnOnce(), why: &str) -> serde_json::Value {
    let bench = Bench::new();
    let words = ["trial", target, "--load=2kpps", "--duration=60s", "-q", "-o", "r.jsonl"];
    let child = bench.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while left() < 300 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    change();
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{errors}");
    let trial = trial_of(&bench.read("r.jsonl"));
    assert!(
        codes(&trial).contains(&"rule_appeared") && trial["caveats"].to_string().contains(why),
        "{trial}"
    );
    // It was ended then.
    assert!(count(&trial, "intended") < 60_000, "{trial}");
    trial
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_router_that_comes_to_send_some_flows_elsewhere_ends_the_trial() {
    let (middle, ends, target) = router();
    for command in [
        "link add third type veth peer name beyond",
        "link set third up",
        "link set beyond up",
        "addr add 10.7.3.1/24 dev third",
        "neigh add 10.7.3.2 lladdr 02:00:00:00:00:09 dev third",
        "route add default via 10.7.3.2 dev third table 77",
        // What concerns no frame of the trial changes nothing.
        "rule add from 10.9.9.9 lookup 77",
    ] {
        middle.ip(&command.split(' ').collect::<Vec<_>>()).unwrap();
    }
    let target = format!("{target}?via=10.7.1.1&src=10.7.1.2&dst=10.7.2.2&flows=2");
    let change = || {
        middle.ip(&["rule", "add", "from", "10.9.9.8", "lookup", "77"]).unwrap();
        middle.ip(&["rule", "add", "from", "10.7.1.3", "lookup", "77"]).unwrap();
    };
    let left = || sent(&ends[0], Pair::NEAR);
    let trial = spoiled(&target, left, change, "frames from 10.7.1.3 to 10.7.2.2 leave by third");
    let (led, lost) = (sent(&middle, "third"), count(&trial, "offered") - count(&trial, "forwarded"));
    // A few beside: what the namespace says of its own.
    assert!(led <= lost + 30, "{led} led away, {lost} lost: {trial}");
}

#[test]
#[ignore = "needs root and ethtool: make test-link"]
fn a_bridge_that_comes_to_send_frames_out_by_another_port_ends_the_trial() {
    let (lab, target) = bridge();
    lab.bridge.ip(&["link", "add", "third", "type", "veth", "peer", "name", "spy"]).unwrap();
    for set in [&["spy", "up"][..], &["third", "master", "bridge"], &["third", "up"]] {
        lab.bridge.ip(&[&["link", "set", "dev"], set].concat()).unwrap();
    }
    let shown = lab.target.ip(&["-j", "link", "show", "dev", Pair::FAR]).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let far = shown[0]["address"].as_str().unwrap().to_owned();
    let change = || {
        let words = ["fdb", "replace", &far, "dev", "third", "master", "static"];
        assert!(lab.bridge.command("bridge").args(words).status().unwrap().success());
    };
    spoiled(&target, || sent(&lab.client, Pair::NEAR), change, "leave by third");
}
