//! Services that are asked in their own protocol, as a user asks them: here they are a few lines each.

#![allow(clippy::disallowed_methods)]

mod command;

use command::Bench;
use serde_json::Value;
use std::net::UdpSocket;

/// A DNS server of a few lines: each question is answered, every tenth by a refusal. What else comes is dropped, as real
/// ones do. It ends with the program.
fn dns_server() -> u16 {
    dns_server_that(|_| {})
}

/// The same whose replies are changed so.
fn dns_server_that(change: impl Fn(&mut [u8]) + Send + 'static) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        let mut answered = 0;
        while let Ok((length, source)) = socket.recv_from(&mut bytes) {
            if length >= 17 && bytes[2] & 0xf8 == 0 && bytes[5] == 1 {
                answered += 1;
                bytes[2] |= 0x80;
                bytes[3] = if answered % 10 == 0 { 5 } else { 0 };
                change(&mut bytes[..length]);
                let _ = socket.send_to(&bytes[..length], source);
            }
        }
    });
    port
}

#[test]
fn a_dns_server_is_asked_what_a_file_says_and_its_replies_are_kept_by_class() {
    let bench = Bench::new();
    std::fs::write(bench.path("names"), "www.example.org A\nexample.org MX\n").unwrap();
    let target = format!("dns://127.0.0.1:{}?queries=names", dns_server());
    let words = ["trial", &target, "--load=1kpps", "--duration=300ms", "-q"];
    let json = bench.run(&[&words[..], &["--json", "-o", "kept.jsonl"]].concat()).json();
    let count = |value: &Value| value.as_u64().unwrap();
    let replies = json["replies"].as_object().unwrap();
    assert_eq!(replies.values().map(count).sum::<u64>(), count(&json["forwarded"]), "{json}");
    assert_eq!(replies.keys().collect::<Vec<_>>(), ["noerror", "refused"]);
    assert!(json["caveats"].as_array().unwrap().iter().any(|caveat| caveat["code"] == "replies_refuse"));
    let line = bench.done(&["report", "kept.jsonl", "--line"]).text;
    assert!(line.contains("The replies: noerror"), "{line}");
    let table = bench.done(&["report", "kept.jsonl", "--markdown"]).text;
    assert!(table.contains("| replies |") && table.contains("refused"), "{table}");
    let fails = |condition: &str| {
        let gated = bench.run(&[&words[..], &["--json", "-o", "-", "--fail-if", condition]].concat()).json();
        gated["fail_if"][0]["failed"].as_bool().unwrap()
    };
    assert!(fails("replies[refused]>5%") && !fails("replies[servfail]>0.1%"));
    let text = bench.done(&["report", "kept.jsonl"]).text;
    assert!(text.contains("replies    noerror"), "{text}");
    let again = bench.run(&["trial", &target, "--load=1kpps", "--packet=100B"]);
    assert!(again.code == Some(2) && again.errors.contains("leave --packet out"), "{}", again.errors);
}

#[test]
fn a_udp_target_that_answers_dns_is_named_so() {
    let bench = Bench::new();
    let port = dns_server();
    let ended = bench.run(&["trial", &format!("udp://127.0.0.1:{port}"), "--load=1kpps", "--duration=100ms"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.errors.contains(&format!("dns://127.0.0.1:{port}?queries=FILE")), "{}", ended.errors);
}

#[test]
fn a_server_that_offers_to_ask_others_is_measured_only_where_its_word_allows_it_and_is_not_told_to() {
    let bench = Bench::new();
    let told = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let heard = std::sync::Arc::clone(&told);
    let port = dns_server_that(move |reply| {
        heard.fetch_or(reply[2] & 1 != 0, std::sync::atomic::Ordering::Relaxed);
        reply[3] |= 0x80;
    });
    let trial = |more: &str| {
        let target = format!("dns://127.0.0.1:{port}?names=h{{}}.example.org{more}");
        bench.run(&["trial", &target, "--load=500pps", "--duration=200ms", "-q", "--json", "-o", "-"])
    };
    for more in ["", "&rd=0", "&rd=1"] {
        let ended = trial(more);
        assert_eq!(ended.code, Some(4), "{more}: {}", ended.errors);
        assert!(
            ended.errors.contains("asks other servers") && ended.errors.contains("ask-others=1"),
            "{}",
            ended.errors
        );
    }
    assert!(!told.load(std::sync::atomic::Ordering::Relaxed), "not even by the first few queries");
    let allowed = trial("&rd=1&ask-others=1").json();
    let caveats = allowed["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|caveat| caveat["code"] == "replies_relayed"), "{allowed}");
    assert!(told.load(std::sync::atomic::Ordering::Relaxed));
}

#[test]
fn the_doctor_says_whose_socket_it_is_what_it_speaks_and_how_to_measure_it() {
    let bench = Bench::new();
    for (port, asks, word) in
        [(dns_server(), false, ""), (dns_server_that(|reply| reply[3] |= 0x80), true, "&ask-others=1")]
    {
        let found = |scheme: &str| bench.run(&["doctor", &format!("{scheme}://127.0.0.1:{port}")]);
        let named = found("dns");
        assert_eq!(named.code, Some(0), "{}", named.text);
        let command = format!("dropline trial 'dns://127.0.0.1:{port}?names=www.example.org{word}'");
        for ended in [named, found("udp")] {
            let text = ended.text;
            assert!(text.contains(&format!("listens at 127.0.0.1:{port}")), "{text}");
            assert!(text.contains("speaks DNS: answers in") && text.contains(&command), "{text}");
            assert_eq!(text.contains("asks other servers"), asks, "{text}");
        }
    }
}

#[test]
fn errors_of_a_service_name_its_protocol_and_never_an_echo() {
    let bench = Bench::new();
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (target, name) in
        [(format!("ntp://127.0.0.1:{port}"), "NTP"), (format!("dns://127.0.0.1:{port}?names=a"), "DNS")]
    {
        let ended = bench.run(&["trial", &target, "--load=100pps"]);
        assert!(
            ended.code == Some(4) && ended.errors.contains(&format!("speaks {name}")),
            "{}",
            ended.errors
        );
        assert!(!ended.errors.contains("dropline serve"), "{}", ended.errors);
    }
    let unknown = bench.run(&["trial", "ntp://nohost.invalid", "--load=100pps"]);
    assert!(unknown.errors.contains("ntp://127.0.0.1:123"), "{}", unknown.errors);
}
