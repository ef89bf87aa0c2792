//! What connection tracking has from before leads packets of a flow elsewhere when no rule does any more.

use super::*;

#[test]
fn no_packet_of_a_flow_is_sent_that_an_entry_of_connection_tracking_leads_to_another_host() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let (_there, _beside) = (serve(&lab.target, lab.target_address), serve(&stranger, STRANGER));
    let rules = |of: &str| {
        format!(
            "table ip dropline {{\n chain out {{ type nat hook output priority -100; {of} dnat to {STRANGER}; }}\n}}"
        )
    };
    let one = "udp sport 5555";
    lab.client.nft(&rules(one)).unwrap();
    let socket = lab.client.run(|| UdpSocket::bind("0.0.0.0:5555")).unwrap().unwrap();
    let (before, until) = (got(&stranger), Instant::now() + Duration::from_secs(10));
    while got(&stranger) == before {
        assert!(Instant::now() < until, "the rule does not work");
        socket.send_to(b"?", (lab.target_address, PORT)).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(socket);
    // No rule leads anything away by now, and there is one still that keeps connection tracking going.
    lab.client.nft(&format!("flush ruleset\n{}", rules("udp sport 9 udp dport 9"))).unwrap();
    let before = got(&stranger);
    // Eight ports from there on, the first or the last of which is led away.
    for first in [5555, 5548] {
        let why = offer_from(first, &lab.client, lab.target_address).unwrap_err();
        let is_it = matches!(
            &why,
            UdpError::NoLeash { why: NoLeash::Diverted { by: Detour::Tracked { port, to, .. }, .. }, .. }
                if *port == 5555 && *to == STRANGER
        );
        assert!(is_it, "{first}: {why}");
    }
    assert_eq!(got(&stranger), before, "a packet left");
    let trial = offer_from(5556, &lab.client, lab.target_address).unwrap();
    assert_eq!((trial.lost(), got(&stranger)), (0, before), "other ports");
    // What connection tracking has of the flows of that trial leads them where they go.
    assert!(offer_from(5556, &lab.client, lab.target_address).is_ok());
}

/// Rules of the client that keep connection tracking going and lead nothing away.
const TRACKS: &str =
    "table ip kept { chain out { type nat hook output priority -100; tcp dport 9999 dnat to 10.9.0.9; }; }";

/// An entry leads port 5555 to the stranger, and is named before anything is sent.
fn assert_named(client: &Namespace, address: Ipv4Addr, stranger: &Namespace, what: &str) {
    let before = got(stranger);
    let why = offer_from(5555, client, address).unwrap_err();
    let is_it = matches!(
        &why,
        UdpError::NoLeash { why: NoLeash::Diverted { by: Detour::Tracked { port: 5555, to, .. }, .. }, .. }
            if *to == STRANGER
    );
    assert!(is_it, "{what}: {why}");
    assert_eq!(got(stranger), before, "{what}: a packet left");
}

#[test]
fn an_entry_of_another_that_takes_packets_for_replies_to_itself_refuses_them() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let _there = serve(&lab.target, lab.target_address);
    let rule = format!(
        "table ip led {{ chain in {{ type nat hook input priority 100; udp sport {PORT} snat to {}; }}; }}",
        lab.target_address
    );
    lab.client.nft(&rule).unwrap();
    let socket = lab.client.run(|| UdpSocket::bind("10.9.0.1:5555")).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    // What comes from the port of a service there seems to come from the target.
    let other = stranger.run(|| UdpSocket::bind((STRANGER, PORT))).unwrap().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        assert!(Instant::now() < until, "the rule does not work");
        other.send_to(b"?", ("10.9.0.1", 5555)).unwrap();
        if let Ok((_, from)) = socket.recv_from(&mut [0; 8]) {
            assert_eq!(from.ip(), lab.target_address, "translated");
            break;
        }
    }
    drop(socket);
    lab.client.nft(&format!("flush ruleset\n{TRACKS}")).unwrap();
    assert_named(&lab.client, lab.target_address, &stranger, "as replies");
}

#[test]
fn an_entry_in_a_zone_that_a_rule_puts_packets_into_refuses_them_and_so_does_a_zone_that_is_not_known() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let (_there, _beside) = (serve(&lab.target, lab.target_address), serve(&stranger, STRANGER));
    let zone = |of: &str| {
        format!(
            "table ip zone {{ chain out {{ type filter hook output priority -300; udp dport {PORT} ct zone set {of}; }}; }}"
        )
    };
    let led = format!(
        "table ip led {{ chain out {{ type nat hook output priority -100; udp sport 5555 dnat to {STRANGER}; }}; }}"
    );
    lab.client.nft(&format!("{}\n{led}", zone("5"))).unwrap();
    let socket = lab.client.run(|| UdpSocket::bind("0.0.0.0:5555")).unwrap().unwrap();
    let (before, until) = (got(&stranger), Instant::now() + Duration::from_secs(10));
    while got(&stranger) == before {
        assert!(Instant::now() < until, "the rule does not work");
        socket.send_to(b"?", (lab.target_address, PORT)).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(socket);
    lab.client.nft(&format!("delete table ip led\n{TRACKS}")).unwrap();
    assert_named(&lab.client, lab.target_address, &stranger, "zone 5");
    assert!(offer_from(5556, &lab.client, lab.target_address).is_ok(), "other ports");
    if lab.client.nft(&format!("delete table ip zone\n{}", zone("meta mark"))).is_ok() {
        let why = offer_from(5556, &lab.client, lab.target_address).unwrap_err().to_string();
        assert!(why.contains("a zone of connection tracking that is another for each packet"), "{why}");
    }
}
