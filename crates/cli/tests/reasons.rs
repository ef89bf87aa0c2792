//! Why packets were lost, in a trial of ours and in traffic of others. Counts are asserted, never durations.

#![allow(clippy::disallowed_methods)]

mod command;

use command::{Bench, codes};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[test]
fn a_trial_that_lost_packets_is_explained_from_what_it_kept() {
    let bench = Bench::new();
    // Without a queue of its own, packets wait at the socket, which holds 32 of them.
    let service = bench.serve(&["--service-time", "200us", "--queue", "0", "--buffer", "13312B"]);
    let target = format!("{}?reply=none", service.target());
    let trial =
        bench.run(&["trial", &target, "--load=20kpps", "--duration=500ms", "-q", "--json", "-o", "r.jsonl"]);
    // Beside busy neighbours it may not be valid as a judgement of the target; what was lost is explained all the same.
    assert!([Some(0), Some(3)].contains(&trial.code), "{}", trial.errors);
    let lost = trial.json()["lost"].as_u64().unwrap();
    assert!(lost > 0, "5 kpps of capacity cannot take 20 kpps");
    let explained = bench.done(&["explain", "r.jsonl", "--json"]).json();
    assert_eq!(explained["lost"], lost, "{explained}");
    assert_eq!(explained["buffer"]["packets"].as_u64(), Some(32), "{explained}");
    let text = bench.done(&["explain", "r.jsonl"]).text;
    let says = [
        "what would help",
        "what would not",
        "The model does not explain this loss",
        "packets of others came to the target's socket",
    ];
    assert!(text.contains("receive buffer") && says.iter().any(|said| text.contains(said)), "{text}");
}

#[test]
fn explain_of_a_search_says_which_of_its_trials_it_explains() {
    let bench = Bench::new();
    let kept =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/kept/2026-11-27/search-delay.jsonl");
    let text = std::fs::read_to_string(kept).unwrap();
    bench.write("s.jsonl", &text);
    let trials = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lossy = trials.filter(|line| line["lost"].as_u64().is_some_and(|lost| lost > 0));
    let load = |line: &Value| line["intended_load_pps"].as_f64().unwrap();
    let lowest = lossy.min_by(|a, b| load(a).total_cmp(&load(b))).unwrap();
    let explained = bench.done(&["explain", "s.jsonl", "--json"]).json();
    assert_eq!(
        (&explained["trial"], &explained["lost"]),
        (&lowest["number"], &lowest["lost"]),
        "{explained}"
    );
    let said = bench.done(&["explain", "s.jsonl"]).text;
    assert!(said.contains("the lowest load that lost packets") && said.contains("dropline trial"), "{said}");
}

/// Packets that a socket nobody reads holds, of 64 B, and so many sent to it.
const HELD: u64 = 256;
const SENT: u64 = 600;

/// Starts `watch`, sends to the port when it listens, ends it as Ctrl-C does; what it printed.
fn watched(command: &mut Command, target: &UdpSocket) -> Value {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The first line that says how long it has listened.
    while !line.contains(" s   ") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0, "it ended: {:?}", child.wait());
    }
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..SENT {
        sender.send_to(&[0; 64], target.local_addr().unwrap()).unwrap();
    }
    command::interrupt(&child);
    let said = ended(child);
    serde_json::from_str(&said).unwrap_or_else(|why| panic!("{why}: {said}"))
}

fn ended(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "a signal ended it");
    String::from_utf8(output.stdout).unwrap()
}

/// A watch of a socket that nobody reads, which has heard `SENT` packets, as a process.
fn watching(bench: &Bench, target: &UdpSocket, words: &[&str]) -> Child {
    watching_packets(bench, target, words, &[0; 64])
}

fn watching_packets(bench: &Bench, target: &UdpSocket, words: &[&str], packet: &[u8]) -> Child {
    let port = target.local_addr().unwrap().port().to_string();
    let mut command = bench.command(&[&["watch", "--port", &port], words].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(" s   ") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0, "it ended: {:?}", child.wait());
    }
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..SENT {
        sender.send_to(packet, target.local_addr().unwrap()).unwrap();
    }
    child
}

#[test]
fn a_watch_says_that_it_does_not_see_what_a_program_did_with_what_it_read() {
    let bench = Bench::new();
    // It takes each packet and answers none, as one does whose own queue is full.
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let reader = target.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        for _ in 0..HELD {
            reader.recv(&mut [0; 64]).unwrap();
        }
    });
    let port = target.local_addr().unwrap().port().to_string();
    let words = ["watch", "--port", &port, "--json", "-o", "seen.jsonl"];
    let read = watched(&mut bench.command(&words), &target);
    reading.join().unwrap();
    if codes(&read).contains(&"arrivals_unseen") {
        // Without the privilege; what it had read when the watch ended is chance.
        return;
    }
    assert!(codes(&read).contains(&"answers_unseen"), "{read}");
    let text = bench.done(&["explain", "seen.jsonl"]).text;
    assert!(text.contains("what it did with the packets that it read is not seen"), "{text}");
}

#[test]
fn what_was_heard_until_the_service_ended_is_a_record() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let child = watching(&bench, &target, &["--json", "-o", "seen.jsonl"]);
    // Its drops were looked at since.
    std::thread::sleep(std::time::Duration::from_millis(600));
    drop(target);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "it ended before it should have");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(codes(&told).contains(&"watch_ended"), "{told}");
    let kept = bench.done(&["report", "seen.jsonl", "--json"]).json();
    for record in [&told, &kept] {
        let dropped = record["lost_at"]["receive_buffer"].as_u64().unwrap();
        assert!(dropped >= SENT - HELD, "{record}");
    }
    if !codes(&told).contains(&"arrivals_unseen") {
        assert_eq!(kept["offered"].as_u64(), Some(SENT));
        bench.done(&["explain", "seen.jsonl"]);
    }
}

#[test]
fn a_watch_that_is_killed_has_kept_what_it_heard() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut child = watching(&bench, &target, &["-o", "seen.jsonl"]);
    let dropped = || {
        let text = std::fs::read_to_string(bench.path("seen.jsonl")).unwrap_or_default();
        let trial: Value = serde_json::from_str(text.lines().nth(1)?).ok()?;
        trial["lost_at"]["receive_buffer"].as_u64()
    };
    for _ in 0..600 {
        if dropped().is_some_and(|dropped| dropped >= SENT - HELD) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let record = bench.done(&["report", "seen.jsonl", "--json"]).json();
    assert!(codes(&record).contains(&"watch_unfinished"), "{record}");
    assert!(record["lost_at"]["receive_buffer"].as_u64().unwrap() >= SENT - HELD);
    let explained = bench.run(&["explain", "seen.jsonl"]);
    assert_eq!(explained.code, Some(4), "the times of its packets were not kept: {}", explained.text);
    let told = bench.done(&["report", "seen.jsonl"]).text;
    let blames_privilege = explained.errors.contains("CAP_NET_RAW");
    if codes(&record).contains(&"arrivals_unseen") {
        assert!(blames_privilege && told.contains("of what size they are is not known"), "{told}");
    } else {
        assert!(explained.errors.contains("was killed") && !blames_privilege, "{}", explained.errors);
        assert_eq!(record["profile"]["packet_bytes"], 64, "{record}");
    }
}

/// The names of all that a value says: of objects and lists what is in them too. What is null, empty or 0 says nothing.
fn said(value: &Value, name: &str, found: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| said(value, &format!("{name}.{key}"), found))
        }
        Value::Array(items) => items.iter().for_each(|item| said(item, name, found)),
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::Number(number) if number.as_f64() == Some(0.0) => {}
        _ => drop(found.insert(name.to_owned())),
    }
}

#[test]
fn all_that_a_watch_says_at_its_end_it_has_kept_meanwhile_but_the_times_of_packets() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let kept = || -> Option<Value> {
        let text = std::fs::read_to_string(bench.path("seen.jsonl")).ok()?;
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (lines.len() == 2).then_some(Value::Array(lines))
    };
    let child = watching(&bench, &target, &["-o", "seen.jsonl"]);
    let mut meanwhile = Value::Null;
    for _ in 0..600 {
        meanwhile = kept().unwrap_or_default();
        if meanwhile[1]["lost_at"]["receive_buffer"].as_u64() >= Some(SENT - HELD) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    command::interrupt(&child);
    ended(child);
    let [mut meanwhile_says, mut says_at_the_end] = [(); 2].map(|()| std::collections::BTreeSet::new());
    said(&meanwhile, "", &mut meanwhile_says);
    said(&kept().unwrap(), "", &mut says_at_the_end);
    // Doubts are told by their codes.
    let is_kept_meanwhile = |name: &&String| ![".packets.", ".caveats"].iter().any(|of| name.starts_with(of));
    let missing: Vec<_> = says_at_the_end.difference(&meanwhile_says).filter(is_kept_meanwhile).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let whole = kept().unwrap();
    // What other programs of this machine send may begin at any moment.
    let is_new = |code: &_| !codes(&meanwhile[1]).contains(code) && *code != "counters_shared";
    let new: Vec<_> = codes(&whole[1]).into_iter().filter(is_new).collect();
    assert_eq!(new, ["interrupted"]);
    assert_eq!(whole[0], meanwhile[0], "the header");
}

#[test]
fn a_watch_that_a_signal_ended_says_so() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let texts = [&[][..], &["--duration=10min"]].map(|more| {
        let child = watching(&bench, &target, &[&["--json", "-o", "-"], more].concat());
        command::interrupt(&child);
        let record: Value = serde_json::from_str(&ended(child)).unwrap();
        let caveats = record["caveats"].as_array().unwrap();
        let said = caveats.iter().find(|caveat| caveat["code"] == "interrupted");
        said.unwrap_or_else(|| panic!("{record}"))["text"].as_str().unwrap().to_owned()
    });
    assert!(!texts[0].contains("shorter than asked") && texts[1].contains("shorter than asked"), "{texts:?}");
    let port = target.local_addr().unwrap().port().to_string();
    let whole = bench.done(&["watch", "--port", &port, "--duration=100ms", "-q", "--json", "-o", "-"]).json();
    assert!(!codes(&whole).contains(&"interrupted"), "{whole}");
}

#[test]
fn traffic_of_others_is_heard_and_explained_while_it_runs() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = target.local_addr().unwrap().port().to_string();
    let record =
        watched(&mut bench.command(&["watch", "--port", &port, "--json", "-o", "seen.jsonl"]), &target);
    if codes(&record).contains(&"arrivals_unseen") {
        // Without the privilege; the other test is about that.
        return;
    }
    assert_eq!(
        (&record["offered"], &record["lost_at"]["receive_buffer"]),
        (&SENT.into(), &(SENT - HELD).into())
    );
    let explained = bench.done(&["explain", "seen.jsonl", "--json"]).json();
    assert_eq!(explained["lost"], SENT - HELD, "{explained}");
}

#[test]
fn without_the_privilege_to_hear_arrivals_drops_are_counted_and_the_rest_is_said() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = target.local_addr().unwrap().port().to_string();
    let mut command = bench.command(&[]);
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if is_root {
        // Root as a service has it: without the capability, and with no way to regain it.
        command = Command::new("setpriv");
        command.args(["--bounding-set=-net_raw", "--inh-caps=-net_raw", env!("CARGO_BIN_EXE_dropline")]);
        command.current_dir(bench.path("."));
    }
    command.args(["watch", "--port", &port, "--json", "-o", "seen.jsonl"]);
    let record = watched(&mut command, &target);
    assert!(codes(&record).contains(&"arrivals_unseen"), "{record}");
    assert_eq!(record["lost_at"]["receive_buffer"], SENT - HELD, "{record}");
    let refused = bench.run(&["explain", "seen.jsonl"]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.errors.contains("arrivals were not seen") && refused.errors.contains("CAP_NET_RAW"));
}

#[test]
fn packets_of_others_are_as_short_as_they_are() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let child = watching_packets(&bench, &target, &["--json", "-o", "seen.jsonl"], &[0; 3]);
    command::interrupt(&child);
    let told: Value = serde_json::from_str(&ended(child)).unwrap();
    if !codes(&told).contains(&"arrivals_unseen") {
        let kept = bench.done(&["report", "seen.jsonl", "--json"]).json();
        for record in [&told, &kept] {
            assert_eq!(record["profile"]["packet_bytes"], 3, "none of ours can be so short");
        }
    }
}

#[test]
fn a_watch_that_heard_nothing_is_told_without_a_size_or_a_picture() {
    let bench = Bench::new();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = target.local_addr().unwrap().port().to_string();
    for name in ["a.jsonl", "b.jsonl"] {
        bench.done(&["watch", "--port", &port, "--duration=100ms", "-q", "-o", name]);
    }
    let text = bench.done(&["report", "a.jsonl", "b.jsonl"]).text;
    assert!(text.contains("packets of unknown size"), "{text}");
    let nothing = bench.run(&["report", "a.jsonl", "--svg", "plots"]);
    assert_eq!(nothing.code, Some(4));
    assert!(
        nothing.errors.contains("nothing to draw") && !bench.path("plots").exists(),
        "{}",
        nothing.errors
    );
    let delays = bench.run(&["compare", "a.jsonl", "b.jsonl"]);
    assert!(delays.errors.contains("dropline trial"), "{}", delays.errors);
}

#[test]
fn a_socket_that_is_not_there_yet_is_waited_for() {
    let bench = Bench::new();
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let name = port.to_string();
    let words = ["watch", "--port", &name, "--duration=100ms", "-q", "--json", "-o", "-"];
    assert_eq!(bench.run(&words).code, Some(4));
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        let _socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
    });
    let waited = bench.run(&[&words[..], &["--wait=60s"]].concat());
    assert_eq!(waited.code, Some(0), "{}", waited.errors);
}
