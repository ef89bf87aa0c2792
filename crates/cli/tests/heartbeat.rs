//! `dropline heartbeat` from outside: what is on the wire, and what the verbs say. Counts are asserted,
//! never durations.

mod command;
mod heartbeat_wire;

use command::Bench;
use heartbeat_wire::{Aggregator, Original, Wire, adler32, encode, wrong_as_the_original};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::process::Stdio;

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn the_original_server_is_served_and_its_wrong_checksum_is_named() {
    let bench = Bench::new();
    let original = Original::start();
    let address = original.address();
    let words = ["heartbeat", "send", &address, "--value=255", "--from=255", "--once", "--json"];
    assert_eq!(count(&bench.done(&words).json()["offered"]), 64);
    let reading = bench.done(&["heartbeat", "report", &address, "--json"]).json();
    assert_eq!(reading["checksum"], "dumpulse", "a full table is more than it can sum up");
    assert!(count(&reading["checksum_missed"]) > 0);
    assert_eq!(reading["variables"].as_array().unwrap().len(), 64);
    assert_eq!(reading["variables"][63]["value"], 255);
    assert_eq!(reading["caveats"][0]["code"], "dumpulse_checksum");
}

#[test]
fn the_original_client_accepts_our_full_table() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &[]);
    let mut wire = Wire::new(&server);
    (0..64).for_each(|variable| wire.send(&encode(variable, 255, 255)));
    let report = wire.report();
    // It compares with zlib's Adler-32 and has no idea of other sums.
    assert_eq!(u32::from_be_bytes(report[..4].try_into().unwrap()), adler32(&report[4..]));
    assert_ne!(wrong_as_the_original(&report[4..]), adler32(&report[4..]), "the test can fail");
}

#[test]
fn a_monitor_that_asks_too_often_is_refused_and_counted() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..100 {
        socket.send_to(b"AreyouOK", server.address()).unwrap();
    }
    let counts = server.end();
    let requests = &counts["requests"];
    assert_eq!(count(&requests["answered"]) + count(&requests["too_often"]), 100, "{counts}");
    assert!(count(&requests["answered"]) >= 20 && count(&requests["too_often"]) > 0, "{counts}");
}

#[test]
fn only_allowed_networks_have_reports_and_set_variables() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--allow", "192.0.2.0/24", "--from", "127.0.0.9"]);
    let (stranger, friend) =
        (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.9:0").unwrap());
    stranger.send_to(&encode(1, 2, 3), server.address()).unwrap();
    stranger.send_to(b"AreyouOK", server.address()).unwrap();
    friend.send_to(&encode(1, 2, 4), server.address()).unwrap();
    let counts = server.end();
    assert_eq!((count(&counts["stored"]), count(&counts["rejected"]["sender_not_allowed"])), (1, 1));
    assert_eq!((count(&counts["requests"]["answered"]), count(&counts["requests"]["not_allowed"])), (0, 1));
}

#[test]
fn a_verb_within_a_verb_has_its_man_page() {
    let bench = Bench::new();
    let page = bench.done(&["man", "heartbeat serve"]).text;
    assert!(page.contains("serve") && page.contains("listen"), "{page}");
    assert_eq!(bench.run(&["man", "heartbeat nothing"]).code, Some(2));
}

#[test]
fn a_silent_variable_ends_the_watch_with_1_and_runs_a_command_without_a_shell() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--no-limits"]);
    let address = server.address().to_string();
    bench.done(&["heartbeat", "send", &address, "--variables=3", "--once"]);
    let calm = ["heartbeat", "watch", &address, "--every=50ms", "--duration=200ms", "--silent-after=1h"];
    assert!(bench.done(&calm).text.contains("1 of 64 variables are set, none is silent"));
    let words = ["heartbeat", "watch", &address, "--every=50ms", "--silent-after=1s", "--until-alarm"];
    let alarm = bench.run(&[&words[..], &["--on-alarm", "touch '{kind} of {variable}; $HOME'"]].concat());
    assert_eq!(alarm.code, Some(1), "{}", alarm.errors);
    assert!(alarm.text.contains("variable 3 is silent"), "{}", alarm.text);
    assert!(bench.path("silent of 3; $HOME").exists(), "one word, which no shell saw");
}

#[test]
fn an_aggregator_that_is_gone_is_an_alarm_too() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &[]);
    let address = server.address().to_string();
    server.end();
    let words =
        ["heartbeat", "watch", &address, "--every=50ms", "--silent-after=100ms", "--until-alarm", "--json"];
    let ended = bench.run(&words);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.json()["aggregator_silent"], true);
    let refused = bench.run(&["heartbeat", "report", &address]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.errors.contains("dropline heartbeat serve --listen"), "{}", refused.errors);
}

#[test]
fn a_watch_that_never_heard_anything_ends_with_4_and_says_why() {
    let bench = Bench::new();
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for (address, why) in
        [(mute.local_addr().unwrap().to_string(), "sent no report"), (gone, "nothing listens at")]
    {
        let words = ["heartbeat", "watch", &address, "--every=50ms", "--duration=200ms", "--silent-after=1h"];
        let ended = bench.run(&words);
        assert_eq!(ended.code, Some(4), "{}{}", ended.text, ended.errors);
        assert!(ended.errors.contains(why), "{}", ended.errors);
        assert!(!ended.text.contains("none is silent"), "{}", ended.text);
    }
}

#[test]
fn a_watch_that_a_signal_ends_says_so_unless_there_was_an_alarm() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &["--no-limits"]);
    let address = server.address().to_string();
    bench.done(&["heartbeat", "send", &address, "--variables=3", "--once"]);
    for (silent_after, more, awaited, code) in [
        ("--silent-after=1h", &[][..], "/reports", 130),
        ("--silent-after=1h", &["--duration=1h"], "/reports", 130),
        ("--silent-after=1h", &["--until-alarm"], "/reports", 130),
        ("--silent-after=100ms", &[], "/alarms", 1),
    ] {
        let words = ["heartbeat", "watch", &address, "--every=50ms", silent_after, "--page=127.0.0.1:0"];
        let mut command = bench.command(&[&words[..], more].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let page = line.trim().strip_prefix("page at http://").unwrap().trim_end_matches('/').to_owned();
        let state = || {
            let mut connection = TcpStream::connect(&page).unwrap();
            write!(connection, "GET /state.json HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            let mut text = String::new();
            connection.read_to_string(&mut text).unwrap();
            serde_json::from_str::<Value>(text.split_once("\r\n\r\n").unwrap().1).unwrap()
        };
        while state().pointer(awaited).and_then(Value::as_u64) == Some(0) {}
        command::interrupt(&child);
        let ended = child.wait_with_output().unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{silent_after} {more:?}: {text}");
        assert!(
            text.contains("variable 3 is silent") || text.contains("none is silent"),
            "it is kept: {text}"
        );
    }
}

#[test]
fn counts_are_served_as_openmetrics_text_to_loopback_names_alone() {
    let bench = Bench::new();
    let mut server = Aggregator::start(&bench, &["--metrics", "127.0.0.1:0"]);
    let mut wire = Wire::new(&server);
    wire.send(&encode(7, 8, 9));
    wire.report();
    let address = server.metrics();
    let get = |host: &str| {
        let mut connection = TcpStream::connect(&address).unwrap();
        write!(connection, "GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        text
    };
    let text = get("localhost");
    assert!(text.contains("application/openmetrics-text"), "{text}");
    assert!(text.contains("dropline_heartbeat_value{variable=\"7\",from=\"8\"} 9\n"), "{text}");
    assert!(text.ends_with("# EOF\n"));
    assert!(get("rebound.example").starts_with("HTTP/1.1 421"));
}

#[test]
fn a_trial_on_an_aggregator_counts_what_it_stored() {
    let bench = Bench::new();
    let server = Aggregator::start(&bench, &[]);
    let target = format!("heartbeat://{}", server.address());
    let words = ["trial", &target, "--load=20kpps", "--duration=300ms", "--json", "-q", "-o", "-"];
    let trial = bench.done(&words).json();
    let counts = server.end();
    assert_eq!(count(&trial["intended"]), 6_000);
    assert_eq!(count(&trial["forwarded"]), count(&counts["stored"]));
    assert_eq!(count(&trial["offered"]), count(&counts["stored"]) + count(&counts["dropped_socket"]));
}

#[test]
fn no_more_than_a_table_a_second_leaves_for_another_host() {
    let bench = Bench::new();
    let words = ["heartbeat", "send", "192.0.2.1:9060", "--rate=100pps", "--duration=100ms"];
    let refused = bench.run(&words);
    assert_eq!(refused.code, Some(4), "{}", refused.errors);
    assert!(refused.errors.contains("refused: 192.0.2.1:9060"), "{}", refused.errors);
    let trial = bench.run(&["trial", "heartbeat://192.0.2.1:9060", "--load=1kpps", "--duration=1s"]);
    assert_eq!(trial.code, Some(4));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_sent() {
    let bench = Bench::new();
    for words in [
        &["heartbeat", "send", "127.0.0.1:9060", "--variables=64"][..],
        &["heartbeat", "send", "127.0.0.1:9060", "--value=256"],
        &["heartbeat", "report", "127.0.0.1"],
        &["heartbeat", "watch", "127.0.0.1:9060", "--every=10h"],
        &["heartbeat", "watch", "127.0.0.1:9060", "--page=0.0.0.0:0"],
        &["heartbeat", "serve", "--allow=10.0.0.0/33"],
        &["heartbeat", "serve", "--reports=0"],
        &["trial", "heartbeat://127.0.0.1", "--load=1kpps"],
    ] {
        assert_eq!(bench.run(words).code, Some(2), "{words:?}");
    }
}

#[test]
fn the_servers_experiment_runs_and_accounts_for_every_packet() {
    let bench = Bench::new();
    let study = bench.done(&["experiment", "heartbeat-server", "--runs=1", "--small", "--json"]).json();
    let promises = study["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(promises.len(), 5, "{study}");
    assert_eq!(promises[0][1], "1 of 1", "sent = stored + rejected + requests + dropped");
    let account = &study["tables"][2]["rows"][0];
    assert_eq!((account[3].as_str(), account[4].as_str()), (Some("1000"), Some("100")), "{account}");
}
