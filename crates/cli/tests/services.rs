//! Services that are asked in their own protocol, as a user asks them: here they are a few lines each.

#![allow(clippy::disallowed_methods)]

mod command;

use command::Bench;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::UdpSocket;

/// A DNS server of a few lines: each question is answered, every tenth by a refusal. What else comes is dropped, as real
/// ones do. It ends with the program.
fn dns_server() -> u16 {
    dns_server_that(|_| {})
}

/// The same whose replies are changed so.
fn dns_server_that(change: impl Fn(&mut [u8]) + Send + 'static) -> u16 {
    dns_server_of(move |_, reply| {
        change(reply);
        true
    })
}

/// The same whose replies are changed so, by their number, or are not sent.
fn dns_server_of(mut change: impl FnMut(u64, &mut Vec<u8>) -> bool + Send + 'static) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        let mut answered: u64 = 0;
        while let Ok((length, source)) = socket.recv_from(&mut bytes) {
            if length >= 17 && bytes[2] & 0xf8 == 0 && bytes[5] == 1 {
                answered += 1;
                bytes[2] |= 0x80;
                bytes[3] = if answered.is_multiple_of(10) { 5 } else { 0 };
                let mut reply = bytes[..length].to_vec();
                if change(answered, &mut reply) {
                    let _ = socket.send_to(&reply, source);
                }
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

/// What `explain` says of a trial of such a server, and the codes of the trial's caveats.
fn explained(change: impl FnMut(u64, &mut Vec<u8>) -> bool + Send + 'static) -> (String, Vec<String>) {
    let bench = Bench::new();
    let target = format!("dns://127.0.0.1:{}?names=h{{}}.example.org", dns_server_of(change));
    let words = ["trial", &target, "--load=500pps", "--duration=1s", "-q", "--json", "-o", "kept.jsonl"];
    let json = bench.run(&words).json();
    let codes = json["caveats"].as_array().unwrap().iter();
    let codes = codes.map(|caveat| caveat["code"].as_str().unwrap().to_owned()).collect();
    (bench.run(&["explain", "kept.jsonl"]).text.split_whitespace().collect::<Vec<_>>().join(" "), codes)
}

#[test]
fn a_dns_server_that_falls_silent_is_told_and_its_loss_is_one_burst() {
    let (text, codes) = explained(|number, reply| {
        reply[3] = 0;
        number < 150
    });
    assert!(codes.iter().any(|code| code == "fell_silent"), "{codes:?}");
    assert!(text.contains("in one burst of") && !text.contains("as at random"), "{text}");
}

#[test]
fn a_limit_of_answers_is_what_explain_names() {
    let (text, codes) = explained(|number, reply| {
        reply[2] |= 2;
        reply[3] = 0;
        if number < 50 {
            reply[2] &= !2;
        }
        number < 50 || number % 2 == 0
    });
    assert!(codes.iter().any(|code| code == "answers_limited"), "{codes:?}");
    assert!(text.contains("a limit of answers for each address looks like that"), "{text}");
    assert!(!text.contains("whether it limits a rate"), "{text}");
}

#[test]
fn replies_that_are_wrong_in_two_ways_are_all_of_the_loss() {
    let (text, _) = explained(|number, reply| {
        match number % 4 {
            1 if number > 50 => drop(reply.pop()),
            2 if number > 50 => reply.push(0),
            _ => {}
        }
        true
    });
    assert!(text.contains("all by their replies: each had one, which was"), "{text}");
    assert!(
        text.contains("which was cut for") && text.contains("longer than stated or allowed for"),
        "{text}"
    );
}

/// A service with a protocol of its own: a magic number, a tag of four bytes; every tenth is refused. It ends with the program.
fn own_server() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        let mut answered = 0;
        while let Ok((length, source)) = socket.recv_from(&mut bytes) {
            if length >= 6 && bytes[..2] == [0xc0, 0xde] {
                answered += 1;
                let code = if answered % 10 == 0 { 5 } else { 0 };
                let _ = socket.send_to(&[&[0x81, code], &bytes[2..6]].concat(), source);
            }
        }
    });
    port
}

#[test]
fn a_protocol_of_ones_own_is_measured_as_it_is_described_and_its_replies_are_kept_by_class() {
    let bench = Bench::new();
    let target = format!("udp://127.0.0.1:{}", own_server());
    let words = ["trial", &target, "--payload=hex:c0de{tag:4}", "--reply=tag@2,refused@1=05"];
    let more = ["--load=500pps", "--duration=200ms", "-q", "--json", "-o", "kept.jsonl"];
    let json = bench.run(&[&words[..], &more].concat()).json();
    let replies: Vec<&String> = json["replies"].as_object().unwrap().keys().collect();
    assert_eq!(replies, ["answered", "refused"], "{json}");
    assert_eq!(json["target"], format!("{target}?payload=hex:c0de{{tag:4}}&reply=tag@2,refused@1=05"));
    let text = bench.done(&["report", "kept.jsonl"]).text;
    assert!(text.contains("replies    answered"), "{text}");
    std::fs::write(
        bench.path("own.toml"),
        format!("target = '{target}'\nload = '500pps'\nduration = '200ms'\n[payload]\nfields = [ {{ hex = 'c0de' }}, {{ tag = 4 }} ]\n[reply]\ntag = 2\nrefused = {{ at = 1, hex = '05' }}\n"),
    )
    .unwrap();
    let again = bench.run(&["trial", "--scenario=own.toml", "-q", "--json", "-o", "-"]).json();
    assert_eq!(again["replies"].as_object().unwrap().len(), 2, "{again}");
    let wrong = bench.run(&["trial", &target, "--payload=hex:c0d{tag:4}", "--load=500pps"]);
    assert!(wrong.code == Some(2) && wrong.errors.contains("line 1, column 7"), "{}", wrong.errors);
}

#[test]
fn a_search_is_not_resumed_with_another_file_of_questions_or_payloads() {
    let bench = Bench::new();
    let (dns, own) = (dns_server(), own_server());
    for (target, file, first, then) in [
        (
            format!("dns://127.0.0.1:{dns}?queries=q.txt"),
            "q.txt",
            &b"www.example.org A\n"[..],
            &b"a.org A\n"[..],
        ),
        (
            format!("udp://127.0.0.1:{own}?payload=q.bin"),
            "q.bin",
            b"\xc0\xde\x01\x02\x03\x04",
            b"\xc0\xde\x01\x02\x03\x05",
        ),
    ] {
        std::fs::write(bench.path(file), first).unwrap();
        let record = format!("{file}.jsonl");
        let limits = ["--min-load=200pps", "--max-load=400pps", "--warm-up=0s"];
        let begun =
            ["search", &target, "--goal=0,trial=200ms,initial=200ms", "-q", "-o", &record, "--max-trials=1"];
        bench.run(&[&begun[..], &limits].concat());
        let kept = std::fs::read(bench.path(&record)).unwrap();
        std::fs::write(bench.path(file), then).unwrap();
        let resume = ["search", "--resume", &record, "--max-trials=2", "-q"];
        let refused = bench.run(&resume);
        assert_eq!(refused.code, Some(4), "{}", refused.errors);
        assert!(
            refused.errors.contains("other contents of") && refused.errors.contains(file),
            "{}",
            refused.errors
        );
        assert_eq!(std::fs::read(bench.path(&record)).unwrap(), kept, "nothing was added");
        std::fs::write(bench.path(file), first).unwrap();
        let resumed = bench.run(&resume);
        assert!(!resumed.errors.contains("other contents of"), "{}", resumed.errors);
        // Of a record without a digest, a file's bytes are not sent.
        let header = String::from_utf8(kept).unwrap();
        let at = header.find("\"asked_digest\":").unwrap();
        let end = at + header[at..].find(',').unwrap() + 1;
        std::fs::write(bench.path("old.jsonl"), [&header[..at], &header[end..]].concat()).unwrap();
        let old = bench.run(&["search", "--resume", "old.jsonl", "--max-trials=2", "-q"]);
        assert_eq!(old.errors.contains("other contents of"), target.starts_with("udp"), "{}", old.errors);
    }
}

/// The first label of each name that a DNS server was asked for, in the order of the queries, since this was taken last.
fn dns_server_that_remembers() -> (u16, impl Fn() -> Vec<String>) {
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = std::sync::Arc::clone(&asked);
    let port = dns_server_that(move |reply| {
        let label = &reply[13..][..usize::from(reply[12])];
        heard.lock().unwrap().push(String::from_utf8(label.to_vec()).unwrap());
        reply[3] = 0;
    });
    (port, move || std::mem::take(&mut *asked.lock().unwrap()))
}

/// The names that a record's trials asked for, by its own word.
fn of_record(lines: &str) -> BTreeSet<String> {
    let trials = lines.lines().filter(|line| line.contains("\"turns\""));
    let names = trials.flat_map(|line| {
        let turns = &serde_json::from_str::<Value>(line).unwrap()["turns"];
        let [first, last] = ["first", "last"].map(|key| turns[key].as_u64().unwrap());
        first..=last
    });
    names.map(|turn| format!("h{turn}")).collect()
}

#[test]
fn a_name_that_is_never_asked_for_twice_is_not_by_any_measurement_and_the_record_says_which_were() {
    let bench = Bench::new();
    let (port, asked) = dns_server_that_remembers();
    let target = format!("dns://127.0.0.1:{port}?names=h{{}}.example.org");
    let mut all = Vec::new();
    for record in ["a.jsonl", "b.jsonl"] {
        let words = ["trial", &target, "--load=500pps", "--duration=400ms", "--seed=7", "-q", "-o", record];
        bench.run(&words);
        let now = asked();
        let (names, of_trial) =
            (now.iter().cloned().collect::<BTreeSet<_>>(), of_record(&bench.read(record)));
        assert!(of_trial.len() == 200 && of_trial.is_subset(&names), "{} of {}", of_trial.len(), names.len());
        let before = &now[..now.len() - 200];
        assert!(!before.is_empty() && before.iter().all(|name| !of_trial.contains(name)), "{before:?}");
        all.extend(now);
    }
    let search =
        ["search", &target, "--goal=0,trial=200ms,initial=200ms", "--min-load=200pps", "--max-load=400pps"];
    bench.run(&[&search[..], &["--warm-up=0s", "-q", "-o", "c.jsonl", "--max-trials=2"]].concat());
    bench.run(&["search", "--resume", "c.jsonl", "--max-trials=4", "-q"]);
    let (now, trials) = (asked(), of_record(&bench.read("c.jsonl")));
    assert_eq!(bench.read("c.jsonl").matches("\"turns\"").count(), 4);
    assert!(trials.is_subset(&now.iter().cloned().collect()), "{} in {}", trials.len(), now.len());
    all.extend(now);
    // What trials asked for that a sudden end cut off stands nowhere.
    for _ in 0..2 {
        let kept = bench.read("c.jsonl");
        let begun = kept.match_indices("\n{\"line\":\"trial\"").nth(2).unwrap().0;
        bench.write("c.jsonl", &kept[..=begun]);
        bench.run(&["search", "--resume", "c.jsonl", "--max-trials=3", "-q"]);
        assert_eq!(bench.read("c.jsonl").matches("\"turns\"").count(), 3);
        all.extend(asked());
    }
    let names: BTreeSet<&String> = all.iter().collect();
    assert_eq!(names.len(), all.len(), "by trials, by probes, by a search and by its rests");
    assert!(names.iter().all(|name| name.len() == 14), "a label has 63 octets at most, and these have 14");
}

#[test]
fn a_set_of_names_keeps_its_size_and_begins_with_its_first_in_each_measurement() {
    let bench = Bench::new();
    let (port, asked) = dns_server_that_remembers();
    let target = format!("dns://127.0.0.1:{port}?names=h{{10..59}}.example.org");
    for _ in 0..2 {
        bench.run(&["trial", &target, "--load=500pps", "--duration=400ms", "--streams=1", "-q", "-o", "-"]);
        let now = asked();
        let trial: Vec<&str> = now[now.len() - 200..].iter().map(String::as_str).collect();
        let listed: Vec<String> = (0..200).map(|turn| format!("h{}", 10 + turn % 50)).collect();
        assert_eq!(trial, listed);
    }
}

/// Sends back what it gets.
fn echo() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            let _ = socket.send_to(&bytes[..length], from);
        }
    });
    port
}

/// A capture of raw IPv4: when, in us, to which port, and how many bytes.
fn capture(datagrams: &[(u32, u16, usize)]) -> Vec<u8> {
    let mut bytes = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    for &(time, port, length) in datagrams {
        let long = |more: usize| ((length + more) as u16).to_be_bytes();
        let mut packet = vec![0x45, 0, long(28)[0], long(28)[1], 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([127, 0, 0, 1, 127, 0, 0, 1, 0x99, 0x99]);
        packet.extend([port.to_be_bytes(), long(8), [0; 2]].concat());
        packet.extend(vec![0xc0; length]);
        let all = packet.len() as u32;
        bytes.extend([1, time, all, all].map(u32::to_le_bytes).concat());
        bytes.extend(packet);
    }
    bytes
}

#[test]
fn bits_a_second_are_of_what_is_sent_and_so_is_the_frame_that_is_told() {
    let (bench, port) = (Bench::new(), echo());
    let trial = |more: &[&str]| {
        let target = format!("udp://127.0.0.1:{port}");
        let words = ["trial", &target, "--duration=500ms", "-q", "--json", "--no-packets", "-o", "r.jsonl"];
        let _ = std::fs::remove_file(bench.path("r.jsonl"));
        bench.run(&[&words[..], more].concat()).json()
    };
    // 6 B are a frame of 52 B, and 83 200 bits 200 of them.
    let json = trial(&["--payload=hex:c0de{tag:4}", "--reply=tag@2", "--load=83.2kbit/s"]);
    assert_eq!(json["intended_load_pps"], 200.0, "{json}");
    let kept = bench.read("r.jsonl");
    assert!(kept.contains("\"packet_bytes\":6,\"frame_bytes\":52,\"streams\""), "{kept}");
    std::fs::write(bench.path("mixed.pcap"), capture(&[(0, port, 10), (5, port, 100)])).unwrap();
    let json = trial(&["--payload=mixed.pcap", "--load=161.6kbit/s"]);
    assert_eq!(json["intended_load_pps"], 200.0, "frames of 101 B in the mean: {json}");
    let kept = bench.read("r.jsonl");
    assert!(kept.contains("\"frame_bytes\":146,\"packet_mean_bytes\":55.0"), "{kept}");
}

#[test]
fn a_capture_is_replayed_with_the_times_of_the_datagrams_that_are_sent() {
    let (bench, port) = (Bench::new(), echo());
    let others = (0..100).map(|number| (number * 1_000, 7, 10));
    let ours = (0..10).map(|number| (500 + number * 10_000, port, 10));
    let mut all: Vec<(u32, u16, usize)> = others.chain(ours).collect();
    all.sort_unstable();
    std::fs::write(bench.path("two.pcap"), capture(&all)).unwrap();
    let target = format!("udp://127.0.0.1:{port}");
    let words =
        ["--payload=two.pcap", "--arrival=replay:two.pcap", "--duration=500ms", "-q", "--json", "-o", "-"];
    let json = bench.run(&[&["trial", target.as_str()], &words[..]].concat()).json();
    assert_eq!((&json["intended_load_pps"], &json["intended"]), (&100.0.into(), &50.into()), "{json}");
}

#[test]
fn two_replies_beside_none_are_told_as_answers_with_anothers_tag() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut bytes, mut before) = ([0; 64], [0; 6]);
        for number in 1_u64.. {
            let Ok((6, from)) = socket.recv_from(&mut bytes) else { continue };
            let own: [u8; 6] = bytes[..6].try_into().unwrap();
            let _ = socket.send_to(if number % 10 == 0 { &before } else { &own }, from);
            before = own;
        }
    });
    let (bench, target) = (Bench::new(), format!("udp://127.0.0.1:{port}"));
    let words =
        ["--payload=hex:c0de{tag:4}", "--reply=tag@2", "--load=500pps", "--duration=400ms", "--streams=1"];
    let json =
        bench.run(&[&["trial", target.as_str(), "-q", "--json", "-o", "-"], &words[..]].concat()).json();
    let mut codes = json["caveats"].as_array().unwrap().iter().map(|caveat| &caveat["code"]);
    assert!(codes.any(|code| code == "replies_twice"), "{json}");
}

#[test]
fn of_services_of_the_gallery_that_are_not_there_those_that_are_are_told() {
    let ran = Bench::new().run(&["experiment", "services", "--only=none"]);
    assert!(ran.code == Some(2) && ran.errors.contains("unbound, bind9"), "{}", ran.errors);
}
