//! A bridge on the way sends packets of a trial to whom they are for alone, or none is sent: what it does not know it floods,
//! out of every port. Needs root and iproute2: without them the tests are skipped, and fail where `CI` is `true`.
#![allow(clippy::disallowed_methods)]
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{Bridged, End, Namespace, Pair, built_or_skipped as built, connect};
use dropline_traffic::{
    Detour, MeasurerOptions, NoLeash, Reply, Responder, RunningResponder, UdpError, UdpMeasurer, UdpTarget,
};
use dropline_trial::{Caveat, Drain, Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PORT: u16 = 7007;
const TO_STRANGER: &str = "to-stranger";
const BRIDGE: &str = "bridge";

/// Client and target on a bridge, and another host at a third port of it.
fn lab() -> Option<(Bridged, Namespace)> {
    let lab = built(Bridged::new())?;
    let stranger = built(Namespace::new("stranger"))?;
    connect(
        End { namespace: &stranger, device: Pair::NEAR, address: Some("10.9.0.9/24") },
        End { namespace: &lab.bridge, device: TO_STRANGER, address: None },
    )
    .unwrap();
    lab.bridge.ip(&["link", "set", "dev", TO_STRANGER, "master", BRIDGE]).unwrap();
    Some((lab, stranger))
}

fn serve(lab: &Bridged) -> RunningResponder {
    let listen = SocketAddr::from((lab.target_address, PORT));
    lab.target.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

fn measurer(lab: &Bridged) -> Result<UdpMeasurer, UdpError> {
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let drain =
        Drain { longest: Duration::from_secs(5), quiet: Some(Duration::from_secs(1)), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::default(), None)
}

fn lasting(duration: Duration) -> TrialInput {
    TrialInput { load: Rate::pps(500.0).unwrap(), duration }
}

fn offer(lab: &Bridged) -> Result<Trial, UdpError> {
    lab.client.run(|| measurer(lab)?.measure(lasting(Duration::from_millis(200)))).unwrap()
}

/// Frames that left by the port to the stranger.
fn flooded(lab: &Bridged) -> u64 {
    let devices = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let devices = lab.bridge.run(devices).unwrap();
    let port = devices.lines().find_map(|line| line.trim().strip_prefix("to-stranger:")).unwrap();
    port.split_whitespace().nth(9).unwrap().parse().unwrap()
}

/// The hardware address of the target, which the client knows, in the table behind that port, for good.
fn write(lab: &Bridged, port: &str) {
    let said = lab.target.ip(&["-o", "link", "show", "dev", Pair::FAR]).unwrap();
    let hardware = said.split("link/ether ").nth(1).unwrap().split_whitespace().next().unwrap();
    let words = ["fdb", "replace", hardware, "dev", port, "master", "static"];
    let ended =
        lab.bridge.run(|| std::process::Command::new("bridge").args(words).status()).unwrap().unwrap();
    assert!(ended.success());
}

fn port(lab: &Bridged, port: &str, how: &[&str]) {
    lab.bridge.ip(&[&["link", "set", "dev", port, "type", "bridge_slave"], how].concat()).unwrap();
}

#[test]
fn no_packet_is_sent_that_a_bridge_would_send_to_others_too() {
    let Some((lab, _stranger)) = lab() else { return };
    let _there = serve(&lab);
    // Nobody knows anybody yet: who has the address is asked first, and the bridge hears the answer.
    let trial = offer(&lab).unwrap();
    assert_eq!((trial.lost(), trial.forwarded), (0, trial.offered));
    let refused = |what: &str, asked_known: bool| {
        let before = flooded(&lab);
        let why = offer(&lab).unwrap_err();
        let is_it = matches!(
            &why,
            UdpError::NoLeash { why: NoLeash::Diverted { by: Detour::Bridge { is_known, port, .. }, .. }, .. }
                if *is_known == asked_known && &**port == TO_STRANGER
        );
        assert!(is_it, "{what}: {why}");
        assert_eq!(flooded(&lab), before, "{what}: the probe is a packet too");
    };
    let forget = || port(&lab, Bridged::TO_TARGET, &["fdb_flush"]);
    forget();
    refused("forgotten, while the client still knows the address", false);
    lab.client.ip(&["neigh", "flush", "dev", Pair::NEAR]).unwrap();
    offer(&lab).unwrap();
    write(&lab, TO_STRANGER);
    refused("a line that somebody wrote", true);
    write(&lab, Bridged::TO_TARGET);
    offer(&lab).unwrap();
    port(&lab, Bridged::TO_TARGET, &["learning", "off"]);
    offer(&lab).unwrap();
    forget();
    let bridge = |age: &str| {
        lab.bridge.ip(&["link", "set", "dev", BRIDGE, "type", BRIDGE, "ageing_time", age]).unwrap();
    };
    write(&lab, Bridged::TO_TARGET);
    port(&lab, Bridged::TO_CLIENT, &["learning", "off", "fdb_flush"]);
    refused("of the client nothing is learnt: replies", false);
    port(&lab, Bridged::TO_CLIENT, &["learning", "on"]);
    offer(&lab).unwrap();
    // As a hub: nothing is kept.
    bridge("0");
    port(&lab, Bridged::TO_CLIENT, &["fdb_flush"]);
    refused("of no age", false);
    port(&lab, TO_STRANGER, &["flood", "off"]);
    offer(&lab).unwrap();
}

fn left(trial: &Trial) -> Option<(u64, &str)> {
    trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::LeftElsewhere { packets, interface } => Some((*packets, interface.as_str())),
        _ => None,
    })
}

#[test]
fn a_bridge_that_begins_to_flood_in_mid_trial_ends_it() {
    const LONG: Duration = Duration::from_secs(20);
    let Some((lab, _stranger)) = lab() else { return };
    let there = serve(&lab);
    let to_target = |how: &[&str]| {
        lab.bridge.ip(&[&["link", "set", "dev", Bridged::TO_TARGET], how].concat()).map(drop).unwrap();
    };
    let (down, away) = (|| to_target(&["down"]), || to_target(&["nomaster"]));
    let elsewhere = || {
        // What is heard from the target would move the line back.
        port(&lab, Bridged::TO_TARGET, &["learning", "off"]);
        write(&lab, TO_STRANGER);
    };
    let changes: [(&str, &(dyn Fn() + Sync)); 3] =
        [("its port goes down", &down), ("its port moves away", &away), ("a line of the table", &elsewhere)];
    for (what, change) in changes {
        let before = there.counts().received;
        let (trial, next) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let until = Instant::now() + LONG / 2;
                while there.counts().received < before + 100 && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(5));
                }
                change();
            });
            let measure = || {
                let mut measurer = measurer(&lab).unwrap();
                (measurer.measure(lasting(LONG)).unwrap(), measurer.measure(lasting(LONG / 100)))
            };
            lab.client.run(measure).unwrap()
        });
        // Whichever is seen first: a packet of the trial at the wrong port, or the change that would lead it there.
        let is_seen = trial.caveats.iter().any(|caveat| caveat.code() == "rule_appeared");
        match left(&trial) {
            Some((packets, interface)) => {
                assert!(packets > 0 && interface.contains("to-stranger of"), "{what}: {interface}");
            }
            None => assert!(is_seen, "{what}: {:?}", trial.caveats),
        }
        assert!(trial.duration < LONG && trial.is_invalid(), "{what}: {:?}", trial.caveats);
        assert!(next.is_err(), "{what}");
        to_target(&["up", "master", BRIDGE]);
        port(&lab, TO_STRANGER, &["fdb_flush"]);
        lab.client.ip(&["neigh", "flush", "dev", Pair::NEAR]).unwrap();
    }
}
