//! Conditions on what was measured: `--fail-if`.

mod command;

use command::Bench;
use serde_json::Value;

#[test]
fn a_condition_knows_the_counts_of_a_trial_and_says_its_value() {
    let bench = Bench::new();
    let trial = |conditions: &[&str]| {
        let mut words = vec![
            "trial",
            "sim:hard?capacity=2Mpps",
            "--load=3Mpps",
            "--duration=1s",
            "-q",
            "-o",
            "-",
            "--json",
        ];
        conditions.iter().for_each(|condition| words.extend(["--fail-if", condition]));
        bench.run(&words)
    };
    let ended = trial(&["lost>0", "load<2Mpps", "forwarded>=3000000", "p99>1s"]);
    assert_eq!(ended.code, Some(1));
    let json = ended.json();
    let failed: Vec<bool> = json["fail_if"]
        .as_array()
        .unwrap()
        .iter()
        .map(|checked| checked["failed"].as_bool().unwrap())
        .collect();
    assert_eq!(failed, [true, false, false, true], "{}", json["fail_if"]);
    assert_eq!(json["fail_if"][0]["condition"], "lost>0");
    assert_eq!(json["fail_if"][0]["value"].as_f64(), json["lost"].as_f64());
    assert_eq!(
        (&json["fail_if"][1]["value"], &json["fail_if"][3]["value"]),
        (&Value::from(3e6), &Value::Null)
    );
    assert!(ended.errors.contains("--fail-if p99>1s: it was not measured"), "{}", ended.errors);
    assert_eq!(trial(&["load<2Mpps", "loss_ratio>=50%"]).code, Some(0));
    let unknown = trial(&["loss>0"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.errors.contains("did you mean \"loss_ratio\"?") && unknown.errors.contains("lower"),
        "{}",
        unknown.errors
    );
    assert_eq!(trial(&["lower<1kpps"]).code, Some(2), "a trial has no limit");
    assert_eq!(trial(&[]).json()["fail_if"], Value::Null);
}

#[test]
fn a_condition_knows_both_ends_of_each_goal() {
    let bench = Bench::new();
    let search = |conditions: &[&str]| {
        let mut words = vec!["search", "sim:hard?capacity=9Mpps", "-q", "-o", "-", "--json"];
        conditions.iter().for_each(|condition| words.extend(["--fail-if", condition]));
        bench.run(&words)
    };
    let passed = search(&["lower<8.9Mpps", "upper[0.5%]>9.2Mpps", "median[0]<8.9Mpps", "load2<8.9Mpps"]);
    assert_eq!(passed.code, Some(0), "{}", passed.errors);
    let json = passed.json();
    assert_eq!(json["fail_if"][0]["value"], json["goals"][0]["lower_pps"], "the lowest of all goals");
    assert_eq!(json["fail_if"][1]["value"], json["goals"][1]["upper_pps"]);
    let failed = search(&["lower[0.5%]<9.02Mpps", "lower[0]<9.02Mpps"]);
    assert_eq!(failed.code, Some(1));
    assert!(
        failed.errors.starts_with("--fail-if lower[0]<9.02Mpps: for no loss it is 8."),
        "{}",
        failed.errors
    );
    assert_eq!(search(&["lost>0"]).code, Some(2), "of which trials?");
}
