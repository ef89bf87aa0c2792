//! What bisection costs: the figures that other searches are compared with.

use crate::{goals, perform, seeded, unlimited};
use dropline_search::{Algorithm as _, Binary, BinaryError, Goal, GoalError, GoalResult, Irregular};
use dropline_sim::default_range;
use dropline_trial::{LoadRange, Rate, Ratio, Trial};
use std::time::Duration;

/// Number and time of the trials of a search, warm-ups not included.
fn cost(name: &str, goals: &[Goal], overhead_millis: u64, seed: u64) -> (usize, Duration) {
    let mut search = unlimited(Binary::new(goals, default_range()).unwrap(), goals.to_vec());
    let trials = perform(&mut search, &mut seeded(name, Duration::from_millis(overhead_millis), seed));
    (trials.len(), search.spent())
}

#[test]
fn two_goals_cost_what_bisections_are_known_to_cost() {
    // With the two warm-ups of 5 s and their overheads.
    let table = [
        ("hard", 30, 20, 621),
        ("consistent", 30, 22, 682),
        ("soft", 30, 20, 621),
        ("noisy", 30, 20, 621),
        ("dips", 30, 20, 621),
        ("inconsistent", 30, 24, 743),
        ("lossless", 30, 2, 72),
        ("dead", 30, 42, 1292),
        ("hard", 60, 20, 1221),
        ("inconsistent", 60, 24, 1463),
    ];
    for (name, seconds, trials, known_seconds) in table {
        for seed in 0..20 {
            let cost = cost(name, &goals(0.005, seconds), 500, seed);
            assert_eq!(cost, (trials, Duration::from_secs(known_seconds - 11)), "{name} {seconds} s");
        }
    }
}

#[test]
fn one_goal_costs_what_the_published_comparison_says() {
    // 98.9, 278.6 and 548.8 s there; 119.8, 339.3 and 669.6 s: nine and eleven trials, 0.43 s each, and one
    // warm-up of 5 s. Widths wide enough for these numbers of trials at every seed.
    for (name, width, known) in [
        ("consistent", 0.015, [98_870, 278_870, 548_870]),
        ("inconsistent", 0.011, [119_730, 339_730, 669_730]),
    ] {
        for (seconds, known_millis) in [10, 30, 60].into_iter().zip(known) {
            for seed in 0..20 {
                let (_, spent) = cost(name, &goals(width, seconds)[..1], 430, seed);
                assert_eq!(spent, Duration::from_millis(known_millis - 5000), "{name} {seconds} s");
            }
        }
    }
}

fn rate(pps: f64) -> Rate {
    Rate::pps(pps).unwrap()
}

/// The loads one bisection tries for zero loss between 100 and 1000 pps against a limit, and its result.
fn bisect(limit: f64, width: f64) -> (Vec<f64>, Vec<Option<f64>>, GoalResult) {
    let goal = Goal { width: Ratio::new(width).unwrap(), ..goals(0.005, 1)[0] };
    let mut binary = Binary::new(&[goal], LoadRange::new(rate(100.0), rate(1000.0)).unwrap()).unwrap();
    let mut loads = Vec::new();
    while let Some(input) = binary.next_trial() {
        loads.push(input.load.as_pps());
        let lost = u64::from(input.load > rate(limit));
        let trial =
            Trial { intended: Some(100), offered: 100, forwarded: 100 - lost, ..Trial::new(1, input, 7) };
        binary.record(&trial);
    }
    let outcome = binary.outcome()[0];
    (loads, vec![outcome.lower.map(Rate::as_pps), outcome.upper.map(Rate::as_pps)], outcome.result)
}

#[test]
fn the_range_is_halved_from_the_top_until_it_is_narrow_enough() {
    let (loads, bounds, result) = bisect(700.0, 0.2);
    assert_eq!(loads, [1000.0, 550.0, 775.0, 662.5]);
    assert_eq!(bounds, [Some(662.5), Some(775.0)]);
    assert_eq!(result, GoalResult::Regular);
}

#[test]
fn no_bound_is_stated_that_was_not_tried() {
    let (loads, bounds, result) = bisect(50.0, 0.5);
    assert_eq!(loads, [1000.0, 550.0, 325.0, 212.5, 156.25, 100.0]);
    assert_eq!(bounds, [None, Some(100.0)]);
    assert_eq!(result, GoalResult::Irregular(Irregular::BelowMinimum));
    let (loads, bounds, result) = bisect(2000.0, 0.5);
    assert_eq!(loads, [1000.0]);
    assert_eq!(bounds, [Some(1000.0), None]);
    assert_eq!(result, GoalResult::Irregular(Irregular::AtMaximum));
}

#[test]
fn goals_are_searched_for_one_after_another() {
    let mut binary = Binary::new(&goals(0.005, 30), default_range()).unwrap();
    let mut names = vec![];
    while let Some(input) = binary.next_trial() {
        names.push(binary.phase());
        binary.record(&Trial { intended: Some(1), offered: 1, forwarded: 1, ..Trial::new(1, input, 7) });
    }
    assert_eq!(names, ["bisection 0 %", "bisection 0.5 %"]);
}

#[test]
fn goals_that_cannot_be_searched_for_are_refused() {
    let refused = |goals: &[Goal]| Binary::new(goals, default_range()).unwrap_err();
    assert_eq!(refused(&[]), BinaryError::NoGoal);
    let endless = Goal { width: Ratio::ZERO, ..goals(0.005, 1)[0] };
    assert_eq!(refused(&[endless]), BinaryError::Goal(GoalError::NoWidth));
}
