//! Records that lie in a history: each once, whole, and listed, whatever happens to the programs that file them.

mod command;
mod nights;

use command::{Bench, Ended};
use nights::{add, is_whole, listed, night, nights, records};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Instant;

#[test]
fn a_record_is_filed_by_its_date_and_one_that_is_added_twice_is_one() {
    let bench = Bench::new();
    let names = nights(&bench, 2);
    let told = add(&bench, &[&names[0], &names[1], &names[0]]).json();
    let words: Vec<&str> =
        told.as_array().unwrap().iter().map(|line| line["added"].as_str().unwrap()).collect();
    assert_eq!(words, ["new", "new", "known"]);
    let file = told[0]["file"].as_str().unwrap();
    assert!(file.starts_with("2026/03/01/20260301-000000-sim-noisy-") && file.ends_with(".jsonl"), "{file}");
    assert_eq!(bench.read(&format!("nights/{file}")), night(0));
    assert_eq!(bench.read("0.jsonl"), night(0), "what is added stays where it is");
    let piped = Command::new(env!("CARGO_BIN_EXE_dropline"))
        .args(["history", "add", "-", "--history", "nights", "--json"])
        .current_dir(bench.path(""))
        .stdin(std::fs::File::open(bench.path("1.jsonl")).unwrap())
        .output()
        .unwrap();
    assert_eq!(Ended::from(piped).json()[0]["added"], "known");
    assert_eq!(listed(&bench, &[]).len(), 2);
    is_whole(&bench);
}

#[test]
fn what_is_not_a_record_or_not_at_its_end_is_refused_with_the_reason() {
    let bench = Bench::new();
    bench.write("foreign.jsonl", "{\"a\":1}\n");
    let whole = night(0);
    let begun: String = whole.lines().take(5).map(|line| format!("{line}\n")).collect();
    bench.write("begun.jsonl", &begun);
    bench.write("whole.jsonl", &whole);
    let told = add(&bench, &["foreign.jsonl", "begun.jsonl", "missing.jsonl"]);
    assert_eq!(told.code, Some(4));
    let lines = told.json();
    let why = |index: usize| lines[index]["why"].as_str().unwrap().to_owned();
    assert!(why(0).contains("foreign.jsonl"), "{}", why(0));
    assert!(why(1).contains("did not come to its end") && why(1).contains("--unfinished"), "{}", why(1));
    assert!(why(2).contains("No such file") || why(2).contains("there is no"), "{}", why(2));
    assert!(listed(&bench, &[]).is_empty());
    // Its beginning, then all of it, then its beginning once more: all of it is kept.
    for (file, word, finished) in
        [("begun.jsonl", "new", false), ("whole.jsonl", "completed", true), ("begun.jsonl", "known", true)]
    {
        let told = add(&bench, &["--unfinished", file]).json();
        assert_eq!(told[0]["added"], word, "{file}");
        let listed = listed(&bench, &[]);
        assert_eq!((listed.len(), &listed[0]["finished"]), (1, &Value::Bool(finished)));
    }
    assert_eq!(records(&bench.path("nights")).into_values().collect::<Vec<_>>(), [whole]);
    is_whole(&bench);
}

#[test]
fn a_program_that_is_killed_while_it_adds_loses_no_record_and_leaves_none_half() {
    const KILLS: usize = 220;
    let bench = Bench::new();
    let names = nights(&bench, KILLS);
    let began = Instant::now();
    add(&bench, &[&names[0]]);
    let whole_time = began.elapsed();
    let mut known = records(&bench.path("nights"));
    for (number, name) in names.iter().enumerate() {
        let mut adding = bench
            .command(&["history", "add", name, "--history", "nights"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Each moment of an add, in no order.
        std::thread::sleep(whole_time * u32::try_from(number * 89 % KILLS).unwrap() / KILLS as u32);
        adding.kill().unwrap();
        adding.wait().unwrap();
        let now = records(&bench.path("nights"));
        assert!(
            known.iter().all(|(file, text)| now.get(file) == Some(text)),
            "a record is lost, or another one"
        );
        assert!(now.len() <= known.len() + 1);
        assert!(now.values().all(|text| text.ends_with('\n') && text.len() == night(0).len()));
        let index = bench.read("nights/index.jsonl");
        assert!(
            index.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()) && index.ends_with('\n')
        );
        known = now;
    }
    // A record that was filed is listed, also where its line is missing.
    assert_eq!(listed(&bench, &[]).len(), known.len());
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(add(&bench, &all).code, Some(0));
    let mut kept: Vec<String> = records(&bench.path("nights")).into_values().collect();
    let mut added: Vec<String> = (0..KILLS).map(night).collect();
    kept.sort();
    added.sort();
    assert!(kept == added, "{} records of {KILLS}", kept.len());
    is_whole(&bench);
    let index = bench.run(&["history", "index", "nights"]);
    assert_eq!(index.code, Some(0));
    let left = std::fs::read_dir(bench.path("nights/2026/03/01")).unwrap();
    let left = left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "what was being written is removed by the next that makes the index");
}

#[test]
fn two_programs_that_add_at_once_lose_no_record() {
    const EACH: usize = 200;
    let bench = Bench::new();
    let names = nights(&bench, 2 * EACH - EACH / 2);
    // Half of the records are added by both.
    let mine = [&names[..EACH], &names[EACH / 2..]];
    std::thread::scope(|scope| {
        for files in mine {
            let bench = &bench;
            std::thread::Builder::new()
                .spawn_scoped(scope, move || {
                    files.iter().for_each(|file| assert_eq!(add(bench, &[file]).code, Some(0)))
                })
                .unwrap();
        }
    });
    assert_eq!(records(&bench.path("nights")).len(), names.len());
    assert_eq!(bench.read("nights/index.jsonl").lines().count(), names.len());
    is_whole(&bench);
}

#[test]
fn a_disk_that_is_full_leaves_a_history_as_it_was() {
    let bench = Bench::new();
    let names = nights(&bench, 3);
    add(&bench, &[&names[0]]);
    let (kept, index) = (records(&bench.path("nights")), bench.read("nights/index.jsonl"));
    // So many blocks of 512 bytes fit into a file, from none to all but the last of the record.
    let blocks = night(1).len() / 512;
    for limit in [0, 1, 2, blocks / 2, blocks - 1] {
        let command = format!(
            "ulimit -f {limit}; exec '{}' history add 1.jsonl --history nights",
            env!("CARGO_BIN_EXE_dropline")
        );
        let told = Command::new("sh").args(["-c", &command]).current_dir(bench.path("")).output().unwrap();
        let told = Ended::from(told);
        assert_eq!(told.code, Some(4), "{limit}: {} {}", told.text, told.errors);
        assert_eq!(
            (records(&bench.path("nights")), bench.read("nights/index.jsonl")),
            (kept.clone(), index.clone())
        );
    }
    assert_eq!(add(&bench, &[&names[1]]).code, Some(0));
    is_whole(&bench);
}

#[test]
fn measurements_file_themselves_and_a_search_that_is_resumed_is_one_record() {
    let bench = Bench::new();
    bench.done(&["search", "sim:noisy", "-q", "--max-trials=4", "--history", "nights"]);
    bench.done(&["trial", "sim:soft", "--load=1kpps", "-q", "--history", "nights"]);
    bench.done(&[
        "compare",
        "--abba",
        "sim:queue",
        "sim:queue?seed=8",
        "--load=1kpps",
        "--duration=10s",
        "-q",
        "--history",
        "nights",
    ]);
    bench.write("search.toml", "history = \"nights\"\nmax-trials = 4\n");
    bench.done(&["search", "sim:hard", "-q", "--scenario", "search.toml"]);
    let mut by_environment =
        bench.command(&["search", "sim:soft", "-q", "--max-trials=4", "-o", "both.jsonl"]);
    assert!(by_environment.env("DROPLINE_HISTORY", "nights").output().unwrap().status.success());
    assert!(bench.read("both.jsonl").starts_with('{'), "-o and a history: both");
    let mut nowhere = bench.command(&["search", "sim:soft", "-q", "--max-trials=4", "-o", "-"]);
    assert!(nowhere.env("DROPLINE_HISTORY", "nights").output().unwrap().status.success());
    let refused = bench.run(&["search", "sim:soft", "--history", "nights", "-o", "-"]);
    assert!(
        refused.code == Some(2) && refused.errors.contains("leave one of them out"),
        "{}",
        refused.errors
    );
    let all = listed(&bench, &[]);
    let of =
        |target: &str| all.iter().filter(|line| line["target"].as_str().unwrap().contains(target)).count();
    assert_eq!((all.len(), of("sim:hard")), (5, 1), "{all:?}");
    assert!(
        std::fs::read_dir(bench.path(""))
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().starts_with("dropline-") })
    );
    is_whole(&bench);
    // The same record with more trials: one line, the new one.
    let first = listed(&bench, &["--kind=search", "--target=noisy"]).remove(0);
    let path = format!("nights/{}", first["file"].as_str().unwrap());
    bench.done(&["search", "--resume", &path, "-q", "--max-trials=9"]);
    let again = listed(&bench, &["--kind=search", "--target=noisy"]);
    assert_eq!(again.len(), 1);
    assert_ne!(again[0]["sha256"], first["sha256"]);
    is_whole(&bench);
}

#[test]
fn a_list_has_what_was_asked_for_and_fits_the_terminal() {
    let bench = Bench::new();
    let names = nights(&bench, 60);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    add(&bench, &all);
    let count = |more: &[&str]| listed(&bench, more).len();
    assert_eq!(count(&["--since=2026-03-02", "--until=2026-03-02"]), 24);
    assert_eq!(count(&["--since=2026-03-03T05:00:00Z"]), 7);
    assert_eq!((count(&["--target=noisy"]), count(&["--target=soft"]), count(&["--kind=trial"])), (60, 0, 0));
    assert_eq!((count(&["--goal=0.5%"]), count(&["--goal=0"]), count(&["--label=commit=1"])), (60, 0, 0));
    let wrong = bench.run(&["history", "list", "nights", "--since", "yesterday"]);
    assert!(wrong.code == Some(2) && wrong.errors.contains("is not a date"), "{}", wrong.errors);
    let text = bench.done(&["history", "list", "nights"]).text;
    assert!(text.split_whitespace().take(2).eq(["60", "records"]), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let unnamed = bench.run(&["history", "list"]);
    assert!(unnamed.code == Some(2) && unnamed.errors.contains("DROPLINE_HISTORY"), "{}", unnamed.errors);
}

#[test]
fn an_index_of_somebody_else_is_never_written_over() {
    let bench = Bench::new();
    let names = nights(&bench, 1);
    std::fs::create_dir_all(bench.path("nights")).unwrap();
    bench.write("nights/index.jsonl", "{\"mine\":1}\n");
    bench.write("nights/night.jsonl", &night(0));
    let resumed = ["search", "--resume", "nights/night.jsonl", "-q", "--max-trials=40"];
    for words in [
        &["history", "list", "nights"][..],
        &["history", "index", "nights"],
        &["search", "sim:soft", "--history", "nights"],
    ] {
        let refused = bench.run(words);
        assert!(
            refused.code == Some(2) && refused.errors.contains("is not the index of a history"),
            "{}",
            refused.errors
        );
    }
    assert_eq!(add(&bench, &[&names[0]]).code, Some(2));
    bench.done(&resumed);
    assert_eq!(bench.read("nights/index.jsonl"), "{\"mine\":1}\n");
}

#[test]
fn a_trend_reads_a_history_by_its_index_and_finds_what_it_finds_in_the_files() {
    let bench = Bench::new();
    let names = nights(&bench, 10);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    add(&bench, &all);
    let by_index = bench.done(&["trend", "nights", "--json"]).json();
    std::fs::rename(bench.path("nights/index.jsonl"), bench.path("index")).unwrap();
    let by_files = bench.done(&["trend", "nights", "--json"]).json();
    assert_eq!(by_index, by_files);
    // By the index alone: the records are unreadable, and as long as they were.
    std::fs::rename(bench.path("index"), bench.path("nights/index.jsonl")).unwrap();
    for (file, text) in records(&bench.path("nights")) {
        bench.write(&format!("nights/{file}"), &"x".repeat(text.len()));
    }
    assert_eq!(bench.done(&["trend", "nights", "--json"]).json(), by_index);
    let checked = bench.run(&["history", "index", "nights", "--check"]);
    assert!(
        checked.code == Some(1) && checked.text.contains("does not say what the records say"),
        "{}",
        checked.text
    );
}

#[test]
fn records_go_only_when_that_is_said_and_the_newest_of_a_series_stays() {
    let bench = Bench::new();
    let names = nights(&bench, 48);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    add(&bench, &all);
    let prune = |more: &[&str]| bench.run(&[&["history", "prune", "nights", "--json"], more].concat());
    assert_eq!(prune(&[]).code, Some(2), "nothing says what goes");
    let said = prune(&["--older-than=2026-03-02"]).json();
    assert_eq!((said["done"].as_bool(), said["removed"].as_array().unwrap().len()), (Some(false), 24));
    assert_eq!(listed(&bench, &[]).len(), 48, "it only says it");
    // One flag that keeps is enough.
    assert_eq!(
        prune(&["--older-than=2026-03-02", "--keep=30"]).json()["removed"].as_array().unwrap().len(),
        18
    );
    let known = listed(&bench, &[]).remove(3);
    bench.write("nights/acknowledged.json", &acknowledged(&bench, known["started"].as_str().unwrap()));
    let done = prune(&["--keep-days=1", "--yes"]).json();
    let stays: Vec<&str> =
        done["kept"].as_array().unwrap().iter().map(|line| line["why"].as_str().unwrap()).collect();
    let rests = "a change that is acknowledged rests on it";
    assert_eq!(stays, [rests, rests, "it is the newest of its series"]);
    assert_eq!((listed(&bench, &[]).len(), records(&bench.path("nights")).len()), (3, 3));
    is_whole(&bench);
}

/// That a change at one night of the only series is known.
fn acknowledged(bench: &Bench, at: &str) -> String {
    let series = bench.done(&["trend", "nights", "--json"]).json()["series"][0]["id"].clone();
    serde_json::json!({"changes": [{"id": "1", "series": series, "rises": true, "at_low": at, "at_high": at}]}).to_string()
}

#[test]
fn a_table_of_a_history_has_a_row_for_each_goal() {
    let bench = Bench::new();
    bench.done(&["search", "sim:noisy", "-q", "--max-trials=30", "--history", "nights"]);
    bench.done(&["trial", "sim:soft", "--load=1kpps", "-q", "--history", "nights"]);
    let rows = bench.done(&["history", "export", "nights", "--to", "jsonl"]).text;
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let goals: Vec<&Value> = rows.iter().map(|row| &row["goal"]).collect();
    assert_eq!(goals, [&Value::from("no loss"), &Value::from("0.5 % loss"), &Value::Null]);
    bench.done(&["history", "export", "nights", "-o", "nights.csv"]);
    let table = bench.read("nights.csv");
    assert!(table.starts_with("started,kind,target,finished,goal,") && table.lines().count() == 4, "{table}");
    let again = bench.run(&["history", "export", "nights", "-o", "nights.csv"]);
    assert!(again.code == Some(2) && again.errors.contains("exists already"), "{}", again.errors);
}

#[test]
fn the_times_of_packets_come_and_go_with_their_record() {
    let bench = Bench::new();
    let service = bench.serve(&[]);
    bench.done(&["trial", &service.target(), "--load=1kpps", "--duration=1s", "-q", "-o", "t.jsonl"]);
    let told = add(&bench, &["t.jsonl"]).json();
    let path = format!("nights/{}", told[0]["file"].as_str().unwrap());
    assert_eq!(
        std::fs::read(bench.path(&format!("{path}.packets"))).unwrap(),
        std::fs::read(bench.path("t.jsonl.packets")).unwrap()
    );
    bench.done(&["explain", &path]);
    let later = night(0).replace("2026-03-01T00:00:00Z", "2036-03-01T00:00:00Z");
    bench.write("later.jsonl", &later);
    add(&bench, &["later.jsonl"]);
    // Another kind is another series: the trial is the newest of its own, and stays.
    let said =
        bench.done(&["history", "prune", "nights", "--older-than=2030-01-01", "--yes", "--json"]).json();
    assert_eq!(said["removed"].as_array().unwrap().len(), 0, "{said}");
    // The same trial of a later day: one that is made again may lack its delays on a busy machine, and then stands for less.
    let lines = bench.read("t.jsonl");
    let began = lines.split_once("\"started\":\"").unwrap().1.split('"').next().unwrap();
    bench.write("again.jsonl", &lines.replace(began, "2037-03-01T00:00:00Z"));
    add(&bench, &["again.jsonl"]);
    let pruned = bench.done(&["history", "prune", "nights", "--keep=1", "--yes", "--json"]).json();
    assert_eq!(pruned["removed"].as_array().unwrap().len(), 1, "{pruned}");
    assert!(!bench.path(&path).exists() && !bench.path(&format!("{path}.packets")).exists());
}
