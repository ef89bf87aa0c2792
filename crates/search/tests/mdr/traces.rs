//! The trials of a search, one by one.

use crate::{goals, mdr, perform};
use dropline_search::mdr::{Config, Version};
use dropline_search::{Algorithm as _, Goal, GoalOutcome, GoalResult, Irregular, Limits, Mdr, Search};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{LoadRange, Measurer as _, Rate, TrafficProfile, Trial};
use std::time::Duration;

fn hard(capacity_pps: f64) -> Simulated {
    let settings = Settings { capacity: Rate::pps(capacity_pps).ok(), ..Settings::default() };
    Simulated::new(System::named("hard").unwrap(), settings, TrafficProfile::default(), 1)
}

/// Loads in pps with one decimal and durations in seconds with three.
fn trace(trials: &[Trial]) -> Vec<String> {
    let entry = |trial: &Trial| {
        let seconds = format!("{:.3}", trial.input.duration.as_secs_f64());
        let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
        format!("{:.1}:{seconds}", trial.input.load.as_pps())
    };
    trials.iter().map(entry).collect()
}

/// Bounds in pps with one decimal.
fn ends(outcome: &[GoalOutcome]) -> Vec<String> {
    let text = |load: Option<Rate>| load.map_or("none".into(), |load| format!("{:.1}", load.as_pps()));
    outcome.iter().map(|goal| format!("{} {}", text(goal.lower), text(goal.upper))).collect()
}

#[test]
fn a_knee_within_the_range_is_found_by_these_trials() {
    let mut search = mdr(Config::new(goals(0.005, 30), default_range()));
    let trials = perform(&mut search, &mut hard(9e6));
    assert_eq!(
        trace(&trials),
        [
            "14880952.0:1",
            "9000000.0:1",
            "9182086.6:1",
            "9090587.4:1",
            "9000000.0:5.477",
            "9090587.4:5.477",
            "9045180.3:30",
            "9000000.0:30",
            "9090587.4:30"
        ]
    );
    assert_eq!(ends(&search.outcome()), ["9000000.0 9045180.3", "9045180.3 9090587.4"]);
    assert!(search.outcome().iter().all(|goal| goal.result == GoalResult::Regular));
    assert!((search.spent().as_secs_f64() - 109.454).abs() < 0.001);
}

#[test]
fn a_knee_near_the_maximum_is_found_by_these_trials() {
    let range = LoadRange::new(Rate::pps(1e4).unwrap(), Rate::pps(1e6).unwrap()).unwrap();
    let mut search = mdr(Config::new(goals(0.005, 30), range));
    let trials = perform(&mut search, &mut hard(990_000.0));
    assert_eq!(
        trace(&trials),
        [
            "1000000.0:1",
            "980169.4:1",
            "990035.0:5.477",
            "980169.4:5.477",
            "1000000.0:5.477",
            "985089.9:30",
            "995005.0:30",
            "990035.0:30"
        ]
    );
    assert_eq!(ends(&search.outcome()), ["985089.9 990035.0", "990035.0 995005.0"]);
}

#[test]
fn the_first_rules_go_down_from_a_lossless_trial_by_nearly_the_final_width() {
    let config = Config { version: Version::First, ..Config::new(goals(0.005, 30), default_range()) };
    let trials = perform(&mut mdr(config), &mut hard(9e6));
    assert_eq!(trace(&trials)[..3], ["14880952.0:1", "9000000.0:1", "8955045.0:1"]);
}

#[test]
fn goals_are_answered_in_the_order_they_were_given() {
    let upside_down: Vec<Goal> = goals(0.005, 30).into_iter().rev().collect();
    let mut search = mdr(Config::new(upside_down, default_range()));
    assert_eq!(perform(&mut search, &mut hard(9e6)).len(), 9);
    assert_eq!(ends(&search.outcome()), ["9045180.3 9090587.4", "9000000.0 9045180.3"]);
}

#[test]
fn a_search_that_is_stopped_returns_what_it_knows() {
    let config = Config::new(goals(0.005, 30), default_range());
    let algorithm = Box::new(Mdr::new(config.clone()).unwrap());
    let limits = Limits { budget: Some(Duration::from_secs(10)), max_trials: None };
    let mut search = Search::new(algorithm, config.goals, limits);
    assert_eq!(perform(&mut search, &mut hard(9e6)).len(), 5);
    assert_eq!(ends(&search.outcome()), ["9000000.0 9090587.4", "9000000.0 9090587.4"]);
    let unfinished = GoalResult::Irregular(Irregular::Unfinished);
    assert!(search.outcome().iter().all(|goal| goal.result == unfinished));
}

#[test]
fn phases_are_named_in_order() {
    let mut mdr = Mdr::new(Config::new(goals(0.005, 30), default_range())).unwrap();
    let mut target = hard(9e6);
    let mut names = Vec::new();
    while let Some(input) = mdr.next_trial() {
        names.push(mdr.phase());
        let Ok(trial) = target.measure(input);
        mdr.record(&trial);
    }
    let [initial, first, second, last] = ["initial", "intermediate 1", "intermediate 2", "final"];
    assert_eq!(names, [initial, initial, initial, first, second, second, last, last, last]);
}
