//! The histories that records make: what is told of them, once, and what is left out.

#[path = "../command/mod.rs"]
mod command;
mod confirming;
mod made;
mod quantities;

use command::Bench;
use made::{
    aim, at, change, commit, end, flat, gate, json, levels, list, measured, night, nights, records, steps,
    text, words,
};
use serde_json::Value;

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
fn searches_made_one_after_the_other_in_a_minute_have_no_nights() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("nights")).unwrap();
    for number in 0..10 {
        let change = |header: &mut Value| {
            commit(20)(header);
            // As records say it of searches that take two thirds of a second each.
            header["started"] = format!("2026-11-01T02:00:{:02}Z", 2 * number / 3).into();
        };
        bench.write(&format!("nights/tried{number}.jsonl"), &night(20 + number, true, change));
    }
    let found = json(&bench, &["nights"]);
    assert_eq!(list(&list(&found, "series")[0], "points").len(), 10, "{found}");
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
