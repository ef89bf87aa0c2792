//! The histories that records make: what is told of them, once, and what is left out.

mod command;

use command::{Bench, Ended};
use serde_json::Value;
use std::sync::OnceLock;

const SEEDS: usize = 12;

/// Searches of a noisy system whose limit is as high as at first, and of one whose limit fell.
fn searches() -> &'static [[Vec<Value>; SEEDS]; 2] {
    static SEARCHES: OnceLock<[[Vec<Value>; SEEDS]; 2]> = OnceLock::new();
    SEARCHES.get_or_init(|| {
        let bench = Bench::new();
        ["9Mpps", "8Mpps"].map(|capacity| {
            // Of a search whose answer does not stand there is no night.
            let mut found = (1..100).filter_map(|seed| search(&bench, capacity, seed));
            std::array::from_fn(|_| found.next().expect("most searches have an answer"))
        })
    })
}

/// The lines of a record, if its answer stands.
fn search(bench: &Bench, capacity: &str, seed: usize) -> Option<Vec<Value>> {
    let (target, seed) = (format!("sim:noisy?capacity={capacity}&seed={seed}"), seed.to_string());
    let name = format!("{capacity}-{seed}.jsonl");
    let words = [
        "search",
        &target,
        "--seed",
        &seed,
        "-q",
        "--budget=8s",
        "--max-load=12Mpps",
        "--goal=0.5%",
        "-o",
        &name,
    ];
    bench.done(&words);
    let stands = bench.run(&["trend", &name]).code == Some(0);
    stands.then(|| bench.read(&name).lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// When a night was: a day after the one before it.
fn at(night: usize) -> String {
    format!("2026-{:02}-{:02}T01:00:00Z", 1 + night / 28, 1 + night % 28)
}

/// The record of a night, of a service that every night finds under the same address.
fn night(night: usize, fell: bool, change: impl FnOnce(&mut Value)) -> String {
    let mut lines = searches()[usize::from(fell)][night % SEEDS].clone();
    aim(&mut lines, "exec:./service");
    let header = &mut lines[0];
    header["started"] = at(night).into();
    header["environment"]["load_average"] = Value::Null;
    change(header);
    text(&lines)
}

/// Makes it a search of another target.
fn aim(lines: &mut [Value], target: &str) {
    lines
        .iter_mut()
        .filter(|line| line.get("target").is_some())
        .for_each(|line| line["target"] = target.into());
}

/// A directory with as many nights, of which those from `fell` on have a lower limit.
fn nights(bench: &Bench, directory: &str, count: usize, fell: usize) {
    std::fs::create_dir_all(bench.path(directory)).unwrap();
    for index in 0..count {
        bench.write(&format!("{directory}/{index:03}.jsonl"), &night(index, index >= fell, commit(index)));
    }
}

fn commit(index: usize) -> impl FnOnce(&mut Value) {
    move |header| header["environment"]["labels"] = serde_json::json!({ "commit": format!("c{index:03}") })
}

fn json(bench: &Bench, words: &[&str]) -> Value {
    bench.done(&[&["trend", "--json"], words].concat()).json()
}

fn gate(bench: &Bench) -> Ended {
    bench.run(&["trend", "nights", "--fail-if", "regressed"])
}

/// What is told, in one line.
fn flat(ended: &Ended) -> String {
    ended.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn nights_of_one_level_have_no_change_and_do_not_fail() {
    let bench = Bench::new();
    nights(&bench, "nights", 20, 20);
    let ended = gate(&bench);
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    assert!(ended.text.starts_with("STEADY: no limit moved, in 1 history"), "{}", ended.text);
    let found = json(&bench, &["nights"]);
    let series = &list(&found, "series")[0];
    assert_eq!((list(series, "points").len(), list(series, "changes").len()), (20, 0));
    assert!(list(&found, "left_out").is_empty(), "{found}");
}

#[test]
fn a_step_is_told_with_its_night_its_size_and_its_commits_and_fails() {
    let bench = Bench::new();
    nights(&bench, "nights", 24, 14);
    let ended = gate(&bench);
    assert_eq!(ended.code, Some(1), "{}", ended.errors);
    assert!(
        ended.text.starts_with("REGRESSED: the limit of exec:./service for 0.5 % loss fell by 1"),
        "{}",
        ended.text
    );
    let found = json(&bench, &["nights"]);
    let series = &list(&found, "series")[0];
    let [change] = list(series, "changes").as_slice() else { panic!("one change: {series}") };
    assert_eq!((&change["at"], &change["verdict"]), (&at(14).into(), &"regressed".into()));
    let [low, size, high] = ["size_low", "size", "size_high"].map(|key| change[key].as_f64().unwrap());
    assert!(low < 8.0 / 9.0 - 1.0 && 8.0 / 9.0 - 1.0 < high && low < size && size < high, "{change}");
    assert_eq!((&change["suspected"], &change["acknowledged"]), (&false.into(), &false.into()));
    assert_eq!(change["commits"], serde_json::json!(["c013", "c014"]));
    assert!(ended.text.contains("commits c013..c014"), "{}", ended.text);
}

#[test]
fn a_level_of_three_nights_is_suspected_and_does_not_fail() {
    let bench = Bench::new();
    nights(&bench, "nights", 17, 14);
    let ended = gate(&bench);
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    assert!(ended.text.starts_with("SUSPECTED: "), "{}", ended.text);
    assert!(ended.text.contains("measure again now"), "{}", ended.text);
}

#[test]
fn what_is_acknowledged_in_a_history_holds_in_each_of_its_directories() {
    let bench = Bench::new();
    nights(&bench, "nights/2026", 24, 14);
    bench.done(&["history", "index", "nights"]);
    let fails = |directory: &str| bench.run(&["trend", directory, "--fail-if", "regressed"]).code;
    let all = ["nights", "nights/2026", "nights/../nights/2026"];
    assert_eq!(all.map(fails), [Some(1); 3]);
    let found = json(&bench, &["nights/2026"]);
    let name = found["series"][0]["changes"][0]["id"].as_str().unwrap();
    for directory in ["nights", "nights/2026"] {
        bench.done(&["trend", directory, "--acknowledge", name]);
        assert_eq!(all.map(fails), [Some(0); 3], "said of {directory}");
        std::fs::remove_file(bench.path("nights/acknowledged.json")).unwrap();
    }
    // Where it was said before, it stays.
    let beside = "nights/2026/acknowledged.json";
    assert!(!bench.path(beside).exists());
    bench.write(beside, "{\"changes\":[]}");
    bench.done(&["trend", "nights/2026", "--acknowledge", name]);
    assert!(bench.read(beside).contains(name));
    assert_eq!(fails("nights/2026"), Some(0));
}

#[test]
fn an_acknowledged_change_keeps_its_id_and_fails_no_more_and_a_new_one_does() {
    let bench = Bench::new();
    nights(&bench, "nights", 24, 14);
    let id = |found: &Value| list(&list(found, "series")[0], "changes")[0]["id"].clone();
    let before = id(&json(&bench, &["nights"]));
    let name = before.as_str().unwrap();
    let ended = bench.done(&["trend", "nights", "--acknowledge", name, "--fail-if", "regressed"]);
    assert!(ended.text.starts_with("NOTHING NEW"), "{}", ended.text);
    assert!(ended.errors.contains("acknowledged.json"), "{}", ended.errors);
    nights(&bench, "nights", 30, 14);
    assert_eq!(gate(&bench).code, Some(0));
    let later = json(&bench, &["nights"]);
    assert_eq!(id(&later), before, "more nights make no other change of it");
    let known = bench.read("nights/acknowledged.json");
    bench.done(&["trend", "nights", "--acknowledge", name]);
    assert_eq!(bench.read("nights/acknowledged.json"), known, "what is known is not written twice");
    std::fs::remove_file(bench.path("nights/acknowledged.json")).unwrap();
    assert_eq!(gate(&bench).code, Some(1));
}

#[test]
fn searches_that_are_made_again_in_one_night_are_that_night() {
    let bench = Bench::new();
    nights(&bench, "nights", 20, 20);
    for again in 0..5 {
        let change = |header: &mut Value| {
            commit(20)(header);
            header["started"] = format!("{}T02:{again}0:00Z", &at(20)[..10]).into();
        };
        bench.write(&format!("nights/again{again}.jsonl"), &night(20 + again, true, change));
    }
    let ended = gate(&bench);
    assert_eq!(ended.code, Some(0), "one bad night is no level: {}", ended.text);
    let found = json(&bench, &["nights"]);
    assert_eq!(list(&list(&found, "series")[0], "points").len(), 21);
    let why = |left: &Value| left["why"].as_str().unwrap().to_owned();
    let whys: Vec<String> = list(&found, "left_out").iter().map(why).collect();
    assert_eq!(whys.len(), 4, "{whys:?}");
    assert!(whys.iter().all(|why| why.contains("one of 5 of one night")), "{whys:?}");
    // Searches of further commits are nights of their own, however close.
    for (index, again) in (0..5).enumerate() {
        let change = |header: &mut Value| {
            commit(30 + index)(header);
            header["started"] = format!("{}T02:{again}0:00Z", &at(20)[..10]).into();
        };
        bench.write(&format!("nights/again{again}.jsonl"), &night(20 + again, true, change));
    }
    assert_eq!(list(&list(&json(&bench, &["nights"]), "series")[0], "points").len(), 25);
}

#[test]
fn other_targets_machines_and_versions_are_histories_of_their_own() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("nights")).unwrap();
    for index in 0..24 {
        let other = move |header: &mut Value| match index % 4 {
            1 => header["environment"]["cpu"] = "another processor".into(),
            2 => header["environment"]["dropline"] = "0.0.1".into(),
            _ => {}
        };
        let record = night(index, index % 4 == 0, other);
        let record = if index % 4 == 0 { record.replace("exec:./service", "exec:./other") } else { record };
        bench.write(&format!("nights/{index:03}.jsonl"), &record);
    }
    let found = json(&bench, &["nights"]);
    let series = list(&found, "series");
    assert_eq!(series.len(), 4, "{found}");
    assert!(series.iter().all(|series| list(series, "points").len() == 6));
    assert!(series.iter().all(|series| list(series, "changes").is_empty()), "{found}");
    let text = bench.done(&["trend", "nights"]).text;
    assert!(text.starts_with("TOO FEW NIGHTS"), "six nights tell nothing: {text}");
}

#[test]
fn another_kernel_is_a_mark_and_the_level_behind_it_no_news() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("nights")).unwrap();
    for index in 0..24 {
        let kernel = if index < 12 { "Linux 6.1" } else { "Linux 6.6" };
        let record = night(index, index >= 12, |header| header["environment"]["kernel"] = kernel.into());
        bench.write(&format!("nights/{index:03}.jsonl"), &record);
    }
    let ended = gate(&bench);
    assert_eq!(ended.code, Some(0), "{}", ended.text);
    let found = json(&bench, &["nights"]);
    let series = &list(&found, "series")[0];
    assert!(list(series, "changes").is_empty(), "{series}");
    assert_eq!(
        series["marks"],
        serde_json::json!([{ "at": at(12), "text": "kernel Linux 6.1 → Linux 6.6" }])
    );
}

#[test]
fn what_is_no_night_is_left_out_by_name_and_the_others_are_told() {
    let bench = Bench::new();
    nights(&bench, "nights", 10, 10);
    let whole = night(11, false, |_| {});
    let lines: Vec<&str> = whole.lines().collect();
    bench.write("nights/torn.jsonl", &whole[..whole.len() - lines.last().unwrap().len() / 2]);
    bench.write("nights/undated.jsonl", &night(12, false, |header| header["started"] = "yesterday".into()));
    bench.write("nights/text.jsonl", "not a record\n");
    bench.write("nights/notes.txt", "not read\n");
    let found = json(&bench, &["nights", "nights/003.jsonl"]);
    assert_eq!(list(&list(&found, "series")[0], "points").len(), 10, "a file counts once");
    let why = |name: &str| {
        let line =
            list(&found, "left_out").iter().find(|line| line["source"] == format!("nights/{name}.jsonl"));
        line.unwrap_or_else(|| panic!("{name} is not named: {found}"))["why"].as_str().unwrap().to_owned()
    };
    assert_eq!(list(&found, "left_out").len(), 3);
    assert!(why("torn").contains("did not come to its end"));
    assert!(why("undated").contains("is not a date"));
    assert!(!why("text").is_empty());
}

#[test]
fn where_there_is_no_history_the_error_says_what_to_do() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("nights")).unwrap();
    bench.write("nights/broken.json", "");
    let fails = |words: &[&str], code: i32, said: &str| {
        let ended = bench.run(&[&["trend"], words].concat());
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.errors);
        assert!(ended.errors.contains(said), "{words:?}: {}", ended.errors);
        assert!(ended.text.is_empty(), "{words:?}: {}", ended.text);
    };
    fails(&["nights"], 2, "dropline search TARGET --history nights");
    fails(&["missing.jsonl"], 4, "missing.jsonl");
    fails(&[], 2, "DROPLINE_HISTORY");
    nights(&bench, "nights", 10, 10);
    fails(&["nights", "--smallest-effect", "2"], 2, "--smallest-effect");
    fails(&["nights", "--fail-if", "p99>1s"], 2, "regressed");
    fails(&["nights", "--of", "p100"], 2, "p99.9");
    fails(&["nights", "--reference", "sim:other"], 2, "no history of the reference");
    fails(&["nights", "--of", "p99"], 2, "none of what was asked for");
    fails(&["nights", "--acknowledge", "0123"], 2, "none of the changes has the id 0123");
    fails(&["nights", "--html", "nights/000.jsonl"], 2, "exists already");
    bench.write("nights/acknowledged.json", "{\"changes\": [{}]}");
    fails(&["nights"], 4, "acknowledged.json");
}

#[test]
fn the_page_has_the_answer_the_plot_and_the_changes() {
    let bench = Bench::new();
    nights(&bench, "nights", 24, 14);
    let ended = bench.done(&["trend", "nights", "--html", "trend.html"]);
    let page = bench.read("trend.html");
    let (which, by) = ended.text.lines().next().unwrap().split_once("fell by ").unwrap();
    let answer = format!("{which}fell by {}", by.replacen(" %", "\u{a0}%", 1));
    assert!(page.contains(&format!("<title>{answer}</title>")), "{answer}");
    assert!(page.contains("<svg") && page.contains("data-verdict=\"regressed\""), "{page}");
    bench.done(&["trend", "nights", "--html", "trend.html"]);
}

/// The same nights as those of a simulated target, in a history: it can be searched again.
fn nights_of(bench: &Bench, target: &str, count: usize, fell: usize) {
    std::fs::create_dir_all(bench.path("nights")).unwrap();
    for index in 0..count {
        let record = night(index, index >= fell, commit(index)).replace("exec:./service", target);
        bench.write(&format!("nights/{index:03}.jsonl"), &record);
    }
    bench.done(&["history", "index", "nights"]);
}

/// The change of the only history.
fn change(bench: &Bench) -> Value {
    let found = json(bench, &["nights"]);
    let of_target = |series: &&Value| !list(series, "changes").is_empty();
    let series = list(&found, "series").iter().find(of_target).unwrap_or_else(|| panic!("a change: {found}"));
    assert!(list(&found, "left_out").is_empty(), "{found}");
    list(series, "changes")[0].clone()
}

const CONFIRM: [&str; 5] = ["trend", "nights", "--confirm", "--fail-if", "regressed"];

#[test]
fn a_suspected_change_that_fresh_searches_confirm_is_told_and_fails() {
    let bench = Bench::new();
    nights_of(&bench, "sim:noisy?capacity=8Mpps", 17, 14);
    assert_eq!(gate(&bench).code, Some(0), "three nights are suspected");
    let ended = bench.run(&CONFIRM);
    assert_eq!(ended.code, Some(1), "{}{}", ended.text, ended.errors);
    assert!(ended.text.starts_with("REGRESSED: "), "{}", ended.text);
    assert!(ended.text.contains("regressed, confirmed"), "{}", ended.text);
    assert!(ended.text.contains("measured again: "), "{}", ended.text);
    let change = change(&bench);
    let fresh = list(&change["confirmation"], "fresh");
    assert!(!fresh.is_empty() && list(&change["confirmation"], "good").is_empty(), "{change}");
    let confirms = format!("confirms={}", change["id"].as_str().unwrap());
    let listed = bench.done(&["history", "list", "nights", "--label", &confirms, "--json"]).json();
    assert_eq!(list(&listed, "records").len(), 2, "both are filed: {listed}");
    let again = bench.run(&CONFIRM);
    assert_eq!(again.code, Some(1));
    assert!(again.errors.contains("nothing is to be confirmed"), "once is enough: {}", again.errors);
}

#[test]
fn a_change_that_fresh_searches_do_not_confirm_fails_nothing() {
    let bench = Bench::new();
    nights_of(&bench, "sim:noisy?capacity=9Mpps", 24, 14);
    assert_eq!(gate(&bench).code, Some(1), "ten nights say so");
    let ended = bench.run(&CONFIRM);
    assert_eq!(ended.code, Some(0), "{}{}", ended.text, ended.errors);
    assert!(ended.text.contains("not confirmed"), "{}", ended.text);
    assert_eq!(gate(&bench).code, Some(0), "what was measured is not asked again");
}

#[test]
fn what_was_good_is_searched_in_turns_with_what_changed() {
    let bench = Bench::new();
    nights_of(&bench, "sim:noisy?capacity=8Mpps", 17, 14);
    let good = "sim:noisy?capacity=9Mpps";
    let ended = bench.run(&[&CONFIRM[..], &["--abba", good]].concat());
    assert_eq!(ended.code, Some(1), "{}{}", ended.text, ended.errors);
    let at: Vec<usize> = ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
        .iter()
        .map(|turn| ended.errors.find(&format!("{turn}: sim:")).unwrap_or_else(|| panic!("{}", ended.errors)))
        .collect();
    assert!(at.is_sorted(), "{}", ended.errors);
    let change = change(&bench);
    let confirmation = &change["confirmation"];
    assert!(!list(confirmation, "good").is_empty() && !list(confirmation, "fresh").is_empty(), "{change}");
    let size = confirmation["size"].as_f64().unwrap();
    assert!((size - (8.0 / 9.0 - 1.0)).abs() < 0.03, "{change}");
}

#[test]
fn a_record_starts_no_program_to_confirm_itself() {
    let bench = Bench::new();
    nights(&bench, "nights", 17, 14);
    let ended = bench.run(&CONFIRM);
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    assert!(
        ended.errors.contains("start a program") && ended.errors.contains("--target"),
        "{}",
        ended.errors
    );
    let other = bench.run(&[&CONFIRM[..], &["--target", "sim:hard"]].concat());
    assert!(matches!(other.code, Some(2 | 4)), "{}", other.errors);
    // Of another machine nothing can be said here.
    nights_of(&bench, "sim:noisy?capacity=8Mpps", 17, 14);
    for index in 0..17 {
        let name = format!("nights/{index:03}.jsonl");
        let moved = bench.read(&name).replacen("\"cpu\":\"", "\"cpu\":\"another ", 1);
        bench.write(&name, &moved);
    }
    let ended = bench.run(&CONFIRM);
    assert_eq!(ended.code, Some(4), "{}", ended.errors);
    assert!(ended.errors.contains("on another machine"), "{}", ended.errors);
}

#[test]
fn results_of_csit_are_nights_of_a_history() {
    let bench = Bench::new();
    let rates = [1.0, 1.002, 0.998, 1.001, 0.999];
    for index in 0..24 {
        let level = if index < 14 { 2.0e7 } else { 1.9e7 } * (1.0 + 0.001 * f64::from(index % 3));
        let test = serde_json::json!({
            "version": "1.5.1", "passed": index != 5, "test_id": "tests.vpp.perf.l2.64b-1c-eth-l2patch-mrr",
            "start_time": at(index as usize), "dut_type": "vpp", "dut_version": format!("26.02-rc0~{index}-g5a3f1c{index:02}"),
            "tg_type": "trex", "tg_version": "v3.06", "hosts": ["192.0.2.1"], "tags": ["64B", "NIC_Intel-E810CQ"],
            "result": { "type": "mrr", "receive_rate": { "rate": { "values": rates.map(|rate| rate * level), "unit": "pps" } } },
        });
        bench.write(&format!("{index:02}.info.json"), &test.to_string());
    }
    let files: Vec<String> = (0..24).map(|index| format!("{index:02}.info.json")).collect();
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    let added =
        bench.run(&[&["history", "add", "--history", "nights", "--from", "csit"], &words[..]].concat());
    assert_eq!(added.code, Some(4), "one test did not pass: {}", added.errors);
    assert!(added.text.contains("the test did not pass"), "{}", added.text);
    let ended = gate(&bench);
    assert_eq!(ended.code, Some(1), "{}{}", ended.text, ended.errors);
    assert!(ended.text.contains("csit:tests.vpp.perf.l2.64b-1c-eth-l2patch-mrr"), "{}", ended.text);
    let change = change(&bench);
    assert_eq!(change["commits"], serde_json::json!(["5a3f1c13", "5a3f1c14"]));
    let refused = bench.run(&CONFIRM);
    assert!(refused.code == Some(2) && refused.errors.contains("another program"), "{}", refused.errors);
    let listed = bench.done(&["history", "list", "nights", "--json"]).json();
    let file = list(&listed, "records")[0]["file"].as_str().unwrap();
    bench.done(&["report", &format!("nights/{file}"), "--html", "one.html"]);
}

/// Writes a record of each night, all of one target: the one that this says.
fn measured(
    bench: &Bench,
    directory: &str,
    target: &str,
    count: usize,
    words: impl Fn(usize) -> Vec<String>,
) {
    std::fs::create_dir_all(bench.path(directory)).unwrap();
    for index in 0..count {
        let words = words(index);
        bench.done(
            &[&words.iter().map(String::as_str).collect::<Vec<_>>()[..], &["-q", "-o", "one.record"]]
                .concat(),
        );
        let mut lines: Vec<Value> =
            bench.read("one.record").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        std::fs::remove_file(bench.path("one.record")).unwrap();
        if !target.contains(' ') {
            aim(&mut lines, target);
        }
        lines[0]["started"] = at(index).into();
        lines[0]["environment"]["load_average"] = Value::Null;
        bench.write(
            &format!("{directory}/{}-{index:03}.jsonl", target.replace([':', '/', '?'], "-")),
            &text(&lines),
        );
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_percentile_that_rose_is_told_and_fails() {
    let bench = Bench::new();
    measured(&bench, "nights", "sim:queue", 18, |index| {
        let target = if index < 10 { "sim:queue" } else { "sim:queue?capacity=80kpps" };
        words(&["trial", target, "--load=60kpps", "--duration=2s", &format!("--seed={index}")])
    });
    for (quantity, word) in [("p97.5", "p97.5 of delays at 60 kpps"), ("p50", "p50 of delays at 60 kpps")] {
        let told = bench.run(&["trend", "nights", "--of", quantity, "--fail-if", "regressed"]);
        assert_eq!(told.code, Some(1), "{}{}", told.text, told.errors);
        assert!(told.text.contains(&format!("REGRESSED: the {word} of sim:queue rose by")), "{}", told.text);
    }
    let all = json(&bench, &["nights"]);
    let quantities: Vec<&str> =
        list(&all, "series").iter().map(|series| series["quantity"].as_str().unwrap()).collect();
    assert_eq!(quantities, ["delivered", "p50", "p99"]);
    // An index keeps them, and a percentile that it does not keep is read from the records.
    bench.done(
        &[
            &["history", "add", "--history", "h"][..],
            &records(&bench, "nights").iter().map(String::as_str).collect::<Vec<_>>(),
        ]
        .concat(),
    );
    for quantity in ["p50", "p97.5"] {
        let [one, other] = ["nights", "h"].map(|place| json(&bench, &[place, "--of", quantity]));
        assert_eq!(one["series"][0]["changes"], other["series"][0]["changes"], "{quantity}");
    }
}

fn records(bench: &Bench, directory: &str) -> Vec<String> {
    let mut names: Vec<String> = bench
        .path(directory)
        .read_dir()
        .unwrap()
        .map(|entry| format!("{directory}/{}", entry.unwrap().file_name().into_string().unwrap()))
        .collect();
    names.sort();
    names
}

#[test]
fn comparisons_in_turns_are_followed_as_b_against_a() {
    let bench = Bench::new();
    measured(&bench, "nights", "both sim:queue", 9, |index| {
        let words = words(&["compare", "--abba", "sim:queue", "sim:queue", "--load=60kpps", "--duration=4s"]);
        [words, vec![format!("--seed={index}")]].concat()
    });
    let found = json(&bench, &["nights", "--of", "core"]);
    let series = &list(&found, "series")[0];
    assert_eq!((series["quantity"].as_str(), list(series, "points").len()), (Some("core"), 9), "{found}");
    assert!(list(series, "changes").is_empty(), "{found}");
    let level = series["segments"][0]["level"].as_f64().unwrap();
    assert!((level - 1.0).abs() < 0.05, "{level}");
}

#[test]
fn what_the_reference_did_is_taken_out() {
    let bench = Bench::new();
    for (index, target) in [(0, "exec:./service"), (1, "exec:./reference")] {
        std::fs::create_dir_all(bench.path("nights")).unwrap();
        for number in 0..24 {
            let mut lines: Vec<Value> = night(number, number >= 14, |_| {})
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            aim(&mut lines, target);
            bench.write(&format!("nights/{index}-{number:03}.jsonl"), &text(&lines));
        }
    }
    let plain = bench.run(&["trend", "nights", "--fail-if", "regressed"]);
    assert_eq!(plain.code, Some(1), "{}", plain.text);
    let found = json(&bench, &["nights", "--reference", "exec:./reference"]);
    for series in list(&found, "series") {
        let is_reference = series["target"] == "exec:./reference";
        assert_eq!(series["reference"].is_null(), is_reference);
        assert_eq!(list(series, "changes").is_empty(), !is_reference, "{series}");
    }
}

#[test]
fn a_target_that_broke_altogether_regressed() {
    let bench = Bench::new();
    nights(&bench, "nights", 12, 12);
    measured(&bench, "nights", "exec:./broken", 20, |_| {
        words(&[
            "search",
            "sim:hard?capacity=5kpps",
            "--max-trials=40",
            "--min-load=10kpps",
            "--max-load=12Mpps",
            "--goal=0.5%",
        ])
    });
    for index in 0..20 {
        let name = format!("nights/exec-.-broken-{index:03}.jsonl");
        if index >= 12 {
            let text = bench.read(&name).replace("exec:./broken", "exec:./service");
            bench.write(&format!("nights/{index:03}.jsonl"), &text);
        }
        std::fs::remove_file(bench.path(&name)).unwrap();
    }
    let told = bench.run(&["trend", "nights", "--fail-if", "regressed"]);
    assert_eq!(told.code, Some(1), "{}", told.text);
    assert!(told.text.contains("REGRESSED") && told.text.contains("at most"), "{}", told.text);
}

#[test]
fn nights_on_which_a_service_was_away_hide_no_fall() {
    let bench = Bench::new();
    let dead = |number: usize| {
        let words =
            ["search", "sim:hard?capacity=5kpps", "--max-trials=40", "--min-load=10kpps", "--goal=0.5%"];
        bench.done(&[&words[..], &["--max-load=12Mpps", "-q", "-o", "dead.record"]].concat());
        let mut lines: Vec<Value> =
            bench.read("dead.record").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        std::fs::remove_file(bench.path("dead.record")).unwrap();
        aim(&mut lines, "exec:./service");
        lines[0]["started"] = at(number).into();
        lines[0]["environment"]["load_average"] = Value::Null;
        bench.write(&format!("nights/{number:03}.jsonl"), &text(&lines));
    };
    nights(&bench, "nights", 35, 23);
    (14..17).for_each(dead);
    let told = gate(&bench);
    assert_eq!(told.code, Some(1), "{}", told.text);
    assert!(told.text.contains("fell by 1"), "{}", told.text);
    let spikes = &json(&bench, &["nights"])["series"][0]["spikes"];
    assert_eq!(spikes, &serde_json::json!([at(14), at(15), at(16)]));
    // The newest night is told of, and is no level.
    nights(&bench, "nights", 23, 23);
    (23..35)
        .for_each(|number| std::fs::remove_file(bench.path(&format!("nights/{number:03}.jsonl"))).unwrap());
    dead(22);
    let told = gate(&bench);
    assert!(
        told.code == Some(0) && flat(&told).contains("the newest night of exec:./service"),
        "{}",
        told.text
    );
    [20, 21].into_iter().for_each(dead);
    assert!(gate(&bench).text.starts_with("SUSPECTED"), "{}", gate(&bench).text);
}

#[test]
fn newest_searches_that_say_no_limit_are_not_steady() {
    let bench = Bench::new();
    nights(&bench, "nights", 16, 16);
    for index in 12..16 {
        let name = format!("nights/{index:03}.jsonl");
        let mut lines: Vec<Value> =
            bench.read(&name).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = lines.last_mut().unwrap();
        for goal in last["goals"].as_array_mut().unwrap() {
            goal["result"] = "wide".into();
            goal["upper_pps"] = Value::Null;
            goal["median_pps"] = Value::Null;
        }
        bench.write(&name, &text(&lines));
    }
    let told = bench.run(&["trend", "nights", "--fail-if", "regressed"]);
    assert_eq!(told.code, Some(3), "{}{}", told.text, told.errors);
    assert!(told.text.contains("NOT KNOWN: the newest 4 searches of exec:./service"), "{}", told.text);
}

/// Makes a night of one that did not come to its end, as this does.
fn end(bench: &Bench, index: usize, how: impl Fn(&mut Vec<Value>)) {
    let name = format!("nights/{index:03}.jsonl");
    let mut lines: Vec<Value> =
        bench.read(&name).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    how(&mut lines);
    bench.write(&name, &text(&lines));
}

#[test]
fn newest_searches_that_their_target_or_a_signal_ended_are_not_steady() {
    let failed = |lines: &mut Vec<Value>| {
        let result = lines.last_mut().unwrap();
        result["ended_by"] = "target_failed".into();
        let broken = serde_json::json!({ "code": "search_broken", "text": "it ended before it answered" });
        result["caveats"].as_array_mut().unwrap().push(broken);
    };
    let killed = |lines: &mut Vec<Value>| lines.truncate(3);
    for how in [&failed as &dyn Fn(&mut Vec<Value>), &killed] {
        let bench = Bench::new();
        nights(&bench, "nights", 15, 15);
        (12..14).for_each(|index| end(&bench, index, how));
        let other = std::fs::read_to_string(bench.path("nights/014.jsonl")).unwrap();
        std::fs::remove_file(bench.path("nights/014.jsonl")).unwrap();
        assert_eq!(gate(&bench).code, Some(0), "two may be chance");
        bench.write("nights/014.jsonl", &other);
        end(&bench, 14, how);
        let told = gate(&bench);
        assert_eq!(told.code, Some(3), "{}{}", told.text, told.errors);
        assert!(told.text.starts_with("NOT KNOWN: the newest 3 searches of exec:./service"), "{}", told.text);
        assert_eq!(json(&bench, &["nights"])["series"][0]["silent"], 3);
        // A search that confirms a change is no night, and says nothing by its silence.
        (12..15).for_each(|index| {
            end(&bench, index, |lines| {
                lines[0]["environment"]["labels"] = serde_json::json!({ "confirms": "0123456789abcdef" });
            });
        });
        assert_eq!(gate(&bench).code, Some(0));
    }
}

/// Nights whose limits are as high as these say, of the first level.
fn levels(bench: &Bench, directory: &str, levels: &[f64], change: impl Fn(usize, &mut Value)) {
    std::fs::create_dir_all(bench.path(directory)).unwrap();
    for (index, level) in levels.iter().enumerate() {
        let mut lines: Vec<Value> = night(index, false, |header| change(index, header))
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        // Of trials that are not there, none contradicts another limit.
        lines.drain(1..lines.len() - 1);
        let result = lines.last_mut().unwrap();
        (result["trial_seconds"], result["elapsed_s"]) = (0.0.into(), 0.0.into());
        result["loss_curve"] = serde_json::json!([]);
        for goal in result["goals"].as_array_mut().unwrap() {
            goal["outlook"] = Value::Null;
            for key in ["lower_pps", "median_pps", "upper_pps"] {
                goal[key] = goal[key].as_f64().map(|pps| pps * level).into();
            }
        }
        bench.write(&format!("{directory}/{index:03}.jsonl"), &text(&lines));
    }
}

/// So many nights at each of these levels.
fn steps(all: &[(usize, f64)]) -> Vec<f64> {
    all.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count)).collect()
}

#[test]
fn what_came_after_an_acknowledged_fall_is_held_against_the_level_before_it() {
    let bench = Bench::new();
    levels(&bench, "nights", &steps(&[(20, 1.0), (8, 0.7), (20, 0.9)]), |_, _| {});
    let told = gate(&bench);
    assert_eq!(told.code, Some(1));
    assert!(
        flat(&told).contains(", and since ") && flat(&told).contains("lower than before that"),
        "{}",
        told.text
    );
    let found = json(&bench, &["nights"]);
    let series = &found["series"][0];
    let fall = series["changes"][0]["id"].as_str().unwrap();
    bench.done(&["trend", "nights", "--acknowledge", fall]);
    let told = gate(&bench);
    assert_eq!(told.code, Some(1), "{}", told.text);
    assert!(told.text.starts_with("REGRESSED: the limit of exec:./service"), "{}", told.text);
    let line = &list(&json(&bench, &["nights"])["series"][0], "drifts")[0].clone();
    let size = line["size"].as_f64().unwrap();
    assert!(line["behind"] == true && (size + 0.1).abs() < 0.02, "{line}");
    // It has a name of its own, and is known by it alone.
    bench.done(&["trend", "nights", "--acknowledge", line["id"].as_str().unwrap()]);
    assert_eq!(gate(&bench).code, Some(0), "{}", gate(&bench).text);
    std::fs::remove_file(bench.path("nights/acknowledged.json")).unwrap();
    bench.done(&["trend", "nights", "--acknowledge", line["id"].as_str().unwrap()]);
    assert_eq!(gate(&bench).code, Some(1), "the fall is not known by that");
    // What came back is well.
    let bench = Bench::new();
    levels(&bench, "nights", &steps(&[(20, 1.0), (8, 0.7), (20, 1.0)]), |_, _| {});
    let found = json(&bench, &["nights"]);
    bench.done(&[
        "trend",
        "nights",
        "--acknowledge",
        found["series"][0]["changes"][0]["id"].as_str().unwrap(),
    ]);
    assert_eq!(gate(&bench).code, Some(0));
}

#[test]
fn a_change_that_was_not_confirmed_and_is_over_stays_so() {
    let bench = Bench::new();
    nights_of(&bench, "sim:noisy?capacity=9Mpps", 24, 14);
    assert_eq!(bench.run(&CONFIRM).code, Some(0));
    let since = |count: usize, fell: bool| {
        for index in 0..count {
            let record = night(index, fell, |header| {
                commit(200 + index)(header);
                header["started"] = format!("2099-01-{:02}T01:00:00Z", 1 + index).into();
            });
            let record = record.replace("exec:./service", "sim:noisy?capacity=9Mpps");
            bench.write(&format!("nights/after-{index:03}.jsonl"), &record);
        }
    };
    for count in [5, 8, 12] {
        since(count, false);
        let told = gate(&bench);
        assert_eq!(told.code, Some(0), "{count} good nights: {}", told.text);
    }
    // Nights of the same level say that it is there.
    since(12, true);
    assert_eq!(gate(&bench).code, Some(1));
}

#[test]
fn one_limit_that_got_worse_twice_is_not_another_limit() {
    let bench = Bench::new();
    levels(&bench, "nights", &steps(&[(15, 1.0), (15, 0.9), (15, 0.7)]), |_, _| {});
    let told = gate(&bench);
    assert!(flat(&told).contains("and got worse at another time too"), "{}", told.text);
    assert!(!flat(&told).contains("another limit"), "{}", told.text);
}

#[test]
fn a_level_that_moved_with_a_mark_or_another_version_is_not_called_steady() {
    let kernel = |index: usize, header: &mut Value| {
        header["environment"]["kernel"] = if index < 20 { "Linux 6.1" } else { "Linux 6.6" }.into();
    };
    let version = |index: usize, header: &mut Value| {
        header["environment"]["dropline"] = if index < 20 { "0.0.1" } else { "0.0.2" }.into();
    };
    type Change = fn(usize, &mut Value);
    let others: [(Change, &str); 2] = [(kernel, "kernel Linux 6.1"), (version, "dropline 0.0.2")];
    for (change, words) in others {
        let bench = Bench::new();
        levels(&bench, "nights", &steps(&[(20, 1.0), (20, 0.8)]), change);
        let told = gate(&bench);
        assert_eq!(told.code, Some(0), "{}", told.text);
        let first = flat(&told);
        assert!(
            first.starts_with("NOTHING NEW: the limit of exec:./service for 0.5 % loss fell by "),
            "{first}"
        );
        assert!(first.contains(words), "{first}");
        let bench = Bench::new();
        levels(&bench, "nights", &steps(&[(40, 1.0)]), change);
        assert!(gate(&bench).text.starts_with("STEADY"), "{}", gate(&bench).text);
    }
}

#[test]
fn searches_of_one_second_with_other_trials_are_other_searches() {
    let bench = Bench::new();
    nights(&bench, "nights", 12, 12);
    // The same first line, and other trials; and the beginning of a night.
    let mut header = None;
    for (capacity, name) in [("9Mpps", "other"), ("9.02Mpps", "003")] {
        let target = format!("sim:noisy?capacity={capacity}&seed=7");
        let words = ["search", &target, "--seed=7", "-q", "--budget=8s", "--max-load=12Mpps", "--goal=0.5%"];
        bench.done(&[&words[..], &["-o", "one.record"]].concat());
        let mut lines: Vec<Value> =
            bench.read("one.record").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        std::fs::remove_file(bench.path("one.record")).unwrap();
        aim(&mut lines, "exec:./service");
        lines[0]["started"] = at(3).into();
        commit(3)(&mut lines[0]);
        lines[0]["environment"]["load_average"] = Value::Null;
        let header = header.get_or_insert(lines[0].clone());
        lines[0] = header.clone();
        bench.write(&format!("nights/{name}.jsonl"), &text(&lines));
    }
    let cut: Vec<String> = bench.read("nights/005.jsonl").lines().take(4).map(str::to_owned).collect();
    bench.write("nights/cut.jsonl", &format!("{}\n", cut.join("\n")));
    let found = json(&bench, &["nights"]);
    let why = |name: &str| {
        let line =
            list(&found, "left_out").iter().find(|line| line["source"] == format!("nights/{name}.jsonl"));
        line.map(|line| line["why"].as_str().unwrap().to_owned())
    };
    assert!(why("cut").unwrap().contains("the same measurement as nights/005.jsonl"), "{found}");
    // Both are of one night, of which one counts.
    let of_night = [why("003"), why("other")];
    let of_night: Vec<&String> = of_night.iter().flatten().collect();
    assert!(of_night.len() == 1 && of_night[0].contains("one of 2 of one night"), "{of_night:?}");
}

#[test]
fn a_loss_is_judged_by_what_is_lost() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("nights")).unwrap();
    let nights = |lost_after: u64| {
        for index in 0..24 {
            let lost = if index < 13 { 10 + index as u64 % 3 } else { lost_after };
            bench.trial_of("one.record", 100_000 - lost, &format!("[30000,{}]", 100_000 - lost));
            let mut lines: Vec<Value> =
                bench.read("one.record").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            std::fs::remove_file(bench.path("one.record")).unwrap();
            aim(&mut lines, "exec:./service");
            lines[0]["started"] = at(index).into();
            bench.write(&format!("nights/{index:03}.jsonl"), &text(&lines));
        }
        bench.run(&["trend", "nights", "--of", "delivered", "--fail-if", "regressed"])
    };
    let told = nights(1500);
    assert_eq!(told.code, Some(1), "{}{}", told.text, told.errors);
    assert!(told.text.starts_with("REGRESSED: the share that came back"), "{}", told.text);
    assert_eq!(nights(11).code, Some(0));
    // The reverse is better.
    let better = nights(0);
    assert_eq!(better.code, Some(0), "{}", better.text);
    let confirmed = bench.run(&["trend", "nights", "--confirm"]);
    assert!(confirmed.errors.contains("nothing is "), "{}", confirmed.errors);
}

#[test]
fn prune_keeps_the_nights_that_a_verdict_needs() {
    for phase in 0..4 {
        let bench = Bench::new();
        let noise = |index: usize| 1.0 + 0.012 * ((index + 40 * phase) as f64 * 2.4).sin();
        let row: Vec<f64> =
            (0..140).map(|index| noise(index) * if index < 70 { 1.0 } else { 0.965 }).collect();
        levels(&bench, "loose", &row, |_, _| {});
        bench.done(
            &[
                &["history", "add", "--history", "nights"][..],
                &records(&bench, "loose").iter().map(String::as_str).collect::<Vec<_>>(),
            ]
            .concat(),
        );
        let said = || {
            let verdict = change(&bench)["verdict"].clone();
            (gate(&bench).code, verdict)
        };
        let before = said();
        assert_eq!(before, (Some(1), "regressed".into()), "{phase}");
        let pruned = bench.done(&["history", "prune", "nights", "--keep=5", "--yes", "--json"]).json();
        assert!(!list(&pruned, "removed").is_empty(), "{pruned}");
        assert_eq!(said(), before, "{phase}");
    }
}
