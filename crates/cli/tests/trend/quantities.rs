//! What is followed beside limits of our own searches: delays, losses, comparisons, a reference, results of CSIT.

use crate::command::Bench;
use crate::confirming::CONFIRM;
use crate::made::{aim, at, change, gate, json, list, measured, night, records, text, words};
use serde_json::Value;

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
fn results_of_csit_are_nights_of_a_history() {
    let bench = Bench::new();
    let rates = [1.0, 1.002, 0.998, 1.001, 0.999];
    for index in 0..24_i32 {
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
