//! Nothing that exists is destroyed, and nothing measured is lost: what a verb writes takes the place of no file of the
//! user's, and what ends early says what it measured.

mod command;

use command::{Bench, Ended};
use std::fs;
use std::process::{Command, Stdio};

/// Two records, a file of values, a link to a record, and a page of somebody else's beside the first record.
fn filled() -> Bench {
    let bench = Bench::new();
    for name in ["a.jsonl", "b.jsonl"] {
        bench.done(&["search", "sim:hard", "--algorithm=mlr", "--goal=0,trial=1s", "-q", "-o", name]);
    }
    bench.write("v.tsv", &"10\n20\n30\n".repeat(40));
    bench.write("torn.txt", "all in one line, without an end");
    bench.write("a.html", "<!DOCTYPE html><p>mine");
    fs::create_dir(bench.path("plots")).unwrap();
    std::os::unix::fs::symlink("a.jsonl", bench.path("link")).unwrap();
    bench
}

/// Every file, by name, with its content.
fn all(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(bench.path(".")).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    let mut all: Vec<_> = files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn turns_of_wake_ups_are_not_told_in_packets() {
    let bench = Bench::new();
    let turns =
        ["compare", "--abba", "wakeup:?threads=1", "wakeup:?threads=2", "--load=1kHz", "--duration=2s"];
    let ended = bench.run(&[&turns[..], &["-o", "turns.jsonl"]].concat());
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{:?} {}", ended.code, ended.errors);
    let shown = bench.run(&["report", "turns.jsonl"]);
    let all = [&ended.text, &ended.errors, &shown.text].map(String::as_str).concat();
    assert!(all.contains("wake-up") && !all.contains("pps") && !all.contains("packet"), "{all}");
}

#[test]
fn nothing_that_exists_is_written_over_by_any_verb() {
    let bench = filled();
    let before = all(&bench);
    let search = ["search", "sim:hard", "--algorithm=mlr", "--goal=0,trial=1s", "-q"];
    let commands: [&[&str]; 19] = [
        &["report", "--html", "b.jsonl", "a.jsonl"],
        &["report", "a.jsonl", "--html"],
        &["report", "a.jsonl", "--html", "link"],
        &["report", "a.jsonl", "--html", "plots"],
        &[&search[..], &["-o", "x.jsonl", "--html", "x.jsonl"]].concat(),
        &[&search[..], &["-o", "-", "--html", "a.jsonl"]].concat(),
        &[&search[..], &["-o", "a.jsonl"]].concat(),
        &["search", "--resume", "a.jsonl", "-q", "--html", "a.jsonl"],
        &["compare", "a.jsonl", "b.jsonl", "--html", "a.jsonl"],
        &["fit", "v.tsv", "--html", "v.tsv"],
        &["import", "v.tsv", "-o", "a.jsonl"],
        &["export", "a.jsonl", "--to", "csv", "-o", "b.jsonl"],
        &["trial", "sim:hard", "--load", "1kpps", "-q", "-o", "a.jsonl"],
        &["serve", "--listen", "127.0.0.1:0", "--until-eof", "--times", "v.tsv", "--queue", "0"],
        &["heartbeat", "reliability", "--html", "v.tsv"],
        &["heartbeat", "cost", "--html", "v.tsv"],
        &["experiment", "poisson-loss", "--html", "v.tsv"],
        &["experiment", "poisson-loss", "--small", "--keep", "torn.txt"],
        &["experiment", "poisson-loss", "--small", "--keep", "a.jsonl"],
    ];
    for words in commands {
        let ended = bench.run(words);
        let refused = ended.code == Some(2) || (words.contains(&"--keep") && ended.code == Some(4));
        assert!(refused && !ended.errors.is_empty(), "{words:?}: {:?} {}", ended.code, ended.errors);
        assert!(all(&bench) == before, "{words:?} changed a file");
    }
}

#[test]
fn to_resume_is_advised_of_a_search_alone() {
    let bench = Bench::new();
    bench.done(&["trial", "sim:hard", "--load=1kpps", "--duration=1s", "-q", "-o", "trial.jsonl"]);
    bench.done(&["search", "sim:hard", "-q", "-o", "search.jsonl"]);
    for (file, advised) in [("trial.jsonl", false), ("search.jsonl", true)] {
        let ended = bench.run(&["search", "sim:hard", "-q", "-o", file]);
        assert_eq!((ended.code, ended.errors.contains("--resume")), (Some(2), advised), "{}", ended.errors);
    }
}

#[test]
fn a_record_and_a_page_of_one_file_by_two_names_leave_the_record() {
    let bench = Bench::new();
    let words = ["search", "sim:hard", "--algorithm=mlr", "--goal=0,trial=1s", "-q", "-o", "x.jsonl"];
    let ended = bench.run(&[&words[..], &["--html", "./x.jsonl"]].concat());
    assert!(ended.code == Some(2) && ended.errors.contains("not written over"), "{}", ended.errors);
    bench.done(&["report", "x.jsonl"]);
}

#[test]
fn pages_and_plots_are_drawn_anew_over_their_own() {
    let bench = filled();
    for _ in 0..2 {
        bench.done(&["report", "a.jsonl", "--html", "page.html", "--svg", "plots"]);
        bench.done(&["fit", "v.tsv", "--html", "page.html"]);
    }
    let plot = fs::read_dir(bench.path("plots")).unwrap().next().unwrap().unwrap().path();
    fs::write(&plot, "mine").unwrap();
    assert_eq!(bench.run(&["report", "a.jsonl", "--svg", "plots"]).code, Some(2));
    assert_eq!(fs::read_to_string(plot).unwrap(), "mine");
}

#[test]
fn a_scenario_writes_no_file_outside_of_the_directory_in_which_it_is_used() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    for key in ["html", "output", "resume"] {
        let file = outside.path().join(key);
        bench.write("s.toml", &format!("target = 'sim:hard'\n{key} = '{}'\n", file.display()));
        let ended = bench.run(&["search", "--scenario", "s.toml", "-q"]);
        assert!(ended.code == Some(2) && ended.errors.contains("s.toml:2:"), "{}", ended.errors);
        assert!(!file.exists());
    }
    // Nor by way of a link.
    std::os::unix::fs::symlink(outside.path(), bench.path("sub")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("page"), bench.path("page.html")).unwrap();
    for (key, name) in [("html", "sub/page.html"), ("html", "page.html"), ("output", "sub/new/../x.jsonl")] {
        bench.write("s.toml", &format!("target = 'sim:hard'\n{key} = '{name}'\n"));
        let ended = bench.run(&["search", "--scenario", "s.toml", "-q"]);
        assert!(ended.code == Some(2) && ended.errors.contains("s.toml:2:"), "{}", ended.errors);
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn nothing_of_a_file_outside_of_its_directory_is_shown_by_a_scenario() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("shadow");
    fs::write(&secret, "root:$6$secret\n").unwrap();
    std::os::unix::fs::symlink(&secret, bench.path("seen.ns")).unwrap();
    for arrival in
        [format!("replay:{}", secret.display()), "replay:seen.ns".into(), "poisson+replay:./seen.ns".into()]
    {
        bench.write("s.toml", &format!("target = 'sim:hard'\narrival = '{arrival}'\n"));
        let ended = bench.run(&["search", "--scenario", "s.toml", "-q"]);
        assert!(ended.code == Some(2) && ended.errors.contains("s.toml:2:"), "{}", ended.errors);
        assert!(!ended.errors.contains("root"), "{}", ended.errors);
    }
}

/// One trial against a service of ours, kept with its packets, also where a busy machine disturbed it.
fn tried(bench: &Bench, target: &str, load: &str) {
    let ended = bench.run(&["trial", target, "--load", load, "--duration=100ms", "-q", "-o", "nat.jsonl"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?} {}", ended.code, ended.errors);
}

#[test]
fn times_of_another_trial_are_refused_and_never_explained() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    let target = service.target();
    tried(&bench, &target, "2kpps");
    let other = fs::read(bench.path("nat.jsonl.packets")).unwrap();
    bench.done(&["explain", "nat.jsonl"]);
    fs::remove_file(bench.path("nat.jsonl")).unwrap();
    let words = ["trial", &target, "--load=2kpps", "--duration=100ms", "-q", "-o", "nat.jsonl"];
    let ended = bench.run(&words);
    assert!(ended.code == Some(2) && ended.errors.contains("of another record"), "{}", ended.errors);
    assert!(!bench.path("nat.jsonl").exists(), "refused before it began");
    fs::remove_file(bench.path("nat.jsonl.packets")).unwrap();

    // The same load, duration and seed: only what happened differs.
    tried(&bench, &target, "2kpps");
    fs::write(bench.path("nat.jsonl.packets"), &other).unwrap();
    let ended = bench.run(&["explain", "nat.jsonl"]);
    assert!(ended.code == Some(4) && ended.errors.contains("of another trial"), "{}", ended.errors);
}

#[test]
fn turns_that_end_early_are_compared_as_far_as_they_came_and_nothing_more_is_promised() {
    for is_stopped in [true, false] {
        let bench = Bench::new();
        let (a, b) = (bench.serve(&[]), bench.serve(&[]));
        let mut command = bench.command(&["compare", "--abba", &a.target(), &b.target(), "--load=1kpps"]);
        command.args(["--duration=8s", "-q", "--json", "-o", "turns.jsonl"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The header, and a turn of each side.
        command::wait_for_lines(&bench.path("turns.jsonl"), 3);
        match is_stopped {
            true => command::interrupt(&child),
            false => drop(b),
        }
        let ended = Ended::from(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(if is_stopped { 130 } else { 4 }), "{}", ended.errors);
        let json = ended.json();
        let caveats = json["caveats"].as_array().unwrap();
        assert!(caveats.iter().any(|caveat| caveat["code"] == "ended_early"), "{json}");
        assert!(
            json["a"]["blocks"].as_u64() >= Some(1) && json["a"]["blocks"] == json["b"]["blocks"],
            "{json}"
        );
        assert!(!ended.errors.contains("--resume"), "{}", ended.errors);
        // Somebody waits: what takes long and decides nothing is left to a comparison of the file.
        assert!(json["modes"].is_null() && json["shift"].as_array().unwrap().is_empty(), "{json}");
        if json["a"]["blocks"].as_u64() < Some(4) {
            assert_eq!(json["verdict"], "no_evidence", "so few turns say nothing of one another: {json}");
            assert!(caveats.iter().any(|caveat| caveat["code"] == "few_turns"), "{json}");
        }
        // Of one that died, what is left is a regression.
        let again = bench.run(&["compare", "turns.jsonl"]);
        assert!(matches!(again.code, Some(0 | 1)), "{}", again.errors);
    }
}

#[test]
fn a_files_name_does_not_steer_the_terminal() {
    let bench = Bench::new();
    let name = "\u{1b}[31mRED";
    let file = |end: &str| format!("{name}{end}");
    let [record, imported, values, page] = [".jsonl", "-i.jsonl", ".txt", ".html"].map(file);
    bench.write(&values, &"10\n20\n30\n".repeat(40));
    let search = ["search", "sim:hard", "--algorithm=mlr", "--goal=0,trial=1s", "-q"];
    for words in [
        &[&search[..], &["-o", &record]].concat()[..],
        &[&search[..], &["-o", &record]].concat(),
        &["report", &record],
        &["report", &record, "--html"],
        &["report", &record, "--svg", name],
        &["import", &values, "--from=raw", "--unit=us", "-o", &imported],
        &["fit", &imported, &values],
        &["compare", &imported, &values, "--html", &page],
        &["compare", &record, &record],
        &["report", &values],
        &["import", &record, "-o", &page],
        &["trial", "sim:hard", "--load=1kpps", "-q", "-o", &file("-t.jsonl")],
        &["search", &format!("replay:{values}"), "-q", "-o", "-"],
    ] {
        let ended = bench.run(words);
        let shown = ended.text + &ended.errors;
        assert!(!shown.is_empty() && !shown.contains('\u{1b}'), "{words:?}: {shown:?}");
    }
}

#[test]
fn what_is_painted_for_a_terminal_arrives_as_it_was_painted() {
    let bench = filled();
    let program = env!("CARGO_BIN_EXE_dropline");
    for verb in
        ["report a.jsonl", "report a.jsonl b.jsonl", "compare a.jsonl b.jsonl", "trial sim:hard --load=1kpps"]
    {
        let on_a_terminal = Command::new("script")
            .args(["-qec", &format!("{program} {verb}"), "/dev/null"])
            .current_dir(bench.path("."))
            .env_remove("NO_COLOR")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&on_a_terminal.stdout);
        assert!(shown.contains("\u{1b}[") && !shown.contains('\u{fffd}'), "{verb}: {shown:?}");
    }
}

#[test]
fn a_directory_for_plots_is_not_left_behind_where_none_could_be_written() {
    let bench = filled();
    for directory in ["new/deep", "plots"] {
        let line = format!(
            "trap '' XFSZ; ulimit -f 1; exec {} report a.jsonl --svg {directory}",
            env!("CARGO_BIN_EXE_dropline")
        );
        let ended = std::process::Command::new("sh")
            .args(["-c", &line])
            .current_dir(bench.path("."))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(4) && errors.contains("cannot write"), "{errors}");
    }
    assert!(!bench.path("new").exists());
    assert!(bench.path("plots").is_dir(), "one that was there stays");
}

#[test]
fn of_a_record_whose_last_line_is_torn_every_verb_answers_from_the_whole_lines_says_so_and_leaves_it_as_it_is()
 {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    let target = service.target();
    for (name, seed) in [("a.jsonl", "1"), ("b.jsonl", "2")] {
        bench.done(&["trial", &target, "--load=1kpps", "--duration=1s", "-q", "-o", name]);
        let simulated = format!("sim:noisy?seed={seed}");
        bench.done(&["search", &simulated, "--budget=15s", "-q", "-o", &format!("searched-{name}")]);
    }
    let turns = ["--load=1kpps", "--duration=2s", "-q", "-o", "turns.jsonl"];
    bench.run(&[&["compare", "--abba", &target, &target][..], &turns].concat());
    // As much of one more trial as a killed run may leave; of a search the result's line is torn.
    for name in ["a.jsonl", "b.jsonl", "searched-a.jsonl", "searched-b.jsonl", "turns.jsonl"] {
        let text = bench.read(name);
        let kept =
            if name.starts_with("searched") { text.trim_end().rfind('\n').unwrap() + 1 } else { text.len() };
        bench.write(name, &format!("{}{{\"line\":\"tri", &text[..kept]));
    }
    for words in [
        &["compare", "a.jsonl", "b.jsonl"][..],
        &["compare", "a.jsonl", "b.jsonl", "--json"],
        &["compare", "turns.jsonl"],
        &["compare", "searched-a.jsonl", "searched-b.jsonl"],
        &["export", "a.jsonl", "--to=csv"],
        &["export", "a.jsonl", "--to=hlog"],
        &["export", "a.jsonl", "--to=openmetrics"],
        &["export", "searched-a.jsonl", "--to=csv"],
        &["report", "a.jsonl"],
        &["report", "searched-a.jsonl"],
        &["fit", "a.jsonl"],
        &["import", "a.jsonl", "-o", "imported.jsonl"],
    ] {
        let record = words[1];
        let before = bench.read(record);
        let ended = bench.run(words);
        assert_eq!(bench.read(record), before, "{words:?}");
        assert!(matches!(ended.code, Some(0 | 1)), "{words:?}: {:?} {}", ended.code, ended.errors);
        let said = format!("{}{}", ended.text, ended.errors).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("cut off"), "{words:?}: {said}");
    }
}

/// A directory with a painter that answers as librsvg's does.
fn painter(bench: &Bench, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = bench.path("bin");
    fs::create_dir_all(&directory).unwrap();
    let program = directory.join("rsvg-convert");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    directory.to_str().unwrap().to_owned()
}

#[test]
fn pictures_are_painted_by_librsvg_drawn_anew_and_written_over_none_that_is_not_ours() {
    let bench = filled();
    let run = |path: &str| {
        let mut report = Command::new(env!("CARGO_BIN_EXE_dropline"));
        report.current_dir(bench.path(".")).env("PATH", path);
        report.args(["report", "a.jsonl", "--png", "pictures"]).output().unwrap()
    };
    // Without the program it is said how to get it, and nothing is left behind.
    let ended = run("/nonexistent");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(4), "{said}");
    assert!(said.contains("librsvg2-bin") && said.contains("--svg"), "{said}");
    assert!(!bench.path("pictures").exists());
    // A program that fails is said to, with its own words.
    let path = painter(&bench, "#!/bin/sh\necho no fonts >&2\nexit 1\n");
    let ended = run(&path);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(4) && said.contains("no fonts"), "{said}");
    // One that paints is given each plot.
    let png = "\\211PNG\\r\\n\\032\\n\\000\\000\\000\\015IHDR\\000\\000\\000\\001\\000\\000\\000\\001\\010\\002\\000\\000\\000\\220wS\\336";
    let path = painter(&bench, &format!("#!/bin/sh\nwhile read -r line; do :; done\nprintf '{png}'\n"));
    for _ in 0..2 {
        let ended = run(&path);
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let picture = bench.path("pictures/loss.png");
    assert!(fs::read(&picture).unwrap().windows(17).any(|part| part == b"drawn by dropline"));
    // A picture of somebody else's stays.
    fs::write(&picture, b"\x89PNG\r\n\x1a\n of a cat").unwrap();
    assert_eq!(run(&path).status.code(), Some(2));
    assert!(fs::read(&picture).unwrap().ends_with(b"of a cat"));
}
