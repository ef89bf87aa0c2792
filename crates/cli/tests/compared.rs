//! Two searches compared, and a search held against its baseline.

mod command;

use command::{Bench, Ended, codes};
use serde_json::Value;

/// A search of a noisy system, kept.
fn search(bench: &Bench, name: &str, capacity: &str, seed: u32, more: &[&str]) -> Ended {
    let target = format!("sim:noisy?capacity={capacity}&seed={seed}");
    bench.run(
        &[&["search", &target, "-q", "--budget=15s", "--goal=0", "--goal=0.5%", "-o", name], more].concat(),
    )
}

fn two(bench: &Bench, capacities: [&str; 2]) {
    for ((name, capacity), seed) in ["a.jsonl", "b.jsonl"].into_iter().zip(capacities).zip(1..) {
        assert_eq!(search(bench, name, capacity, seed, &[]).code, Some(0));
    }
}

#[test]
fn a_limit_that_fell_is_a_regression_with_an_interval_of_the_ratio_and_exit_code_1() {
    let bench = Bench::new();
    two(&bench, ["9Mpps", "8Mpps"]);
    let ended = bench.compare(&["--json"]);
    assert_eq!(ended.code, Some(1), "{}", ended.errors);
    let json = ended.json();
    assert_eq!(json["verdict"], "regressed");
    for (goal, loss_ratio) in json["goals"].as_array().unwrap().iter().zip([0.0, 0.005]) {
        assert_eq!(
            (goal["loss_ratio"].as_f64(), &goal["verdict"]),
            (Some(loss_ratio), &Value::from("regressed"))
        );
        let [low, ratio, high] = ["low", "ratio", "high"].map(|key| goal[key].as_f64().unwrap());
        assert!(low < ratio && ratio < high && low < 8.0 / 9.0 && 8.0 / 9.0 < high, "{goal}");
        assert_eq!(goal["level"].as_f64(), Some(0.95));
    }
    let text = bench.compare(&[]).text;
    assert!(text.starts_with("REGRESSED: B takes 1"), "the first line is the answer: {text}");
    let back = bench.run(&["compare", "b.jsonl", "a.jsonl", "--html", "page.html", "--json"]);
    assert_eq!((back.code, &back.json()["verdict"]), (Some(0), &Value::from("improved")));
    assert!(bench.read("page.html").contains("IMPROVED"));
    assert_eq!(bench.compare(&["--smallest-effect", "30%"]).code, Some(0), "that is less than what matters");
}

#[test]
fn searches_of_the_same_thing_are_no_regression() {
    let bench = Bench::new();
    two(&bench, ["9Mpps", "9Mpps"]);
    let ended = bench.compare(&["--json"]);
    assert_eq!(ended.code, Some(0));
    let json = ended.json();
    assert!(["equivalent", "no_evidence"].contains(&json["verdict"].as_str().unwrap()), "{json}");
    assert!(codes(&json).contains(&"not_interleaved"), "{json}");
    assert!(bench.compare(&["--smallest-effect=30%"]).text.starts_with("EQUIVALENT"));
}

#[test]
fn a_limit_beyond_the_range_bounds_the_ratio_on_one_side() {
    let bench = Bench::new();
    let search = |target: &str, name: &str, most: &str| {
        bench.done(&["search", target, "--max-load", most, "--goal=0", "-q", "-o", name]);
    };
    search("sim:hard?capacity=9Mpps", "a.jsonl", "12Mpps");
    search("sim:hard?capacity=9Mpps", "b.jsonl", "8Mpps");
    let json = bench.compare(&["--json"]).json();
    assert_eq!((&json["goals"][0]["ratio"], &json["goals"][0]["high"]), (&Value::Null, &Value::Null));
    assert!((json["goals"][0]["low"].as_f64().unwrap() - 8.0 / 9.0).abs() < 0.01);
    assert_eq!(json["verdict"], "no_evidence");
    let back = bench.run(&["compare", "b.jsonl", "a.jsonl", "--json"]).json();
    assert_eq!((&back["goals"][0]["low"], &back["verdict"]), (&Value::Null, &Value::from("no_evidence")));
    search("sim:hard?capacity=20Mpps", "c.jsonl", "14Mpps");
    let up = bench.done(&["compare", "a.jsonl", "c.jsonl"]).text;
    assert!(
        up.starts_with("IMPROVED: the limit for no loss rose to at least 14.00 Mpps, by at least 55"),
        "{up}"
    );
    let both = bench.done(&["compare", "b.jsonl", "c.jsonl", "--json"]).json();
    assert!(codes(&both).contains(&"beyond_range"), "{both}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_each_is() {
    let bench = Bench::new();
    bench.done(&["search", "sim:hard?capacity=9Mpps", "--goal=0", "-q", "-o", "a.jsonl"]);
    bench.done(&["trial", "sim:hard?capacity=9Mpps", "--load=1Mpps", "-q", "-o", "b.jsonl"]);
    let ended = bench.compare(&[]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.errors.contains("a.jsonl is a search and b.jsonl was made by dropline trial"),
        "{}",
        ended.errors
    );
    assert!(ended.errors.contains("compare two searches"), "{}", ended.errors);
    bench.done(&["search", "sim:hard?capacity=9Mpps", "--goal=1%", "-q", "-o", "c.jsonl"]);
    let ended = bench.run(&["compare", "a.jsonl", "c.jsonl"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.errors.contains("asked for no loss") && ended.errors.contains("the other for 1 % loss"),
        "{}",
        ended.errors
    );
    assert_eq!(bench.run(&["compare", "a.jsonl", "a.jsonl", "--above=1us"]).code, Some(2));
}

#[test]
fn what_else_differs_between_two_searches_is_a_caveat_and_no_error() {
    let bench = Bench::new();
    bench.done(&["search", "sim:hard?capacity=9Mpps", "--goal=0", "--goal=1%", "-q", "-o", "a.jsonl"]);
    let other = ["search", "sim:soft?capacity=9Mpps", "--goal=0,trial=2s,width=1%", "-q", "-o", "b.jsonl"];
    bench.done(&[&other[..], &["--algorithm=mlr", "--arrival=poisson", "--packet=512B"]].concat());
    let json = bench.compare(&["--json"]).json();
    let expected = [
        "bounds_have_no_level",
        "goals_differ",
        "goals_left_out",
        "target_differs",
        "traffic_differs",
        "algorithm_differs",
        "not_interleaved",
    ];
    assert_eq!(codes(&json), expected, "{json}");
    let traffic = json["caveats"][4]["text"].as_str().unwrap();
    assert!(traffic.contains("A constant, B poisson") && traffic.contains("A 64 B, B 512 B"), "{traffic}");
    assert_eq!(json["goals"][0]["level"], Value::Null);
}

#[test]
fn a_search_that_was_killed_is_compared_as_far_as_it_came_and_says_so() {
    let bench = Bench::new();
    two(&bench, ["9Mpps", "4Mpps"]);
    let text = bench.read("b.jsonl");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    bench.write("b.jsonl", &lines[..lines.len() - 1].concat());
    let json = bench.compare(&["--json"]).json();
    assert!(codes(&json).contains(&"unfinished"), "{json}");
    assert!(!codes(&json).contains(&"bounds_have_no_level"), "both are credible: {json}");
    assert_eq!((&json["verdict"], &json["goals"][0]["level"]), (&Value::from("regressed"), &Value::Null));
    bench.write("b.jsonl", lines[0]);
    let ended = bench.compare(&[]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.errors.contains("without a trial"), "{}", ended.errors);
}

#[test]
fn a_limit_that_is_not_known_yet_is_not_said_to_be_beyond_the_loads() {
    let bench = Bench::new();
    for (name, seed) in [("a.jsonl", "1"), ("b.jsonl", "2")] {
        let target = format!("sim:noisy?seed={seed}");
        bench.run(&["search", &target, "-q", "--algorithm=mlr", "--max-trials=1", "--goal=0", "-o", name]);
    }
    let json = bench.compare(&["--json"]).json();
    assert!(codes(&json).contains(&"not_known_yet") && !codes(&json).contains(&"beyond_range"), "{json}");
}

#[test]
fn a_search_is_held_against_its_baseline_and_a_regression_is_exit_code_1() {
    let bench = Bench::new();
    assert_eq!(search(&bench, "main.jsonl", "9Mpps", 1, &[]).code, Some(0));
    let against = ["--baseline", "main.jsonl"];
    let slower = search(&bench, "slower.jsonl", "8Mpps", 2, &[&against[..], &["--json"]].concat());
    assert_eq!(slower.code, Some(1), "{}", slower.errors);
    let json = slower.json();
    assert_eq!(
        (&json["baseline"]["verdict"], &json["algorithm"]),
        (&Value::from("regressed"), &Value::from("credible"))
    );
    assert_eq!(json["baseline"]["a"]["source"], "main.jsonl");
    let same = search(&bench, "same.jsonl", "9Mpps", 3, &against);
    assert_eq!(same.code, Some(0));
    assert!(same.text.contains("against the baseline:"), "{}", same.text);
    let allowed = ["--baseline", "main.jsonl", "--smallest-effect", "30%"];
    assert_eq!(search(&bench, "allowed.jsonl", "8Mpps", 2, &allowed).code, Some(0));
    let resumed = bench.run(&["search", "--resume", "slower.jsonl", "--baseline", "main.jsonl", "-q"]);
    assert_eq!(resumed.code, Some(1), "{}{}", resumed.text, resumed.errors);
    bench.write(
        "s.toml",
        "target = 'sim:noisy?capacity=8Mpps&seed=2'\nbaseline = 'main.jsonl'\nsmallest-effect = '3%'\n",
    );
    let told = ["search", "--scenario", "s.toml", "-q", "-o", "-", "--json"];
    assert_eq!(bench.run(&told).json()["baseline"]["smallest_effect"].as_f64(), Some(0.03));
}

#[test]
fn a_baseline_that_does_not_fit_is_refused_before_the_target_is_touched() {
    let bench = Bench::new();
    bench.done(&["trial", "sim:hard?capacity=9Mpps", "--load=1Mpps", "-q", "-o", "trial.jsonl"]);
    bench.done(&["search", "sim:hard?capacity=9Mpps", "--goal=1%", "-q", "-o", "other.jsonl"]);
    let search = |more: &[&str]| {
        let words = ["search", "exec:touch touched", "--max-load=1Mpps", "--goal=0", "-q", "-o", "-"];
        let ended = bench.run(&[&words[..], more].concat());
        assert!(!bench.path("touched").exists(), "{more:?}");
        ended
    };
    assert_eq!(search(&["--baseline", "missing.jsonl"]).code, Some(4));
    assert!(search(&["--baseline", "trial.jsonl"]).errors.contains("is not a search"));
    assert!(search(&["--baseline", "other.jsonl"]).errors.contains("no goal in common"));
    assert_eq!(search(&["--baseline", "other.jsonl", "--goal=1%", "--repeat=2"]).code, Some(2));
    assert_eq!(search(&["--smallest-effect", "2%"]).code, Some(2), "of what?");
    assert_eq!(search(&["--fail-if", "lower[0.5%]<1kpps"]).code, Some(2));
}

/// A target of 30 kpps that scatters a little; some of its trials, or the first three far below, lose half more, and a late
/// generator says so of all.
const TESTER: &str = r#"import json, random, sys
capacity, bad, seed, late = float(sys.argv[1]), sys.argv[2].split(','), int(sys.argv[3]), len(sys.argv) > 4
chance, paused = random.Random(seed), 0
for line in sys.stdin:
    asked = json.loads(line)
    offered = int(asked['intended_load_pps'] * asked['duration_s'] + 1e-9)
    forwarded = min(offered, int(capacity * (1 + 0.003 * chance.gauss(0, 1)) * asked['duration_s']))
    is_probe = abs(asked['duration_s'] - 0.4) < 1e-6
    paused += is_probe
    if str(asked['trial']) in bad or (is_probe and paused <= bad.count('probe')):
        forwarded //= 2
    answer = dict(intended=offered, offered=offered, forwarded=forwarded, duration_s=asked['duration_s'])
    if late:
        answer['caveats'] = [dict(code='arrivals_not_kept', text='packets left 4 ms late')]
    print(json.dumps(answer), flush=True)
"#;

fn tested(bench: &Bench, name: &str, arguments: &str, more: &[&str]) -> Ended {
    bench.write("tester.py", TESTER);
    let target = format!("exec:python3 tester.py {arguments}");
    bench.run(&[&["search", &target, "--max-load=40kpps", "-q", "-o", name][..], more].concat())
}

#[test]
fn a_comparison_with_a_search_about_its_generator_is_not_valid_and_says_so_first() {
    let bench = Bench::new();
    assert_eq!(tested(&bench, "a.jsonl", "30000 0 1", &[]).code, Some(0));
    let late = tested(&bench, "b.jsonl", "30000 0 2 late", &["--json"]);
    assert_eq!(late.code, Some(3), "no trial was as it was asked for: {}", late.errors);
    assert_eq!(late.json()["goals"][0]["why"], "generator_limited");
    for [one, other] in [["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"]] {
        let ended = bench.run(&["compare", one, other, "--json", "--html", "page.html"]);
        assert_eq!(ended.code, Some(3), "{}", ended.text);
        let json = ended.json();
        assert_eq!(json["verdict"], "no_evidence");
        assert!(json["not_valid"].as_str().unwrap().contains("b.jsonl"), "{json}");
        let text = bench.run(&["compare", one, other]).text;
        assert!(
            text.starts_with("NOT VALID: what b.jsonl says for no loss is about its generator"),
            "{text}"
        );
        assert!(bench.read("page.html").contains("NOT VALID"));
    }
    // Where both are, nothing is said of the range that was searched; and other programs are not called a generator.
    bench.write("d.jsonl", &bench.read("b.jsonl").replace("\"generator_limited\"", "\"target_starved\""));
    let ended = bench.run(&["compare", "d.jsonl", "b.jsonl", "--json"]);
    let json = ended.json();
    let found = codes(&json);
    assert!(ended.code == Some(3) && found.contains(&"target_starved"), "{found:?}");
    assert!(!found.contains(&"beyond_range"), "{found:?}");
    let text = bench.run(&["compare", "d.jsonl", "b.jsonl"]).text;
    let others = "what d.jsonl says for no loss is about other programs, which kept its target from a CPU";
    assert!(text.starts_with(&format!("NOT VALID: {others}")), "{text}");
    let against = tested(&bench, "c.jsonl", "30000 0 3", &["--baseline", "b.jsonl"]);
    assert_eq!(against.code, Some(3), "{}", against.text);
}

#[test]
fn a_pause_of_the_target_is_no_regression_and_never_hides_behind_no_evidence() {
    let bench = Bench::new();
    assert_eq!(tested(&bench, "a.jsonl", "30000 0 1", &[]).code, Some(0));
    // While the search looks far below, whether anything is lost there too.
    // Where every probe far below fails, no lower end is known; where more are met than fail, there is one.
    tested(&bench, "b.jsonl", "30000 probe,probe,probe 2", &[]);
    let ended = bench.compare(&["--json"]);
    let goal = &ended.json()["goals"][0];
    assert_eq!((ended.code, &goal["verdict"]), (Some(0), &Value::from("no_evidence")), "{goal}");
    assert!(goal["doubted"].is_string() && goal["low"].as_f64().is_none_or(|low| low < 1.0), "{goal}");
    std::fs::remove_file(bench.path("b.jsonl")).unwrap();
    tested(&bench, "b.jsonl", "30000 probe,probe 3", &[]);
    let ended = bench.compare(&["--json"]);
    let goal = &ended.json()["goals"][0];
    assert_eq!((ended.code, &goal["verdict"]), (Some(0), &Value::from("no_evidence")), "{goal}");
    let [low, high] = ["low", "high"].map(|key| goal[key].as_f64().unwrap());
    assert!(low < 1.0 && high > 1.0, "A's trials leave no change open: {goal}");
    assert!(goal["doubted"].as_str().unwrap().starts_with("B's answer does not stand"), "{goal}");
    let text = bench.compare(&[]).text;
    assert!(text.contains("moved is not known, for B's answer does not stand"), "{text}");
    assert!(text.contains("doubted, ") && goal["open_b"]["low_pps"].is_f64(), "{goal} {text}");
    // A gate and an exporter know of it what stands, and not the median that does not.
    let open = |end: &str| goal["open_b"][end].as_f64().unwrap_or(0.0);
    let gate = |condition: &str| {
        let resumed = bench.run(&["search", "--resume", "b.jsonl", "-q", "--fail-if", condition, "--json"]);
        let json = resumed.json();
        (json["fail_if"][0]["failed"].as_bool().unwrap(), json["fail_if"][0]["value"].is_null())
    };
    let of = |key: &str, sign: &str, load: f64| format!("{key}{sign}{load}pps");
    for key in ["median", "load", "lower", "upper"] {
        assert_eq!(gate(&of(key, "<", open("high_pps") * 0.99)), (true, true), "{key} may be less");
        assert_eq!(gate(&of(key, "<", open("low_pps") * 0.99)), (false, true), "{key} is more in any case");
    }
    let exported = bench.run(&["export", "b.jsonl", "--to", "openmetrics"]).text;
    assert!(exported.contains("result=\"doubted\""), "{exported}");
    let of_goal = |line: &&str| line.starts_with("dropline_goal_median") && line.contains("goal=\"1\"");
    assert_eq!(exported.lines().find(of_goal), None, "{exported}");
}

#[test]
fn one_bad_trial_that_decides_a_bisection_is_told_and_decides_nothing() {
    let bench = Bench::new();
    let how = ["--algorithm=binary", "--max-load=2Mpps", "--warm-up=0s"];
    let search = |name: &str, arguments: &str| {
        bench.write("tester.py", TESTER);
        let target = format!("exec:python3 tester.py {arguments}");
        bench.run(&[&["search", &target, "-q", "-o", name][..], &how].concat());
    };
    search("a.jsonl", "30000 0 1");
    search("b.jsonl", "30000 8 2");
    let json = bench.compare(&["--json"]).json();
    assert_eq!(json["verdict"], "no_evidence", "{json}");
    assert!(codes(&json).contains(&"bad_moments"), "{json}");
    let doubted = json["goals"][0]["doubted"].as_str().unwrap();
    assert!(doubted.contains("a few bad trials contradict the others"), "{doubted}");
}

#[test]
fn one_measurement_is_not_compared_with_itself_in_silence() {
    let bench = Bench::new();
    assert_eq!(search(&bench, "a.jsonl", "9Mpps", 1, &[]).code, Some(0));
    bench.write("b.jsonl", &bench.read("a.jsonl"));
    for ended in [bench.compare(&["--json"]), bench.run(&["compare", "a.jsonl", "a.jsonl", "--json"])] {
        assert_eq!(codes(&ended.json())[0], "same_data", "{}", ended.text);
        assert!(!codes(&ended.json()).contains(&"not_interleaved"), "there was one time: {}", ended.text);
    }
    assert!(bench.compare(&[]).text.starts_with("SAME DATA: A and B are one measurement"));
    // The same trials, of which one side concludes something else.
    let concluded = bench.read("a.jsonl");
    let (trials, result) = concluded.trim_end().rsplit_once('\n').unwrap();
    let mut result: Value = serde_json::from_str(result).unwrap();
    for goal in result["goals"].as_array_mut().unwrap() {
        for load in ["lower_pps", "median_pps", "upper_pps"] {
            goal[load] = Value::from(goal[load].as_f64().unwrap() * 0.95);
        }
    }
    bench.write("b.jsonl", &format!("{trials}\n{result}\n"));
    let ended = bench.compare(&["--json"]);
    let json = ended.json();
    assert_eq!((ended.code, &json["verdict"]), (Some(0), &Value::from("no_evidence")), "{json}");
    for goal in json["goals"].as_array().unwrap() {
        assert_eq!((&goal["verdict"], &goal["ratio"]), (&Value::from("no_evidence"), &Value::Null), "{goal}");
    }
    let text = bench.compare(&[]).text;
    assert!(text.starts_with("SAME DATA") && !text.contains("regressed"), "{text}");
    bench.trial_of("c.jsonl", 100_000, "[30000,50000],[900000,50000]");
    let ended = bench.run(&["compare", "c.jsonl", "c.jsonl"]);
    let json = bench.run(&["compare", "c.jsonl", "c.jsonl", "--json"]).json();
    assert_eq!(json["verdict"], "no_evidence");
    assert!(!codes(&json).contains(&"not_interleaved"), "{json}");
    assert!(
        ended.text.starts_with("SAME DATA") && ended.text.contains("number for number"),
        "{}",
        ended.text
    );
}

#[test]
fn an_outage_is_told_with_its_time_and_length_and_nothing_is_steady_beside_it() {
    let bench = Bench::new();
    let slices: Vec<String> = (0..40)
        .map(|number| {
            let forwarded = if (12..16).contains(&number) { 0 } else { 2500 };
            format!(r#"{{\"duration_s\":0.25,\"offered\":2500,\"forwarded\":{forwarded}}}"#)
        })
        .collect();
    let answer = format!(
        r#"{{\"intended\":100000,\"offered\":100000,\"forwarded\":90000,\"duration_s\":10.0,\"slices\":[{}]}}"#,
        slices.join(",")
    );
    let target = format!(r#"exec:sh -c 'read line; echo "{answer}"'"#);
    let words = ["trial", &target, "--load=10kpps", "--duration=10s", "-q", "-o", "r.jsonl"];
    let text = bench.run(&words).text;
    assert!(
        text.contains("an outage of 1 s after 3 s: 10 000 of 10 000 packets did not come back"),
        "{text}"
    );
    let json = bench.run(&[&words[..6], &["-", "--json"]].concat()).json();
    let outage = json["caveats"].as_array().unwrap().iter().find(|one| one["code"] == "outage").unwrap();
    assert_eq!(
        (outage["at_ns"].as_u64(), outage["for_ns"].as_u64()),
        (Some(3_000_000_000), Some(1_000_000_000))
    );
}

#[test]
fn a_walk_that_strays_is_no_evidence_that_anything_changed() {
    let bench = Bench::new();
    // Both sides are one process, whose events follow the one before: where each happens to be is chance.
    let (mut state, mut level) = (1u64, 0.0);
    for name in ["a.txt", "b.txt"] {
        let values: Vec<String> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                level = 0.999 * level + (state >> 40) as f64 / f64::from(1 << 24) - 0.5;
                format!("{:.2}\n", 1000.0 + 10.0 * level)
            })
            .collect();
        bench.write(name, &values.concat());
    }
    let ended = bench.run(&["compare", "a.txt", "b.txt", "--json"]);
    let json = ended.json();
    assert_eq!((ended.code, &json["verdict"]), (Some(0), &Value::from("no_evidence")), "{json}");
    assert!(codes(&json).contains(&"dependent_events"), "{json}");
}

#[test]
fn bisections_of_a_target_that_loses_by_chance_are_no_regression_and_those_of_a_steady_one_may_be() {
    let bench = Bench::new();
    let search = |target: &str, seed: &str, name: &str| {
        bench.done(&["search", target, "--seed", seed, "--algorithm=binary", "-q", "-o", name]);
    };
    search("sim:gradual?capacity=9Mpps&seed=3002", "3002", "a.jsonl");
    search("sim:gradual?capacity=9Mpps&seed=3003", "3003", "b.jsonl");
    let json = bench.compare(&["--json"]).json();
    assert_eq!(json["verdict"], "no_evidence", "{json}");
    for algorithm in ["binary", "mdr", "mlr"] {
        let of = |capacity: &str| {
            let (target, name) =
                (format!("sim:hard?capacity={capacity}"), format!("{algorithm}-{capacity}.jsonl"));
            bench.done(&["search", &target, "--algorithm", algorithm, "-q", "-o", &name]);
            name
        };
        let ended = bench.run(&["compare", &of("9Mpps"), &of("6300kpps")]);
        assert_eq!(ended.code, Some(1), "{algorithm}: {}", ended.text);
    }
}

#[test]
fn a_search_for_a_bounded_delay_is_held_against_its_baseline_by_the_same_goal() {
    let bench = Bench::new();
    let search = |capacity: &str, goal: &str, more: &[&str]| {
        let target = format!("sim:queue?capacity={capacity}&seed={}", more.len() + 1);
        bench.run(&[&["search", &target, "-q", "--budget=20s", "--goal", goal], more].concat())
    };
    assert_eq!(search("100kpps", "p99<200us", &["-o", "main.jsonl"]).code, Some(0));
    let against = ["--baseline", "main.jsonl", "-o", "-"];
    let slower = search("50kpps", "p99<200us", &against);
    let text = slower.text.replace(['\u{a0}', '\u{202f}'], " ");
    assert_eq!(slower.code, Some(1), "{} {}", slower.text, slower.errors);
    assert!(text.contains("REGRESSED") && text.contains("p99 < 200 us"), "{text}");
    assert!(text.contains("reaches 200 us at") && !text.contains("drops above"), "{text}");
    let json = search("50kpps", "p99<200us", &[&against[..], &["--json"]].concat()).json();
    assert_eq!(
        json["baseline"]["goals"][0]["of_b"]["within_s"].as_f64(),
        Some(200e-6),
        "{}",
        json["baseline"]
    );
    // The same share of another bound is another question.
    for other in ["p99<300us", "1%"] {
        let refused = search("100kpps", other, &against);
        assert_eq!(refused.code, Some(2), "{other}: {}", refused.text);
        assert!(
            refused.errors.contains("no goal in common") && refused.errors.contains("p99 < 200 us"),
            "{}",
            refused.errors
        );
    }
}
