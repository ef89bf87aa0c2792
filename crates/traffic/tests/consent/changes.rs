//! What changes in mid-trial in any namespace of the way, and what does not matter there.

use super::leaving::{LONG, assert_ended, trials_of_while, trials_while};
use super::*;
use dropline_traffic::Guard;

/// What wipes the tag of packets that leave beside the way: no tap knows them then.
fn wiped_at(device: &str) -> String {
    format!(
        "table netdev wiped {{ chain out {{ type filter hook egress device {device:?} priority 0; udp dport {PORT} @th,64,128 set 0; }}; }}"
    )
}

/// The port of the bridge that leads to an end, by the hardware address that the end has there.
fn port_to(lab: &Bridged, end: &Namespace, device: &str) -> (String, String) {
    let said = end.ip(&["-o", "link", "show", "dev", device]).unwrap();
    let hardware =
        said.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    let ports = lab.bridge.ip(&["-o", "link", "show", "master", "bridge"]).unwrap();
    let number = said.split('@').nth(1).and_then(|rest| rest.strip_prefix("if")?.split(':').next()).unwrap();
    let port = ports.lines().find(|line| line.starts_with(&format!("{number}:"))).unwrap();
    (port.split(": ").nth(1).and_then(|name| name.split('@').next()).unwrap().to_owned(), hardware)
}

fn bridge(lab: &Bridged, words: &[&str]) {
    let run = || std::process::Command::new("bridge").args(words).status().unwrap();
    assert!(lab.bridge.run(run).unwrap().success(), "{words:?}");
}

#[test]
fn a_rule_that_comes_in_the_targets_namespace_ends_the_trial_though_no_packet_has_its_tag() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some(stranger) = built(Namespace::new("stranger")) else { return };
    connect(
        End { namespace: &lab.target, device: "out", address: Some("10.8.1.1/24") },
        End { namespace: &stranger, device: "in", address: Some("10.8.1.9/24") },
    )
    .unwrap();
    let served = serve(&lab.target, lab.target_address);
    for does in ["@th,64,128 set 0 fwd to \"out\"", "ip protocol set 254 fwd to \"out\"", "dup to \"out\""] {
        let comes = || {
            let rule = format!(
                "{}\ntable netdev led {{ chain in {{ type filter hook ingress device {:?} priority 0; udp dport {PORT} {does}; }}; }}",
                wiped_at("out"),
                Pair::FAR
            );
            lab.target.nft(&rule).unwrap();
        };
        let (trial, next) = trials_while(&lab.client, &served, lab.target_address, comes);
        let word = if does.contains("fwd") { "fwd" } else { "dup" };
        assert_ended(&trial, &format!("{word} in chain in of table netdev led"));
        let is_refused = matches!(next, Err(UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. }));
        assert!(is_refused, "{does}: {next:?}");
        lab.target.nft("flush ruleset").unwrap();
    }
}

#[test]
fn what_a_bridge_comes_to_do_with_frames_ends_the_trial_though_no_packet_has_its_tag() {
    for (is_moved, is_undone) in [(false, false), (true, false), (false, true)] {
        let Some(lab) = built(Bridged::new()) else { return };
        let Some(_stranger) = stranger_beside(&lab) else { return };
        let served = serve(&lab.target, lab.target_address);
        let (near, _) = port_to(&lab, &lab.client, Pair::NEAR);
        let (far, hardware) = port_to(&lab, &lab.target, Pair::FAR);
        lab.bridge.nft(&wiped_at("to-stranger")).unwrap();
        let comes = || {
            if !is_moved {
                let replace = ["fdb", "replace", &hardware, "dev", "to-stranger", "master", "static"];
                // Another entry is moved back by the next frame from there.
                match is_undone {
                    false => bridge(&lab, &[&replace[..], &["sticky"]].concat()),
                    true => {
                        bridge(&lab, &replace);
                        bridge(&lab, &["fdb", "replace", &hardware, "dev", &far, "master", "static"]);
                    }
                }
                return;
            }
            lab.bridge.ip(&["link", "add", "other", "type", "bridge"]).unwrap();
            lab.bridge.ip(&["link", "set", "other", "up"]).unwrap();
            for port in ["to-stranger", &near] {
                lab.bridge.ip(&["link", "set", port, "nomaster"]).unwrap();
                lab.bridge.ip(&["link", "set", port, "master", "other"]).unwrap();
            }
        };
        let (trial, next) = trials_while(&lab.client, &served, lab.target_address, comes);
        // The other port may be looked at before it moves on.
        let words = match (is_moved, is_undone) {
            (true, _) => format!("interface {near} of "),
            (_, true) => "bridge".into(),
            _ => "has the wrong port for".into(),
        };
        assert_ended(&trial, &words);
        let is_refused = matches!(next, Err(UdpError::NoLeash { .. }));
        assert!(is_refused || is_undone, "{next:?}");
    }
}

#[test]
fn nothing_is_asked_after_a_trial_whose_packets_were_led_elsewhere() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let served = serve(&lab.target, lab.target_address);
    // A question is shorter than a packet of the trial.
    stranger
        .nft("table inet counted { counter asked { }; chain in { type filter hook prerouting priority -300; udp length 48 counter name asked; }; }")
        .unwrap();
    let asked = || {
        let said = stranger.nft("list counter inet counted asked").unwrap();
        let count = said.split("packets ").nth(1).unwrap().split(' ').next().unwrap();
        count.parse::<u64>().unwrap()
    };
    let (_, hardware) = port_to(&lab, &stranger, Pair::NEAR);
    let comes = || {
        let words =
            ["neigh", "replace", "10.9.0.2", "lladdr", &hardware, "dev", Pair::NEAR, "nud", "permanent"];
        lab.client.ip(&words).unwrap();
    };
    let before = got(&stranger);
    let (trial, next) = trials_of_while(Reply::None, &lab.client, &served, lab.target_address, comes);
    assert_ended(&trial, &hardware);
    assert!(got(&stranger) > before, "packets of the trial came there: else nothing was led elsewhere");
    assert!(matches!(next, Err(UdpError::NoLeash { .. })), "{next:?}");
    assert_eq!(asked(), 0, "questions to another host");
}

#[test]
fn a_policy_of_ipsec_for_replies_refuses_a_target_and_ends_a_trial() {
    let Some(lab) = built(Pair::new()) else { return };
    let served = serve(&lab.target, lab.target_address);
    let policy = |what: &str| {
        let mut words =
            vec!["xfrm", "policy", what, "src", "10.9.0.2/32", "dst", "10.9.0.1/32", "dir", "out"];
        if what == "add" {
            words.extend(["tmpl", "src", "10.9.0.2", "dst", "10.9.0.77", "proto", "esp", "mode", "tunnel"]);
        }
        lab.target.ip(&words)
    };
    if let Err(why) = policy("add").and_then(|_| policy("delete")) {
        eprintln!("left out: this kernel has no IPsec: {why}");
        return;
    }
    let (trial, next) =
        trials_while(&lab.client, &served, lab.target_address, || drop(policy("add").unwrap()));
    assert_ended(&trial, "a policy of IPsec for 10.9.0.1/32 in ");
    let is_it =
        matches!(&next, Err(UdpError::NoLeash { why: NoLeash::Diverted { by: Detour::Policy(_), .. }, .. }));
    assert!(is_it, "{next:?}");
}

#[test]
fn what_changes_and_leads_the_packets_nowhere_ends_nothing() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(_stranger) = stranger_beside(&lab) else { return };
    let served = serve(&lab.target, lab.target_address);
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(500.0).unwrap(), duration: Duration::from_secs(2) };
    let comes = || {
        let until = Instant::now() + LONG;
        while served.counts().received < 100 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        for namespace in [&lab.client, &lab.bridge, &lab.target] {
            namespace.nft("table ip others { chain out { type filter hook output priority 0; udp dport 53 drop; }; }").unwrap();
            namespace.ip(&["link", "add", "others", "type", "bridge"]).unwrap();
            namespace.ip(&["link", "set", "others", "up"]).unwrap();
            namespace.ip(&["addr", "add", "10.77.0.1/24", "dev", "others"]).unwrap();
            namespace.ip(&["route", "add", "10.78.0.0/16", "via", "10.77.0.9"]).unwrap();
            namespace.ip(&["rule", "add", "to", "10.79.0.0/16", "lookup", "79"]).unwrap();
        }
        bridge(&lab, &["fdb", "replace", "02:00:00:00:00:77", "dev", "to-stranger", "master", "static"]);
        lab.bridge.ip(&["link", "del", "to-stranger"]).unwrap();
    };
    let trial = std::thread::scope(|scope| {
        let coming = std::thread::Builder::new().spawn_scoped(scope, comes).unwrap();
        let options = MeasurerOptions::default();
        let measured = lab.client.run(|| {
            UdpMeasurer::new(target, TrafficProfile::default(), options, 1, Arc::default(), None)?
                .measure(input)
        });
        coming.join().unwrap();
        measured.unwrap().unwrap()
    });
    let codes: Vec<_> = trial.caveats.iter().map(|caveat| caveat.code()).collect();
    assert!(!codes.contains(&"rule_appeared"), "{:?}", trial.caveats);
    assert_eq!(
        (trial.duration, trial.lost()),
        (input.duration, 0),
        "it goes to its end: {:?}",
        trial.caveats
    );
}

#[test]
fn whoever_sends_under_a_guard_is_told_what_leads_packets_elsewhere() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let _there = serve(&lab.target, lab.target_address);
    let target = SocketAddr::from((lab.target_address, PORT));
    let (_, hardware) = port_to(&lab, &stranger, Pair::NEAR);
    let came = lab.client.run(|| {
        let leash = Leash::towards(target).unwrap();
        let socket = UdpSocket::bind(leash.source("0.0.0.0:0".parse().unwrap())).unwrap();
        leash.hold(&socket, target).unwrap();
        let astray = AtomicBool::new(false);
        let send = || {
            let until = Instant::now() + LONG;
            for number in 0.. {
                if astray.load(std::sync::atomic::Ordering::Relaxed) || Instant::now() > until {
                    return number;
                }
                let _ = socket.send(b"heartbeat");
                std::thread::sleep(Duration::from_millis(2));
                if number == 50 {
                    let hop = "10.9.0.2";
                    let words =
                        ["neigh", "replace", hop, "lladdr", &hardware, "dev", Pair::NEAR, "nud", "permanent"];
                    lab.client.ip(&words).unwrap();
                }
            }
            0
        };
        Guard::over(&socket, target).unwrap().during(&astray, send)
    });
    let (sent, came) = came.unwrap();
    assert!(came.as_ref().is_some_and(|what| what.contains(&hardware)), "{came:?}");
    assert!((51..5_000).contains(&sent), "{sent}: it is ended at once");
}
