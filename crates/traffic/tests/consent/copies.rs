//! Rules of a firewall that copy packets or write into them: none is sent where one may be met.

use super::*;

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
fn a_rule_that_comes_during_a_trial_is_said_and_before_a_trial_ends_the_search() {
    let Some(lab) = built(Pair::new()) else { return };
    let there = serve(&lab.target, lab.target_address);
    let target = UdpTarget { address: (lab.target_address, PORT).into(), reply: Reply::Echo };
    let input = TrialInput { load: Rate::pps(1_000.0).unwrap(), duration: Duration::from_secs(5) };
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
            let before = there.counts().received;
            std::thread::scope(|scope| {
                let come = || {
                    wait_for_some(&there, before);
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
