//! Whichever verb is told to: nothing is sent to a host that did not consent. Needs root and iproute2: without them
//! the test is skipped, and fails where `CI` is `true`.
#![allow(clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

mod command;

use command::Bench;
use dropline_lab::{Bridged, End, Namespace, Pair, built_or_skipped, connect};
use std::sync::atomic::{AtomicU32, Ordering};

/// A host that is on the way out and nobody's: its packets would leave by `near`.
const ELSEWHERE: &str = "203.0.113.5";

/// Packets that left a namespace by the interface towards others.
fn left(namespace: &Namespace) -> u64 {
    let devices = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/dev").unwrap()).unwrap();
    let near = devices.lines().find_map(|line| line.trim().strip_prefix("near:")).unwrap();
    near.split_whitespace().nth(9).unwrap().parse().unwrap()
}

#[test]
fn no_verb_sends_a_packet_to_a_host_that_did_not_consent() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2"]).unwrap();
    let bench = Bench::new();
    let [udp, heartbeat] = ["udp", "heartbeat"].map(|kind| format!("{kind}://{ELSEWHERE}:9060"));
    let address = format!("{ELSEWHERE}:9060");
    let [any, none] = ["any", "none"].map(|reply| format!("{udp}?reply={reply}"));
    let dns = format!("dns://{ELSEWHERE}?names=www.example.org");
    let payload = format!("udp://{ELSEWHERE}:9060?payload=hex:c0de");
    let services = ["memcached", "ntp", "stun", "stamp"].map(|protocol| format!("{protocol}://{ELSEWHERE}"));
    let [memcached, ntp, stun, stamp] = &services;
    let http = format!("http://{ELSEWHERE}/");
    let own = "udp://127.0.0.1:7007";
    for words in [
        &["trial", &udp, "--load=1kpps", "--duration=100ms", "-o", "-"][..],
        &["trial", &any, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", &none, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", &heartbeat, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", &dns, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", memcached, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", ntp, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", stun, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", stamp, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["search", &dns, "-o", "-"],
        &["trial", &http, "--load=1krps", "--duration=100ms", "-o", "-"],
        &["trial", &payload, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["doctor", &dns],
        &["trial", &udp, "--arrival=yield:n=2", "--duration=100ms", "-o", "-"],
        &["trial", own, "--target-addresses", ELSEWHERE, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["search", &udp, "-o", "-"],
        &["search", &heartbeat, "--max-load=1kpps", "-o", "-"],
        &["search", own, "--target-addresses", ELSEWHERE, "-o", "-"],
        &["compare", "--abba", own, &udp, "--load=1kpps"],
        &["inject", &udp, "--probe=request", "--delay=3us", "--start=sleep 1000", "--load=1kpps"],
        &["doctor", &udp],
        &["doctor", &heartbeat],
        &["measure", &udp],
        &["heartbeat", "send", &address, "--once"],
        &["heartbeat", "send", &address, "--rate=10pps", "--duration=100ms"],
        &["heartbeat", "report", &address],
        &["heartbeat", "report", &address, "--clock=shared", "--json"],
        &["heartbeat", "watch", &address, "--duration=100ms"],
        &["heartbeat", "watch", &address, "--until-alarm", "--json"],
        &["heartbeat", "cost", "--server", &address, "--pid=1"],
    ] {
        let before = left(&lab.client);
        let output = lab.client.run(|| bench.command(words).output()).unwrap().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {errors}");
        assert!(errors.contains(&format!("refused: {ELSEWHERE}")), "{words:?}: {errors}");
        assert_eq!(left(&lab.client), before, "{words:?} sent something");
        let is_option = words.contains(&"--target-addresses");
        assert_eq!(errors.contains("--target-addresses"), is_option, "{words:?}: {errors}");
    }
}

#[test]
fn no_verb_sends_a_packet_where_a_rule_lets_routers_pass_it_on_to_another_host() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    let Some(world) = built_or_skipped(Namespace::new("world")) else { return };
    connect(
        End { namespace: &lab.target, device: "near", address: Some("10.9.3.1/24") },
        End { namespace: &world, device: "in", address: Some("10.9.3.2/24") },
    )
    .unwrap();
    lab.target.set("net.ipv4.ip_forward", "1").unwrap();
    lab.target
        .nft("table ip dropline {\n chain in { type nat hook prerouting priority -100; udp dport 9060 dnat to 10.9.3.2; }\n}")
        .unwrap();
    lab.target
        .nft(
            "table inet held {\n chain held { type filter hook prerouting priority -300; ip ttl set 64; }\n}",
        )
        .unwrap();
    let bench = Bench::new();
    let address = format!("{}:9060", lab.target_address);
    let [udp, heartbeat] = ["udp", "heartbeat"].map(|kind| format!("{kind}://{address}"));
    let none = format!("{udp}?reply=none");
    for words in [
        &["heartbeat", "send", &address, "--rate=1kpps", "--duration=100ms"][..],
        &["heartbeat", "send", &address, "--once"],
        &["heartbeat", "report", &address],
        &["trial", &heartbeat, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", &udp, "--load=1kpps", "--duration=100ms", "-o", "-"],
        &["trial", &none, "--load=1kpps", "--duration=100ms", "-o", "-"],
    ] {
        let before = left(&lab.target);
        let output = lab.client.run(|| bench.command(words).output()).unwrap().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {errors}");
        assert!(errors.contains("lets routers pass them on (a time to live"), "{words:?}: {errors}");
        assert_eq!(left(&lab.target), before, "{words:?} sent something");
    }
}

#[test]
fn a_measurement_whose_packets_leave_beside_the_way_ends_at_once_with_exit_code_3_and_no_other_follows() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    let Some(stranger) = built_or_skipped(Namespace::new("stranger")) else { return };
    connect(
        End { namespace: &lab.target, device: "out", address: Some("10.9.3.1/24") },
        End { namespace: &stranger, device: "in", address: Some("10.9.3.2/24") },
    )
    .unwrap();
    let bench = Bench::new();
    let _service = service(&lab.target, "10.9.0.2:9060", false);
    let target = "udp://10.9.0.2:9060";
    let route =
        |does| lab.target.ip(&["route", does, "10.9.0.1/32", "via", "10.9.3.2", "dev", "out"]).unwrap();
    for (file, words) in [
        ("trial.jsonl", &["trial", target, "--load=1kpps", "--duration=60s"][..]),
        ("search.jsonl", &["search", target, "--max-load=2kpps", "--budget=60s", "--goal=50%,trial=5s"]),
    ] {
        let before = left(&lab.client);
        let words = [words, &["-o", file]].concat();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
                while left(&lab.client) < before + 1_000 && std::time::Instant::now() < until {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                route("add");
            });
            lab.client.run(|| bench.command(&words).output()).unwrap().unwrap()
        });
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said} {errors}");
        // Whichever is seen first: a packet beside the way, or the route.
        let told =
            [&said, &errors].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).concat();
        let has_left =
            told.contains(&format!("left by interface out of network namespace {}", lab.target.name()));
        assert!(has_left || told.contains("leads them out by interface out"), "{said} {errors}");
        assert!(left(&lab.client) < before + 20_000, "{words:?}: it went on");
        let record = std::fs::read_to_string(bench.path(file)).unwrap();
        let trials: Vec<&str> =
            record.lines().filter(|line| line.contains("\"intended_load_pps\"")).collect();
        let last = trials.last().unwrap();
        assert!(last.contains("left_elsewhere") || last.contains("rule_appeared"), "{record}");
        route("del");
    }
}

#[test]
fn heartbeats_that_come_to_be_led_to_another_host_end_at_once_with_exit_code_3() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    let bench = Bench::new();
    let _service = service(&lab.target, "10.9.0.2:9060", false);
    let before = left(&lab.client);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
            while left(&lab.client) < before + 300 && std::time::Instant::now() < until {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            let elsewhere = "02:00:00:00:00:77";
            let words =
                ["neigh", "replace", "10.9.0.2", "lladdr", elsewhere, "dev", Pair::NEAR, "nud", "permanent"];
            lab.client.ip(&words).unwrap();
        });
        let words = ["heartbeat", "send", "10.9.0.2:9060", "--rate=500pps", "--duration=60s"];
        lab.client.run(|| bench.command(&words).output()).unwrap().unwrap()
    });
    let errors = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("ended: 10.9.0.2:9060") && errors.contains("02:00:00:00:00:77"), "{errors}");
    assert!(left(&lab.client) < before + 10_000, "it went on");
}

/// Datagrams that programs of a namespace sent.
fn sent(namespace: &Namespace) -> u64 {
    let tables = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap()).unwrap();
    let counts = tables.lines().filter(|line| line.starts_with("Udp:")).nth(1).unwrap();
    counts.split_whitespace().nth(4).unwrap().parse().unwrap()
}

#[test]
fn no_request_for_a_report_follows_what_comes_to_lead_it_to_another_host() {
    use std::time::{Duration, Instant};
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    let bench = Bench::new();
    let _service = service(&lab.target, "10.9.0.2:9060", false);
    let before = sent(&lab.client);
    let (output, at) = std::thread::scope(|scope| {
        let leads = scope.spawn(|| {
            let until = Instant::now() + Duration::from_secs(20);
            while sent(&lab.client) < before + 10 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
            let elsewhere = "02:00:00:00:00:77";
            let words =
                ["neigh", "replace", "10.9.0.2", "lladdr", elsewhere, "dev", Pair::NEAR, "nud", "permanent"];
            lab.client.ip(&words).unwrap();
            sent(&lab.client)
        });
        let words = ["heartbeat", "watch", "10.9.0.2:9060", "--every=40ms", "--duration=4s", "--json"];
        let output = lab.client.run(|| bench.command(&words).output()).unwrap().unwrap();
        (output, leads.join().unwrap())
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(at >= before + 10, "it asked: {errors}");
    // One may have been looked at before, and leave after.
    assert!(sent(&lab.client) <= at + 1, "requests went on: {} after {at}", sent(&lab.client));
    let asked = lab.client.run(|| bench.command(&["heartbeat", "report", "10.9.0.2:9060"]).output());
    let errors = String::from_utf8_lossy(&asked.unwrap().unwrap().stderr).into_owned();
    assert!(errors.contains("refused: 10.9.0.2:9060"), "{errors}");
    assert!(sent(&lab.client) <= at + 1, "a report was asked for");
}

#[test]
fn no_packet_is_sent_where_the_system_has_nothing_left_to_look_for_such_a_rule_with() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    let here = lab.client.run(|| std::net::UdpSocket::bind("127.0.0.1:9060")).unwrap().unwrap();
    here.set_nonblocking(true).unwrap();
    let bench = Bench::new();
    let send = |files: u32| {
        let mut limited = std::process::Command::new("prlimit");
        limited.arg(format!("--nofile={files}")).arg(env!("CARGO_BIN_EXE_dropline"));
        limited.args(["heartbeat", "send", "127.0.0.1:9060", "--once"]).current_dir(bench.path("."));
        let ended = lab.client.run(|| limited.output()).unwrap().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    assert_eq!(send(64).0, Some(0), "without the rule");
    while here.recv(&mut [0; 64]).is_ok() {}
    lab.client
        .nft("table ip held {\n chain held { type filter hook output priority -300; ip ttl set 64; }\n}")
        .unwrap();
    let mut not_looked = 0;
    for files in 3..=24 {
        let (code, errors) = send(files);
        assert!(code != Some(0) && here.recv(&mut [0; 64]).is_err(), "{files} files: {errors}");
        not_looked += u32::from(errors.contains("could not be found out") && errors.contains("ulimit -n"));
    }
    assert!(not_looked > 0, "it never ran into the limit where it looks");
}

/// A socket in a namespace that sends back what comes, until it is dropped; `quiet` sends nothing back.
fn service(namespace: &Namespace, address: &str, quiet: bool) -> std::sync::Arc<()> {
    let socket = namespace.run(|| std::net::UdpSocket::bind(address)).unwrap().unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
    let alive = std::sync::Arc::new(());
    let seen = std::sync::Arc::downgrade(&alive);
    std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        while seen.upgrade().is_some() {
            if let Ok((length, source)) = socket.recv_from(&mut bytes)
                && !quiet
            {
                let _ = socket.send_to(&bytes[..length], source);
            }
        }
    });
    alive
}

/// A server of names in a namespace, until it is dropped: the first `own` questions for an address are answered with one of this
/// machine, the others with another host's. How many there were.
fn names(namespace: &Namespace, own: u32) -> std::sync::Arc<AtomicU32> {
    let socket = namespace.run(|| std::net::UdpSocket::bind("127.0.0.1:53")).unwrap().unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
    let asked = std::sync::Arc::new(AtomicU32::new(0));
    let seen = std::sync::Arc::downgrade(&asked);
    std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        while let Some(asked) = seen.upgrade() {
            let Ok((length, source)) = socket.recv_from(&mut bytes) else { continue };
            // RFC 1035 §4.1: behind the header the name, to its empty label, then the type and the class.
            let end = 12 + bytes[12..length].iter().position(|byte| *byte == 0).unwrap() + 5;
            let is_of_v4 = bytes[end - 4..end - 2] == [0, 1];
            let address = match is_of_v4.then(|| asked.fetch_add(1, Ordering::SeqCst)) {
                Some(before) if before < own => Some([127, 0, 0, 1]),
                Some(_) => Some(ELSEWHERE.parse::<std::net::Ipv4Addr>().unwrap().octets()),
                None => None,
            };
            let head = [&bytes[..2], &[0x81, 0x80, 0, 1, 0, u8::from(is_of_v4), 0, 0, 0, 0]].concat();
            let answer = address.map_or(Vec::new(), |address| {
                [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4][..], &address].concat()
            });
            let _ = socket.send_to(&[&head[..], &bytes[12..end], &answer].concat(), source);
        }
    });
    asked
}

#[test]
fn no_packet_follows_a_name_that_is_of_another_host_when_it_is_asked_for_again() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    lab.client.ip(&["route", "add", "default", "via", "10.9.0.2"]).unwrap();
    let bench = Bench::new();
    bench.write("resolv.conf", "nameserver 127.0.0.1\n");
    bench.write("nsswitch.conf", "hosts: files dns\n");
    let _service = service(&lab.client, "127.0.0.1:7000", false);
    let script = format!(
        "mount --bind resolv.conf /etc/resolv.conf && mount --bind nsswitch.conf /etc/nsswitch.conf || exit 9
         exec {} trial udp://moving.test:7000 --load=1kpps --duration=100ms -q -o -",
        env!("CARGO_BIN_EXE_dropline")
    );
    let mut refused = 0;
    for own in [0, 1, 8] {
        let asked = names(&lab.client, own);
        let before = left(&lab.client);
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).current_dir(bench.path(""));
        let output = lab.client.run(|| command.output()).unwrap().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(left(&lab.client), before, "{own} answers were of this machine: {errors}");
        let is_moved = asked.load(Ordering::SeqCst) > own;
        assert_eq!(is_moved, output.status.code() == Some(4), "{errors}");
        assert_eq!(is_moved, errors.contains(&format!("refused: {ELSEWHERE}")), "{own}: {errors}");
        refused += u32::from(is_moved);
        let gone = std::sync::Arc::downgrade(&asked);
        drop(asked);
        // Its socket is free for the next one.
        while gone.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(refused, 2, "also where the name moved between two questions");
}

#[test]
fn a_rule_that_leads_some_streams_elsewhere_is_refused_and_is_not_the_targets_loss() {
    let Some(lab) = built_or_skipped(Pair::new()) else { return };
    let chain = |hook: &str, of: &str| {
        format!(
            "table ip dropline {{\n chain o {{ type nat hook {hook} priority -100; udp dport 7000-7001 {of} dnat to 10.9.1.2; }}\n}}"
        )
    };
    let bench = Bench::new();
    let _services = [("127.0.0.1:7000", false), ("127.0.0.1:7001", true)]
        .map(|(address, quiet)| service(&lab.client, address, quiet));
    let _far = [("10.9.0.2:7000", false), ("10.9.0.2:7001", true)]
        .map(|(address, quiet)| service(&lab.target, address, quiet));
    lab.client.set("net.ipv4.conf.all.route_localnet", "1").unwrap();
    let [own, other] = ["127.0.0.1", "10.9.0.2"].map(|host| format!("udp://{host}:7000"));
    let one_way = "udp://127.0.0.1:7001?reply=none";
    let words = ["--streams=16", "--source-port=4000", "--load=2kpps", "--duration=1s", "-o", "-"];
    let trial = |target: &str, means: &str| {
        let words = [&["trial", target, means][..], &words].concat();
        let output = lab.client.run(|| bench.command(&words).output()).unwrap().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for target in [own.as_str(), &other, one_way] {
        let (code, errors) = trial(target, "--send=auto");
        assert_ne!(code, Some(4), "{target} without the rule: {errors}");
    }
    let refused = |target: &str| {
        let said = ["auto", "send", "gso"].map(|means| {
            let (code, errors) = trial(target, &format!("--send={means}"));
            assert_eq!(code, Some(4), "{target} {means}: {errors}");
            assert!(
                errors.contains("firewall") && !errors.contains("no listener"),
                "{target} {means}: {errors}"
            );
            errors
        });
        // Who may read the rules is told which one.
        assert!(said.iter().all(|errors| errors.contains("dnat in chain o")), "{target}: {said:?}");
    };
    // The second may take the first socket that asks: then all seems to be led elsewhere.
    for (at, hook, of, target) in [
        (&lab.client, "output", "udp sport 4000-4004", own.as_str()),
        (&lab.client, "output", "numgen inc mod 3 == 2", own.as_str()),
        (&lab.target, "prerouting", "udp sport 4000-4004", other.as_str()),
    ] {
        at.nft(&chain(hook, of)).unwrap();
        refused(target);
        at.nft("flush ruleset").unwrap();
    }
    lab.client.nft(&chain("output", "udp sport 4000-4004")).unwrap();
    let (code, errors) = trial(one_way, "--send=auto");
    assert!(code == Some(4) && errors.contains("firewall"), "{errors}");
}

/// Packets that came to a namespace's IP layer.
fn got(namespace: &Namespace) -> u64 {
    let tables = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap()).unwrap();
    let counts = tables.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
    counts.split_whitespace().nth(3).unwrap().parse().unwrap()
}

#[test]
fn no_verb_sends_a_packet_that_another_host_on_the_way_would_get() {
    let Some(lab) = built_or_skipped(Bridged::new()) else { return };
    let Some(stranger) = built_or_skipped(Namespace::new("stranger")) else { return };
    connect(
        End { namespace: &stranger, device: "near", address: Some("10.9.0.9/24") },
        End { namespace: &lab.bridge, device: "to-stranger", address: None },
    )
    .unwrap();
    lab.bridge.ip(&["link", "set", "dev", "to-stranger", "master", "bridge"]).unwrap();
    let said = stranger.ip(&["-o", "link", "show", "dev", "near"]).unwrap();
    let hardware = said.split("link/ether ").nth(1).unwrap().split(' ').next().unwrap();
    let bench = Bench::new();
    let address = format!("{}:9060", lab.target_address);
    let [udp, heartbeat] = ["udp", "heartbeat"].map(|kind| format!("{kind}://{address}"));
    let none = format!("{udp}?reply=none");
    let neighbour = ["10.9.0.2", "lladdr", hardware, "dev", "near"];
    let route = ["10.9.0.2", "via", "10.9.0.9", "dev", "near"];
    let rule = ["pref", "5", "ipproto", "udp", "dport", "9060", "lookup", "100"];
    let to = [&route[..], &["table", "100"]].concat();
    lab.client.ip(&[&["route", "add"], &to[..]].concat()).unwrap();
    for (kind, way, shown) in
        [("neigh", &neighbour[..], "ip neigh"), ("route", &route, "ip route get"), ("rule", &rule, "ip rule")]
    {
        lab.client.ip(&[&[kind, "add"], way].concat()).unwrap();
        for words in [
            &["trial", &udp, "--load=1kpps", "--duration=100ms", "-o", "-"][..],
            &["trial", &none, "--load=1kpps", "--duration=100ms", "-o", "-"],
            &["trial", &heartbeat, "--load=1kpps", "--duration=100ms", "-o", "-"],
            &["search", &udp, "-o", "-"],
            &["doctor", &udp],
            &["heartbeat", "send", &address, "--once"],
            &["heartbeat", "send", &address, "--rate=10pps", "--duration=100ms"],
            &["heartbeat", "report", &address],
            &["heartbeat", "watch", &address, "--duration=100ms"],
        ] {
            let before = got(&stranger);
            let output = lab.client.run(|| bench.command(words).output()).unwrap().unwrap();
            assert_eq!(got(&stranger), before, "{way:?} {words:?} sent something");
            // What only a socket meets is a finding of the doctor, and no answer to a watch.
            let code = match words {
                ["doctor", ..] if kind == "rule" => 3,
                ["heartbeat", "watch", ..] if kind == "rule" => continue,
                _ => 4,
            };
            let says = [output.stdout, output.stderr].concat();
            let says = String::from_utf8_lossy(&says);
            assert_eq!(output.status.code(), Some(code), "{way:?} {words:?}: {says}");
            assert!(says.contains("refused: ") && says.contains(shown), "{way:?} {words:?}: {says}");
        }
        lab.client.ip(&[&[kind, "del"], way].concat()).unwrap();
    }
}
