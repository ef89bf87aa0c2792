//! Two trials compared: their delays, and what did not come back.

mod command;

use command::{Bench, codes};
use serde_json::Value;

#[test]
fn a_target_that_loses_its_slow_packets_is_no_improvement() {
    let bench = Bench::new();
    assert_eq!(bench.trial_of("a.jsonl", 100_000, "[30000,50000],[900000,50000]").code, Some(0));
    assert_eq!(bench.trial_of("b.jsonl", 49_000, "[30000,49000]").code, Some(0));
    let ended = bench.compare(&["--json", "--html", "page.html"]);
    assert_eq!(ended.code, Some(1), "{}", ended.text);
    let json = ended.json();
    assert_eq!(json["verdict"], "regressed");
    let loss = &json["loss"];
    assert_eq!((&loss["verdict"], loss["lost_b"].as_u64()), (&Value::from("regressed"), Some(51_000)));
    assert!(loss["low"].as_f64().unwrap() > 0.5 && loss["high"].as_f64().unwrap() < 0.52, "{loss}");
    assert_eq!((&json["core"]["lost_of_b"], &json["core"]["of_b"]), (&Value::Bool(true), &Value::Null));
    assert!(bench.read("page.html").contains("<title>Regressed: B loses 51"), "loss comes first");
    let text = bench.compare(&[]).text;
    assert!(text.starts_with("REGRESSED") && text.contains("30 → lost"), "{text}");
    assert!(!text.contains("lost us") && !text.contains("lost\u{a0}us"), "what is lost has no unit: {text}");
    assert_eq!(bench.run(&["compare", "b.jsonl", "a.jsonl"]).code, Some(0), "the reverse is better");
}

#[test]
fn faster_and_lossier_is_traded_and_fails_unless_so_much_loss_is_allowed() {
    let bench = Bench::new();
    bench.trial_of("a.jsonl", 100_000, "[30000,50000],[31000,50000]");
    bench.trial_of("b.jsonl", 99_700, "[20000,50000],[21000,49700]");
    let ended = bench.compare(&["--json"]);
    assert_eq!((ended.code, &ended.json()["verdict"]), (Some(1), &Value::from("traded")));
    let text = bench.compare(&[]).text;
    assert!(text.starts_with("TRADED") && text.contains("more is lost"), "{text}");
    let allowed = bench.compare(&["--json", "--more-loss", "0.5%"]);
    assert_eq!((allowed.code, &allowed.json()["verdict"]), (Some(0), &Value::from("improved")));
}

#[test]
fn trials_of_other_loads_and_targets_are_compared_with_a_caveat_and_other_quantities_are_not() {
    let bench = Bench::new();
    let trial = |target: &str, load: &str, name: &str| {
        bench.done(&["trial", target, load, "--duration=1s", "-q", "-o", name]);
    };
    trial("sim:queue", "--load=50kpps", "a.jsonl");
    trial("sim:queue", "--load=90kpps", "b.jsonl");
    let said = |name: &str| {
        let json = bench.run(&["compare", "a.jsonl", name, "--json"]).json();
        codes(&json).into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    assert!(said("b.jsonl").contains(&"load_differs".into()), "{:?}", said("b.jsonl"));
    let text = bench.run(&["compare", "a.jsonl", "b.jsonl"]).text;
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("load: A 50"), "{text}");
    trial("sim:queue?capacity=90kpps", "--load=50kpps", "c.jsonl");
    assert!(
        said("c.jsonl").contains(&"target_differs".into())
            && !said("c.jsonl").contains(&"load_differs".into())
    );
    trial("sim:queue", "--load=50kpps", "same.jsonl");
    assert!(!said("same.jsonl").iter().any(|code| code.ends_with("_differs")), "{:?}", said("same.jsonl"));
    let kinds = ["round_trip", "one_way", "passage"].map(|kind| format!("\"delay_kind\":\"{kind}\""));
    let late = kinds
        .iter()
        .fold(bench.read("b.jsonl"), |text, kind| text.replace(kind, "\"delay_kind\":\"lateness\""));
    bench.write("late.jsonl", &late);
    let refused = bench.run(&["compare", "a.jsonl", "late.jsonl"]);
    assert_eq!(refused.code, Some(2), "{}{}", refused.text, refused.errors);
    assert!(refused.errors.contains("times of different things"), "{}", refused.errors);
}

#[test]
fn a_target_that_answers_nothing_any_more_is_compared_too() {
    let bench = Bench::new();
    bench.trial_of("a.jsonl", 100_000, "[30000,100000]");
    bench.trial_of("b.jsonl", 0, "");
    let ended = bench.compare(&["--json"]);
    assert_eq!(
        (ended.code, &ended.json()["verdict"]),
        (Some(1), &Value::from("regressed")),
        "{}",
        ended.errors
    );
}

#[test]
fn what_is_not_known_of_the_target_neither_fails_nor_passes_it() {
    let bench = Bench::new();
    let answer = r#"{\"intended\":100000,\"offered\":40000,\"forwarded\":30000,\"duration_s\":1.0,\"delay_ns_histogram\":[[30000,30000]],\"caveats\":[{\"code\":\"generator_limited\",\"text\":\"it fell behind\"}]}"#;
    let target = format!(r#"exec:sh -c 'read line; echo "{answer}"'"#);
    let trial = |name: &str, more: &[&str]| {
        bench.run(
            &[&["trial", &target, "--load=100kpps", "--duration=1s", "-q", "-o", name][..], more].concat(),
        )
    };
    let ended = trial("b.jsonl", &["--fail-if", "lost>0", "--json"]);
    assert_eq!(ended.code, Some(3), "not valid comes before failed: {}", ended.errors);
    let held = &ended.json()["fail_if"][0];
    assert_eq!((&held["failed"], &held["valid"]), (&Value::Bool(true), &Value::Bool(false)));
    bench.trial_of("a.jsonl", 100_000, "[30000,100000]");
    let compared = bench.compare(&["--json"]);
    assert_eq!(compared.code, Some(3), "{}", compared.errors);
    assert!(codes(&compared.json()).contains(&"generator_limited"));
}

#[test]
fn turns_of_what_has_no_delays_end_with_the_first_and_say_what_can_be_compared() {
    let bench = Bench::new();
    let words = ["compare", "--abba", "sim:noisy", "sim:soft", "--load=100kpps", "--duration=600s"];
    let ended = bench.run(&[&words[..], &["-o", "ab.jsonl"]].concat());
    assert_eq!(ended.code, Some(4), "{}{}", ended.text, ended.errors);
    assert!(
        ended.errors.contains("have no delays") && ended.errors.contains("two searches"),
        "{}",
        ended.errors
    );
    assert_eq!(bench.read("ab.jsonl").matches("\"line\":\"trial\"").count(), 1);
}

#[test]
fn a_record_of_turns_has_its_verdict_in_markdown_too() {
    let bench = Bench::new();
    let words =
        ["compare", "--abba", "sim:queue", "sim:queue?capacity=20kpps", "--load=10kpps", "--duration=4s"];
    let ended = bench.run(&[&words[..], &["-q", "-o", "turns.jsonl"]].concat());
    let verdict = ended.text.split_whitespace().next().expect("a verdict").trim_end_matches(':').to_owned();
    let said = bench.done(&["report", "turns.jsonl", "--markdown"]).text;
    assert!(said.starts_with(&format!("**{verdict}")), "{verdict}: {said}");
    assert!(said.contains("| trial 1, A, sim:queue |"), "{said}");
    assert!(!said.contains("Whether they differ is said by"), "{said}");
}
