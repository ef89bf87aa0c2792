//! Places whose counters are exact.

use super::*;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

#[test]
fn a_full_receive_buffer_is_counted_by_its_socket() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let account = Scene::of_pair(&lab).account(Some(&target), |scene| scene.send(3000));
    let held = 212_992 / 832;
    assert_all_at(&account, "receive_buffer", 3000 - held);
}

#[test]
fn a_socket_filter_is_told_from_the_buffer() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    // Returns 0 for every packet: none of its bytes may pass.
    let refuse = SockFilter::new(0x06, 0, 0, 0);
    socket2::SockRef::from(&target).attach_filter(&[refuse]).unwrap();
    let account = Scene::of_pair(&lab).account(Some(&target), |scene| scene.send(500));
    assert_all_at(&account, "socket_filter", 500);
}

/// A UDP header and payload with a checksum that no packet has, from a socket that lets us write it.
fn send_broken(scene: &Scene<'_>, packets: u64) -> Outcome {
    let raw =
        scene.client.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap()).unwrap();
    let mut bytes = [0; 8 + PAYLOAD];
    bytes[..2].copy_from_slice(&40_000_u16.to_be_bytes());
    bytes[2..4].copy_from_slice(&PORT.to_be_bytes());
    bytes[4..6].copy_from_slice(&(8 + PAYLOAD as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&0x1234_u16.to_be_bytes());
    for _ in 0..packets {
        raw.send_to(&bytes, &SocketAddr::new(scene.target.ip(), 0).into()).unwrap();
    }
    Outcome { offered: packets, one_way: true, ..Outcome::default() }
}

#[test]
fn a_wrong_checksum_is_counted_by_the_namespace() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let account = Scene::of_pair(&lab).account(Some(&target), |scene| send_broken(scene, 200));
    assert_all_at(&account, "checksum", 200);
}

#[test]
fn nobody_listening_is_counted_even_where_no_answer_says_so() {
    let Some(lab) = built(Pair::new()) else { return };
    assert_all_at(&Scene::of_pair(&lab).account(None, |scene| scene.send(3000)), "no_listener", 3000);
    // There is a socket, but it wants packets of somebody else.
    let target = bound(&lab.target, lab.target_address, PORT);
    target.connect((lab.client_address, 9)).unwrap();
    let account = Scene::of_pair(&lab).account(Some(&target), |scene| scene.send(100));
    assert_all_at(&account, "no_listener", 100);
}

/// Slow beside a sender that has to wait for a CPU.
const SLOW: Bottleneck<'_> = Bottleneck { rate: "400kbit", burst_bytes: 3_000, limit_bytes: 3_000 };

#[test]
fn a_full_queue_is_found_wherever_it_is_on_the_way() {
    let Some(lab) = built(Bridged::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::new(&lab.client, lab.client_address, lab.target_address);
    let mut lost_with = |namespace: &Namespace, device| {
        SLOW.at(namespace, device).unwrap();
        let account = scene.account(Some(&target), |scene| scene.send(1000));
        namespace.tc(&["qdisc", "del", "dev", device, "root"]).unwrap();
        let lost = account.lost_at.values().sum::<u64>();
        assert!(lost > 500, "{account:?}");
        assert_all_at(&account, "qdisc", lost);
    };
    lost_with(&lab.client, Pair::NEAR);
    lost_with(&lab.bridge, Bridged::TO_TARGET);
}

#[test]
fn a_firewall_on_arrival_is_what_the_ip_layer_lost_inside() {
    for verdict in ["drop", "reject"] {
        let Some(lab) = built(Pair::new()) else { return };
        let target = bound(&lab.target, lab.target_address, PORT);
        lab.target
            .nft(&format!(
                "table inet dropline {{ chain in {{ type filter hook input priority 0; udp dport {PORT} {verdict}; }}; }}"
            ))
            .unwrap();
        let account = Scene::of_pair(&lab).account(Some(&target), |scene| scene.send(300));
        assert_all_at(&account, "netfilter", 300);
    }
}

#[test]
fn a_rule_before_the_ip_layer_is_what_the_interface_had_and_the_ip_layer_had_not() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    lab.target
        .nft(&format!(
            "table netdev dropline {{ chain in {{ type filter hook ingress device {} priority 0; udp dport {PORT} drop; }}; }}",
            Pair::FAR
        ))
        .unwrap();
    let account = Scene::of_pair(&lab).account(Some(&target), |scene| scene.send(300));
    assert_all_at(&account, "ingress", 300);
}

#[test]
fn what_another_program_sends_to_a_closed_port_takes_nothing_from_what_a_rule_dropped() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    for (family, hook) in [("inet", "input"), ("netdev", "ingress device far")] {
        let rule = format!(
            "table {family} dropline {{ chain in {{ type filter hook {hook} priority 0; udp dport {PORT} numgen inc mod 2 == 0 drop; }}; }}"
        );
        lab.target.nft(&rule).unwrap();
        let mut scene = Scene::of_pair(&lab);
        let account = scene.account(None, |scene| {
            let mut outcome = scene.send(300);
            let other = scene.socket();
            (0..150).for_each(|_| drop(other.send_to(&[0; PAYLOAD], (lab.target_address, PORT + 1))));
            let until = Instant::now() + Duration::from_secs(10);
            while outcome.forwarded < 150 && Instant::now() < until {
                outcome.forwarded += read_all(&target);
            }
            outcome
        });
        let of_rules: u64 =
            ["netfilter", "ingress"].iter().filter_map(|place| account.lost_at.get(*place)).sum();
        assert_eq!(of_rules + account.lost_at["unexplained"], 150, "{hook}: {account:?}");
        assert!(of_rules == 150 || codes(&account).contains(&"counters_shared"), "{hook}: {account:?}");
        lab.target.nft("flush ruleset").unwrap();
    }
}

#[test]
fn a_source_that_is_not_reached_the_same_way_is_filtered() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, Ipv4Addr::UNSPECIFIED, PORT);
    for scope in ["all", Pair::FAR] {
        lab.target.set(&format!("net.ipv4.conf.{scope}.rp_filter"), "1").unwrap();
    }
    lab.client.ip(&["addr", "add", "10.77.0.1/32", "dev", "lo"]).unwrap();
    let strange = bound(&lab.client, Ipv4Addr::new(10, 77, 0, 1), 0);
    let account =
        Scene::of_pair(&lab).account(Some(&target), |scene| scene.send_from(&strange, 300, PAYLOAD));
    assert_all_at(&account, "rp_filter", 300);
}

#[test]
fn a_source_that_is_an_own_address_of_the_target_is_a_martian_and_not_a_firewalls() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, Ipv4Addr::UNSPECIFIED, PORT);
    let mut scene = Scene::of_pair(&lab);
    lab.target.ip(&["addr", "add", &format!("{}/32", lab.client_address), "dev", "lo"]).unwrap();
    assert_all_at(&scene.account(Some(&target), |scene| scene.send(300)), "martian", 300);
}

#[test]
fn what_rules_take_of_others_or_at_other_interfaces_is_not_taken_for_the_trials() {
    let Some(lab) = built(Pair::new()) else { return };
    let Some(other) = built(Namespace::new("other")) else { return };
    connect(
        End { namespace: &lab.target, device: "beside", address: Some("10.9.7.1/24") },
        End { namespace: &other, device: Pair::NEAR, address: Some("10.9.7.2/24") },
    )
    .unwrap();
    let target = bound(&lab.target, lab.target_address, PORT);
    let stranger = bound(&other, Ipv4Addr::new(10, 9, 7, 2), 0);
    let to = Ipv4Addr::new(10, 9, 7, 1);
    for rules in [
        "table inet dropline { chain in { type filter hook input priority 0; udp dport 19 drop; }; }".to_owned(),
        format!("table ip dropline {{ chain in {{ type filter hook input priority 0; ip daddr {to} drop; }}; }}"),
        "table netdev dropline { chain in { type filter hook ingress device beside priority 0; udp dport 19 drop; }; }".into(),
    ] {
        lab.target.nft(&rules).unwrap();
        let account = Scene::of_pair(&lab).account(Some(&target), |scene| {
            for _ in 0..100 {
                stranger.send_to(&[0; PAYLOAD], (to, 19)).unwrap();
            }
            // So many were lost, and nothing here counted them.
            let outcome = scene.send(100);
            Outcome { offered: outcome.offered + 100, ..outcome }
        });
        assert_eq!(at(&account), [("unexplained", 100)], "{rules}: {account:?}");
        lab.target.nft("flush ruleset").unwrap();
    }
}

#[test]
fn another_hosts_hardware_address_is_counted_by_the_interface() {
    let Some(lab) = built(Pair::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::of_pair(&lab);
    let to = lab.target_address.to_string();
    let wrong =
        ["neigh", "replace", &to, "lladdr", "02:00:00:00:00:99", "dev", Pair::NEAR, "nud", "permanent"];
    lab.client.ip(&wrong).unwrap();
    assert_all_at(&scene.account(Some(&target), |scene| scene.send(300)), "other_host", 300);
}

#[test]
fn a_router_says_what_it_does_not_forward() {
    let Some(lab) = built(Routed::new()) else { return };
    let target = bound(&lab.target, Routed::TARGET, PORT);
    let mut scene = lab.scene();
    assert!(at(&scene.account(Some(&target), |scene| scene.send(50))).is_empty(), "it does forward");
    let short = scene.socket();
    short.set_ttl(1).unwrap();
    let account = scene.account(Some(&target), |scene| scene.send_from(&short, 200, PAYLOAD));
    assert_all_at(&account, "ttl", 200);

    lab.router.set("net.ipv4.ip_forward", "0").unwrap();
    assert_all_at(&scene.account(Some(&target), |scene| scene.send(200)), "no_route", 200);
    lab.router.set("net.ipv4.ip_forward", "1").unwrap();
    lab.router.ip(&["route", "del", "10.9.2.0/24"]).unwrap();
    assert_all_at(&scene.account(Some(&target), |scene| scene.send(200)), "no_route", 200);
}

#[test]
fn packets_of_which_a_fragment_is_missing_are_counted_before_they_are_given_up() {
    let Some(lab) = built(Bridged::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::new(&lab.client, lab.client_address, lab.target_address);
    assert!(at(&scene.account(Some(&target), |scene| scene.send_from(&scene.socket(), 10, 3000))).is_empty());
    lab.bridge
        .nft(&format!(
            "table netdev dropline {{ chain in {{ type filter hook ingress device {} priority 0; \
             ip frag-off & 0x1fff != 0 drop; }}; }}",
            Bridged::TO_CLIENT
        ))
        .unwrap();
    let account = scene.account(Some(&target), |scene| scene.send_from(&scene.socket(), 40, 3000));
    assert_all_at(&account, "fragment", 40);
}

#[test]
fn what_waits_at_the_socket_is_unread_and_not_dropped() {
    let Some(lab) = built(Pair::new()) else { return };
    let _target = bound(&lab.target, lab.target_address, PORT);
    let mut scene = Scene::of_pair(&lab);
    // As the measurer knows it: from the memory in use.
    let account = scene.account(None, |scene| Outcome { unread: 100, ..scene.send(100) });
    assert_all_at(&account, "unread", 100);
}

#[test]
fn the_backlog_of_loopback_closes_with_the_socket() {
    let Some(lab) = built(Namespace::new("alone")) else { return };
    // Packets are handed to the other processor, whose backlog holds a thousand.
    let spread = lab.command("sh").args(["-c", "echo 2 > /sys/class/net/lo/queues/rx-0/rps_cpus"]).status();
    assert!(spread.unwrap().success());
    let target = bound(&lab, Ipv4Addr::LOCALHOST, PORT);
    let mut scene = Scene::new(&lab, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
    let account = scene.account(Some(&target), |scene| scene.send(20_000));
    assert_eq!(account.lost_at["unexplained"], 0, "{account:?}");
    assert!(account.lost_at["receive_buffer"] > 10_000);
    let places = account
        .lost_at
        .keys()
        .all(|place| ["receive_buffer", "softnet", "unexplained"].contains(&place.as_str()));
    assert!(places, "{account:?}");
}

#[test]
fn four_causes_at_once_close_too() {
    let Some(lab) = built(Bridged::new()) else { return };
    let target = bound(&lab.target, lab.target_address, PORT);
    SLOW.at(&lab.bridge, Bridged::TO_TARGET).unwrap();
    let rule = format!("udp sport 40001 udp dport {PORT} drop;");
    lab.target
        .nft(&format!("table inet dropline {{ chain in {{ type filter hook input priority 0; {rule} }}; }}"))
        .unwrap();
    let mut scene = Scene::new(&lab.client, lab.client_address, lab.target_address);
    let account = scene.account(Some(&target), |scene| {
        let mut offered = 0;
        // What waits in the bottleneck is let through before more comes: it has room for few.
        let mut let_through = |send: &dyn Fn() -> Outcome| {
            let before = arrived_at(&lab.target, Pair::FAR);
            let sent = send().offered;
            let until = Instant::now() + Duration::from_secs(10);
            while arrived_at(&lab.target, Pair::FAR) < before + sent {
                assert!(Instant::now() < until, "the bottleneck keeps what it has room for");
                std::thread::sleep(Duration::from_millis(1));
            }
            offered += sent;
        };
        let barred = bound(scene.client, lab.client_address, 40_001);
        let open = scene.socket();
        for _ in 0..8 {
            let_through(&|| send_broken(scene, 5));
            let_through(&|| scene.send_from(&barred, 5, PAYLOAD));
        }
        // More than the socket's buffer holds.
        for _ in 0..45 {
            let_through(&|| scene.send_from(&open, 8, PAYLOAD));
        }
        // More than the bottleneck does.
        offered += scene.send_from(&open, 400, PAYLOAD).offered;
        Outcome { offered, one_way: true, ..Outcome::default() }
    });
    assert_eq!((account.lost_at["checksum"], account.lost_at["netfilter"]), (40, 40), "{account:?}");
    assert!(account.lost_at["qdisc"] > 100 && account.lost_at["receive_buffer"] > 50, "{account:?}");
    assert_eq!((account.lost_at["unexplained"], codes(&account)), (0, vec![]), "{account:?}");
}

/// Packets that an interface has taken in.
fn arrived_at(namespace: &Namespace, device: &str) -> u64 {
    let devices = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/dev").unwrap()).unwrap();
    let of_device = |line: &str| line.trim().strip_prefix(&format!("{device}:")).map(str::to_string);
    let counts = devices.lines().find_map(of_device).unwrap();
    counts.split_whitespace().nth(1).unwrap().parse().unwrap()
}
