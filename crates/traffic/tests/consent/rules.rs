//! Rules of a firewall that packets of a trial may meet, and those that they cannot.

use super::*;

/// Of one hook of the client, where it may meet what leaves.
fn at_output(rule: &str) -> String {
    format!("table ip dropline {{\n chain out {{ type filter hook output priority 0; {rule}; }}\n}}")
}

#[test]
fn a_rule_that_comes_and_goes_during_a_trial_is_said() {
    use std::sync::atomic::Ordering::Relaxed;
    let Some(lab) = built(Pair::new()) else { return };
    let there = serve(&lab.target, lab.target_address);
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let port = PORT.to_string();
    let older = |what: &str| {
        let words =
            ["-t", "mangle", what, "OUTPUT", "-p", "udp", "--dport", &port, "-j", "TTL", "--ttl-set", "1"];
        let done =
            lab.client.run(|| std::process::Command::new("iptables-legacy").args(words).status()).unwrap();
        done.is_ok_and(|status| status.success())
    };
    let newer = |what: &str| match what {
        "-A" => lab.client.nft(&at_output(&format!("udp dport {PORT} ip ttl set 1"))).is_ok(),
        _ => lab.client.nft("delete table ip dropline").is_ok(),
    };
    // Only what has such tables before a trial is looked at through it.
    if !(older("-A") && older("-D")) {
        eprintln!("left out: this machine has no older tables");
    }
    let ways: [&(dyn Fn(&str) -> bool + Sync); 2] = [&newer, &older];
    // The portable build asks the kernel for no older table.
    for way in ways.into_iter().take(if cfg!(feature = "portable") { 1 } else { 2 }) {
        let (came, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let before = there.counts().received;
        let measured = std::thread::scope(|scope| {
            let come = || {
                wait_for_some(&there, before);
                came.store(way("-A"), Relaxed);
                let until = Instant::now() + Duration::from_secs(10);
                while !ended.load(Relaxed) && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(5));
                }
                way("-D")
            };
            let comes = std::thread::Builder::new().spawn_scoped(scope, come).unwrap();
            let measured = lab.client.run(|| {
                let options = MeasurerOptions::default();
                let mut measurer =
                    UdpMeasurer::new(target, TrafficProfile::default(), options, 1, Arc::default(), None)?;
                let input = |ms| TrialInput {
                    load: Rate::pps(1_000.0).unwrap(),
                    duration: Duration::from_millis(ms),
                };
                let during = measurer.measure(input(20_000));
                ended.store(true, Relaxed);
                let during = during?;
                // It ended at once: the rule is there still, and no other is made before it is gone.
                let until = Instant::now() + Duration::from_secs(20);
                let after = loop {
                    match measurer.measure(input(100)) {
                        Err(UdpError::NoLeash { why: NoLeash::LedAway { .. }, .. })
                            if Instant::now() < until => {}
                        after => break after?,
                    }
                };
                Ok::<_, UdpError>((during, after))
            });
            comes.join().unwrap();
            measured.unwrap()
        });
        if !came.into_inner() {
            continue;
        }
        let (during, after) = measured.unwrap();
        let is_said = |trial: &Trial| trial.caveats.iter().any(|caveat| caveat.code() == "rule_appeared");
        assert!(is_said(&during) && !is_said(&after), "{:?}", during.caveats);
        assert!(during.duration < Duration::from_secs(20), "it is ended at once");
    }
}

#[test]
fn rules_for_tcp_other_ports_other_addresses_or_absent_interfaces_refuse_nothing() {
    let Some(lab) = built(Pair::new()) else { return };
    let _here = serve(&lab.client, lab.client_address);
    let _there = serve(&lab.target, lab.target_address);
    let nat = |hook: &str, rule: &str| {
        format!("table ip dropline {{\n chain nat {{ type nat hook {hook} priority -100; {rule}; }}\n}}")
    };
    let at_lo = "table netdev dropline {\n chain in { type filter hook ingress device \"lo\" priority 0; udp dport 9 ip ttl set 9; }\n}";
    let away = "10.9.0.77";
    for rules in [
        at_output(&format!("tcp dport {PORT} ip ttl set 9")),
        at_output(&format!("udp sport != {PORT} udp dport 80-90 ip ttl set 9")),
        at_output(&format!("udp dport {{ 53, 8000-9000 }} ip daddr set {away}")),
        at_output("ip daddr 10.1.0.0/16 ip ttl set 9"),
        at_output("oifname \"docker0\" ip ttl set 9"),
        at_output(&format!("iifname \"lo\" ip daddr set {away}")),
        at_output("meta mark 0x7 ip ttl set 9"),
        nat("output", &format!("tcp dport {PORT} dnat to {away}")),
        nat("output", &format!("udp dport 53 dnat to {away}")),
        nat("prerouting", &format!("iifname \"eth7\" dnat to {away}")),
        nat("postrouting", "oifname \"eth7\" masquerade"),
        nat("postrouting", "masquerade"),
        at_lo.to_owned(),
        format!(
            "table ip dropline {{\n flags dormant\n chain out {{ type filter hook output priority 0; udp dport {PORT} ip ttl set 9; }}\n}}"
        ),
    ] {
        for namespace in [&lab.client, &lab.target] {
            namespace.nft(&rules).unwrap();
            for address in [lab.client_address, lab.target_address] {
                let trial = offer(&lab.client, address).unwrap_or_else(|why| panic!("{rules}: {why}"));
                assert_eq!(trial.forwarded, trial.offered, "{rules}");
            }
            namespace.nft("flush ruleset").unwrap();
        }
    }
}

#[test]
fn a_rule_for_a_user_is_met_by_the_packets_of_that_user_alone() {
    let Some(lab) = built(Pair::new()) else { return };
    let _there = serve(&lab.target, lab.target_address);
    for (of, is_met) in [
        ("skuid 12345", false),
        ("skgid 12345", false),
        ("skuid 1000-2000", false),
        ("skuid 0", true),
        ("skuid != 12345", true),
    ] {
        lab.client.nft(&at_output(&format!("meta {of} ip ttl set 9"))).unwrap();
        match (offer(&lab.client, lab.target_address), is_met) {
            (Ok(trial), false) => assert_eq!(trial.forwarded, trial.offered, "{of}"),
            (Err(why), true) => {
                assert!(why.to_string().contains("a time to live that is set in chain out"), "{of}: {why}");
            }
            (offered, _) => panic!("{of}: {offered:?}"),
        }
        lab.client.nft("flush ruleset").unwrap();
    }
}

#[test]
#[cfg_attr(feature = "portable", ignore = "it is not told of what an interface refuses")]
fn what_a_rule_in_front_of_the_interface_drops_of_a_probe_is_said_with_the_rule() {
    let Some(lab) = built(Pair::new()) else { return };
    let _there = serve(&lab.target, lab.target_address);
    let rule = format!(
        "table netdev dropline {{ chain out {{ type filter hook egress device {:?} priority 0; udp dport {PORT} drop; }}; }}",
        Pair::NEAR
    );
    lab.client.nft(&rule).unwrap();
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let asked = || probe(target, &TrafficProfile::default(), &AtomicBool::new(false));
    let why = lab.client.run(asked).unwrap().unwrap_err().to_string();
    assert!(why.contains("refuses packets") && why.contains("chain out of table netdev dropline"), "{why}");
}

#[test]
fn a_translation_that_packets_may_meet_is_refused_and_named_and_one_to_an_own_address_is_not() {
    let Some(lab) = built(Pair::new()) else { return };
    let _here = serve(&lab.client, Ipv4Addr::UNSPECIFIED);
    let rules = |hook: &str, rule: &str| {
        format!("table ip dropline {{\n chain led {{ type nat hook {hook} priority -100; {rule}; }}\n}}")
    };
    for (hook, rule, said) in [
        ("output", format!("udp dport {PORT} dnat to 10.9.0.77"), Some("dnat")),
        ("output", format!("udp dport {PORT} numgen inc mod 9 == 0 dnat to 10.9.0.77"), Some("dnat")),
        ("postrouting", format!("udp dport {PORT} snat to 10.9.0.77"), Some("snat")),
        ("output", format!("udp dport {PORT} dnat to 127.0.0.1"), None),
        ("output", format!("udp dport {PORT} redirect to :{PORT}"), None),
        ("postrouting", format!("udp dport {PORT} snat to 127.0.0.1"), None),
    ] {
        lab.client.nft(&rules(hook, &rule)).unwrap();
        let offered = offer(&lab.client, Ipv4Addr::LOCALHOST);
        match said {
            Some(word) => {
                let why = offered.unwrap_err().to_string();
                assert!(why.contains(&format!("{word} in chain led of table ip dropline")), "{rule}: {why}");
            }
            None => assert!(offered.is_ok(), "{rule}: {:?}", offered.err()),
        }
        lab.client.nft("flush ruleset").unwrap();
    }
    // A program that decides of packets may write anything into them.
    if lab.client.nft(&at_output(&format!("udp dport {PORT} queue num 3"))).is_ok() {
        let why = offer(&lab.client, Ipv4Addr::LOCALHOST).unwrap_err().to_string();
        assert!(why.contains("queue in chain out of table ip dropline"), "{why}");
    }
}

#[test]
fn packets_that_a_rule_rejects_are_no_closed_port_though_the_first_answer_takes_long() {
    let Some(lab) = built(Pair::new()) else { return };
    let listen = SocketAddr::from((lab.target_address, PORT));
    let slow =
        Responder { listen, service_time: Duration::from_millis(50), queue: 1000, ..Responder::default() };
    let _there = lab.target.run(|| slow.start()).unwrap().unwrap();
    let rule = format!("udp dport {PORT} numgen inc mod 2 0 reject");
    lab.target
        .nft(&format!("table ip dropline {{ chain led {{ type filter hook input priority 0; {rule}; }}; }}"))
        .unwrap();
    let target = UdpTarget { address: listen, reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_millis(200) };
    let measured = lab.client.run(|| {
        let options = MeasurerOptions::default();
        // However long a busy machine keeps the service waiting.
        let drain = Drain { longest: Duration::from_secs(10), quiet: None, ..Drain::default() };
        let profile = TrafficProfile { drain, ..TrafficProfile::default() };
        UdpMeasurer::new(target, profile, options, 1, Arc::default(), None)?.measure(input)
    });
    let trial = measured.unwrap().unwrap();
    assert!(trial.forwarded > 0 && trial.lost() > 0, "{trial:?}");
}

#[test]
fn one_packet_in_nine_that_a_rule_rejects_is_a_loss_with_its_place_and_refuses_no_trial() {
    let Some(lab) = built(Pair::new()) else { return };
    let address = SocketAddr::from((lab.target_address, PORT));
    let _there = serve(&lab.target, lab.target_address);
    for (namespace, hook, place) in [(&lab.target, "input", Some("netfilter")), (&lab.client, "output", None)]
    {
        for verdict in ["reject", "drop"] {
            let rules = format!(
                "table ip dropline {{\n chain led {{ type filter hook {hook} priority 0; udp dport {PORT} numgen inc mod 9 0 {verdict}; }}\n}}"
            );
            namespace.nft(&rules).unwrap();
            let target = UdpTarget { address, reply: Reply::Echo };
            let asked = || probe(target, &TrafficProfile::default(), &AtomicBool::new(false));
            let probed = lab.client.run(asked).unwrap();
            assert!(probed.is_ok(), "{hook} {verdict}: {probed:?}");
            let offered = offer_for(Duration::from_secs(1), 4000, &lab.client, lab.target_address);
            let trial = offered.unwrap_or_else(|why| panic!("{hook} {verdict}: {why}"));
            let lost_at = trial.lost_at.clone().unwrap_or_default();
            if let Some(place) = place {
                let lost = lost_at.get(place).copied().unwrap_or(0);
                // Beside busy neighbours some come back after the drain.
                let late = lost_at.get("late").copied().unwrap_or(0);
                assert!(lost > 0 && lost * 10 >= (trial.lost() - late) * 9, "{hook} {verdict}: {lost_at:?}");
            } else {
                assert!(trial.refused.values().sum::<u64>() > 0, "{hook} {verdict}: {:?}", trial.refused);
            }
            namespace.nft("delete table ip dropline").unwrap();
        }
    }
}
