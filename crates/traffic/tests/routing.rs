//! No packet is sent where a rule of routing, or a route, leads some of the packets of a flow elsewhere, or replies to them:
//! by their port, protocol, source, mark or type of service. Rules of other packets refuse nothing. Needs root and iproute2:
//! without them the tests are skipped, and fail where `CI` is `true`.
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{Bridged, End, Namespace, Pair, built_or_skipped as built, connect};
use dropline_traffic::{
    MeasurerOptions, NoLeash, Reply, Responder, RunningResponder, UdpError, UdpMeasurer, UdpTarget,
};
use dropline_trial::{Drain, Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const PORT: u16 = 7007;
const INPUT: (f64, Duration) = (1_000.0, Duration::from_millis(50));

fn serve(namespace: &Namespace, address: Ipv4Addr) -> RunningResponder {
    let listen = SocketAddr::from((address, PORT));
    namespace.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

fn input() -> TrialInput {
    TrialInput { load: Rate::pps(INPUT.0).unwrap(), duration: INPUT.1 }
}

fn measurer(address: Ipv4Addr) -> Result<UdpMeasurer, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    let drain =
        Drain { longest: Duration::from_secs(5), quiet: Some(Duration::from_secs(1)), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::default(), None)
}

fn offer(client: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    client.run(|| measurer(address)?.measure(input())).unwrap()
}

/// Client and target on a bridge with a stranger, who is behind the target too.
fn lab() -> Option<(Bridged, Namespace)> {
    let lab = built(Bridged::new())?;
    let stranger = built(Namespace::new("stranger"))?;
    connect(
        End { namespace: &stranger, device: Pair::NEAR, address: Some("10.9.0.9/24") },
        End { namespace: &lab.bridge, device: "to-stranger", address: None },
    )
    .unwrap();
    lab.bridge.ip(&["link", "set", "dev", "to-stranger", "master", "bridge"]).unwrap();
    connect(
        End { namespace: &lab.target, device: "out", address: Some("10.8.1.1/24") },
        End { namespace: &stranger, device: "in", address: Some("10.8.1.9/24") },
    )
    .unwrap();
    lab.client
        .ip(&["route", "add", "default", "via", "10.9.0.9", "dev", Pair::NEAR, "table", "100"])
        .unwrap();
    lab.target.ip(&["route", "add", "default", "via", "10.8.1.9", "dev", "out", "table", "100"]).unwrap();
    Some((lab, stranger))
}

/// Datagrams of IP that a namespace was given.
fn got(namespace: &Namespace) -> u64 {
    let tables = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp")).unwrap().unwrap();
    let counts = tables.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
    counts.split_whitespace().nth(3).unwrap().parse().unwrap()
}

fn rule(namespace: &Namespace, does: &str, of: &[&str]) {
    namespace.ip(&[&["rule", does, "pref", "5"], of].concat()).unwrap();
}

#[test]
fn no_packet_is_sent_where_a_rule_leads_some_of_them_or_replies_another_way_and_the_rule_is_named() {
    let Some((lab, stranger)) = lab() else { return };
    let to = lab.target_address;
    let _there = serve(&lab.target, to);
    assert!(offer(&lab.client, to).is_ok(), "without a rule");
    let here = ("this network namespace".to_owned(), Pair::NEAR);
    let there = (format!("network namespace {}", lab.target.name()), "out");
    for (namespace, (name, device), of) in [
        (&lab.client, &here, &["fwmark", "1"][..]),
        (&lab.client, &here, &["fwmark", "0x100/0xff00"]),
        (&lab.client, &here, &["tos", "0x10"]),
        (&lab.client, &here, &["not", "fwmark", "7"]),
        (&lab.client, &here, &["ipproto", "udp", "dport", "7007"]),
        (&lab.client, &here, &["sport", "1024-65534"]),
        (&lab.client, &here, &["from", "10.9.0.1"]),
        (&lab.client, &here, &["uidrange", "4711-4712"]),
        (&lab.target, &there, &["fwmark", "1"]),
        (&lab.target, &there, &["tos", "0x10"]),
        (&lab.target, &there, &["ipproto", "udp", "sport", "7007"]),
        (&lab.target, &there, &["dport", "1024-65534"]),
        (&lab.target, &there, &["to", "10.9.0.1"]),
    ] {
        let what = of.join(" ");
        let of = [of, &["lookup", "100"]].concat();
        rule(namespace, "add", &of);
        let before = got(&stranger);
        let why = offer(&lab.client, to).unwrap_err();
        assert!(matches!(&why, UdpError::NoLeash { why: NoLeash::Diverted { .. }, .. }), "{what}: {why}");
        let words = why.to_string();
        for word in [name, "rule \"5:", "lookup 100", &format!("interface {device}")] {
            assert!(words.contains(word), "{what}: {word} is not in {words}");
        }
        assert_eq!(got(&stranger), before, "{what}");
        rule(namespace, "del", &of);
    }
    // A route of the main table for a type of service alone.
    for (namespace, host, words) in [
        (&lab.client, "10.9.0.2/32", &["via", "10.9.0.9", "dev", Pair::NEAR][..]),
        (&lab.target, "10.9.0.1/32", &["via", "10.8.1.9", "dev", "out"]),
    ] {
        let route = |does| namespace.ip(&[&["route", does, host, "tos", "0x10"], words].concat()).unwrap();
        route("add");
        let why = offer(&lab.client, to).unwrap_err().to_string();
        assert!(why.contains("table main for type of service 0x10"), "{why}");
        route("del");
    }
    assert!(offer(&lab.client, to).is_ok(), "without them again");
}

#[test]
fn a_rule_that_comes_between_two_trials_ends_the_search() {
    let Some((lab, _stranger)) = lab() else { return };
    let _there = serve(&lab.target, lab.target_address);
    for (namespace, of) in [(&lab.target, ["sport", "7007"]), (&lab.client, ["dport", "7007"])] {
        let of = [&of[..], &["lookup", "100"]].concat();
        let (before, after) = lab
            .client
            .run(|| {
                let mut measurer = measurer(lab.target_address).unwrap();
                let before = measurer.measure(input());
                rule(namespace, "add", &of);
                (before, measurer.measure(input()))
            })
            .unwrap();
        assert!(before.is_ok(), "{before:?}");
        assert!(after.unwrap_err().to_string().contains("lookup 100"));
        rule(namespace, "del", &of);
    }
}

#[test]
fn rules_of_other_packets_and_those_that_lead_nowhere_refuse_nothing() {
    let Some((lab, _stranger)) = lab() else { return };
    let (to, own) = (lab.target_address, Ipv4Addr::LOCALHOST);
    let (_there, _here) = (serve(&lab.target, to), serve(&lab.client, own));
    for namespace in [&lab.client, &lab.target] {
        namespace.ip(&["route", "add", "unreachable", "default", "table", "101"]).unwrap();
        namespace.ip(&["route", "add", "blackhole", "default", "table", "102"]).unwrap();
        for (of, table) in [
            (&["ipproto", "tcp"][..], "100"),
            (&["ipproto", "udp", "dport", "1-1000"], "100"),
            (&["ipproto", "udp", "sport", "1-1000"], "100"),
            (&["from", "10.77.0.0/16"], "100"),
            (&["to", "10.88.0.0/16", "fwmark", "1"], "100"),
            (&["iif", "absent"], "100"),
            (&["oif", "absent"], "100"),
            (&["fwmark", "1", "ipproto", "tcp"], "100"),
            (&["fwmark", "1"], "main"),
            (&["fwmark", "1"], "103"),
            (&["fwmark", "1"], "101"),
            (&["tos", "0x10"], "102"),
        ] {
            let of = [of, &["lookup", table]].concat();
            rule(namespace, "add", &of);
            for address in [to, own] {
                offer(&lab.client, address).unwrap_or_else(|why| panic!("{}: {why}", of.join(" ")));
            }
            rule(namespace, "del", &of);
        }
    }
}
