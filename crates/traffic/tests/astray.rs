//! Packets of a trial that leave by an interface beside their way, for something that came after it began, end it at once: it
//! is not valid, and none follows. What others send there says nothing. Needs root, iproute2 and nftables: without them the
//! tests are skipped, and fail where `CI` is `true`.
#![allow(clippy::disallowed_methods)]
#![cfg(all(target_os = "linux", not(feature = "portable")))]

use dropline_lab::{End, LabError, Namespace, Pair, built_or_skipped as built, connect};
use dropline_payload::{Message, Tag};
use dropline_traffic::{
    MeasurerOptions, NoLeash, Reply, Responder, RunningResponder, UdpError, UdpMeasurer, UdpTarget,
};
use dropline_trial::{Caveat, Drain, Measurer as _, Part, Rate, TrafficProfile, Trial, TrialInput};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PORT: u16 = 7007;
/// What leads to another host, of the client and of the target.
const AWAY: &str = "away";
const OUT: &str = "out";
const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 9);
/// How long a trial is that nothing ends.
const LONG: Duration = Duration::from_secs(20);

fn serve(namespace: &Namespace, address: Ipv4Addr) -> RunningResponder {
    let listen = SocketAddr::from((address, PORT));
    namespace.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

fn measurer(address: Ipv4Addr, reply: Reply) -> Result<UdpMeasurer, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply };
    let drain =
        Drain { longest: Duration::from_secs(5), quiet: Some(Duration::from_secs(1)), ..Drain::default() };
    let profile = TrafficProfile { drain, streams: Part::equal(2), ..TrafficProfile::default() };
    UdpMeasurer::new(target, profile, MeasurerOptions::default(), 1, Arc::default(), None)
}

fn lasting(duration: Duration) -> TrialInput {
    TrialInput { load: Rate::pps(500.0).unwrap(), duration }
}

/// A client, its target, and a host that nobody asked behind each of them.
fn lab() -> Option<(Pair, Namespace)> {
    let lab = built(Pair::new())?;
    let stranger = built(Namespace::new("stranger"))?;
    for (namespace, device, own, far, address) in [
        (&lab.client, AWAY, "10.8.0.1/24", "in-client", "10.8.0.9/24"),
        (&lab.target, OUT, "10.8.1.1/24", "in-target", "10.8.1.9/24"),
    ] {
        connect(
            End { namespace, device, address: Some(own) },
            End { namespace: &stranger, device: far, address: Some(address) },
        )
        .unwrap();
    }
    Some((lab, stranger))
}

fn left(trial: &Trial) -> Option<(u64, &str)> {
    trial.caveats.iter().find_map(|caveat| match caveat {
        Caveat::LeftElsewhere { packets, interface } => Some((*packets, interface.as_str())),
        _ => None,
    })
}

/// Two trials in a row; once a hundred packets of the first were answered, `comes` happens.
fn trials_while(
    client: &Namespace,
    served: &RunningResponder,
    reply: Reply,
    comes: impl FnOnce() -> Result<(), LabError> + Send,
) -> Option<(Trial, Result<Trial, UdpError>)> {
    let target = served.address();
    let SocketAddr::V4(address) = target else { panic!("IPv4") };
    let before = served.counts().received;
    let (trials, came) = std::thread::scope(|scope| {
        let coming = scope.spawn(|| {
            let until = Instant::now() + LONG / 2;
            while served.counts().received < before + 100 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            comes()
        });
        let measure = || {
            let mut measurer = measurer(*address.ip(), reply)?;
            Ok::<_, UdpError>((measurer.measure(lasting(LONG))?, measurer.measure(lasting(LONG / 100))))
        };
        (client.run(measure).unwrap().unwrap(), coming.join().unwrap())
    });
    match came {
        Ok(()) => Some(trials),
        Err(why) => {
            eprintln!("left out: {why}");
            None
        }
    }
}

#[test]
fn packets_that_something_leads_beside_the_way_in_mid_trial_end_it_and_no_other_follows() {
    let Some((lab, _stranger)) = lab() else { return };
    let (client, target) = (&lab.client, &lab.target);
    client.ip(&["addr", "add", "127.0.0.1/8", "dev", "lo"]).ok();
    let there = serve(target, lab.target_address);
    let here = serve(client, Ipv4Addr::LOCALHOST);
    let any = ["protocol", "ip", "u32", "match", "u32", "0", "0", "action", "mirred", "egress"];
    let tc = |namespace: &Namespace, device: &str, how: &[&str]| {
        namespace.tc(&["qdisc", "add", "dev", device, "clsact"])?;
        let filter = [&["filter", "add", "dev", device, "egress"], &any[..], how].concat();
        namespace.tc(&filter).map(|_| ())
    };
    let nft = |namespace: &Namespace, rules: &str| namespace.nft(rules).map(|_| ());
    let table = ["route", "add", "default", "via", "10.8.1.9", "dev", OUT, "table", "100"];
    type Change<'a> = Box<dyn FnOnce() -> Result<(), LabError> + Send + 'a>;
    let dup = format!(
        "table ip astray {{ chain out {{ type filter hook output priority 0; udp dport {PORT} dup to {STRANGER} device {AWAY:?}; }}; }}"
    );
    let fwd = format!(
        "table netdev astray {{ chain in {{ type filter hook ingress device {:?} priority 0; udp dport {PORT} fwd to {OUT:?}; }}; }}",
        Pair::FAR
    );
    let rule = |of: &'static [&'static str]| -> Change<'_> {
        Box::new(move || {
            target.ip(&table)?;
            target.ip(&[&["rule", "add", "pref", "5"], of, &["lookup", "100"]].concat()).map(|_| ())
        })
    };
    let changes: Vec<(&str, &RunningResponder, Reply, &str, Change<'_>)> = vec![
        (
            "copies of what leaves",
            &there,
            Reply::Echo,
            AWAY,
            Box::new(|| tc(client, Pair::NEAR, &["mirror", "dev", AWAY])),
        ),
        (
            "what leaves",
            &there,
            Reply::Echo,
            AWAY,
            Box::new(|| tc(client, Pair::NEAR, &["redirect", "dev", AWAY])),
        ),
        (
            "copies of what stays",
            &here,
            Reply::Echo,
            AWAY,
            Box::new(|| tc(client, "lo", &["mirror", "dev", AWAY])),
        ),
        (
            "copies of what stays, one way",
            &here,
            Reply::None,
            AWAY,
            Box::new(|| tc(client, "lo", &["mirror", "dev", AWAY])),
        ),
        ("copies by a firewall", &there, Reply::Echo, AWAY, Box::new(|| nft(client, &dup))),
        ("what arrives", &there, Reply::Echo, OUT, Box::new(|| nft(target, &fwd))),
        ("replies by a rule", &there, Reply::Echo, OUT, rule(&["ipproto", "udp", "sport", "7007"])),
        ("replies by a rule for all", &there, Reply::Any, OUT, rule(&["to", "10.9.0.1"])),
        (
            "replies by a route",
            &there,
            Reply::Echo,
            OUT,
            Box::new(|| {
                target.ip(&["route", "add", "10.9.0.1/32", "via", "10.8.1.9", "dev", OUT]).map(|_| ())
            }),
        ),
    ];
    for (what, served, reply, by, change) in changes {
        if let Some((trial, next)) = trials_while(client, served, reply, change) {
            // Whichever is seen first: a packet of the trial beside its way, or what would lead it there.
            let is_seen = trial.caveats.iter().any(|caveat| caveat.code() == "rule_appeared");
            match left(&trial) {
                Some((packets, interface)) => {
                    let named = format!("interface {by} of");
                    assert!(packets > 0 && interface.contains(&named), "{what}: {interface}");
                }
                None => assert!(is_seen, "{what}: {:?}", trial.caveats),
            }
            assert!(trial.duration < LONG && trial.offered < 10_000, "{what}: it is ended at once");
            assert!(trial.is_invalid() && trial.lost_by_target() == 0, "{what}: {:?}", trial.caveats);
            assert!(!trial.is_interrupted(), "{what}: nobody stopped it");
            let places: u64 = trial.lost_at.iter().flatten().map(|(_, packets)| packets).sum();
            assert_eq!(places, trial.lost(), "{what}");
            let why = next.unwrap_err();
            let has_left = matches!(&why, UdpError::NoLeash { why: NoLeash::LeftElsewhere { .. }, .. });
            assert_eq!(has_left, left(&trial).is_some(), "{what}: {why}");
            assert!(why.to_string().contains(by) || is_seen, "{what}: {why}");
        }
        for device in [Pair::NEAR, "lo"] {
            let _ = client.tc(&["qdisc", "del", "dev", device, "clsact"]);
        }
        for namespace in [client, target] {
            namespace.nft("flush ruleset").unwrap();
        }
        let _ = target.ip(&["rule", "del", "pref", "5"]);
        let _ = target.ip(&["route", "flush", "table", "100"]);
        let _ = target.ip(&["route", "del", "10.9.0.1/32"]);
        let _ = target.ip(&["route", "flush", "cache"]);
    }
}

#[test]
fn what_others_send_beside_the_way_voids_nothing_however_alike_it_is() {
    let Some((lab, stranger)) = lab() else { return };
    let (there, beside) = (serve(&lab.target, lab.target_address), serve(&stranger, STRANGER));
    let ended = AtomicBool::new(false);
    let trial = || {
        let mut measurer = measurer(lab.target_address, Reply::Echo).unwrap();
        measurer.measure(lasting(Duration::from_secs(1)))
    };
    let twin = || measurer(STRANGER, Reply::Echo).unwrap().measure(lasting(Duration::from_secs(1)));
    let (own, other, equal, sent) = std::thread::scope(|scope| {
        // As much and as long as ours, with a header like ours, to the same port, by the interface beside.
        let alike = scope.spawn(|| {
            let socket = lab.client.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
            let mut index = 0;
            while !ended.load(Ordering::Relaxed) {
                let packet = Message::Packet { tag: Tag(7), index, reply_wanted: true }.encode();
                socket.send_to(&packet, (STRANGER, PORT)).unwrap();
                index += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            index
        });
        let trials = [
            scope.spawn(|| lab.client.run(trial).unwrap()),
            scope.spawn(|| lab.client.run(twin).unwrap()),
            scope.spawn(|| lab.client.run(trial).unwrap()),
        ];
        let [own, other, equal] = trials.map(|trial| trial.join().unwrap().unwrap());
        ended.store(true, Ordering::Relaxed);
        (own, other, equal, alike.join().unwrap())
    });
    assert!(sent > 50 && there.counts().answered > 0 && beside.counts().answered > 0);
    for (what, trial) in [("own", &own), ("by the other way", &other), ("by the same way", &equal)] {
        assert_eq!(left(trial), None, "{what}");
        assert_eq!(trial.duration, Duration::from_secs(1), "{what}");
        let ours = ["left_elsewhere", "rule_appeared", "loss_doubted", "outage"];
        let said = trial.caveats.iter().find(|caveat| ours.contains(&caveat.code()));
        assert!(said.is_none() && trial.forwarded > 0, "{what}: {:?}", trial.caveats);
    }
}
