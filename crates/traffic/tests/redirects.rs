//! No packet is sent where traffic control gives it to another interface, by the side of routes; and whatever else stands
//! at interfaces, or beside the way, refuses nothing. Needs root and iproute2: without them the tests are skipped, and fail
//! where `CI` is `true`.
#![cfg(target_os = "linux")]

use dropline_lab::{End, Namespace, Pair, built_or_skipped as built, connect};
use dropline_traffic::{
    MeasurerOptions, NoLeash, Reply, Responder, RunningResponder, UdpError, UdpMeasurer, UdpTarget,
};
use dropline_trial::{Measurer as _, Rate, TrafficProfile, Trial, TrialInput};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PORT: u16 = 7007;
/// What every packet of IP meets.
const ANY: [&str; 8] = ["protocol", "ip", "u32", "match", "u32", "0", "0", "action"];
/// The client's interface that leads to another host.
const AWAY: &str = "away";

fn serve(namespace: &Namespace, address: Ipv4Addr) -> RunningResponder {
    let listen = SocketAddr::from((address, PORT));
    namespace.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

fn measurer(address: Ipv4Addr) -> Result<UdpMeasurer, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    UdpMeasurer::new(target, TrafficProfile::default(), MeasurerOptions::default(), 1, Arc::default(), None)
}

fn for_ms(length: u64) -> TrialInput {
    TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(length) }
}

fn offer(namespace: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    namespace.run(|| measurer(address)?.measure(for_ms(100))).unwrap()
}

/// A client, its target, and a host that nobody asked.
fn lab() -> Option<(Pair, Namespace)> {
    let lab = built(Pair::new())?;
    let stranger = built(Namespace::new("stranger"))?;
    connect(
        End { namespace: &lab.client, device: AWAY, address: None },
        End { namespace: &stranger, device: Pair::NEAR, address: Some("10.8.0.9/24") },
    )
    .unwrap();
    Some((lab, stranger))
}

/// Frames that came to the stranger.
fn got(stranger: &Namespace) -> u64 {
    let table = stranger.run(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap().unwrap();
    let line = table.lines().find(|line| line.trim_start().starts_with(Pair::NEAR)).unwrap();
    line.split_whitespace().nth(2).unwrap().parse().unwrap()
}

/// Packets of a program that asks nobody arrive at the stranger: else the filter does not work.
fn assert_works(client: &Namespace, address: Ipv4Addr, stranger: &Namespace) {
    let before = got(stranger);
    let until = Instant::now() + Duration::from_secs(10);
    while got(stranger) < before + 5 {
        assert!(Instant::now() < until, "nothing is redirected");
        let socket = client.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        let _ = socket.send_to(b"?", (address, PORT));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Nothing ended it; a machine that is busy may keep its sender from sending all.
fn assert_whole(trial: &Trial, what: &str) {
    let ends = |code: &str| ["rule_appeared", "left_elsewhere"].contains(&code);
    assert!(!trial.caveats.iter().any(|caveat| ends(caveat.code())), "{what}: {:?}", trial.caveats);
    assert!(trial.offered == 100 || trial.is_disturbed(), "{what}: {:?}", trial.caveats);
}

fn is_led_away(why: &UdpError) -> bool {
    matches!(why, UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. })
        && why.to_string().contains("mirred")
}

#[test]
fn no_packet_is_sent_where_traffic_control_gives_it_to_another_interface() {
    let Some((lab, stranger)) = lab() else { return };
    let own = Ipv4Addr::LOCALHOST;
    let _here = serve(&lab.client, own);
    let _there = serve(&lab.target, lab.target_address);
    let clsact: &[&str] = &["clsact"];
    let htb: &[&str] = &["root", "handle", "1:", "htb"];
    let by_port = ["protocol", "ip", "u32", "match", "ip", "dport", "7007", "0xffff", "action"];
    for (device, address, qdisc, place, what, how) in [
        (Pair::NEAR, lab.target_address, clsact, "egress", &ANY[..], "redirect"),
        (Pair::NEAR, lab.target_address, clsact, "egress", &by_port, "mirror"),
        (Pair::NEAR, lab.target_address, htb, "parent 1:", &by_port, "mirror"),
        ("lo", own, clsact, "egress", &ANY, "redirect"),
        ("lo", own, clsact, "ingress", &ANY, "mirror"),
        ("lo", own, &["ingress"], "parent ffff:", &by_port, "redirect"),
    ] {
        let what_is_there = format!("{device} {place} {how}");
        assert!(offer(&lab.client, address).is_ok(), "before {what_is_there}");
        let tc = |words: &[&str]| lab.client.tc(words);
        tc(&[&["qdisc", "add", "dev", device], qdisc].concat()).unwrap();
        let place: Vec<&str> = place.split(' ').collect();
        let filter = [&["filter", "add", "dev", device], &place[..], what].concat();
        if let Err(why) = tc(&[&filter[..], &["mirred", "egress", how, "dev", AWAY]].concat()) {
            eprintln!("skipped: this kernel redirects nothing: {why}");
            return;
        }
        assert_works(&lab.client, address, &stranger);
        let before = got(&stranger);
        let why = offer(&lab.client, address).unwrap_err();
        assert!(is_led_away(&why), "{what_is_there}: {why}");
        assert!(got(&stranger) <= before + 1, "{what_is_there}: a packet left");
        tc(&["qdisc", "del", "dev", device, qdisc[0]]).unwrap();
    }
}

#[test]
fn no_packet_is_sent_where_nobody_can_tell_what_traffic_control_does_with_it() {
    let Some((lab, _stranger)) = lab() else { return };
    let there = serve(&lab.target, lab.target_address);
    let bytecode = ["bpf", "bytecode", "1,6 0 0 4294967295,", "action", "ok"];
    for (namespace, device) in [(&lab.client, Pair::NEAR), (&lab.target, Pair::FAR)] {
        namespace.tc(&["qdisc", "add", "dev", device, "clsact"]).unwrap();
        for (place, what, is_refused) in [
            ("egress", &bytecode[..], Some("a program of tc (BPF)")),
            ("ingress", &bytecode, Some("a program of tc (BPF)")),
            (
                "egress",
                &[&ANY[..], &["pedit", "munge", "ip", "ttl", "set", "9"]].concat(),
                Some("the action pedit of tc"),
            ),
            ("ingress", &[&ANY[..], &["police", "rate", "1gbit", "burst", "10m", "drop"]].concat(), None),
            ("egress", &[&ANY[..], &["drop", "random", "netrand", "drop", "10000"]].concat(), None),
        ] {
            let filter = [&["filter", "add", "dev", device, place], what].concat();
            if let Err(why) = namespace.tc(&filter) {
                eprintln!("left out: {}: {why}", filter.join(" "));
                continue;
            }
            let before = there.counts().received;
            match (offer(&lab.client, lab.target_address), is_refused) {
                (Ok(trial), None) => assert_whole(&trial, device),
                (Err(why), Some(words)) => {
                    assert!(why.to_string().contains(&format!("{words} at interface {device} of")), "{why}");
                    assert_eq!(there.counts().received, before, "not a packet");
                }
                (offered, _) => panic!("{device} {what:?}: {offered:?}"),
            }
            namespace.tc(&["filter", "del", "dev", device, place]).unwrap();
        }
    }
}

#[test]
fn a_redirect_that_comes_during_a_trial_is_said_and_before_a_trial_ends_the_search() {
    let Some((lab, _stranger)) = lab() else { return };
    let _there = serve(&lab.target, lab.target_address);
    lab.client.tc(&["qdisc", "add", "dev", Pair::NEAR, "clsact"]).unwrap();
    let comes = || {
        let (at, to) =
            (["filter", "add", "dev", Pair::NEAR, "egress"], ["mirred", "egress", "mirror", "dev", AWAY]);
        lab.client.tc(&[&at[..], &ANY, &to].concat())
    };
    let (before, during, after) = lab
        .client
        .run(|| {
            let mut measurer = measurer(lab.target_address).unwrap();
            let before = measurer.measure(for_ms(100)).unwrap();
            let during = std::thread::scope(|scope| {
                let coming = std::thread::Builder::new()
                    .spawn_scoped(scope, || {
                        std::thread::sleep(Duration::from_millis(300));
                        comes()
                    })
                    .unwrap();
                let during = measurer.measure(for_ms(600)).unwrap();
                coming.join().unwrap().map(|_| during)
            });
            (before, during, measurer.measure(for_ms(100)))
        })
        .unwrap();
    let Ok(during) = during else { return eprintln!("skipped: this kernel redirects nothing") };
    let is_said = |trial: &Trial| trial.caveats.iter().any(|caveat| caveat.code() == "rule_appeared");
    assert!(!is_said(&before) && is_said(&during), "{:?}", during.caveats);
    // Copies of the trial's packets were seen beside their way, or the filter was.
    let after = after.unwrap_err();
    let has_left = matches!(after, UdpError::NoLeash { why: NoLeash::LeftElsewhere { .. }, .. });
    assert!(has_left || is_led_away(&after), "{after}");
}

#[test]
fn what_stands_beside_the_way_or_leads_nowhere_refuses_nothing() {
    let Some((lab, _stranger)) = lab() else { return };
    let (own, client) = (Ipv4Addr::LOCALHOST, &lab.client);
    let _here = serve(client, own);
    let _there = serve(&lab.target, lab.target_address);
    let shaped = ["qdisc", "add", "dev", Pair::NEAR, "clsact"];
    let passes =
        [&["filter", "add", "dev", Pair::NEAR, "egress"], &ANY[..ANY.len() - 1], &["flowid", "1:1"]].concat();
    let arriving = ["filter", "add", "dev", Pair::NEAR, "ingress"];
    let to_ifb = [&arriving[..], &ANY, &["mirred", "egress", "redirect", "dev", "ifb-in"]].concat();
    // A bridge as of containers, a tunnel that nobody uses, a device for ingress shaping: what a kernel lacks is left out.
    for (what, words) in [
        ("ip", &["link", "add", "docker0", "type", "bridge"][..]),
        ("ip", &["addr", "add", "172.17.0.1/16", "dev", "docker0"]),
        ("ip", &["link", "set", "dev", "docker0", "up"]),
        ("ip", &["link", "add", "veth1a2b", "type", "veth", "peer", "name", "eth0-of-another"]),
        ("ip", &["link", "set", "dev", "veth1a2b", "master", "docker0", "up"]),
        ("ip", &["tuntap", "add", "vpn0", "mode", "tun"]),
        ("ip", &["addr", "add", "10.77.0.1/24", "dev", "vpn0"]),
        ("ip", &["link", "set", "dev", "vpn0", "up"]),
        ("ip", &["link", "add", "wg0", "type", "wireguard"]),
        ("tc", &shaped),
        ("tc", &passes),
        ("ip", &["link", "add", "ifb-in", "type", "ifb"]),
        ("ip", &["link", "set", "dev", "ifb-in", "up"]),
        ("tc", &to_ifb),
    ] {
        let done = if what == "ip" { client.ip(words) } else { client.tc(words) };
        if let Err(why) = done {
            eprintln!("left out: {}: {why}", words.join(" "));
            continue;
        }
        for address in [own, lab.target_address] {
            let trial = offer(client, address).unwrap_or_else(|why| panic!("{}: {why}", words.join(" ")));
            assert_whole(&trial, &words.join(" "));
        }
    }
}
