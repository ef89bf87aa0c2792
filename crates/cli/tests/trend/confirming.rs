//! A change is measured again before it is told: what fresh searches say is the verdict.

use crate::command::Bench;
use crate::made::{change, commit, gate, list, night, nights, nights_of};

pub(crate) const CONFIRM: [&str; 5] = ["trend", "nights", "--confirm", "--fail-if", "regressed"];

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
