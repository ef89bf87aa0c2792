//! Pairs of searches of simulated systems: how often a limit is said to have moved.

use dropline_archive::record_file::Output;
use dropline_record::compared_searches::MovedLine;
use dropline_record::{CaveatLine, ComparedSearches, Record, VerdictWord};
use dropline_search::{Limits, Preset};
use dropline_sim::default_range;
use dropline_targets::Target;
use dropline_trial::{Caveat, TrafficProfile};
use dropline_verbs::compare::searches::{Searched, compare};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search::Conditions;
use std::time::Duration;

/// Pairs of a system.
const PAIRS: u64 = 8;

fn searched(system: &str, capacity: f64, seed: u64) -> Searched {
    Searched::of("simulated", record(system, capacity, seed)).unwrap()
}

fn record(system: &str, capacity: f64, seed: u64) -> Record {
    let target = Target::parse(&format!("sim:{system}?capacity={capacity}pps&seed={seed}")).unwrap();
    let algorithm = AlgorithmPlan::parse("credible").unwrap();
    let plan = SearchPlan {
        profile: TrafficProfile { seed, ..TrafficProfile::default() },
        limits: Limits { budget: Some(Duration::from_secs(20)), max_trials: None },
        ..SearchPlan::of(target, algorithm, Preset::Csit.goals(), default_range())
    };
    let conditions = Conditions::default();
    let finished =
        dropline_verbs::search::search(&plan, &Output::Nowhere, &conditions, &mut Unwatched).unwrap();
    finished.record
}

/// Verdicts where B has so much more than A, any difference being one that matters.
fn verdicts(system: &str, change: f64) -> Vec<ComparedSearches> {
    (1..=PAIRS)
        .map(|seed| {
            let (a, b) = (searched(system, 9e6, seed), searched(system, 9e6 * (1.0 + change), 1000 + seed));
            compare(&a, &b, Some(0.0)).unwrap()
        })
        .collect()
}

fn count(compared: &[ComparedSearches], verdicts: &[&str]) -> usize {
    compared.iter().filter(|one| verdicts.contains(&one.verdict.word())).count()
}

#[test]
fn a_limit_that_did_not_move_is_seldom_said_to_have_moved() {
    for system in ["noisy", "soft"] {
        let compared = verdicts(system, 0.0);
        let moved = count(&compared, &["improved", "regressed", "mixed"]);
        assert!(moved <= 1, "{system}: {moved} of {PAIRS}");
        let lines = || compared.iter().flat_map(|one| &one.goals);
        // An end that is not known may be anywhere.
        let is_held = |line: &&MovedLine| {
            line.low.is_none_or(|low| low <= 1.0) && line.high.is_none_or(|high| high >= 1.0)
        };
        let held = lines().filter(is_held).count();
        let known = lines().filter(|line| line.low.is_some() && line.high.is_some()).count();
        assert!(2 * known >= lines().count(), "{system}: {known} of {}", lines().count());
        assert!(held + 2 >= lines().count(), "{system}: {held} of {}", lines().count());
    }
}

#[test]
fn a_limit_that_fell_by_a_tenth_is_found_and_never_called_a_rise() {
    for system in ["noisy", "inconsistent"] {
        let compared = verdicts(system, -0.1);
        assert_eq!(count(&compared, &["improved", "mixed"]), 0, "{system}");
        let found = count(&compared, &["regressed"]);
        assert!(found + 1 >= compared.len(), "{system}: {found} of {PAIRS}");
    }
}

#[test]
fn a_limit_that_fell_below_the_lowest_load_is_a_regression_by_a_bound_however_slow_the_target_became() {
    let before = Searched::of("before", record("soft", 9e6, 1)).unwrap();
    let mut slow = record("soft", 500.0, 2);
    let lowest = slow.header.search.as_ref().unwrap().min_load_pps;
    let answers = slow.answers().unwrap();
    assert!(answers.iter().all(|answer| answer.is_below_minimum()), "{answers:?}");
    // It bore the lowest load once, as it began.
    let slowed = Caveat::Slowed { before_pps: lowest * 1000.0, then_pps: 500.0 };
    slow.result.as_mut().unwrap().caveats.push(CaveatLine::from(&slowed));
    let after = Searched::of("after", slow).unwrap();
    let fell = compare(&before, &after, None).unwrap();
    assert_eq!(fell.verdict.word(), "regressed");
    assert!(
        fell.goals.iter().all(|line| line.verdict == VerdictWord::Regressed && line.doubted.is_none()),
        "{fell:?}"
    );
    let style = dropline_report::Style { width: 200, ..Default::default() };
    let said = dropline_report::compared_searches_text(&fell, style);
    assert!(said.contains("fell to less than 0.01 Mpps") && said.contains("by at least 99.8"), "{said}");
    let rose = compare(&after, &before, None).unwrap();
    assert_eq!(rose.verdict.word(), "improved");
}

#[test]
fn a_limit_that_rose_above_the_highest_load_is_an_improvement_by_a_bound() {
    let (before, after) = (searched("soft", 9e6, 1), searched("soft", 1e9, 2));
    let rose = compare(&before, &after, None).unwrap();
    assert_eq!(rose.verdict.word(), "improved");
    let said = dropline_report::compared_searches_text(&rose, dropline_report::Style::default());
    assert!(said.contains("rose to at least") && said.contains(", by at least "), "{said}");
    assert_eq!(compare(&after, &before, None).unwrap().verdict.word(), "regressed");
}
