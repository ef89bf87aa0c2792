//! HTTP by a tool of the user's: here the tool is a script that says what a tool would say, and `make test-services` has real ones.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods)]

mod command;

use command::{Bench, Ended, codes};
use std::os::unix::fs::PermissionsExt as _;

/// A tool that says of 100 requests, a millisecond apart, that the server served them in a millisecond, but for what `more` says of
/// request `$i`: it may change `took` and `code`, when it left, and why it failed.
fn tool(more: &str) -> Bench {
    let bench = Bench::new();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = encode ] || exit 0\ni=0\nwhile [ $i -lt 100 ]; do\n  left=$((i * 1000000)); took=1000000; code=200; why=\n  \
         {more}\n  echo \"1795784309$(printf %09d $left),$code,$took,0,0,$why,,,$i,GET,http://127.0.0.1/,\"\n  i=$((i + 1))\ndone\n"
    );
    bench.write("vegeta", &script);
    std::fs::set_permissions(bench.path("vegeta"), std::fs::Permissions::from_mode(0o755)).unwrap();
    bench
}

fn ended(bench: &Bench, words: &[&str]) -> Ended {
    let path = format!("{}:/usr/bin:/bin", bench.path("").display());
    Ended::from(bench.command(words).env("PATH", path).output().unwrap())
}

fn trial(bench: &Bench, more: &[&str]) -> Ended {
    let words = ["trial", "http://127.0.0.1:8080/a?b=c", "--load=1krps", "--duration=100ms", "-q", "--json"];
    ended(bench, &[&words[..], more].concat())
}

#[test]
fn later_than_the_deadline_is_lost_and_the_record_says_the_deadline_and_the_unit() {
    let bench = tool("[ $((i % 10)) = 9 ] && took=60000000");
    let ended = trial(&bench, &["-o", "r.jsonl"]);
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let json = ended.json();
    let count = |key: &str| json[key].as_u64().unwrap();
    assert_eq!((count("offered"), count("forwarded"), count("lost")), (100, 90, 10), "{json}");
    assert_eq!(json["target"], "http://127.0.0.1:8080/a?b=c#deadline=50ms");
    assert_eq!(json["load_unit"], "requests");
    assert_eq!(codes(&json), ["requests_lost"]);
    let within = trial(&bench, &["-o", "-", "--deadline=70ms", "--tool=vegeta"]).json();
    assert_eq!(within["forwarded"], 100);
    assert_eq!(within["target"], "http://127.0.0.1:8080/a?b=c#deadline=70ms&tool=vegeta");
    let text = bench.done(&["report", "r.jsonl"]).text;
    assert!(text.contains("1.00 krps") && text.contains("later than 50.0 ms"), "{text}");
}

#[test]
fn what_the_tool_itself_held_back_or_could_not_send_is_not_offered_and_such_a_trial_is_not_valid() {
    for held in [
        "[ $i -ge 20 ] && [ $i -lt 30 ] && left=$((100000000 + i))",
        "[ $((i % 10)) = 9 ] && code=0 && why='dial tcp 127.0.0.1:8080: connect: cannot assign requested address'",
    ] {
        let ended = trial(&tool(held), &["-o", "-"]);
        let json = ended.json();
        assert_eq!(json["lost"], 0, "{held}: {json}");
        assert_eq!(json["offered"], 90, "{held}: {json}");
        assert_eq!((ended.code, codes(&json)), (Some(3), vec!["generator_limited"]), "{held}");
    }
}

#[test]
fn a_tool_that_was_ended_before_it_had_written_of_any_request_makes_a_trial_that_tells_nothing() {
    let bench = tool("");
    // It serves the first request, which is made without load, as ever.
    let begins = "case \"$*\" in *-rate=1000000/*) for word; do case $word in -output=*) : > \"${word#-output=}\";; esac; done;; esac\n";
    let script =
        bench.read("vegeta").replacen("[ \"$1\" = encode ]", &format!("{begins}[ \"$1\" = encode ]"), 1);
    bench.write("vegeta", &script);
    let ended = trial(&bench, &["-o", "-"]);
    let json = ended.json();
    assert_eq!((json["intended"].as_u64(), json["offered"].as_u64()), (Some(100), Some(0)), "{json}");
    assert_eq!((ended.code, codes(&json)), (Some(3), vec!["generator_limited"]), "{}", ended.errors);
}

#[test]
fn a_server_that_refuses_or_is_not_there_and_a_tool_that_is_not_are_told_with_what_to_do() {
    let refuses = trial(&tool("code=404"), &["-o", "-"]);
    assert!(refuses.code == Some(4) && refuses.errors.contains("status 404"), "{}", refuses.errors);
    let silent = trial(&tool("code=0; why='connect: connection refused'"), &["-o", "-"]);
    assert!(silent.code == Some(4) && silent.errors.contains("connection refused"), "{}", silent.errors);
    let none = trial(&Bench::new(), &["-o", "-"]);
    assert_eq!(none.code, Some(4));
    for get in ["go install github.com/tsenart/vegeta/v12@latest", "cargo install --locked oha"] {
        assert!(none.errors.contains(get), "{}", none.errors);
    }
    let closed = trial(&Bench::new(), &["-o", "-", "--tool=wrk"]);
    assert!(closed.code == Some(2) && closed.errors.contains("closed loop"), "{}", closed.errors);
    let poisson = trial(&tool(""), &["-o", "-", "--arrival=poisson"]);
    assert!(poisson.code == Some(2) && poisson.errors.contains("--arrival"), "{}", poisson.errors);
}

#[test]
fn a_flag_that_means_nothing_to_requests_is_refused_and_so_are_bits() {
    let bench = tool("");
    for flag in [
        "--streams=3",
        "--packet=100B",
        "--frame=100B",
        "--drain=1s",
        "--directions=a=1,b=1",
        "--send=gso",
        "--receive=spin",
        "--senders=2",
        "--receivers=2",
        "--cpus=free",
        "--ordinary-priority",
    ] {
        let refused = trial(&bench, &["-o", "-", flag]);
        let name = flag.split('=').next().unwrap();
        assert!(refused.code == Some(2) && refused.errors.contains(name), "{flag}: {}", refused.errors);
    }
    let bits = ended(&bench, &["trial", "http://127.0.0.1:8080/", "--load=1Mbit/s", "-q", "-o", "-"]);
    assert!(bits.code == Some(2) && bits.errors.contains("krps"), "{}", bits.errors);
    let bits = ended(&bench, &["search", "http://127.0.0.1:8080/", "--max-load=1Mbit/s", "-q", "-o", "-"]);
    assert!(bits.code == Some(2) && bits.errors.contains("krps"), "{}", bits.errors);
}

/// Its client repeats a request whose kept connection ended unanswered.
#[test]
fn vegeta_keeps_no_connection_and_oha_is_preferred() {
    let bench = tool("");
    let script = bench.read("vegeta").replacen("exit 0\n", "{ echo \"$@\" > asked; exit 0; }\n", 1);
    bench.write("vegeta", &script);
    assert_eq!(trial(&bench, &["-o", "-"]).code, Some(0));
    assert!(bench.read("asked").contains("-keepalive=false"), "{}", bench.read("asked"));
    let none = trial(&Bench::new(), &["-o", "-"]);
    let at = |name: &str| none.errors.find(name).unwrap();
    assert!(at("oha") < at("vegeta"), "{}", none.errors);
}

#[test]
fn a_trial_that_is_stopped_keeps_what_was_decided_until_then() {
    let bench = tool("");
    // The first start is the request before any load; the second one runs until it is stopped.
    let runs =
        "{ [ -e begun ] || { : > begun; exit 0; }; trap 'exit 0' INT; while :; do sleep 0.05; done; }\n";
    bench.write("vegeta", &bench.read("vegeta").replacen("exit 0\n", runs, 1));
    let program = env!("CARGO_BIN_EXE_dropline");
    let words = ["--signal=INT", "--preserve-status", "2", program, "trial", "http://127.0.0.1:8080/"];
    let more = ["--load=1krps", "--duration=30s", "--deadline=10ms", "-q", "--json", "-o", "stopped.jsonl"];
    let mut command = std::process::Command::new("timeout");
    command
        .args(words)
        .args(more)
        .current_dir(bench.path(""))
        .env("PATH", format!("{}:/usr/bin:/bin", bench.path("").display()));
    let ended = Ended::from(command.output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.errors);
    let json = ended.json();
    // Of 100 within 0.1 s, those of the last two deadlines might have been under way.
    assert_eq!((json["offered"].as_u64(), json["forwarded"].as_u64()), (Some(80), Some(80)), "{json}");
    assert!(codes(&json).contains(&"interrupted"), "{json}");
    assert!(bench.done(&["report", "stopped.jsonl"]).text.contains("forwarded  80"));
}

#[test]
fn a_record_starts_no_tool() {
    let bench = tool("");
    let searched = ended(
        &bench,
        &["search", "http://127.0.0.1:8080", "--max-trials=1", "--max-load=1krps", "-q", "-o", "s.jsonl"],
    );
    assert!(searched.code != Some(2) && searched.code != Some(4), "{}", searched.errors);
    let again = ended(&bench, &["search", "--resume", "s.jsonl", "--max-trials=2", "-q"]);
    assert!(again.code == Some(4) && again.errors.contains("would start a program"), "{}", again.errors);
}
