//! Searches of a real bottleneck, in network namespaces of the experiment's own.

mod command;

use command::Bench;

#[test]
fn a_token_bucket_behind_a_bridge_is_searched_and_held_against_its_arithmetic() {
    let bench = Bench::new();
    let words = ["experiment", "search-real", "--small", "--only=bucket", "--keep=runs.jsonl", "--json"];
    let ran = bench.run(&words);
    if ran.code == Some(4)
        && (ran.errors.contains("network namespaces") || ran.errors.contains("not installed"))
    {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI cannot build namespaces: {}", ran.errors);
        eprintln!("skipped: {}", ran.errors);
        return;
    }
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    let study = ran.json();
    let rows = study["tables"][0]["rows"].as_array().unwrap();
    let truths: Vec<&str> = rows.iter().map(|row| row[2].as_str().unwrap()).collect();
    assert_eq!(truths, ["9604", "9652"], "no loss, and 0.5 %: {study}");
    assert_eq!(study["tables"][1]["rows"][0][2], "1", "one search: {study}");
    // What was kept is not measured again.
    let again = bench.done(&words).json();
    assert_eq!(again["tables"], study["tables"]);
    assert_eq!(bench.read("runs.jsonl").lines().count(), 1);
}

#[test]
fn a_system_that_is_not_there_is_answered_with_those_that_are() {
    let bench = Bench::new();
    let ran = bench.run(&["experiment", "search-real", "--only=nothing"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.errors.contains("token bucket, scattered service, busy neighbour"), "{}", ran.errors);
}
