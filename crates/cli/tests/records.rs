//! A record is data: what it says is not executed, and reaches no terminal raw.

mod command;

use command::{Bench, Ended};

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
    let text = bench.read("a b.jsonl").replace("sim:soft", "x; touch made");
    bench.write("a b.jsonl", &text);
    let advice = bench.run(&["explain", "a b.jsonl"]).errors;
    assert!(advice.contains("dropline trial 'x; touch made' --load"), "{advice}");
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
    bench.done(&["search", "--resume", "r.jsonl", program, "-q", "--max-trials=4"]);
    assert_eq!(started(), before.1 + 1);
    let other = bench.run(&["search", "--resume", "r.jsonl", "exec:true", "-q"]);
    assert!(other.code == Some(2) && other.errors.contains("another target"), "{}", other.errors);
}
