//! What is between both ends: bridges, gateways, neighbours, other packets around them.

use super::*;

#[test]
fn a_bridge_is_on_this_machine_as_long_as_all_its_ports_are() {
    let Some(lab) = built(Bridged::new()) else { return };
    let inside = lab.target_address.to_string();
    assert!(whereabouts(&lab.client, &inside).is_this_machine());
    let tunnel = ["type", "vxlan", "id", "213", "dstport", "4789", "local", "127.0.0.1"];
    lab.bridge.ip(&[&["link", "add", "dev", "tunnel"], tunnel.as_slice()].concat()).unwrap();
    lab.bridge.ip(&["link", "set", "dev", "tunnel", "master", "bridge"]).unwrap();
    let why = lab.client.run(|| Leash::towards(IpAddr::from(lab.target_address))).unwrap().unwrap_err();
    let is_it = matches!(&why, NoLeash::LeadsOff { interface, kind, .. } if (&**interface, &**kind) == ("tunnel", "vxlan"));
    assert!(is_it && !why.to_string().contains("is not on this machine"), "{why}");
}

/// The hardware address of an interface.
fn hardware(namespace: &Namespace, device: &str) -> String {
    let said = namespace.ip(&["-o", "link", "show", "dev", device]).unwrap();
    said.split("link/ether ").nth(1).unwrap().split_whitespace().next().unwrap().into()
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
