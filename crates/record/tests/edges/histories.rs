//! What is told of a history: what moved, what is silent, and what its index is.

use dropline_record::{
    Environment, Header, IndexedGoal, Injected, News, Quantity, Reindexed, SeriesLine, Trends, VerdictWord,
    measured_by,
};
use serde_json::{Value, json};

fn change(verdict: &str, suspected: bool, acknowledged: bool) -> Value {
    json!({
        "id": "c", "at": "2026-11-03", "at_low": "2026-11-03", "at_high": "2026-11-04", "size": -0.1, "size_low": -0.12,
        "size_high": -0.08, "verdict": verdict, "suspected": suspected, "acknowledged": acknowledged, "by_chance": 0.001,
        "commits": [null, null],
    })
}

fn drift(verdict: &str, acknowledged: bool) -> Value {
    json!({
        "id": "d", "from": "2026-11-01", "to": "2026-11-09", "size": 0.2, "size_low": 0.1, "size_high": 0.3,
        "verdict": verdict, "acknowledged": acknowledged,
    })
}

fn series(changes: &[Value], drifts: &[Value], silent: u64) -> SeriesLine {
    serde_json::from_value(json!({
        "id": "s", "target": "sim:hard", "quantity": "limit", "loss_ratio": 0.0, "goal": "no loss",
        "load_unit": "packets", "machine": "m", "dropline": "0.1.0", "points": [], "changes": changes, "drifts": drifts,
        "spikes": [], "marks": [], "segments": [], "silent": silent, "widths": "used", "scatter": null, "likeness": null,
    }))
    .unwrap()
}

fn trends(series: Vec<SeriesLine>) -> Trends {
    Trends { series, smallest_effect: 0.02, estimator: "so".into(), left_out: Vec::new() }
}

#[test]
fn a_history_has_regressed_by_what_nobody_acknowledged_and_is_not_suspected_alone() {
    for (change, has_regressed) in [
        (change("regressed", false, false), true),
        (change("regressed", true, false), false),
        (change("regressed", false, true), false),
        (change("improved", false, false), false),
    ] {
        let all = trends(vec![series(&[], &[], 0), series(std::slice::from_ref(&change), &[], 0)]);
        assert_eq!(all.has_regressed(), has_regressed, "{change}");
    }
    for (drift, has_regressed) in [
        (drift("regressed", false), true),
        (drift("regressed", true), false),
        (drift("improved", false), false),
    ] {
        assert_eq!(trends(vec![series(&[], std::slice::from_ref(&drift), 0)]).has_regressed(), has_regressed);
    }
}

#[test]
fn news_are_changes_and_drifts_that_nobody_acknowledged_each_with_when_it_was() {
    let one = series(
        &[change("improved", true, false), change("improved", false, true)],
        &[drift("regressed", false), drift("regressed", true)],
        0,
    );
    assert!(one.has_changed() && series(&[], &[drift("improved", true)], 0).has_changed());
    assert!(series(&[change("improved", false, true)], &[], 0).has_changed());
    assert!(!series(&[], &[], 9).has_changed());
    let expected = [
        News { since: None, at: "2026-11-03", size: -0.1, verdict: VerdictWord::Improved, suspected: true },
        News {
            since: Some("2026-11-01"),
            at: "2026-11-09",
            size: 0.2,
            verdict: VerdictWord::Regressed,
            suspected: false,
        },
    ];
    assert_eq!(one.news().collect::<Vec<_>>(), expected);
}

#[test]
fn three_searches_without_a_limit_one_after_another_are_silence() {
    let silent =
        |silent: &[u64]| trends(silent.iter().map(|count| series(&[], &[], *count)).collect()).is_silent();
    assert!(silent(&[0, 3]) && silent(&[4, 0]));
    assert!(!silent(&[2, 2]) && !silent(&[]));
}

#[test]
fn of_limits_and_what_is_delivered_more_is_better_and_of_delays_less() {
    for (word, more_is_better) in
        [("limit", true), ("delivered", true), ("p99.9", false), ("core", false), ("high_percentile", false)]
    {
        let quantity: Quantity = serde_json::from_value(json!(word)).unwrap();
        assert_eq!(quantity.more_is_better(), more_is_better, "{word}");
        assert_eq!(
            (quantity.to_string(), serde_json::to_value(quantity).unwrap()),
            (word.into(), json!(word))
        );
    }
    let unknown = serde_json::from_value::<Quantity>(json!("p101")).unwrap_err();
    assert!(unknown.to_string().contains("\"p101\" is not a quantity"));
}

#[test]
fn an_index_is_as_it_was_where_nothing_came_changed_or_went() {
    let some = || vec!["a.jsonl".to_owned()];
    assert!(Reindexed { records: 3, ..Reindexed::default() }.is_as_it_was());
    for other in [
        Reindexed { added: some(), ..Reindexed::default() },
        Reindexed { changed: some(), ..Reindexed::default() },
        Reindexed { gone: some(), ..Reindexed::default() },
    ] {
        assert!(!other.is_as_it_was(), "{other:?}");
    }
}

#[test]
fn a_history_follows_the_limit_else_the_end_that_is_known() {
    let followed = |limit: Option<f64>, bound: Option<f64>| {
        let goal: IndexedGoal = serde_json::from_value(json!({
            "goal": "no loss", "lower_pps": null, "median_pps": null, "upper_pps": null, "result": "wide", "level": null,
            "limit_pps": limit, "bound_pps": bound, "why_not": null, "asked": super::goal(),
        }))
        .unwrap();
        goal.followed_pps()
    };
    assert_eq!((followed(Some(2.0), Some(3.0)), followed(None, Some(3.0))), (Some(2.0), Some(3.0)));
    assert_eq!(followed(None, None), None);
}

#[test]
fn an_injection_is_of_files_where_rounds_crossed_no_probe() {
    let of = |probe: Option<&str>, rounds| {
        Injected { probe: probe.map(str::to_owned), rounds, ..Injected::default() }.is_of_files()
    };
    assert_eq!((of(None, 1), of(None, 0), of(Some("rx"), 1)), (true, false, false));
}

#[test]
fn one_process_measures_or_agents_by_their_words() {
    let by = |on: Option<&str>| Header { on: on.map(str::to_owned), ..super::header() }.measured_by();
    assert_eq!((by(None), by(Some("west=2"))), ("one process".into(), "agents west=2".into()));
    assert_eq!(
        (measured_by(None), measured_by(Some("local:2"))),
        ("one process".into(), "agents local:2".into())
    );
}

#[test]
fn a_machine_is_said_by_its_processor_how_many_it_has_and_what_it_runs_on() {
    let known = Environment {
        cpu: Some("Xeon".into()),
        cpus: Some(2),
        virtualization: Some("kvm".into()),
        ..Environment::default()
    };
    assert_eq!(known.machine(), "Xeon, 2 CPUs, kvm");
    assert_eq!(Environment::default().machine(), "unknown, unknown CPUs");
}
