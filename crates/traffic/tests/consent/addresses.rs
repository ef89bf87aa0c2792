//! Whose an address is: of this namespace, of another one, of two, or nobody's.

use super::*;

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
fn a_client_sends_nothing_to_a_host_that_did_not_consent() {
    let Some(lab) = built(Pair::new()) else { return };
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2"]).unwrap();
    let plan = ClientPlan {
        target: "203.0.113.6:53".parse().unwrap(),
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
    assert!(refused.to_string().contains("203.0.113.6 is not on this machine"), "{refused}");
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

#[test]
fn an_address_that_two_namespaces_of_a_segment_have_is_refused_with_both() {
    let Some(lab) = built(Bridged::new()) else { return };
    let Some(stranger) = stranger_beside(&lab) else { return };
    let (_there, _beside) = (serve(&lab.target, lab.target_address), serve(&stranger, STRANGER));
    assert!(offer(&lab.client, lab.target_address).is_ok());
    stranger.ip(&["addr", "add", "10.9.0.2/24", "dev", Pair::NEAR]).unwrap();
    let before = got(&stranger);
    let why = offer(&lab.client, lab.target_address).unwrap_err().to_string();
    let names = [lab.target.name(), stranger.name()];
    assert!(why.contains("both have that address") && names.iter().all(|name| why.contains(name)), "{why}");
    assert_eq!(got(&stranger), before);
}

#[test]
fn an_address_behind_a_router_of_this_machine_is_refused_with_its_namespace_and_the_router() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some(behind) = built(Namespace::new("behind")) else { return };
    connect(
        End { namespace: &lab.target, device: "out", address: Some("10.9.3.1/24") },
        End { namespace: &behind, device: "in", address: Some("10.9.3.2/24") },
    )
    .unwrap();
    lab.target.set("net.ipv4.ip_forward", "1").unwrap();
    let refused = || {
        let why = offer(&lab.client, Ipv4Addr::new(10, 9, 3, 2)).unwrap_err();
        assert!(
            why.to_string().contains(&format!("an address of network namespace {}", behind.name())),
            "{why}"
        );
        assert!(!why.to_string().contains("is not on this machine"), "{why}");
        why.to_string()
    };
    lab.client.ip(&["route", "add", "10.9.3.0/24", "via", "10.9.0.2"]).unwrap();
    let why = refused();
    let router =
        format!("by way of 10.9.0.2, and would be passed on by network namespace {}", lab.target.name());
    assert!(why.contains(&router), "{why}");
    lab.client.ip(&["route", "replace", "10.9.3.0/24", "dev", Pair::NEAR]).unwrap();
    assert!(refused().contains("an interface behind which that namespace is not"));
}
