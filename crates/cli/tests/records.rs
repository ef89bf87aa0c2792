//! A record is data: what it says is not executed, and reaches no terminal raw.

mod command;

use command::{Bench, Ended};
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a foreign record may hold: it clears the screen, turns text round, and ends a quoted word.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{202e}' $(touch made) `touch made`; touch made #";

fn steers(text: &str) -> bool {
    text.chars().any(|sign| (sign.is_control() && sign != '\n') || ('\u{202a}'..='\u{202e}').contains(&sign))
}

/// A record of `words` in which one string is an evil one.
fn spoiled(bench: &Bench, words: &[&str], field: &str, name: &str) {
    bench.done(&[words, &["-q", "-o", "good.jsonl"]].concat());
    let text = bench.read("good.jsonl");
    std::fs::remove_file(bench.path("good.jsonl")).unwrap();
    let lines = text.lines().map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(place) = value.as_object_mut().unwrap().get_mut(field) {
            *place = EVIL.into();
        }
        value.to_string() + "\n"
    });
    bench.write(name, &lines.collect::<String>());
}

#[test]
fn nothing_that_a_record_says_steers_a_terminal_or_is_run() {
    let bench = Bench::new();
    let trial = &["trial", "sim:soft", "--load", "9Mpps", "--duration", "1s", "--no-packets"][..];
    let search = &["search", "sim:hard", "--algorithm", "binary", "--goal", "0,trial=1s"][..];
    for (words, field) in [
        (trial, "target"),
        (trial, "purpose"),
        (trial, "arrival"),
        (search, "target"),
        (search, "load_unit"),
        (search, "schema"),
    ] {
        spoiled(&bench, words, field, "evil.jsonl");
        for verb in [
            &["report", "evil.jsonl"][..],
            &["report", "evil.jsonl", "evil.jsonl"],
            &["report", "--json", "evil.jsonl"],
            &["explain", "evil.jsonl"],
            &["fit", "evil.jsonl"],
            &["compare", "evil.jsonl", "evil.jsonl"],
            &["export", "--to", "csv", "evil.jsonl"],
            &["export", "--to", "openmetrics", "evil.jsonl"],
            &["search", "--resume", "evil.jsonl"],
            &["search", "--resume", "evil.jsonl", "--max-trials", "99"],
            &["search", "--resume", "evil.jsonl", "--jsonl"],
        ] {
            let Ended { text, errors, .. } = bench.run(verb);
            // CSV ends its lines so, and it moves no cursor that the line end does not.
            let text = text.replace("\r\n", "\n");
            assert!(!steers(&text) && !steers(&errors), "{field} {verb:?}: {text:?} {errors:?}");
        }
        for verb in [
            &["report", "evil.jsonl", "--html", "out"][..],
            &["report", "evil.jsonl", "evil.jsonl", "--html", "out"],
            &["report", "evil.jsonl", "--svg", "plots"],
            &["export", "--to", "csv", "evil.jsonl", "-o", "out"],
            &["export", "--to", "openmetrics", "evil.jsonl", "-o", "out"],
        ] {
            let _ = (std::fs::remove_file(bench.path("out")), std::fs::create_dir(bench.path("plots")));
            bench.run(verb);
            let plots = std::fs::read_dir(bench.path("plots")).unwrap().map(|file| file.unwrap().path());
            for file in plots.chain([bench.path("out")]) {
                let text = std::fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
                assert!(!steers(&text), "{field} {verb:?} {}", file.display());
            }
        }
    }
    assert!(!bench.path("made").exists());
}

#[test]
fn a_command_that_is_printed_to_be_copied_holds_the_target_as_one_word() {
    let bench = Bench::new();
    bench.done(&[
        "trial",
        "sim:soft",
        "--load",
        "9Mpps",
        "--duration",
        "1s",
        "--no-packets",
        "-q",
        "-o",
        "a b.jsonl",
    ]);
    let text = bench.read("a b.jsonl").replace("sim:soft", "dns://127.0.0.1:7?names=x;$(touch).org");
    bench.write("a b.jsonl", &text);
    let advice = bench.run(&["explain", "a b.jsonl"]).errors;
    assert!(advice.contains("dropline trial 'dns://127.0.0.1:7?names=x;$(touch).org' --load"), "{advice}");
    let ended = bench.done(&[
        "search",
        "sim:hard",
        "--algorithm",
        "binary",
        "--goal",
        "0,trial=1s",
        "-q",
        "-o",
        "c d.jsonl",
    ]);
    assert!(ended.text.contains("dropline report 'c d.jsonl' --html"), "{}", ended.text);
    let again = bench.run(&["search", "sim:hard", "-q", "-o", "c d.jsonl"]).errors;
    assert!(again.contains("--resume 'c d.jsonl'"), "{again}");
}

#[test]
fn a_program_of_a_record_runs_only_when_it_is_typed_again() {
    let bench = Bench::new();
    let measuring = env!("CARGO_BIN_EXE_dropline");
    let program = &format!("exec:sh -c 'echo >> started; exec {measuring} measure sim:soft'");
    bench.done(&[
        "search",
        program,
        "--max-load=1Mpps",
        "--algorithm=mlr",
        "--max-trials=2",
        "-q",
        "-o",
        "r.jsonl",
    ]);
    let started = || bench.read("started").lines().count();
    let before = (bench.read("r.jsonl"), started());
    bench.done(&["search", "--resume", "r.jsonl", "-q"]);
    let refused = bench.run(&["search", "--resume", "r.jsonl", "-q", "--max-trials=4"]);
    assert_eq!(refused.code, Some(4));
    assert!(
        refused.errors.contains("would start a program")
            && refused.errors.contains("dropline search --resume r.jsonl"),
        "{}",
        refused.errors
    );
    assert_eq!((bench.read("r.jsonl"), started()), before, "it is shown, not started");
    let exists = bench.run(&["search", program, "--max-load=1Mpps", "-q", "-o", "r.jsonl"]).errors;
    let again = format!("dropline search --resume r.jsonl {}   or", dropline_failure::quoted(program));
    assert!(exists.contains(&again), "what is printed works: {exists}");
    let before = started();
    bench.done(&["search", "--resume", "r.jsonl", program, "-q", "--max-trials=4"]);
    assert_eq!(started(), before + 1);
    let other = bench.run(&["search", "--resume", "r.jsonl", "exec:true", "-q"]);
    assert!(other.code == Some(2) && other.errors.contains("another target"), "{}", other.errors);
}

#[test]
fn a_file_of_a_record_that_is_not_beside_it_is_opened_only_when_it_is_typed_again() {
    let bench = Bench::new();
    ["a", "b"].iter().for_each(|name| std::fs::create_dir(bench.path(name)).unwrap());
    bench.done(&[
        "search",
        "sim:soft",
        "--algorithm=binary",
        "--goal=0,width=0.01%",
        "--max-trials=9",
        "-q",
        "-o",
        "a/trials.jsonl",
    ]);
    let target = "replay:a/trials.jsonl";
    for (record, is_beside) in [("a/r.jsonl", true), ("b/r.jsonl", false)] {
        bench.done(&["search", target, "--max-trials=2", "-q", "-o", record]);
        let before = bench.read(record);
        let more = ["search", "--resume", record, "-q", "--max-trials=4"];
        let resumed = bench.run(&more);
        if is_beside {
            assert_eq!(resumed.code, Some(0), "{}", resumed.errors);
            continue;
        }
        let says = [
            "would open a file outside of its own directory",
            "dropline search --resume b/r.jsonl replay:a/trials.jsonl",
        ];
        assert!(says.iter().all(|said| resumed.errors.contains(said)), "{}", resumed.errors);
        assert_eq!((resumed.code, bench.read(record)), (Some(4), before), "it is as it was");
        bench.done(&[&more[..], &[target]].concat());
        assert_eq!(bench.read(record).matches("\"line\":\"trial\"").count(), 4);
    }
}

/// A search of a simulated system, kept.
fn searched(bench: &Bench, name: &str) {
    bench.done(&["search", "sim:hard", "--algorithm=mlr", "--goal=0,trial=1s", "-q", "-o", name]);
}

#[test]
fn a_record_that_contradicts_itself_is_refused_by_whoever_reads_it() {
    let bench = Bench::new();
    searched(&bench, "good.jsonl");
    let good = bench.read("good.jsonl");
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let number = |name: &str| {
        let (_, rest) = lines[2].split_once(&format!("\"{name}\":")).unwrap();
        format!("\"{name}\":{}", rest.split([',', '}']).next().unwrap())
    };
    let edited = |line: usize, from: &str, to: &str| {
        let mut lines: Vec<String> = lines.iter().map(|&line| line.into()).collect();
        assert!(lines[line - 1].contains(from), "{from}");
        lines[line - 1] = lines[line - 1].replacen(from, to, 1);
        lines.concat()
    };
    let last = lines.len();
    for (line, what, text) in [
        (2, "its header: target", edited(1, "sim:hard", "sim:soft")),
        (3, "trial 2 is missing", [&lines[..2], &lines[3..]].concat().concat()),
        (3, "itself: lost", edited(3, &number("forwarded"), "\"forwarded\":3")),
        (3, "itself: loss_ratio", edited(3, &number("loss_ratio"), "\"loss_ratio\":0.125")),
        (last, "itself: \"lower_pps\"", edited(last, "\"lower_pps\":", "\"lower_pps\":9")),
        (last, "the trials before it: elapsed_s", edited(last, "\"elapsed_s\":", "\"elapsed_s\":7")),
    ] {
        bench.write("edited.jsonl", &text);
        for words in [
            &["report", "edited.jsonl"][..],
            &["search", "--resume", "edited.jsonl", "-q", "--max-trials=9999"],
            &["search", "sim:hard", "--baseline", "edited.jsonl", "-q", "-o", "-"],
            &["compare", "good.jsonl", "edited.jsonl"],
            &["trial", "replay:edited.jsonl", "--load=1Mpps", "-q", "-o", "-"],
            &["export", "--to=openmetrics", "edited.jsonl"],
        ] {
            let ended = bench.run(words);
            assert_eq!(ended.code, Some(4), "{words:?}: {}", ended.errors);
            let named = ended.errors.contains(&format!("line {line} of the record"));
            assert!(named && ended.errors.contains(what), "{words:?} {what}: {}", ended.errors);
            assert!(ended.errors.contains("the file was edited or damaged"), "{}", ended.errors);
        }
    }
}

#[test]
fn a_distribution_that_contradicts_itself_is_refused_by_whoever_reads_it() {
    let bench = Bench::new();
    bench.write("values.txt", &"10\n20\n30\n".repeat(40));
    bench.done(&["import", "values.txt", "--from=raw", "--unit=us", "-o", "good.jsonl"]);
    let good = bench.read("good.jsonl");
    for (from, to, says) in [
        ("[10,10,40]", "[10,10,41]", "count is 120, and its cells make it 121"),
        ("[30,30,40]", "[1099511627776,30,40]", "a cell begins at 1099511627776 and ends at 30"),
        ("[10,10,40]", "[10,10,\"4611686018427387904\"]", "more than 2^53 events"),
        ("\"quantum_ns\":1000.0", "\"quantum_ns\":0.0", "quantum_ns is 0e0"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        bench.write("edited.jsonl", &(good.clone() + &good.replacen(from, to, 1)));
        for words in [
            &["fit", "edited.jsonl"][..],
            &["compare", "good.jsonl", "edited.jsonl"],
            &["import", "edited.jsonl", "--from=record", "-o", "again.jsonl"],
            &["export", "edited.jsonl", "--to=csv"],
        ] {
            let ended = bench.run(words);
            assert_eq!(ended.code, Some(4), "{words:?}: {}", ended.errors);
            let named = ended.errors.contains("line 2: it contradicts itself");
            assert!(named && ended.errors.contains(says), "{words:?}: {}", ended.errors);
        }
    }
}

#[test]
fn a_search_that_goes_on_is_kept_in_its_own_record() {
    let bench = Bench::new();
    searched(&bench, "good.jsonl");
    let before = bench.read("good.jsonl");
    for output in ["other.jsonl", "-", "good.jsonl"] {
        let refused = bench.run(&["search", "--resume", "good.jsonl", "-o", output]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.errors.contains("is kept in its own record, good.jsonl"), "{}", refused.errors);
    }
    assert!(!bench.path("other.jsonl").exists() && bench.read("good.jsonl") == before);
    let refused = bench.run(&["search", "--resume", "/dev/null"]);
    assert!(refused.code == Some(2) && refused.errors.contains("is not a file"), "{}", refused.errors);
}

#[test]
fn a_record_that_is_replayed_tells_its_own_loads() {
    let bench = Bench::new();
    searched(&bench, "good.jsonl");
    let again = ["search", "replay:good.jsonl", "--algorithm=mlr", "--goal=0,trial=1s", "-q", "--json"];
    let again = bench.done(&[&again[..], &["-o", "again.jsonl"]].concat()).json();
    let good = bench.done(&["report", "good.jsonl", "--json"]).json();
    assert_eq!(again["goals"], good["goals"]);
    assert_eq!(bench.done(&["report", "again.jsonl", "--json"]).json()["goals"], good["goals"]);
    // The third trial of a record is the first one here, and what is kept of it can be read.
    let third = &good["trials"][2];
    let load = format!("--load={}pps", third["intended_load_pps"]);
    bench.done(&["trial", "replay:good.jsonl", &load, "--duration=1s", "-q", "-o", "third.jsonl"]);
    let kept = bench.done(&["report", "third.jsonl", "--json"]).json();
    assert_eq!((&kept["number"], &kept["forwarded"]), (&1.into(), &third["forwarded"]));
}

#[test]
fn a_record_that_is_replayed_is_searched_as_it_was() {
    let bench = Bench::new();
    for how in [
        &["--algorithm=mlr", "--goal=0,trial=1s", "--budget=20s"][..],
        &["--goal=1%", "--goal=0", "--budget=12s", "--seed=11", "--level=90%"],
        &["--algorithm=mdr", "--mdr-version=first", "--goal=0.5%", "--max-trials=12"],
        &["--preset=rfc2544", "--max-trials=7"],
        &["--algorithm=mlr", "--max-trials=9"],
        &["--algorithm=binary", "--goal=0,trial=1s"],
    ] {
        bench.done(&[&["search", "sim:soft", "-q", "-o", "good.jsonl"], how].concat());
        let again = bench.run(&["search", "replay:good.jsonl", "--json", "-o", "again.jsonl"]);
        assert!(again.errors.contains("is taken from the record"), "{}", again.errors);
        let good = bench.done(&["report", "good.jsonl", "--json"]).json();
        assert_eq!(again.json()["goals"], good["goals"], "{how:?}");
        // It is a record as any other.
        bench.done(&["report", "again.jsonl", "--json"]);
        ["good.jsonl", "again.jsonl"].iter().for_each(|name| std::fs::remove_file(bench.path(name)).unwrap());
    }
    searched(&bench, "good.jsonl");
    let other = bench.run(&["search", "replay:good.jsonl", "--goal=0,trial=7s", "-o", "-"]);
    assert!(other.code == Some(4) && other.errors.contains("no further trial of"), "{}", other.errors);
}

#[test]
fn nothing_that_a_program_says_for_people_steers_a_terminal() {
    let bench = Bench::new();
    bench.write(
        "says.sh",
        r"printf 'first\nclears \033[2J\033]0;t\007\302\233 it\n' >&2; printf '%9000d\nlast' 7 >&2; exit 3",
    );
    for (target, load) in [("exec:sh says.sh", &["--load=1kpps"][..]), ("flowgraph:exec:sh says.sh", &[])] {
        let words = &["trial", target, "--duration=1s", "-q", "-o", "-"];
        let Ended { text, errors, .. } = bench.run(&[words, load].concat());
        assert!(!steers(&text) && !steers(&errors), "{target}: {errors:?}");
        for said in ["first\n", "clears \u{fffd}[2J", "last\n", "…\n"] {
            assert!(errors.contains(said), "{target}: {said:?} is missing in {errors:?}");
        }
        assert!(
            errors.find("last\n") < errors.find("error: "),
            "{target}: what it said stands before our error"
        );
    }
}

/// Runs it with this on its standard input.
fn fed(bench: &Bench, words: &[&str], text: &str) -> Ended {
    let mut child = bench
        .command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Ended::from(child.wait_with_output().unwrap())
}

#[test]
fn standard_input_is_read_where_a_file_is_named() {
    let bench = Bench::new();
    searched(&bench, "good.jsonl");
    let good = bench.read("good.jsonl");
    let shown = bench.done(&["report", "good.jsonl"]).text;
    assert_eq!(fed(&bench, &["report", "-"], &good).text, shown);
    let compared = fed(&bench, &["compare", "-", "good.jsonl"], &good);
    assert!(compared.code == Some(0) && compared.text.starts_with("SAME DATA"), "{}", compared.text);
    let numbers: String = (1..2000).map(|number| format!("{}\n", number % 97)).collect();
    bench.write("numbers.txt", &numbers);
    for (words, named) in [
        (&["fit", "-"][..], &["fit", "numbers.txt"][..]),
        (&["compare", "numbers.txt", "-"], &["compare", "numbers.txt", "numbers.txt"]),
    ] {
        let ended = fed(&bench, words, &numbers);
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        let named = bench.done(named).text.replace("numbers.txt", "");
        let fed = ended.text.replace("numbers.txt", "").replace("standard input", "");
        assert_eq!(fed.lines().count(), named.lines().count(), "{fed}{named}");
    }
    let twice = fed(&bench, &["compare", "-", "-"], &numbers);
    assert!(twice.code == Some(4) && twice.errors.contains("can be named once"), "{}", twice.errors);
}

#[test]
fn a_signal_ends_what_waits_for_a_pipe_without_a_writer() {
    let bench = Bench::new();
    searched(&bench, "good.jsonl");
    assert!(Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap().success());
    let all: [&[&str]; 10] = [
        &["trial", "replay:pipe", "--load=1Mpps", "-o", "-"],
        &["search", "replay:pipe", "--max-load=1Mpps", "-o", "-"],
        &["trial", "sim:hard", "--arrival=replay:pipe", "-o", "-"],
        &["search", "sim:hard", "--arrival=replay:pipe", "-o", "-"],
        &["search", "sim:hard", "--baseline=pipe", "-o", "-"],
        &["search", "--scenario=pipe", "sim:hard"],
        &["compare", "pipe", "good.jsonl"],
        &["report", "pipe"],
        &["fit", "pipe"],
        &["explain", "pipe"],
    ];
    for (words, signal) in all.into_iter().zip(["-TERM", "-INT"].into_iter().cycle()) {
        let mut child = bench.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        // It listens to signals from its first moment on, and is no further than the pipe.
        let listens = || {
            let text = std::fs::read_to_string(&status).unwrap();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            u64::from_str_radix(caught.trim(), 16).unwrap() >> 14 & 1 == 1
        };
        while !listens() {
            std::thread::yield_now();
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{words:?}");
    }
}

#[test]
fn trials_that_are_answered_again_are_of_the_packets_that_their_record_says() {
    let bench = Bench::new();
    let words = ["--packet=900B", "--streams=3", "--directions=a=1,b=1", "--arrival=poisson"];
    bench.done(
        &[&["search", "sim:hard", "--seed=5", "--max-trials=3", "-q", "-o", "first.jsonl"][..], &words]
            .concat(),
    );
    bench.done(&["search", "replay:first.jsonl", "--max-trials=3", "-q", "-o", "again.jsonl"]);
    let profile = |file| {
        let header: Value = serde_json::from_str(bench.read(file).lines().next().unwrap()).unwrap();
        header["profile"].clone()
    };
    assert_eq!(profile("again.jsonl"), profile("first.jsonl"));
    for word in words.iter().chain(&["--drain=1s"]) {
        let ended = bench.run(&["search", "replay:first.jsonl", word, "-q", "-o", "-"]);
        let flag = word.split('=').next().unwrap();
        assert_eq!((ended.code, ended.errors.contains(flag)), (Some(2), true), "{}", ended.errors);
    }
}
