//! Whether an answer is one that its trials allow, and what a search that was cut off knew.

use super::{against, answered, changed, goal, record};
use dropline_record::{BoundsLine, CurveLine, DelayAtLine, Purpose, Record, ResultWord};
use serde_json::{Value, json};

#[test]
fn a_search_that_was_cut_off_knew_what_its_last_trial_with_bounds_says() {
    let mut cut = record(&[(100, 0), (200, 20), (150, 0)]);
    let bounds = |lower_valid, upper_valid| BoundsLine {
        lower_pps: Some(100.0),
        lower_valid,
        upper_pps: Some(200.0),
        upper_valid,
        median_pps: Some(120.0),
    };
    let known = |record: &Record| {
        let answers = record.answers().unwrap();
        assert!(
            answers.iter().all(|answer| answer.result == ResultWord::Irregular && answer.is_unfinished())
        );
        assert!(answers.iter().all(|answer| answer.median_pps.is_none() && answer.goal == goal()));
        answers.into_iter().map(|answer| (answer.lower_pps, answer.upper_pps)).collect::<Vec<_>>()
    };
    assert_eq!(known(&cut), [(None, None)]);
    cut.trials[0].bounds = vec![bounds(true, true)];
    cut.trials[1].bounds = vec![bounds(true, false)];
    assert_eq!(
        known(&cut),
        [(Some(100.0), None)],
        "the last one has no bounds, and the upper one was not borne out"
    );
    cut.trials[2].bounds = vec![bounds(false, true)];
    assert_eq!(known(&cut), [(None, Some(200.0))]);
    assert_eq!(cut.to_object()["goals"][0]["upper_pps"], 200.0);
    cut.header.search.as_mut().unwrap().goals.push(goal());
    assert_eq!(known(&cut), [(None, Some(200.0)), (None, None)], "nothing is known of the other goal");
    cut.header.search = None;
    assert_eq!(cut.answers(), None);
    assert_eq!(cut.to_object().get("goals"), None);
}

#[test]
fn a_search_that_ended_answers_what_its_result_says() {
    let whole = answered(&[(100, 0), (200, 20)], &regular(100.0, 200.0));
    assert_eq!(whole.answers().unwrap()[0].result, ResultWord::Regular);
    assert_eq!(whole.to_object()["goals"][0]["result"], "regular");
}

fn regular(lower: f64, upper: f64) -> Value {
    json!({ "result": "regular", "lower_pps": lower, "upper_pps": upper })
}

#[test]
fn a_regular_answer_is_as_narrow_as_was_asked_for_and_no_wider() {
    let trials = [(100, 0), (200, 20)];
    let width = |width: f64| {
        let mut record = answered(&trials, &regular(100.0, 200.0));
        record.header.search.as_mut().unwrap().goals[0].width = width;
        record.result.as_mut().unwrap().goals[0].goal.width = width;
        against(&record)
    };
    assert_eq!((width(0.5), width(0.6)), (String::new(), String::new()));
    assert_eq!(width(0.499_999), "", "loads are rounded");
    assert!(width(0.499_99).contains("goal 1 is regular, its width is 0.5"), "{}", width(0.499_99));
    for (lower, upper) in [(json!(100.0), Value::Null), (Value::Null, json!(200.0))] {
        let one = json!({ "result": "regular", "lower_pps": lower, "upper_pps": upper });
        assert!(against(&answered(&trials, &one)).contains("and an end is missing"));
    }
}

#[test]
fn a_lower_bound_was_met_and_an_upper_one_failed() {
    let trials = [(100, 0), (200, 20), (150, 0), (200, 0)];
    let irregular = |lower: Option<f64>, upper: Option<f64>| {
        let answer =
            json!({ "result": "irregular", "why": "unfinished", "lower_pps": lower, "upper_pps": upper });
        against(&answered(&trials, &answer))
    };
    assert_eq!(irregular(Some(150.0), Some(200.0)), "");
    assert_eq!(irregular(Some(200.0), None), "", "one of two trials met it");
    assert_eq!(irregular(Some(200.0), Some(200.0)), "", "ends may be the same");
    assert!(irregular(None, Some(150.0)).contains("and none there failed it"));
    assert!(irregular(Some(160.0), None).contains("none of them was made"));
    let mut generators = answered(
        &trials,
        &json!({
            "result": "irregular", "why": "generator_limited", "lower_pps": 100.0, "upper_pps": 150.0,
        }),
    );
    assert_eq!(against(&generators), "", "an upper bound of the generator did not fail");
    generators.trials[2].purpose = Purpose::DelayAt;
    assert!(against(&generators).contains("none of them was made"), "and it is one of the search");
}

#[test]
fn a_trial_that_lost_just_what_a_goal_allows_may_have_met_it_or_failed_it() {
    let bound = |lower: Option<f64>, upper: Option<f64>, lost| {
        let answer =
            json!({ "result": "irregular", "why": "unfinished", "lower_pps": lower, "upper_pps": upper });
        let mut record = answered(&[(100, lost)], &answer);
        record.header.search.as_mut().unwrap().goals[0].loss_ratio = 0.1;
        record.result.as_mut().unwrap().goals[0].goal.loss_ratio = 0.1;
        against(&record)
    };
    assert_eq!((bound(Some(100.0), None, 10), bound(None, Some(100.0), 10)), (String::new(), String::new()));
    assert!(bound(Some(100.0), None, 11).contains("none there met it"));
    assert!(bound(None, Some(100.0), 9).contains("none there failed it"));
    // Of a goal without loss, a trial that lost nothing did not fail.
    let none = json!({ "result": "irregular", "why": "unfinished", "upper_pps": 100.0 });
    assert!(against(&answered(&[(100, 0)], &none)).contains("none there failed it"));
}

/// What is said against an interval behind trials that met at 100 and failed at 200, and perhaps others.
fn interval(more: &[(u64, u64)], lower: f64, upper: f64, width: f64) -> String {
    let trials = [&[(100, 0), (200, 20)], more].concat();
    let answer =
        json!({ "result": "wide", "lower_pps": lower, "upper_pps": upper, "level": 0.95, "width": width });
    let mut record = answered(&trials, &answer);
    let search = record.header.search.as_mut().unwrap();
    (search.algorithm, search.level) = ("credible".into(), Some(0.95));
    search.goals[0].width = width;
    against(&record)
}

#[test]
fn an_interval_lies_no_more_than_a_tenth_beyond_trials_that_part_cleanly() {
    for (lower, upper, is_beyond) in [
        (219.9, 900.0, false),
        (200.0 * 1.1, 900.0, false),
        (220.1, 900.0, true),
        (60.0, 91.0, false),
        (60.0, 90.9, true),
        (219.0, 240.0, false),
    ] {
        let why = interval(&[], lower, upper, 0.0);
        assert_eq!(why.contains("every trial up to 100 met it"), is_beyond, "{lower} to {upper}: {why}");
    }
    // One load both met and failed it, or only one of both: nothing follows.
    assert_eq!(interval(&[(100, 10)], 300.0, 900.0, 0.0), "");
    assert_eq!(interval(&[(300, 0)], 500.0, 900.0, 0.0), "");
    assert!(interval(&[(199, 0)], 500.0, 900.0, 0.0).contains("every trial up to 199 met it"));
}

#[test]
fn a_trial_that_tells_nothing_speaks_against_no_interval() {
    let answer = json!({ "result": "wide", "lower_pps": 300.0, "upper_pps": 900.0, "level": 0.95 });
    let mut record = answered(&[(100, 0), (200, 20)], &answer);
    let search = record.header.search.as_mut().unwrap();
    (search.algorithm, search.level) = ("credible".into(), Some(0.95));
    assert!(against(&record).contains("every trial up to 100 met it"));
    assert_eq!(changed(&record, |record| record.trials[1].void = true), "");
    assert_eq!(changed(&record, |record| record.trials[0].purpose = Purpose::DelayAt), "");
    let spoilt = dropline_record::CaveatLine::said("generator_lost", "so it says");
    assert_eq!(changed(&record, |record| record.trials[1].caveats.push(spoilt)), "");
    let other = dropline_record::CaveatLine::said("slow", "so it says");
    assert_ne!(changed(&record, |record| record.trials[1].caveats.push(other)), "");
}

#[test]
fn an_interval_is_wide_that_is_wider_than_was_asked_for_or_ends_at_a_load_that_was_tried() {
    // From 150 to 200 it is a quarter wide.
    assert_eq!(interval(&[], 150.0, 200.0, 0.249_999), "");
    assert_eq!(interval(&[], 150.0, 200.0, 0.25), "");
    assert!(interval(&[], 150.0, 200.0, 0.250_01).contains("goal 1 is wide, its width is 0.25"));
    assert_eq!(interval(&[(150, 0)], 150.0, 200.0, 0.9), "");
    assert_eq!(interval(&[], 50.0, 200.0, 0.9), "", "the lowest load");
}

#[test]
fn an_interval_that_a_doubt_of_its_search_denies_is_wide_however_narrow_it_is() {
    let answer = json!({ "result": "wide", "lower_pps": 199.0, "upper_pps": 200.0, "level": 0.95 });
    let mut record = answered(&[(100, 0)], &answer);
    let search = record.header.search.as_mut().unwrap();
    (search.algorithm, search.level) = ("credible".into(), Some(0.95));
    record.result.as_mut().unwrap().goals[0].goal.width = 0.1;
    record.header.search.as_mut().unwrap().goals[0].width = 0.1;
    assert!(against(&record).contains("goal 1 is wide, its width is 0.005"), "{}", against(&record));
    let doubt = dropline_record::CaveatLine::said("outages", "so it says");
    assert_eq!(changed(&record, |record| record.result.as_mut().unwrap().caveats.push(doubt)), "");
}

#[test]
fn shares_of_a_loss_curve_lie_in_order_between_none_and_all() {
    let good = answered(&[(100, 0), (200, 20)], &regular(100.0, 200.0));
    let curve = |load_pps, low, median, high| {
        changed(&good, |record| {
            record.result.as_mut().unwrap().loss_curve.push(CurveLine { load_pps, low, median, high });
        })
    };
    for (low, median, high) in [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 0.5, 1.0)] {
        assert_eq!(curve(100.0, low, median, high), "");
    }
    for (low, median, high) in [(0.2, 0.1, 0.3), (0.1, 0.3, 0.2), (-0.1, 0.1, 0.2), (0.1, 0.2, 1.1)] {
        assert!(
            curve(100.0, low, median, high).contains("shares of loss do not fall so"),
            "{low} {median} {high}"
        );
    }
    assert_eq!((curve(50.0, 0.0, 0.0, 0.0), curve(1000.0, 0.0, 0.0, 0.0)), (String::new(), String::new()));
    for beyond in [49.9, 1000.1] {
        assert!(curve(beyond, 0.0, 0.0, 0.0).contains("loads from 50 to 1000 were asked for"), "{beyond}");
    }
}

#[test]
fn a_level_is_one_that_a_search_can_have() {
    let level = |level| {
        changed(&record(&[(100, 0)]), |record| {
            let search = record.header.search.as_mut().unwrap();
            (search.algorithm, search.level) = ("credible".into(), Some(level));
        })
    };
    assert_eq!((level(0.5), level(0.999)), (String::new(), String::new()));
    for (beyond, says) in [(0.499, "its level is 0.499"), (0.9991, "its level is 0.9991")] {
        assert!(level(beyond).contains(says), "{}", level(beyond));
    }
}

#[test]
fn a_delay_after_the_search_is_of_a_goal_and_a_trial_of_that_kind() {
    let mut good = answered(&[(100, 0), (200, 20), (100, 0)], &regular(100.0, 200.0));
    good.trials[2].purpose = Purpose::DelayAt;
    let delay = |goal, trial| {
        changed(&good, |record| {
            record.result.as_mut().unwrap().delay_at.push(DelayAtLine { goal, share: 1.0, trial });
        })
    };
    assert_eq!(delay(0, 3), "");
    for (goal, trial) in [(1, 3), (0, 1), (0, 4)] {
        assert!(delay(goal, trial).contains("which is none of that kind"), "{goal} {trial}");
    }
}

#[test]
fn nothing_stands_behind_a_result() {
    let whole = answered(&[(100, 0), (200, 20)], &regular(100.0, 200.0)).to_lines();
    let more = record(&[(100, 0), (200, 20), (150, 0)]).to_lines();
    let read = |behind: &str| Record::read(&format!("{whole}{behind}\n")).unwrap_err().to_string();
    assert_eq!(Record::read(&whole).unwrap().trials.len(), 2);
    for behind in [more.lines().last().unwrap(), "{\"line\":\"limits\",\"after_trial\":2}"] {
        assert!(read(behind).contains("line 5 of the record is behind its result"), "{}", read(behind));
    }
    assert!(read(whole.lines().last().unwrap()).contains("line 5 of the record is a second result"));
}
