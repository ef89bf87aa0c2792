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
