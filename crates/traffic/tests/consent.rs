//! Consent is of the way that packets take, not of the address alone: what would leave this machine does not.
//! Needs root, iproute2 and nftables: without them the tests are skipped, and fail where `CI` is `true`.
#![cfg(target_os = "linux")]

use dropline_lab::{Bridged, End, Namespace, Pair, built_or_skipped as built, connect};
use dropline_traffic::{
    ClientPace, ClientPlan, ClientReply, Leash, MeasurerOptions, NoLeash, Reply, Responder, RunningResponder,
    Seat, Sources, UdpError, UdpMeasurer, UdpTarget, Whereabouts, probe,
};
use dropline_trial::{Drain, Measurer as _, Part, Rate, Think, TrafficProfile, Trial, TrialInput};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[path = "consent/rules.rs"]
mod rules;

const PORT: u16 = 7007;

fn serve(namespace: &Namespace, address: Ipv4Addr) -> RunningResponder {
    let listen = SocketAddr::from((address, PORT));
    namespace.run(|| Responder { listen, ..Responder::default() }.start()).unwrap().unwrap()
}

/// A hundred packets, as any trial would send them.
fn offer(namespace: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    let drain = Drain { longest: Duration::from_millis(100), ..Drain::default() };
    let profile = TrafficProfile { drain, ..TrafficProfile::default() };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(100) };
    let options = MeasurerOptions::default();
    let measure = || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
    namespace.run(measure).unwrap()
}

/// A packet of a program that asks nobody must arrive: else the rule that leads it away does not work.
fn assert_leads_away(namespace: &Namespace, address: Ipv4Addr, to: &RunningResponder) {
    let before = to.counts().received;
    let until = Instant::now() + Duration::from_secs(10);
    while to.counts().received == before {
        assert!(Instant::now() < until, "what is sent to {address} is not led away");
        // A rule may be of some ports, or of one in three.
        let socket = namespace.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
        let _ = socket.send_to(b"?", (address, PORT));
        std::thread::sleep(Duration::from_millis(10));
    }
    // All of them are counted before anything else is.
    std::thread::sleep(Duration::from_millis(100));
}

fn whereabouts(namespace: &Namespace, address: &str) -> Whereabouts {
    let address: IpAddr = address.parse().unwrap();
    namespace.run(|| Whereabouts::of(address)).unwrap()
}

#[test]
fn no_packet_follows_a_rule_that_translates_an_own_address_to_another_hosts() {
    let Some(lab) = built(Pair::new()) else { return };
    let away = serve(&lab.target, lab.target_address);
    lab.client.ip(&["addr", "add", "10.8.0.1/32", "dev", "lo"]).unwrap();
    lab.client.set("net.ipv4.conf.all.route_localnet", "1").unwrap();
    // What comes back over loopback with another host's address would be passed on.
    lab.client.set("net.ipv4.ip_forward", "1").unwrap();
    let own: [Ipv4Addr; 3] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(10, 8, 0, 1), lab.client_address];
    // Something answers here too: an address is not led away for want of a listener.
    let _here = own.map(|address| serve(&lab.client, address));
    for address in own {
        let trial = offer(&lab.client, address).unwrap();
        assert_eq!((trial.forwarded, trial.lost()), (trial.offered, 0), "{address} without the rule");
    }
    lab.client
        .nft(&format!(
            "table ip dropline {{\n chain out {{ type nat hook output priority -100; udp dport {PORT} dnat to {}:{PORT}; }}\n \
             chain post {{ type nat hook postrouting priority 100; oifname {:?} masquerade; }}\n}}",
            lab.target_address,
            Pair::NEAR
        ))
        .unwrap();
    for address in own {
        assert_leads_away(&lab.client, address, &away);
        let before = away.counts().received;
        if let Ok(trial) = offer(&lab.client, address) {
            assert_eq!(trial.forwarded, 0, "{address}");
        }
        assert_eq!(away.counts().received, before, "{address}: packets left");
    }
}

/// Packets that left by the interface towards the other namespace.
fn left(namespace: &Namespace) -> u64 {
    let devices = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let devices = namespace.run(devices).unwrap();
    let near = devices.lines().find_map(|line| line.trim().strip_prefix("near:")).unwrap();
    near.split_whitespace().nth(9).unwrap().parse().unwrap()
}

/// The same, once nothing more follows from what was sent before: answers, and errors to answers that nobody waits for.
fn left_at_rest(namespace: &Namespace) -> u64 {
    let (mut last, mut looks_alike) = (left(namespace), 0);
    while looks_alike < 5 {
        std::thread::sleep(Duration::from_millis(50));
        let now = left(namespace);
        looks_alike = if now == last { looks_alike + 1 } else { 0 };
        last = now;
    }
    last
}

/// As [`offer`], from eight ports in a row.
fn offer_from(first_port: u16, namespace: &Namespace, address: Ipv4Addr) -> Result<Trial, UdpError> {
    let target = UdpTarget { address: (address, PORT).into(), reply: Reply::Echo };
    let drain = Drain { longest: Duration::from_millis(100), ..Drain::default() };
    let streams = (0..8).map(|number| Part { name: number.to_string(), share: 1 }).collect();
    let profile = TrafficProfile { drain, streams, ..TrafficProfile::default() };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(100) };
    let sources = Sources { first_port: Some(first_port), ..Sources::default() };
    let options = MeasurerOptions { sources, ..MeasurerOptions::default() };
    let measure = || UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input);
    namespace.run(measure).unwrap()
}

/// A neighbour that is asked for again.
const OTHERS: u64 = 4;

#[test]
fn no_packet_of_a_load_follows_a_rule_that_no_question_meets() {
    let Some(lab) = built(Pair::new()) else { return };
    let own = lab.client_address;
    lab.client.set("net.ipv4.conf.all.route_localnet", "1").unwrap();
    let _here = serve(&lab.client, Ipv4Addr::UNSPECIFIED);
    let _there = serve(&lab.target, lab.target_address);
    let to = lab.target_address;
    let nat = |of: &str| {
        format!(
            "table ip dropline {{\n chain out {{ type nat hook output priority -100; {of} dnat to {to}:{PORT}; }}\n}}"
        )
    };
    // What leaves for the other namespace without the address of it is routed there.
    lab.client.ip(&["route", "add", "default", "via", &to.to_string(), "table", "100"]).unwrap();
    lab.client.ip(&["rule", "add", "pref", "10", "lookup", "local"]).unwrap();
    lab.client.ip(&["rule", "del", "pref", "0"]).unwrap();
    let of_ports = format!("udp sport 4000-4007 udp dport {PORT}");
    let one_of_four = format!("udp dport {PORT} numgen inc mod 4 == 3");
    for (what, nft) in
        [("ports", Some(nat(&of_ports))), ("one of four", Some(nat(&one_of_four))), ("routes", None)]
    {
        let port = PORT.to_string();
        let route =
            ["pref", "5", "ipproto", "udp", "sport", "4000-4007", "dport", port.as_str(), "lookup", "100"];
        match &nft {
            Some(rules) => lab.client.nft(rules).map(|_| ()),
            None => lab.client.ip(&[&["rule", "add"], &route[..]].concat()).map(|_| ()),
        }
        .unwrap();
        let before = left(&lab.client);
        for _ in 0..16 {
            // What held the port before may take a moment to give it back.
            let free = std::time::Instant::now() + std::time::Duration::from_secs(10);
            let socket = loop {
                match lab.client.run(|| UdpSocket::bind("0.0.0.0:4000")).unwrap() {
                    Err(why)
                        if why.kind() == std::io::ErrorKind::AddrInUse
                            && std::time::Instant::now() < free =>
                    {
                        std::thread::sleep(std::time::Duration::from_millis(10));
                    }
                    bound => break bound.unwrap(),
                }
            };
            let _ = socket.send_to(b"?", (own, PORT));
        }
        let unheld = left(&lab.client) - before;
        assert!(unheld > 0, "{what}: a packet of a program that asks nobody stays");
        let before = left_at_rest(&lab.client);
        let _ = offer_from(4000, &lab.client, own);
        let away = left(&lab.client) - before;
        assert!(away <= OTHERS, "{what}: {away} packets left");
        match nft {
            Some(_) => lab.client.nft("flush ruleset").map(|_| ()),
            None => lab.client.ip(&[&["rule", "del"], &route[..]].concat()).map(|_| ()),
        }
        .unwrap();
    }
}

#[test]
fn an_own_address_is_measured_from_loopback_which_nothing_leaves() {
    let Some(lab) = built(Pair::new()) else { return };
    let _here = serve(&lab.client, lab.client_address);
    let trial = offer(&lab.client, lab.client_address).unwrap();
    assert_eq!((trial.forwarded, trial.lost()), (trial.offered, 0));
    lab.client.ip(&["link", "set", "dev", "near", "down"]).unwrap();
    lab.client.ip(&["addr", "add", "10.9.0.77/24", "dev", "near"]).unwrap();
    let _there = serve(&lab.client, Ipv4Addr::new(10, 9, 0, 77));
    let trial = offer(&lab.client, Ipv4Addr::new(10, 9, 0, 77)).unwrap();
    assert_eq!((trial.forwarded, trial.lost()), (trial.offered, 0), "its interface has no part in it");
}

#[test]
fn a_service_that_is_bound_to_all_addresses_is_measured_at_an_own_one() {
    let Some(lab) = built(Pair::new()) else { return };
    let here = serve(&lab.client, Ipv4Addr::UNSPECIFIED);
    let trial = offer(&lab.client, lab.client_address).unwrap();
    assert_eq!((trial.forwarded, trial.lost()), (trial.offered, 0));
    assert!(here.counts().answered >= trial.offered);
}

/// The portable build asks the kernel for no such table.
#[test]
#[cfg(not(feature = "portable"))]
fn no_packet_is_sent_where_a_rule_of_the_older_tables_gives_copies_of_it_to_another_host() {
    let Some(lab) = built(Pair::new()) else { return };
    let _here = serve(&lab.client, lab.client_address);
    let to = lab.target_address.to_string();
    let port = PORT.to_string();
    let words = [
        "-t",
        "mangle",
        "-A",
        "OUTPUT",
        "-p",
        "udp",
        "--dport",
        port.as_str(),
        "-j",
        "TEE",
        "--gateway",
        to.as_str(),
    ];
    let added =
        lab.client.run(|| std::process::Command::new("iptables-legacy").args(words).status()).unwrap();
    if !added.as_ref().is_ok_and(std::process::ExitStatus::success) {
        eprintln!("skipped: this machine has no older tables, or copies no packets: {added:?}");
        return;
    }
    for address in [lab.client_address, Ipv4Addr::LOCALHOST, lab.target_address] {
        let before = left(&lab.client);
        let why = offer(&lab.client, address).unwrap_err();
        assert!(why.to_string().contains("TEE in table mangle of iptables-legacy"), "{address}: {why}");
        assert!(left(&lab.client) - before <= OTHERS, "{address}");
    }
}

#[test]
fn a_one_way_target_behind_such_a_rule_is_refused_and_not_measured_as_loss() {
    let Some(lab) = built(Pair::new()) else { return };
    let here = lab.client.run(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT))).unwrap().unwrap();
    lab.client.set("net.ipv4.conf.all.route_localnet", "1").unwrap();
    let target = UdpTarget { address: (Ipv4Addr::LOCALHOST, PORT).into(), reply: Reply::None };
    let profile = TrafficProfile::default();
    let asked = || lab.client.run(|| probe(target, &profile, &AtomicBool::new(false))).unwrap();
    assert_eq!(asked().unwrap().round_trip_ns, None, "without the rule what waits at the socket is seen");
    // What waits there is read: the next answer is of what comes now.
    here.set_nonblocking(true).unwrap();
    while here.recv(&mut [0; 2048]).is_ok() {}
    lab.client
        .nft(&format!(
            "table ip dropline {{\n chain out {{ type nat hook output priority -100; udp dport {PORT} dnat to {}:{PORT}; }}\n}}",
            lab.target_address
        ))
        .unwrap();
    let refused = asked().unwrap_err();
    let is_led_away = matches!(&refused, UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. });
    assert!(
        is_led_away && refused.to_string().contains("dnat in chain out of table ip dropline"),
        "{refused}"
    );
    lab.client.nft("delete table ip dropline").unwrap();
    while here.recv(&mut [0; 2048]).is_ok() {}
    let rules = format!(
        "table ip dropline {{\n chain in {{ type filter hook input priority 0; udp dport {PORT} drop; }}\n}}"
    );
    lab.client.nft(&rules).unwrap();
    let refused = asked().unwrap_err();
    assert!(matches!(refused, UdpError::NotReached { .. }), "{refused}");
}

#[test]
fn no_packet_is_sent_where_a_rule_gives_copies_of_it_to_another_host() {
    let Some(lab) = built(Pair::new()) else { return };
    let own = Ipv4Addr::LOCALHOST;
    let _here = serve(&lab.client, own);
    let _there = serve(&lab.target, lab.target_address);
    let addresses = [own, lab.target_address];
    let offered = |address| offer(&lab.client, address);
    for address in addresses {
        assert!(offered(address).is_ok(), "{address} without the rule");
    }
    let (client, target) = (lab.client_address, lab.target_address);
    let at_client = format!(
        "table ip dropline {{\n chain out {{ type filter hook output priority 0; udp dport {PORT} dup to {target} device {:?}; }}\n}}",
        Pair::NEAR
    );
    let at_target = format!(
        "table ip dropline {{\n chain in {{ type filter hook prerouting priority 0; udp dport {PORT} dup to {client}; }}\n}}"
    );
    for (namespace, rules, refused) in
        [(&lab.target, &at_target, &addresses[1..]), (&lab.client, &at_client, &addresses[..])]
    {
        if let Err(why) = namespace.nft(rules) {
            eprintln!("skipped: this kernel copies no packets: {why}");
            return;
        }
        for &address in refused {
            let why = offered(address).unwrap_err();
            let is_refused = matches!(&why, UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. });
            assert!(is_refused && why.to_string().contains("dup in chain"), "{address}: {why}");
        }
    }
}

#[test]
fn no_packet_is_sent_where_a_rule_writes_another_destination_into_some_packets() {
    let Some(lab) = built(Pair::new()) else { return };
    let _there = serve(&lab.target, lab.target_address);
    let offered = || offer(&lab.client, lab.target_address);
    assert!(offered().is_ok(), "without a rule");
    let other = Ipv4Addr::new(10, 9, 0, 77);
    for does in [
        format!("meta l4proto udp quota over 1 kbytes ip daddr set {other}"),
        format!("udp dport {PORT} limit rate over 1500/second ip daddr set {other}"),
        format!("udp dport {PORT} numgen random mod 100 == 7 ip daddr set {other}"),
        "meta l4proto udp @nh,128,32 set 0x0a09004d".into(),
        format!("udp dport {PORT} limit rate over 1500/second ip saddr set {other}"),
    ] {
        let rules =
            format!("table ip dropline {{\n chain out {{ type filter hook output priority 0; {does}; }}\n}}");
        lab.client.nft(&rules).unwrap();
        let why = offered().unwrap_err();
        let is_refused = matches!(&why, UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. });
        assert!(is_refused && why.to_string().contains("an address that is set"), "{does}: {why}");
        lab.client.nft("delete table ip dropline").unwrap();
    }
    assert!(offered().is_ok(), "without them again");
}

#[test]
fn a_rule_that_comes_during_a_trial_is_said_and_before_a_trial_ends_the_search() {
    let Some(lab) = built(Pair::new()) else { return };
    let _there = serve(&lab.target, lab.target_address);
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(600) };
    // One for others says nothing of this trial.
    let others = "table ip others {\n chain out { type filter hook output priority 0; ip daddr 10.9.9.9 ip ttl set 64; udp dport 9 ip ttl set 64; }\n}";
    let rules = format!(
        "table ip dropline {{\n chain out {{ type filter hook output priority 0; ip daddr {} ip ttl set 64; }}\n}}",
        lab.target_address
    );
    let trials = lab.client.run(|| {
        let options = MeasurerOptions::default();
        let mut measurer =
            UdpMeasurer::new(target, TrafficProfile::default(), options, 1, Arc::default(), None).unwrap();
        let mut while_comes = |rules: &str| {
            std::thread::scope(|scope| {
                let come = || {
                    std::thread::sleep(Duration::from_millis(300));
                    lab.client.nft(rules).unwrap();
                };
                let comes = std::thread::Builder::new().spawn_scoped(scope, come).unwrap();
                let during = measurer.measure(input).unwrap();
                comes.join().unwrap();
                during
            })
        };
        let (before, during) = (while_comes(others), while_comes(&rules));
        (before, during, measurer.measure(input))
    });
    let (before, during, after) = trials.unwrap();
    let is_said = |trial: &Trial| trial.caveats.iter().any(|caveat| caveat.code() == "rule_appeared");
    assert!(!is_said(&before) && is_said(&during), "{:?}", during.caveats);
    let why = after.unwrap_err();
    assert!(matches!(&why, UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. }), "{why}");
}

/// Another host behind the target, whose namespace passes packets on, and a way back from there.
fn world_behind(lab: &Pair) -> Option<(Namespace, RunningResponder)> {
    let world = built(Namespace::new("world"))?;
    let (inner, outer) = (Some("10.9.3.1/24"), Some("10.9.3.2/24"));
    connect(
        End { namespace: &lab.target, device: "out", address: inner },
        End { namespace: &world, device: "in", address: outer },
    )
    .unwrap();
    world.ip(&["route", "add", "default", "via", "10.9.3.1"]).unwrap();
    lab.target.set("net.ipv4.ip_forward", "1").unwrap();
    let away = serve(&world, Ipv4Addr::new(10, 9, 3, 2));
    Some((world, away))
}

/// A table of the target's that translates what arrives and matches.
fn translated(of: &str) -> String {
    format!(
        "table ip dropline {{\n chain in {{ type nat hook prerouting priority -100; {of} udp dport {PORT} dnat to 10.9.3.2:{PORT}; }}\n}}"
    )
}

#[test]
fn no_packet_is_passed_on_by_the_namespace_that_has_the_address() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some((_world, away)) = world_behind(&lab) else { return };
    let inside = lab.target_address.to_string();
    assert!(whereabouts(&lab.client, &inside).is_this_machine());
    lab.target.nft(&translated("")).unwrap();
    assert_leads_away(&lab.client, lab.target_address, &away);
    let before = away.counts().received;
    if let Ok(trial) = offer(&lab.client, lab.target_address) {
        assert_eq!(trial.forwarded, 0);
    }
    assert_eq!(away.counts().received, before, "packets were passed on");
}

#[test]
fn no_packet_is_sent_where_a_rule_sets_the_time_to_live_that_keeps_it_from_being_passed_on() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some((_world, away)) = world_behind(&lab) else { return };
    let _there = serve(&lab.target, lab.target_address);
    lab.target.nft(&translated("numgen inc mod 3 == 2")).unwrap();
    assert_leads_away(&lab.client, lab.target_address, &away);
    let base = |family: &str, hook: &str, sets: &str| {
        format!(
            "table {family} held {{\n chain held {{ type filter hook {hook} priority -300; {sets} set 64; }}\n}}"
        )
    };
    let [near, far] = [Pair::NEAR, Pair::FAR].map(|device| format!("device {device:?}"));
    let of = [
        (&lab.client, base("ip", "output", "ip ttl")),
        (&lab.client, base("inet", "postrouting", "ip ttl")),
        (&lab.client, base("netdev", &format!("egress {near}"), "ip ttl")),
        (&lab.target, base("ip", "prerouting", "ip ttl")),
        (&lab.target, base("inet", "prerouting", "ip ttl")),
        (&lab.target, base("netdev", &format!("ingress {far}"), "ip ttl")),
        (&lab.target, base("netdev", &format!("ingress {far}"), "@ll,176,8")),
        (&lab.target, base("bridge", "prerouting", "ip ttl")),
    ];
    let of_the_other_version = [
        (&lab.client, base("ip6", "output", "ip6 hoplimit")),
        (&lab.target, base("inet", "prerouting", "ip6 hoplimit")),
    ];
    let (before, mut refused) = (away.counts().received, 0);
    for (namespace, rules) in of {
        if let Err(why) = namespace.nft(&rules) {
            eprintln!("skipped: this kernel has no such rule: {why}");
            continue;
        }
        let why = offer_from(4000, &lab.client, lab.target_address).unwrap_err();
        let is_refused = matches!(&why, UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. });
        assert!(is_refused && why.to_string().contains("time to live"), "{rules}: {why}");
        refused += 1;
        namespace.nft(&format!("delete table {} held", rules.split_whitespace().nth(1).unwrap())).unwrap();
    }
    assert_eq!(away.counts().received, before, "packets were passed on");
    assert!(refused >= 4, "every kernel with nftables has those of ip and inet");
    // A rule that writes beside it is none of these. What leads a third of the streams away would end the trial now and then.
    lab.target.nft("delete table ip dropline").unwrap();
    for (namespace, rules) in of_the_other_version {
        namespace.nft(&rules).unwrap();
    }
    lab.client.nft(&base("ip", "output", "ip dscp").replace("set 64", "set 8")).unwrap();
    let trial = offer_from(4000, &lab.client, lab.target_address).unwrap();
    assert_eq!((trial.lost(), away.counts().received), (0, before));
}

/// The portable build asks the kernel for no older table.
#[test]
#[cfg(not(feature = "portable"))]
fn no_packet_is_sent_where_an_extension_of_iptables_sets_the_time_to_live() {
    let Some(lab) = built(Pair::new()) else { return };
    let _there = serve(&lab.target, lab.target_address);
    for (program, extension, sets) in [
        ("iptables-nft", "TTL", "--ttl-set"),
        ("iptables-legacy", "TTL", "--ttl-set"),
        ("ip6tables-nft", "HL", "--hl-set"),
        ("ip6tables-legacy", "HL", "--hl-set"),
    ] {
        let said = |what: &str| {
            let words = ["-t", "mangle", what, "PREROUTING", "-p", "udp", "-j", extension, sets, "64"];
            lab.target.run(|| std::process::Command::new(program).args(words).status()).unwrap()
        };
        let added = said("-A");
        if !added.as_ref().is_ok_and(std::process::ExitStatus::success) {
            eprintln!("skipped: this machine has no {program} with {extension}: {added:?}");
            continue;
        }
        match offer(&lab.client, lab.target_address) {
            Ok(_) => assert_eq!(extension, "HL", "of the other version of IP"),
            Err(why) => assert!(why.to_string().contains(&format!("({extension} in ")), "{program}: {why}"),
        }
        said("-D").unwrap();
    }
    assert!(offer(&lab.client, lab.target_address).is_ok(), "without them");
}

#[test]
fn an_address_that_somebody_gave_a_namespace_of_his_own_is_not_where_packets_go() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some(own) = built(Namespace::new("own")) else { return };
    own.ip(&["addr", "add", "203.0.113.5/32", "dev", "lo"]).unwrap();
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2"]).unwrap();
    assert_eq!(whereabouts(&lab.client, "203.0.113.5"), Whereabouts::Elsewhere);
    let refused = offer(&lab.client, Ipv4Addr::new(203, 0, 113, 5)).unwrap_err();
    assert!(matches!(refused, UdpError::NoLeash { .. }), "{refused}");
    // The namespace at the other end has it: now packets do go there.
    lab.target.ip(&["addr", "add", "203.0.113.5/32", "dev", "lo"]).unwrap();
    assert!(whereabouts(&lab.client, "203.0.113.5").is_this_machine());
    let there = serve(&lab.target, Ipv4Addr::new(203, 0, 113, 5));
    let trial = offer(&lab.client, Ipv4Addr::new(203, 0, 113, 5)).unwrap();
    assert_eq!((trial.forwarded, there.counts().answered), (trial.offered, trial.offered));
}

#[test]
fn a_bridge_is_on_this_machine_as_long_as_all_its_ports_are() {
    let Some(lab) = built(Bridged::new()) else { return };
    let inside = lab.target_address.to_string();
    assert!(whereabouts(&lab.client, &inside).is_this_machine());
    let tunnel = ["type", "vxlan", "id", "213", "dstport", "4789", "local", "127.0.0.1"];
    lab.bridge.ip(&[&["link", "add", "dev", "tunnel"], tunnel.as_slice()].concat()).unwrap();
    lab.bridge.ip(&["link", "set", "dev", "tunnel", "master", "bridge"]).unwrap();
    let why = lab.client.run(|| Leash::towards(IpAddr::from(lab.target_address))).unwrap().unwrap_err();
    assert!(matches!(&why, NoLeash::LeadsOff { interface, .. } if interface == "tunnel"), "{why}");
}

#[test]
fn a_client_sends_nothing_to_a_host_that_did_not_consent() {
    let Some(lab) = built(Pair::new()) else { return };
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2"]).unwrap();
    let plan = ClientPlan {
        target: "203.0.113.5:53".parse().unwrap(),
        tag: 1,
        number: 0,
        clients: 1,
        payload: 64,
        pace: ClientPace::Think(Think::Yield),
        reply: ClientReply::None,
        same: true,
        stamped: false,
        seed: 1,
        from_ns: 0,
        until_ns: u64::MAX,
        seat: Seat::default(),
    };
    let before = left(&lab.client);
    let refused = lab.client.run(|| plan.run(&mut Vec::new(), &AtomicBool::new(false))).unwrap().unwrap_err();
    assert!(refused.to_string().contains("203.0.113.5 is not on this machine"), "{refused}");
    assert_eq!(left(&lab.client), before);
}

#[test]
fn an_own_ipv6_address_is_measured_only_where_loopback_has_it() {
    let Some(own) = built(Namespace::new("six")) else { return };
    if own.set("net.ipv6.conf.all.disable_ipv6", "0").is_err() {
        eprintln!("skipped: this kernel has no IPv6");
        return;
    }
    own.ip(&["link", "add", "dev", "near", "type", "veth", "peer", "name", "far"]).unwrap();
    own.set("net.ipv6.conf.near.disable_ipv6", "0").unwrap();
    own.ip(&["link", "set", "dev", "near", "up"]).unwrap();
    let address: IpAddr = "fd07::1".parse().unwrap();
    own.ip(&["-6", "addr", "add", "fd07::1/64", "dev", "near", "nodad"]).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while !own.ip(&["-6", "route", "get", "fd07::1"]).unwrap().starts_with("local") {
        assert!(Instant::now() < until, "the kernel never takes the address for an own one");
        std::thread::sleep(Duration::from_millis(10));
    }
    let why = own.run(|| Leash::towards(address)).unwrap().unwrap_err();
    assert_eq!(why, NoLeash::Loose(address));
    own.ip(&["-6", "addr", "add", "fd07::1/128", "dev", "lo", "nodad"]).unwrap();
    assert_eq!(whereabouts(&own, "fd07::1"), Whereabouts::Here, "as the advice says");
}

/// Another host on the bridge that client and target are joined by.
fn stranger_beside(lab: &Bridged) -> Option<Namespace> {
    let stranger = built(Namespace::new("stranger"))?;
    connect(
        End { namespace: &stranger, device: Pair::NEAR, address: Some("10.9.0.9/24") },
        End { namespace: &lab.bridge, device: "to-stranger", address: None },
    )
    .unwrap();
    lab.bridge.ip(&["link", "set", "dev", "to-stranger", "master", "bridge"]).unwrap();
    Some(stranger)
}

/// The hardware address of an interface.
fn hardware(namespace: &Namespace, device: &str) -> String {
    let said = namespace.ip(&["-o", "link", "show", "dev", device]).unwrap();
    said.split("link/ether ").nth(1).unwrap().split_whitespace().next().unwrap().into()
}

/// UDP datagrams that a namespace's IP layer was given for others, or for itself.
fn got(namespace: &Namespace) -> u64 {
    let tables = || std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let tables = namespace.run(tables).unwrap();
    let counts = tables.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
    counts.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// A hundred packets are offered, refused in these words, and none arrives at the stranger.
fn assert_refused(client: &Namespace, address: Ipv4Addr, stranger: &Namespace, words: &str, what: &str) {
    let before = got(stranger);
    let why = offer(client, address).unwrap_err();
    let is_refused = matches!(&why, UdpError::NoLeash { why: NoLeash::Diverted { .. }, .. });
    assert!(is_refused && why.to_string().contains(words), "{what}: {why}");
    assert_eq!(got(stranger), before, "{what}");
}

#[test]
fn no_packet_is_sent_by_a_route_over_a_gateway_that_is_another_host() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let _there = serve(&lab.target, lab.target_address);
    let to = format!("{}/32", lab.target_address);
    let gateway = |words: &[&str]| {
        lab.client.ip(&[&["route", "replace", to.as_str()], words, &["dev", Pair::NEAR]].concat()).unwrap()
    };
    gateway(&["via", "10.9.0.9"]);
    let before = got(&stranger);
    let socket = lab.client.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while got(&stranger) == before {
        assert!(Instant::now() < until, "the route does not work");
        socket.send_to(b"?", (lab.target_address, PORT)).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_refused(&lab.client, lab.target_address, &stranger, "by way of 10.9.0.9", "a foreign gateway");
    if lab.client.set("net.ipv6.conf.near.disable_ipv6", "0").is_ok() {
        gateway(&["via", "inet6", "fe80::9"]);
        assert_refused(&lab.client, lab.target_address, &stranger, "by way of fe80::9", "one of IPv6");
    }
    // Of two routes over one interface only a socket that is bound to it has the second.
    lab.client.ip(&["route", "del", &to]).unwrap();
    lab.client.ip(&["route", "add", &to, "via", "10.9.0.9", "dev", Pair::NEAR, "table", "100"]).unwrap();
    for rule in [
        &["oif", Pair::NEAR][..],
        &["ipproto", "udp", "dport", "7007"],
        &["from", "10.9.0.1"],
        &["ipproto", "udp"],
    ] {
        let rule = [&["pref", "5"][..], rule, &["lookup", "100"]].concat();
        lab.client.ip(&[&["rule", "add"], &rule[..]].concat()).unwrap();
        assert_refused(&lab.client, lab.target_address, &stranger, "", &rule.join(" "));
        lab.client.ip(&[&["rule", "del"], &rule[..]].concat()).unwrap();
    }
    // The target's own address is no foreign gateway.
    gateway(&["via", &lab.target_address.to_string(), "onlink"]);
    assert!(offer(&lab.client, lab.target_address).is_ok());
    gateway(&[]);
    assert!(offer(&lab.client, lab.target_address).is_ok());
}

#[test]
fn no_packet_is_sent_to_a_next_hop_whose_hardware_address_is_another_hosts() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let _there = serve(&lab.target, lab.target_address);
    let to = lab.target_address.to_string();
    let taken_for = |of: &str, how: &str| {
        lab.client.ip(&["neigh", "replace", &to, "lladdr", of, "dev", Pair::NEAR, "nud", how]).unwrap();
    };
    let [its, foreign] = [(&lab.target, Pair::FAR), (&stranger, Pair::NEAR)]
        .map(|(namespace, device)| hardware(namespace, device));
    for how in ["permanent", "reachable", "noarp"] {
        taken_for(&foreign, how);
        assert_refused(&lab.client, lab.target_address, &stranger, &foreign, how);
    }
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(100) };
    // Who is asked who has it, and answers, is heard by the bridge.
    lab.client.ip(&["neigh", "del", &to, "dev", Pair::NEAR]).unwrap();
    offer(&lab.client, lab.target_address).unwrap();
    taken_for(&its, "permanent");
    let (before, after) = lab
        .client
        .run(|| {
            let options = MeasurerOptions::default();
            let mut measurer =
                UdpMeasurer::new(target, TrafficProfile::default(), options, 1, Arc::default(), None)
                    .unwrap();
            let before = measurer.measure(input);
            taken_for(&foreign, "permanent");
            (before, measurer.measure(input))
        })
        .unwrap();
    assert!(before.is_ok(), "{before:?}");
    let why = after.unwrap_err();
    assert!(why.to_string().contains(&foreign), "between two trials: {why}");
}

#[test]
fn no_packet_is_sent_by_a_route_that_puts_it_into_another() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let own = Ipv4Addr::new(10, 8, 0, 1);
    let _here = serve(&lab.client, Ipv4Addr::UNSPECIFIED);
    let _there = serve(&lab.target, lab.target_address);
    lab.client.ip(&["addr", "add", "10.8.0.1/32", "dev", "lo"]).unwrap();
    let mut refused = 0;
    for encapsulation in [
        &["ip", "id", "1", "dst", "10.9.0.9"][..],
        &["seg6", "mode", "encap", "segs", "fd09::9"],
        &["mpls", "100"],
    ] {
        for (address, kind, device) in [(lab.target_address, "unicast", Pair::NEAR), (own, "local", "lo")] {
            let to = format!("{address}/32");
            let table = if kind == "local" { "local" } else { "main" };
            let words = [&[kind, &to, "encap"], encapsulation, &["dev", device, "table", table]].concat();
            if let Err(why) = lab.client.ip(&[&["route", "replace"], &words[..]].concat()) {
                eprintln!("skipped: this kernel has no such route: {why}");
                continue;
            }
            assert_refused(&lab.client, address, &stranger, "(an encapsulation)", &words.join(" "));
            lab.client.ip(&["route", "del", kind, &to, "dev", device, "table", table]).unwrap();
            refused += 1;
        }
        lab.client.ip(&["route", "replace", "local", "10.8.0.1", "dev", "lo", "table", "local"]).unwrap();
    }
    if refused == 0 {
        eprintln!("skipped: this kernel puts no packet into another");
    }
    assert!(offer(&lab.client, lab.target_address).is_ok() && offer(&lab.client, own).is_ok());
}

#[test]
fn no_packet_is_sent_where_a_policy_of_ipsec_may_put_it_into_another() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let _here = serve(&lab.client, Ipv4Addr::UNSPECIFIED);
    let _there = serve(&lab.target, lab.target_address);
    let template = ["tmpl", "src", "10.9.0.1", "dst", "10.9.0.9", "proto", "esp", "mode", "tunnel"];
    let policy = |of: &[&str], how: &[&str]| {
        lab.client.ip(&["xfrm", "policy", "flush"])?;
        lab.client.ip(&[&["xfrm", "policy", "add", "src", "0.0.0.0/0", "dst"], of, how].concat())
    };
    if let Err(why) = policy(&["10.9.0.0/24", "dir", "out"], &template) {
        eprintln!("skipped: this kernel has no IPsec: {why}");
        return;
    }
    let refused = |address, what: &str| {
        assert_refused(&lab.client, address, &stranger, &format!("IPsec for {what}"), what);
    };
    refused(lab.target_address, "10.9.0.0/24");
    policy(&["0.0.0.0/0", "dir", "out"], &template).unwrap();
    refused(lab.target_address, "0.0.0.0/0");
    let is_measured =
        |address| offer(&lab.client, address).is_ok_and(|trial| trial.forwarded == trial.offered);
    assert!(is_measured(Ipv4Addr::LOCALHOST), "the kernel spares loopback");
    lab.client.set("net.ipv4.conf.lo.disable_xfrm", "0").unwrap();
    refused(Ipv4Addr::LOCALHOST, "0.0.0.0/0");
    // None of these is of what leaves for the address, or transforms it.
    for (of, how) in [
        (&["10.8.0.0/16", "dir", "out"][..], &template[..]),
        (&["10.9.0.0/24", "dir", "fwd"], &template),
        (&["10.9.0.0/24", "dir", "out"], &[]),
        (&["10.9.0.0/24", "dir", "out"], &[&template[..], &["if_id", "7"]].concat()),
    ] {
        // Another iproute2 wants the number of an interface before the template.
        let order = [&["if_id", "7"][..], &template].concat();
        let how = if how.len() > template.len() { &order[..] } else { how };
        policy(of, how).unwrap();
        assert!(is_measured(lab.target_address), "{of:?} {how:?}");
    }
}

#[test]
fn no_packet_is_sent_where_a_rule_of_routing_leads_its_reply_away() {
    let Some(lab) = built(Pair::new()) else { return };
    let _here = serve(&lab.client, Ipv4Addr::UNSPECIFIED);
    let own = [Ipv4Addr::LOCALHOST, lab.client_address];
    lab.client.set("net.ipv4.conf.all.route_localnet", "1").unwrap();
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2", "table", "100"]).unwrap();
    lab.client.ip(&["rule", "add", "pref", "10", "lookup", "local"]).unwrap();
    lab.client.ip(&["rule", "del", "pref", "0"]).unwrap();
    for address in own {
        assert!(offer(&lab.client, address).is_ok(), "{address} without a rule");
    }
    for rule in ["sport", "dport"] {
        let port = if rule == "sport" { "7007" } else { "1024-65000" };
        let rule = ["pref", "5", "ipproto", "udp", rule, port, "lookup", "100"];
        lab.client.ip(&[&["rule", "add"], &rule[..]].concat()).unwrap();
        for address in own {
            assert_refused(&lab.client, address, &lab.target, "a rule of routing", &rule.join(" "));
        }
        lab.client.ip(&[&["rule", "del"], &rule[..]].concat()).unwrap();
    }
}
