//! Sends that the system refuses: told by errno, never offered, lost nowhere.

use super::*;

/// What the first refused send of `packets` said, with the account of the others.
fn refused(scene: &mut Scene<'_>, socket: &UdpSocket, payload: usize) -> (io::Error, Account) {
    let why = socket.send_to(&vec![0; payload], scene.target).unwrap_err();
    let account = scene.account(None, |scene| scene.send_from(socket, 50, payload));
    (why, account)
}

fn assert_nothing_offered(account: &Account) {
    assert!(at(account).is_empty() && account.lost_at["unexplained"] == 0, "{account:?}");
}

#[test]
fn a_firewall_on_departure_is_told_at_once() {
    let Some(lab) = built(Pair::new()) else { return };
    let mut scene = Scene::of_pair(&lab);
    lab.client
        .nft(&format!(
            "table inet dropline {{ chain out {{ type filter hook output priority 0; udp dport {PORT} drop; }}; }}"
        ))
        .unwrap();
    let socket = scene.socket();
    let (why, account) = refused(&mut scene, &socket, PAYLOAD);
    assert_eq!(why.raw_os_error(), Some(libc::EPERM));
    assert_nothing_offered(&account);
}

#[test]
fn no_route_and_routes_that_refuse_are_told_at_once() {
    let Some(lab) = built(Pair::new()) else { return };
    let mut scene = Scene::of_pair(&lab);
    let socket = bound(&lab.client, Ipv4Addr::UNSPECIFIED, 0);
    let net = "10.9.0.2/32";
    for (kind, errno) in [("blackhole", libc::EINVAL), ("unreachable", libc::EHOSTUNREACH)] {
        lab.client.ip(&["route", "add", kind, net]).unwrap();
        let (why, account) = refused(&mut scene, &socket, PAYLOAD);
        assert_eq!(why.raw_os_error(), Some(errno), "{kind}");
        assert_nothing_offered(&account);
        lab.client.ip(&["route", "del", kind, net]).unwrap();
    }
    lab.client.ip(&["link", "set", "dev", Pair::NEAR, "down"]).unwrap();
    let (why, account) = refused(&mut scene, &socket, PAYLOAD);
    assert_eq!(why.raw_os_error(), Some(libc::ENETUNREACH));
    assert_nothing_offered(&account);
}

#[test]
fn a_packet_longer_than_any_is_told_at_once() {
    let Some(lab) = built(Pair::new()) else { return };
    let mut scene = Scene::of_pair(&lab);
    let socket = scene.socket();
    let (why, account) = refused(&mut scene, &socket, 65_508);
    assert_eq!(why.raw_os_error(), Some(libc::EMSGSIZE));
    assert_nothing_offered(&account);
}

#[test]
fn a_full_send_buffer_is_told_at_once_and_what_left_arrives() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::of_pair(&lab);
    // So slow that a sender that has to wait for a CPU is still ahead of it.
    Bottleneck { rate: "40kbit", burst_bytes: 1_600, limit_bytes: 100_000 }
        .at(&lab.client, Pair::NEAR)
        .unwrap();
    let socket = scene.socket();
    socket2::SockRef::from(&socket).set_send_buffer_size(8_192).unwrap();
    let mut told = 0;
    let account = scene.account(Some(&target), |scene| {
        let outcome = scene.send_from(&socket, 200, PAYLOAD);
        told = outcome.refused;
        outcome
    });
    assert!(told > 100, "{told}");
    assert_nothing_offered(&account);
}

#[test]
fn a_reply_that_a_firewall_refuses_is_not_at_the_send_buffer_that_was_once_full() {
    let Some(lab) = built(Pair::new()) else { return };
    let mut scene = Scene::of_pair(&lab);
    let server = bound(&lab.target, lab.target_address, PORT);
    socket2::SockRef::from(&server).set_send_buffer_size(8_192).unwrap();
    let replied = bound(&lab.client, lab.client_address, 0);
    let client = replied.local_addr().unwrap();
    let replies = |packets: u64| -> u64 {
        (0..packets).map(|_| u64::from(server.send_to(&[0; PAYLOAD], client).is_err())).sum()
    };
    let lost = |packets| Outcome { offered: packets, ..Outcome::default() };
    let seen = scene.counters.unseen().iter().all(|unseen| !unseen.to_string().contains("kfree_skb"));
    Bottleneck { rate: "40kbit", burst_bytes: 1_600, limit_bytes: 100_000 }
        .at(&lab.target, Pair::FAR)
        .unwrap();
    let full = scene.account(None, |_| lost(replies(200)));
    assert!(full.lost_at["return_send_buffer"] > 100, "{full:?}");
    // Where the rules can be read, nothing has to be inferred: none of them may drop replies.
    assert_eq!((at(&full).len(), codes(&full)), (1, vec![]));
    lab.target.tc(&["qdisc", "del", "dev", Pair::FAR, "root"]).unwrap();
    let rule = format!(
        "table inet dropline {{ chain out {{ type filter hook output priority 0; udp sport {PORT} drop; }}; }}"
    );
    lab.target.nft(&rule).unwrap();
    let forbidden = scene.account(None, |_| lost(replies(50)));
    if seen {
        assert_eq!(
            (at(&forbidden), codes(&forbidden)),
            (vec![("return_netfilter", 50)], vec!["place_inferred"])
        );
    } else {
        // A rule may have refused them, and nobody saw whether: they are unexplained, or the place is a guess.
        let places = at(&forbidden);
        assert!(places.iter().all(|(place, _)| *place != "return_send_buffer"), "{forbidden:?}");
        let named = places.iter().any(|(place, _)| *place != "unexplained");
        assert!(!named || codes(&forbidden).contains(&"place_inferred"), "{forbidden:?}");
    }
}
