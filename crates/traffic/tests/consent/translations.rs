//! Rules of a firewall that translate addresses: no packet follows one to another host.

use super::*;

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
