//! What holds of a history whatever became of its directory: nothing in it is invisible, nothing counts twice, and nothing
//! that a later night needs is removed.

mod command;
mod nights;

use command::Bench;
use nights::{add, is_whole, listed, night, nights, records};
use serde_json::Value;
use std::os::unix::fs::symlink;

/// A history of the first so many nights.
fn history(count: usize) -> Bench {
    let bench = Bench::new();
    let names = nights(&bench, count);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(add(&bench, &names).code, Some(0));
    bench
}

fn left_out(bench: &Bench) -> Vec<[String; 2]> {
    let told = bench.done(&["history", "list", "nights", "--json"]).json();
    let lines = told["left_out"].as_array().unwrap().clone();
    lines.iter().map(|line| ["source", "why"].map(|name| line[name].as_str().unwrap().to_owned())).collect()
}

/// The files that go.
fn pruned(bench: &Bench, more: &[&str]) -> Vec<String> {
    let told = bench.done(&[&["history", "prune", "nights", "--json"], more].concat()).json();
    told["removed"].as_array().unwrap().iter().map(|line| line["file"].as_str().unwrap().to_owned()).collect()
}

/// The night with something of its header changed.
fn changed(number: usize, change: impl FnOnce(&mut Value)) -> String {
    let text = night(number);
    let (header, rest) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    change(&mut header);
    format!("{header}\n{rest}")
}

/// The beginning of a night: it did not come to its end.
fn begun(number: usize) -> String {
    night(number).lines().take(3).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_search_that_is_refused_leaves_no_record() {
    let bench = Bench::new();
    let refused = bench.run(&["search", "sim:soft", "--goal", "p99<200us", "--history", "nights", "-q"]);
    assert!(refused.code == Some(2) && refused.errors.contains("bounds the delay"), "{}", refused.errors);
    let listed = bench.done(&["history", "list", "nights", "--json"]).json();
    assert_eq!(listed["records"].as_array().unwrap().len(), 0, "{listed}");
    assert_eq!(listed["left_out"].as_array().unwrap().len(), 0, "{listed}");
}

#[test]
fn a_link_to_a_directory_elsewhere_is_told_and_nothing_is_filed_behind_it() {
    let bench = history(2);
    let night = bench.path("nights/2026/03/01");
    std::fs::rename(&night, bench.path("elsewhere")).unwrap();
    symlink("../../../elsewhere", &night).unwrap();
    assert!(listed(&bench, &[]).is_empty());
    let [[source, why]] = &left_out(&bench)[..] else { panic!("the link is told") };
    assert!(source == "2026/03/01" && why.contains("link to a directory"), "{source}: {why}");
    let trend = bench.run(&["trend", "nights"]);
    assert!(trend.errors.contains("link to a directory"), "{}", trend.errors);
    let told = add(&bench, &["0.jsonl"]);
    assert_eq!((told.code, told.json()[0]["added"].as_str()), (Some(4), Some("refused")));
    // A search is told before it measures anything, and leaves nothing there.
    std::fs::remove_dir_all(bench.path("nights/2026")).unwrap();
    symlink("../elsewhere", bench.path("nights/2026")).unwrap();
    let year = std::fs::read_dir(bench.path("elsewhere")).unwrap().count();
    for more in [&[][..], &["-o", "own.jsonl"]] {
        let words = ["search", "sim:soft", "-q", "--max-trials=3", "--history", "nights"];
        // Whatever the year is.
        let now = bench.path("nights").join(dropline_archive::clock::now_utc().split('-').next().unwrap());
        let _ = symlink("../elsewhere", now);
        let refused = bench.run(&[&words[..], more].concat());
        assert!(
            refused.code == Some(4) && refused.errors.contains("nothing is filed there"),
            "{}",
            refused.errors
        );
    }
    assert_eq!(std::fs::read_dir(bench.path("elsewhere")).unwrap().count(), year);
    assert!(!bench.path("own.jsonl").exists());
}

#[test]
fn a_link_to_a_directory_of_the_history_itself_makes_no_record_two() {
    let bench = history(2);
    std::fs::rename(bench.path("nights/2026"), bench.path("nights/archive")).unwrap();
    symlink("archive", bench.path("nights/2026")).unwrap();
    symlink("..", bench.path("nights/archive/up")).unwrap();
    let words = |name: &str| add(&bench, &[name]).json()[0]["added"].as_str().unwrap().to_owned();
    nights(&bench, 3);
    assert_eq!([words("0.jsonl"), words("2.jsonl"), words("2.jsonl")], ["known", "new", "known"]);
    bench.done(&["search", "sim:soft", "-q", "--max-trials=3", "--history", "nights"]);
    assert_eq!((listed(&bench, &[]).len(), records(&bench.path("nights")).len()), (4, 4));
    assert!(left_out(&bench).is_empty());
    is_whole(&bench);
}

#[test]
fn a_series_of_prune_is_a_series_of_trend() {
    let bench = history(3);
    // Another profile, for fewer nights, and before the others.
    for number in [0, 1] {
        let small = |header: &mut Value| header["profile"]["drain_s"] = 2.5.into();
        bench.write(&format!("small-{number}.jsonl"), &changed(number, small));
    }
    assert_eq!(add(&bench, &["small-0.jsonl", "small-1.jsonl"]).code, Some(0));
    let series = |bench: &Bench| {
        let told = bench.done(&["trend", "nights", "--json"]).json();
        let all = told["series"].as_array().unwrap().clone();
        all.iter().map(|line| line["points"].as_array().unwrap().len()).collect::<Vec<_>>()
    };
    let before = series(&bench);
    assert_eq!(before.iter().sum::<usize>(), 5);
    assert_eq!(before.len(), 2, "two profiles are two histories: {before:?}");
    assert_eq!(pruned(&bench, &["--keep=2"]).len(), 1);
    assert_eq!(pruned(&bench, &["--older-than=2030-01-01", "--yes"]).len(), 3);
    assert_eq!(series(&bench), [1, 1], "each history has its newest night still");
}

#[test]
fn a_record_without_an_end_takes_no_place_of_one_that_has_it() {
    let bench = history(2);
    for number in [2, 3, 4] {
        bench.write("begun.jsonl", &begun(number));
        assert_eq!(
            add(&bench, &["--unfinished", "begun.jsonl"]).json()[0]["added"].as_str(),
            Some("new"),
            "{number}"
        );
    }
    let newest = listed(&bench, &[])[1]["file"].as_str().unwrap().to_owned();
    assert_eq!(pruned(&bench, &["--keep=2"]).len(), 1, "of those without an end, the oldest");
    let going = pruned(&bench, &["--keep=1"]);
    assert!(going.len() == 3 && !going.contains(&newest), "{going:?}");
    assert_eq!(pruned(&bench, &["--older-than=2030-01-01", "--yes"]).len(), 4);
    let left = listed(&bench, &[]);
    assert_eq!((left.len(), left[0]["file"].as_str()), (1, Some(newest.as_str())));
    assert_eq!(left[0]["finished"], true);
}

#[test]
fn copies_of_a_record_are_one_night() {
    let bench = history(3);
    let before = bench.done(&["trend", "nights", "--json"]).json()["series"].clone();
    let file = listed(&bench, &[])[2]["file"].as_str().unwrap().to_owned();
    for copy in ["copy.jsonl", "bak.jsonl"] {
        std::fs::copy(bench.path(&format!("nights/{file}")), bench.path(&format!("nights/{copy}"))).unwrap();
    }
    assert_eq!(listed(&bench, &[]).len(), 3);
    let told = left_out(&bench);
    let why = format!("it is the same record as {file}");
    assert_eq!(told, [["bak.jsonl".to_owned(), why.clone()], ["copy.jsonl".into(), why]]);
    assert_eq!(bench.done(&["trend", "nights", "--json"]).json()["series"], before);
    assert_eq!(bench.done(&["history", "index", "nights", "--json"]).json()["records"], 3);
    is_whole(&bench);
    // By the files, beside the history, and where one of them has more of the same measurement.
    bench.write("2.jsonl", &night(2).lines().take(5).map(|line| format!("{line}\n")).collect::<String>());
    let told = bench.done(&["trend", "2.jsonl", "1.jsonl", "nights", "--json"]).json();
    let nights = told["series"][0]["points"].as_array().unwrap().len();
    assert_eq!((nights, told["series"].as_array().unwrap().len()), (3, 1));
    std::fs::remove_file(bench.path("nights/index.jsonl")).unwrap();
    assert_eq!(
        bench.done(&["trend", "nights", "--json"]).json()["series"][0]["points"].as_array().unwrap().len(),
        3
    );
    // The copies of a record go with it.
    bench.write("newer.jsonl", &changed(5, |_| {}));
    add(&bench, &["newer.jsonl"]);
    assert_eq!(pruned(&bench, &["--keep=1", "--yes"]).len(), 5);
    assert_eq!(listed(&bench, &[]).len(), 1);
    assert_eq!(records(&bench.path("nights")).len(), 1);
}

#[test]
fn a_damaged_index_is_made_anew_and_told_and_refuses_no_search() {
    let bench = history(2);
    let index = bench.read("nights/index.jsonl");
    let zeros = "\0".repeat(4096);
    for damaged in [
        format!("<<<<<<< HEAD\n{index}"),
        format!("\u{feff}{index}"),
        format!("{zeros}{index}"),
        index[200..].to_owned(),
        "{\"x\":1}\n".to_owned(),
        "[]".to_owned(),
        zeros.clone(),
    ] {
        let begins: String = damaged.chars().take(12).collect();
        bench.write("nights/index.jsonl", &damaged);
        assert_eq!(listed(&bench, &[]).len(), 2, "{begins:?}");
        let trend = bench.done(&["trend", "nights"]);
        assert!(trend.errors.contains("is damaged"), "{begins:?}: {}", trend.errors);
        let told = add(&bench, &["0.jsonl"]);
        assert_eq!((told.code, told.json()[0]["added"].as_str()), (Some(0), Some("known")), "{begins:?}");
        assert!(told.errors.contains("nights/index.jsonl is damaged"), "{begins:?}: {}", told.errors);
        assert_eq!(bench.read("nights/index.jsonl"), index, "{begins:?}");
    }
    bench.write("nights/index.jsonl", "{\"x\":1}\n");
    let words = ["search", "sim:soft", "-q", "--max-trials=3", "--history", "nights"];
    let searched = bench.done(&words);
    assert!(searched.errors.contains("is damaged"), "{}", searched.errors);
    assert_eq!(bench.read("nights/index.jsonl.damaged"), "{\"x\":1}\n", "what could not be read is kept");
    assert_eq!(listed(&bench, &[]).len(), 3);
    assert!(bench.done(&words).errors.is_empty(), "it is told once");
    is_whole(&bench);
}

#[test]
fn a_search_that_is_refused_files_nothing() {
    let bench = Bench::new();
    bench.write("yesterday.jsonl", &night(0));
    bench.write("begun.jsonl", &begun(1));
    bench.write("text.jsonl", "mine\n");
    let refused = |words: &[&str]| {
        let told = bench.run(&[words, &["-q", "--history", "nights"]].concat());
        assert_ne!(told.code, Some(0), "{words:?}");
        assert!(!told.errors.contains("the record is kept"), "{words:?}: {}", told.errors);
        assert!(listed(&bench, &[]).is_empty(), "{words:?}");
    };
    for file in ["yesterday.jsonl", "begun.jsonl", "text.jsonl"] {
        refused(&["search", "sim:soft", "--max-trials=3", "-o", file]);
        refused(&["trial", "sim:soft", "--load=1kpps", "-o", file]);
    }
    refused(&["search", "sim:hard", "--resume", "begun.jsonl"]);
    bench.done(&["search", "--resume", "begun.jsonl", "-q", "--max-trials=40", "--history", "nights"]);
    assert_eq!(listed(&bench, &[]).len(), 1, "one that is resumed is filed");
}

#[test]
fn both_nights_of_a_change_that_is_acknowledged_stay() {
    let bench = history(30);
    let all = listed(&bench, &[]);
    let at = all[12]["started"].as_str().unwrap();
    let series = bench.done(&["trend", "nights", "--json"]).json()["series"][0]["id"].clone();
    let known = serde_json::json!({"changes": [
        {"id": "1", "series": series, "rises": false, "at_low": at, "at_high": at}
    ]});
    bench.write("nights/acknowledged.json", &known.to_string());
    assert_eq!(pruned(&bench, &["--keep=2", "--yes"]).len(), 26);
    let left: Vec<Value> = listed(&bench, &[]).into_iter().map(|line| line["started"].clone()).collect();
    let stay: Vec<Value> = [11, 12, 28, 29].map(|index: usize| all[index]["started"].clone()).into();
    assert_eq!(left, stay);
}

#[test]
fn nights_of_a_change_that_nobody_has_acknowledged_stay() {
    let bench = Bench::new();
    let names = nights::changed(&bench, 20, 20);
    add(&bench, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let gate = || bench.run(&["trend", "nights", "--fail-if", "regressed"]).code;
    assert_eq!(gate(), Some(1));
    assert!(!pruned(&bench, &["--keep=5", "--yes"]).is_empty());
    assert_eq!(gate(), Some(1), "what nobody knows of is told still");
}

#[test]
fn the_index_goes_on_saying_what_was_filed_of_a_record_that_lost_something() {
    let bench = history(2);
    let file = listed(&bench, &[])[0]["file"].as_str().unwrap().to_owned();
    let text = bench.read(&format!("nights/{file}"));
    bench.write(&format!("nights/{file}"), &text[..text.len() - 300]);
    bench.done(&["search", "sim:soft", "-q", "--max-trials=3", "--history", "nights"]);
    let checked = bench.run(&["history", "index", "nights", "--check", "--json"]);
    assert_eq!((checked.code, &checked.json()["changed"]), (Some(1), &serde_json::json!([file])));
    assert_eq!(listed(&bench, &[])[0]["finished"], false, "what is listed is what is there");
    // It is mended by what was added.
    assert_eq!(add(&bench, &["0.jsonl"]).json()[0]["added"].as_str(), Some("completed"));
    is_whole(&bench);
}

#[test]
fn who_waits_for_a_lock_says_so_and_ends_by_a_signal_with_its_record_kept() {
    let bench = history(2);
    let lock = std::fs::File::options().write(true).open(bench.path("nights/.index.jsonl.lock")).unwrap();
    lock.lock().unwrap();
    let words = ["search", "sim:soft", "-q", "--max-trials=3", "--history", "nights"];
    let mut command = bench.command(&words);
    command.stdout(std::process::Stdio::null()).stderr(std::fs::File::create(bench.path("said")).unwrap());
    let mut child = command.spawn().unwrap();
    command::wait_for_lines(&bench.path("said"), 1);
    assert!(
        bench.read("said").contains("is held by another program: waiting for it"),
        "{}",
        bench.read("said")
    );
    command::interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(lock);
    let listed = listed(&bench, &[]);
    let kept = listed.iter().filter(|line| line["target"] == "sim:soft").count();
    assert_eq!((listed.len(), kept), (3, 1), "the record is there without the index");
}

#[test]
fn what_looks_like_a_record_and_is_not_read_is_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = history(1);
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.jsonl");
    std::fs::write(bench.path("nights").join(name), night(1)).unwrap();
    bench.write("nights/UP.JSONL", &night(2));
    symlink("nowhere", bench.path("nights/dangling.jsonl")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("nights/a.jsonl")).unwrap();
    let told: Vec<String> = left_out(&bench).into_iter().map(|[source, _]| source).collect();
    assert_eq!(told, ["UP.JSONL", "a.jsonl", "bad\u{fffd}.jsonl", "dangling.jsonl"]);
    // Nor is an index opened that is not a file.
    std::fs::remove_file(bench.path("nights/index.jsonl")).unwrap();
    let _index = std::os::unix::net::UnixListener::bind(bench.path("nights/index.jsonl")).unwrap();
    assert_eq!(bench.run(&["history", "list", "nights"]).code, Some(2));
}
