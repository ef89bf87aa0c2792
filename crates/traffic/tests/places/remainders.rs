//! What no counter counts: named as what remains, with a caveat.

use super::*;

#[test]
fn what_waits_for_a_neighbour_is_the_remainder() {
    let Some(lab) = built(Pair::new()) else { return };
    // Nobody has this address.
    let mut scene = Scene::of_strangers(&lab.client, lab.client_address, Ipv4Addr::new(10, 9, 0, 77));
    let account = scene.account(None, |scene| scene.send(200));
    assert_eq!((at(&account), codes(&account)), (vec![("neighbour", 200)], vec!["place_inferred"]));
    // The kernel's own reasons may be closed to this user too.
    let sides =
        scene.counters.unseen().iter().filter(|unseen| unseen.to_string().contains("the target's side"));
    assert_eq!(sides.count(), 1, "and the other side is not to be seen");
}

#[test]
fn a_peer_that_is_down_is_the_remainder() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::of_pair(&lab);
    lab.target.ip(&["link", "set", "dev", Pair::FAR, "down"]).unwrap();
    let account = scene.account(Some(&target), |scene| scene.send(200));
    assert_eq!(codes(&account), ["place_inferred"]);
    let link_down = account.lost_at["link_down"];
    assert_eq!(
        (link_down + account.lost_at["unexplained"], account.lost_at["unexplained"]),
        (200, 0),
        "{account:?}"
    );
}

#[test]
fn what_no_counter_counts_is_named_by_the_kernels_own_reason() {
    let Some(lab) = built(Bridged::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::new(&lab.client, lab.client_address, lab.target_address);
    // A rule where packets leave the bridge: neither an interface nor a protocol counts what it drops.
    let rule = format!(
        "table netdev dropline {{ chain out {{ type filter hook egress device {} priority 0; udp dport {PORT} drop; }}; }}",
        Bridged::TO_TARGET
    );
    lab.bridge.nft(&rule).unwrap();
    let reasons = scene.counters.unseen().iter().find(|unseen| unseen.to_string().contains("kfree_skb"));
    let reasons = reasons.map(ToString::to_string);
    let account = scene.account(Some(&target), |scene| scene.send(200));
    match reasons {
        None => {
            assert_eq!((at(&account), codes(&account)), (vec![("netfilter", 200)], vec!["place_inferred"]))
        }
        Some(why) => {
            eprintln!("without the kernel's own reasons: {why}");
            // A few packets of groups that nobody joined leave the differences that rules leave: the interfaces are new.
            let unexplained = account.lost_at["unexplained"];
            assert_eq!(account.lost_at.values().sum::<u64>(), 200, "{account:?}");
            assert!(
                (190..=200).contains(&unexplained),
                "what nothing counts is not given a name: {account:?}"
            );
            assert_eq!(codes(&account), [""; 0]);
        }
    }
}

#[test]
fn a_socket_that_is_closed_takes_what_waits_with_it() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::of_pair(&lab);
    let account = scene.account(None, |scene| {
        let outcome = scene.send(50);
        std::thread::sleep(Duration::from_millis(10));
        drop(target);
        Outcome { closed: true, ..outcome }
    });
    assert_eq!((at(&account), codes(&account)), (vec![("unread", 50)], vec!["place_inferred"]));
}
