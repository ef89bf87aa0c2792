//! No room for a record: on a disk, by a limit of files' sizes, by a file system that is read alone. What was measured is kept or
//! printed, and what is said to do works.

mod command;

use command::{Bench, Ended};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dropline");

/// Whether a test must be left out because this user is not root; in CI it is never left out.
fn needs_root() -> bool {
    let id = Command::new("id").arg("--user").output().unwrap();
    let root = id.stdout.trim_ascii() == b"0";
    assert!(root || std::env::var_os("CI").is_none(), "this test needs root");
    !root
}

/// What a program printed that was started there, and how it ended.
fn ended(bench: &Bench, program: &str, words: &[&str]) -> Ended {
    Ended::from(Command::new(program).args(words).current_dir(bench.path("")).output().unwrap())
}

/// The same of a shell, in a mount namespace of its own with a file system `small`; `dropline` is the program.
fn with_small_disk(bench: &Bench, options: &str, script: &str) -> Ended {
    let script = format!(
        "dropline() {{ {PROGRAM} \"$@\"; }}; mkdir -p small && mount -t tmpfs {options} tmpfs small || exit 9; {script}"
    );
    ended(bench, "unshare", &["--mount", "sh", "-c", &script])
}

/// Fills that disk to its last page.
const FILL: &str = "head -c 2000000 /dev/zero >small/full 2>/dev/null";

#[test]
fn a_record_for_which_a_disk_has_no_room_leaves_no_file_and_its_advice_works_to_the_letter() {
    if needs_root() {
        return;
    }
    let service = Bench::new().serve(&[]);
    let target = service.target();
    let port = target.rsplit(':').next().unwrap();
    for verb in [
        "search sim:hard --max-trials=2 -q".to_owned(),
        format!("trial {target} --load=1kpps --duration=100ms -q"),
        format!("watch --port {port} --duration=100ms -q"),
        format!("compare --abba {target} {target} --duration=2s --load=1kpps -q"),
    ] {
        let bench = Bench::new();
        // First as it is refused; then, as it advises, elsewhere, and with some space made, under the same name.
        let script = format!(
            "{FILL}; dropline {verb} -o small/r.jsonl; code=$?; test -e small/r.jsonl && exit 7; \
             dropline {verb} -o elsewhere.jsonl >/dev/null 2>&1; \
             rm small/full; dropline {verb} -o small/r.jsonl >/dev/null 2>&1; \
             cp small/r.jsonl again.jsonl; exit $code"
        );
        let ended = with_small_disk(&bench, "-o size=1m", &script);
        assert_eq!(ended.code, Some(4), "{verb}: {} {}", ended.text, ended.errors);
        let says = ["nothing was measured", "free some space", "-o FILE"];
        assert!(says.iter().all(|said| ended.errors.contains(said)), "{verb}: {}", ended.errors);
        assert!(!ended.errors.contains("--resume"), "{verb}: there is nothing to resume: {}", ended.errors);
        for made in ["elsewhere.jsonl", "again.jsonl"] {
            assert!(bench.read(made).lines().count() >= 2, "{verb}: {made}");
        }
    }
}

#[test]
fn a_search_that_filled_a_disk_is_gone_on_with_by_the_command_that_it_prints() {
    if needs_root() {
        return;
    }
    // A page for the header; two, where trials fit too.
    for pages in [1, 2] {
        let bench = Bench::new();
        let script = "dropline search sim:hard -q -o small/r.jsonl >said; code=$?; \
                      mount -o remount,size=1m small; command=$(sed -n 's/.*resume  //p' said); \
                      eval \"$command -q --json\" >resumed.json && exit $code";
        let ended = with_small_disk(&bench, &format!("-o size={}", pages * 4096), script);
        assert_eq!(ended.code, Some(4), "{pages}: {}{}", bench.read("said"), ended.errors);
        let resumed: serde_json::Value = serde_json::from_str(&bench.read("resumed.json")).unwrap();
        assert_eq!(resumed["goals"][0]["result"], "narrow", "{pages}");
    }
}

#[test]
fn a_turn_for_which_a_disk_has_no_room_is_printed_all_the_same() {
    if needs_root() {
        return;
    }
    let services = [(); 2].map(|()| Bench::new().serve(&[]));
    let [a, b] = services.each_ref().map(|service| service.target());
    for json in ["", " --json"] {
        let bench = Bench::new();
        let script =
            format!("dropline compare --abba {a} {b} --duration=2s --load=1kpps -q -o small/r.jsonl{json}");
        // A page holds the header and no turn.
        let ended = with_small_disk(&bench, "-o size=4096", &script);
        assert_eq!(ended.code, Some(4), "{}", ended.errors);
        let errors = &ended.errors;
        assert!(
            errors.contains("cannot write small/r.jsonl") && errors.contains("0 of 1 turn are kept"),
            "{errors}"
        );
        match json {
            "" => {
                assert!(ended.text.contains("offered") && ended.text.contains("forwarded"), "{}", ended.text)
            }
            _ => assert!(ended.json()["trials"][0]["offered"].as_u64() > Some(0), "{}", ended.text),
        }
    }
}

/// What a trial, a watch or turns of a comparison say: what is kept, and what is not, and nothing of resuming them.
#[test]
fn what_is_said_of_a_full_disk_is_so_of_that_verb_and_of_what_fitted() {
    if needs_root() {
        return;
    }
    let services = [(); 2].map(|()| Bench::new().serve(&[]));
    let [a, b] = services.each_ref().map(|service| service.target());
    let port = a.rsplit(':').next().unwrap();
    let trial = format!("trial {a} --load=40kpps --duration=500ms");
    let watch = format!("watch --port {port} --duration=300ms");
    let compare = format!("compare --abba {a} {b} --duration=2s --load=1kpps");
    // One page holds the header and no trial, but of a watch that heard nothing; what is whole lacks the times of packets.
    for (verb, pages, is_whole) in
        [(&trial, 1, false), (&watch, 1, true), (&compare, 1, false), (&trial, 16, true)]
    {
        let bench = Bench::new();
        let script = format!(
            "dropline {verb} -q -o small/r.jsonl; code=$?; ls small >left; \
             dropline explain small/r.jsonl 2>why; dropline report small/r.jsonl >report; exit $code"
        );
        let Ended { code, text, errors } =
            with_small_disk(&bench, &format!("-o size={}", pages * 4096), &script);
        let words = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, Some(4), "{verb}: {errors}");
        assert!(!words.contains("resume") && words.contains("-o FILE"), "{verb}: {words}");
        match is_whole {
            false => {
                assert_eq!(bench.read("left"), "", "{verb}: a header alone tells nobody anything: {words}")
            }
            true => {
                assert_eq!(bench.read("left"), "r.jsonl\n", "half of the times is of no use");
                assert!(words.contains("the record is whole; the times of its packets alone"), "{words}");
                assert!(!text.contains("dropline explain"), "what would fail is not advised: {text}");
                assert!(!bench.read("report").is_empty());
                assert!(bench.read("why").contains("which is not there"), "{}", bench.read("why"));
            }
        }
    }
}

#[test]
fn a_record_without_a_trial_says_how_that_comes_about_and_what_to_do() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    bench.done(&["trial", &service.target(), "--load=1kpps", "--duration=100ms", "-q", "-o", "trial.jsonl"]);
    bench.done(&["search", "sim:hard", "--max-trials=2", "-q", "-o", "search.jsonl"]);
    let read = bench.read("search.jsonl");
    std::fs::write(bench.path("search.jsonl"), read.replace("\"sim:hard\"", "\"exec:./mine now\"")).unwrap();
    for (file, advised) in [
        ("trial.jsonl", "measure again, into another file"),
        ("search.jsonl", "resume it: dropline search --resume search.jsonl 'exec:./mine now'"),
    ] {
        let whole = bench.read(file);
        std::fs::write(bench.path(file), whole.split_inclusive('\n').next().unwrap()).unwrap();
        let Ended { code, errors, .. } = bench.run(&["explain", file]);
        let words = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(4) && words.contains("holds no finished trial"), "{words}");
        assert!(words.contains("found no room") && words.contains(advised), "{words}");
    }
}

#[test]
fn a_full_disk_keeps_the_trials_that_fitted() {
    if needs_root() {
        return;
    }
    let bench = Bench::new();
    let script =
        "dropline search sim:hard -q -o small/r.jsonl; code=$?; cp small/r.jsonl kept.jsonl; exit $code";
    let Ended { code, errors, .. } = with_small_disk(&bench, "-o size=8k", script);
    assert_eq!(code, Some(4), "{errors}");
    assert!(errors.contains("cannot write small/r.jsonl") && errors.contains("--resume"), "{errors}");
    let kept = bench.read("kept.jsonl");
    assert!(kept.lines().count() >= 2 && kept.ends_with('\n'), "whole lines only");
    let resumed = bench.done(&["search", "--resume", "kept.jsonl", "-q", "--json"]);
    assert_eq!(resumed.json()["goals"][0]["result"], "narrow");
}

#[test]
fn a_limit_of_a_files_size_is_told_as_a_full_disk_is() {
    let search = format!("{PROGRAM} search sim:soft --algorithm=mlr --max-trials=60 -q -o r.jsonl");
    let Ended { code, text, errors } =
        ended(&Bench::new(), "sh", &["-c", &format!("ulimit -f 8; exec {search}")]);
    assert_eq!(code, Some(4), "{errors}");
    assert!(errors.contains("cannot write r.jsonl") && errors.contains("ulimit -f"), "{errors}");
    assert!(text.contains("sim:soft"), "what was found is told: {text}");
}

#[test]
fn a_search_whose_last_line_has_no_room_tells_the_command_that_resumes_it() {
    let bench = Bench::new();
    let words = ["search", "sim:hard", "--max-trials", "20", "-q", "-o"];
    bench.done(&[&words[..], &["whole.jsonl"]].concat());
    let whole = bench.read("whole.jsonl");
    let room = format!("--fsize={}", whole.len() - whole.lines().last().unwrap().len() / 2);
    let Ended { code, text, errors } =
        ended(&bench, "prlimit", &[&[room.as_str(), PROGRAM], &words[..], &["r.jsonl"]].concat());
    assert_eq!(code, Some(4), "{errors}");
    assert!(text.contains("resume  dropline search --resume r.jsonl") && !text.contains("page "), "{text}");
}

#[test]
fn a_record_that_cannot_be_written_is_not_said_to_be_unreadable() {
    if needs_root() {
        return;
    }
    let script = "dropline search sim:hard --max-trials=2 -q -o small/r.jsonl >/dev/null; \
                  mount -o remount,ro small && dropline search --resume small/r.jsonl -q --max-trials=9";
    let Ended { code, errors, .. } = with_small_disk(&Bench::new(), "", script);
    assert_eq!(code, Some(4), "{errors}");
    assert!(
        errors.contains("cannot write small/r.jsonl: Read-only") && errors.contains("--resume NEW"),
        "{errors}"
    );
}

/// Of many records those that a disk has room for are added, and each other one is named.
#[test]
fn each_record_that_a_history_had_no_room_for_is_named() {
    if needs_root() {
        return;
    }
    let bench = Bench::new();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/kept/2026-11-27/trial-sim.jsonl");
    let script = format!(
        "for n in $(seq 10 49); do sed \"s/sim:noisy/sim:noisy?seed=$n/g\" {kept} >r$n.jsonl; done; \
         dropline history add --history small/h r*.jsonl; code=$?; \
         find small/h -name '*sim-noisy*.jsonl' | wc -l >there; exit $code"
    );
    let ended = with_small_disk(&bench, "-o size=96k", &script);
    let told = ended.text.clone() + &ended.errors;
    let named = |word: &str| told.lines().filter(|line| line.starts_with(word)).count();
    let there: usize = bench.read("there").trim().parse().unwrap();
    assert!(there > 0 && there < 40 && ended.code == Some(4), "{there}: {told}");
    assert_eq!((named("added"), named("refused")), (there, 40 - there), "{told}");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("No space left"), "{told}");
}
