//! Nothing that is typed, piped or closed makes the program panic, hang, or read until memory ends.

mod command;

use command::{Bench, below};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The exit codes that `dropline --help` promises.
const PROMISED: [i32; 6] = [0, 1, 2, 3, 4, 130];

/// A command that is over at once, whatever flag is added to it.
const VERBS: [&[&str]; 37] = [
    &["search", "sim:hard", "--max-trials=1", "-q", "-o-"],
    &["trial", "sim:hard", "--load=1Mpps", "--duration=1ms", "-q", "-o-"],
    &["serve", "--listen=127.0.0.1:0", "--until-eof"],
    &["fit", "values.txt", "--unit=us"],
    &["explain", "r.jsonl"],
    &["watch", "--port=9", "--duration=1ms", "-o-"],
    &["import", "values.txt", "--output=/dev/null/none"],
    &["report", "r.jsonl"],
    &["trend", "r.jsonl"],
    &["history", "list", "nights"],
    &["history", "add", "r.jsonl", "--history=nights"],
    &["history", "export", "nights"],
    &["history", "index", "nights"],
    &["history", "prune", "nights", "--keep=1"],
    &["view", "no-such"],
    &["export", "r.jsonl"],
    &["compare", "values.txt", "values.txt"],
    &["inject", "--stored", "values.txt", "values.txt", "--delay=1us"],
    &["measure", "sim:hard"],
    &["heartbeat", "report", "127.0.0.1:1"],
    &["heartbeat", "send", "127.0.0.1:1", "--once"],
    &["heartbeat", "serve", "--listen=no-such"],
    &["heartbeat", "watch", "no-such"],
    &["heartbeat", "cost", "no-such.c"],
    &["heartbeat", "reliability", "--draws=0"],
    &["experiment", "no-such"],
    &["doctor", "sim:hard"],
    &["agent", "--join=nats://127.0.0.1:1"],
    &["fleet", "list", "--join=nats://127.0.0.1:1"],
    &["fleet", "ping", "--join=nats://127.0.0.1:1"],
    &["fleet", "doctor", "--join=nats://127.0.0.1:1"],
    &["fleet", "revoke", "no-such", "--key=no-such", "--join=nats://127.0.0.1:1"],
    &["fleet", "grant", "--key=no-such", "--agent=a", "--target=127.0.0.1", "--max-pps=1"],
    &["fleet", "keys", "/dev/null/none", "a"],
    &["client"],
    &["completions", "bash"],
    &["man", "search"],
];

/// Ends what takes longer than any of these should.
fn ends(mut child: Child, what: &dyn std::fmt::Debug) -> i32 {
    let until = Instant::now() + Duration::from_secs(120);
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or_else(|| panic!("{what:?} was ended by a signal: {status}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    panic!("{what:?} did not end");
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("values.txt", &"12\n13\n17\n".repeat(40));
    bench.done(&["trial", "sim:hard", "--load=1Mpps", "--duration=1ms", "-q", "-o", "r.jsonl"]);
    bench
}

/// Every verb that has none below it, by the help.
fn verbs(bench: &Bench) -> Vec<String> {
    let help = |verb: &str| {
        let words: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
        bench.run(&words).text
    };
    let (mut left, mut last) = (below("", &help("")), Vec::new());
    while let Some(verb) = left.pop() {
        let further = below(&verb, &help(&verb));
        if further.is_empty() {
            last.push(verb);
        }
        left.extend(further);
    }
    last
}

/// Whether words are a command of this verb.
fn is_of(words: &[&str], verb: &str) -> bool {
    let verb: Vec<&str> = verb.split(' ').collect();
    words.starts_with(&verb)
}

/// Flags of a verb, by its own help.
fn flags(bench: &Bench, verb: &[&str]) -> Vec<String> {
    let words: Vec<&str> = verb.iter().chain(&["--help"]).copied().collect();
    let help = bench.run(&words).text;
    let named = help.lines().filter_map(|line| {
        let (_, rest) = line.trim_start().split_once("--").filter(|(before, _)| before.len() <= 4)?;
        Some(rest.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).next()?.to_owned())
    });
    named.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_verb_of_the_help_is_tried() {
    let verbs = verbs(&bench());
    assert!(verbs.len() > 30, "{verbs:?}");
    let untried = |verb: &&String| !VERBS.iter().any(|words| is_of(words, verb));
    let untried: Vec<&String> = verbs.iter().filter(untried).collect();
    assert!(untried.is_empty(), "give each words that end at once: {untried:?}");
}

#[test]
fn any_bytes_in_any_argument_end_in_a_promised_exit_code() {
    let bench = bench();
    let nasty = [&b"x\xff"[..], b"", b"-1", b"0", b"99999999999999999999", b"\xe2\x80\xae\n%s{}=,:"];
    for verb in VERBS {
        let mut all: Vec<OsString> = nasty.iter().map(|bytes| OsStr::from_bytes(bytes).into()).collect();
        // Two of them a flag, each time others: all of them reach many flags.
        for (at, flag) in flags(&bench, verb).into_iter().enumerate() {
            all.extend([at, at + 1 + at / nasty.len()].map(|which| {
                let mut word = OsString::from(format!("--{flag}="));
                word.push(OsStr::from_bytes(nasty[which % nasty.len()]));
                word
            }));
        }
        for word in all {
            let mut command = bench.command(verb);
            command.arg(&word).stdout(Stdio::null()).stderr(Stdio::null());
            let code = ends(command.spawn().unwrap(), &(verb, &word));
            assert!(PROMISED.contains(&code), "{verb:?} {word:?}: {code}");
        }
    }
}

#[test]
fn a_word_that_is_not_text_is_a_usage_error_and_a_path_may_be_any_bytes() {
    let bench = bench();
    let path = OsStr::from_bytes(b"x\xff.jsonl");
    let run = |words: &[&str], last: &OsStr| bench.command(words).arg(last).output().unwrap();
    let refused = run(&["search"], OsStr::from_bytes(b"sim:h\xffard"));
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("UTF-8"));
    assert_eq!(run(&["search", "sim:hard", "-q", "-o"], path).status.code(), Some(0));
    assert_eq!(run(&["report"], path).status.code(), Some(0));
}

#[test]
fn readers_that_are_gone_change_no_exit_code() {
    let bench = bench();
    let wrong: [&[&str]; 3] = [&["search", "nothing"], &["report", "nothing.jsonl"], &["--nonsense"]];
    let quiet = [
        &["--help"][..],
        &["search", "sim:hard", "-o-"],
        &["search", "sim:noisy", "-o-", "--require=narrow"],
    ];
    for words in VERBS.into_iter().chain(wrong).chain(quiet) {
        let open = bench.run(words).code.unwrap();
        for (which, closed) in [("both", [true, true]), ("stdout", [true, false]), ("stderr", [false, true])]
        {
            let stream = |is_closed: bool| match is_closed {
                // The other end is dropped at once.
                true => Stdio::from(std::io::pipe().unwrap().1),
                false => Stdio::null(),
            };
            let mut command = bench.command(words);
            command.stdout(stream(closed[0])).stderr(stream(closed[1]));
            assert_eq!(ends(command.spawn().unwrap(), &words), open, "{words:?}, nobody reads {which}");
        }
    }
    let shell = format!("exec {} search nothing >&- 2>&- <&-", env!("CARGO_BIN_EXE_dropline"));
    assert_eq!(ends(Command::new("sh").args(["-c", &shell]).spawn().unwrap(), &shell), 2, "none is open");
}

#[test]
fn what_stdout_does_not_take_is_an_error_and_not_silence() {
    let bench = bench();
    let full = |words: &[&str]| {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = bench.command(words);
        let ended = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(4), "{words:?}: {said}");
        assert!(said.contains("No space left"), "{words:?}: {said}");
    };
    full(&["--help"]);
    full(&["--version"]);
    full(&["search", "--help"]);
    full(&["help", "heartbeat", "send"]);
    full(&["man"]);
    full(&["completions", "bash"]);
    full(&["search", "sim:hard", "--max-trials=3", "-q", "-o-", "--jsonl"]);
    full(&["search", "sim:hard", "--max-trials=1", "-q", "-o-", "--json"]);
    full(&["report", "r.jsonl"]);
    full(&["fit", "values.txt", "--unit=us"]);
    full(&["export", "r.jsonl"]);
    full(&["import", "values.txt", "-o", "i.jsonl"]);
    full(&["experiment", "search-cost", "--runs=1", "--json"]);
    for to in ["csv", "schema"] {
        let ended = bench.run(&["export", "r.jsonl", "--to", to, "-o", "/dev/full"]);
        assert!(ended.code == Some(4) && ended.errors.contains("No space left"), "{}", ended.errors);
    }
    let ended = bench.run(&["import", "values.txt", "-o", "/dev/full"]);
    assert!(ended.code == Some(4) && ended.errors.contains("No space left"), "{}", ended.errors);
}

#[test]
fn what_has_no_end_is_refused_with_the_bound_that_it_passed() {
    let bench = bench();
    std::fs::create_dir(bench.path("trace")).unwrap();
    std::fs::File::create(bench.path("trace/metadata")).unwrap().set_len(1 << 32).unwrap();
    let zero = "/dev/zero";
    let all: [(&[&str], &str); 13] = [
        (&["search", "--scenario", zero], "more than 1 MiB"),
        (&["trial", "--scenario", zero], "more than 1 MiB"),
        (&["report", zero], "more than 256 MiB"),
        (&["search", "replay:/dev/zero", "--max-load=1Mpps", "-o-"], "more than 256 MiB"),
        (&["explain", zero], "more than 256 MiB"),
        (&["export", zero], "more than 256 MiB"),
        (&["import", zero, "-o", "i.jsonl"], "line 1"),
        (&["import", zero, "-o", "i.jsonl", "--from=hlog"], "more than 256 MiB"),
        (&["fit", zero], "line 1"),
        (&["compare", zero, zero], "line 1"),
        (&["trial", "sim:hard", "--arrival=replay:/dev/zero", "-o-"], "more than 256 MiB"),
        (&["trial", "flowgraph:ctf:trace", "-o-"], "more than 64 MiB"),
        (&["experiment", "search-coverage", "--runs=1", "--keep=/dev/zero"], "more than 256 MiB"),
    ];
    for (words, says) in all {
        let ended = bench.run(words);
        assert!(matches!(ended.code, Some(2 | 4)), "{words:?}: {:?} {}", ended.code, ended.errors);
        assert!(ended.errors.contains(says), "{words:?} should say {says:?}: {}", ended.errors);
    }
    let mut endless = Command::new("yes").arg("{\"line\":").stdout(Stdio::piped()).spawn().unwrap();
    let pipe = endless.stdout.take().unwrap();
    let ended = bench.command(&["report", "/dev/stdin"]).stdin(pipe).output().unwrap();
    let _ = (endless.kill(), endless.wait());
    assert!(String::from_utf8_lossy(&ended.stderr).contains("more than 256 MiB"));
    let zero = std::fs::File::open("/dev/zero").unwrap();
    let ended = bench.command(&["measure", "sim:hard"]).stdin(zero).output().unwrap();
    assert!(String::from_utf8_lossy(&ended.stderr).contains("more than 16 MiB"));
}

#[test]
fn recorded_departures_of_any_numbers_are_replayed_or_refused() {
    let bench = Bench::new();
    let numbers = [
        "0",
        "1",
        "-1",
        "NaN",
        "1e300",
        "1.5",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "31536000000000000",
        "1000000",
    ];
    for first in numbers {
        for last in numbers {
            bench.write("t.txt", &format!("{first}\n{last}\n"));
            for load in [&[][..], &["--load=1Mpps"]] {
                let words = ["trial", "sim:soft", "--arrival=replay:t.txt", "--duration=1ms", "-q", "-o-"];
                let ended = bench.run(&[&words[..], load].concat());
                let code = ended.code.unwrap_or_default();
                assert!(matches!(code, 0 | 2 | 3), "{first} {last} {load:?}: {code} {}", ended.errors);
            }
        }
    }
}
