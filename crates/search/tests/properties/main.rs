//! What holds for every algorithm on every system, however strange: with bands of loss, lossy or lossless
//! everywhere, flapping, drifting, with a sender that falls behind; for random ranges, goals and durations.
//!
//! A new algorithm is a line in [`contenders::ALGORITHMS`].

mod case;
mod contenders;
mod watched;

use case::{Case, any_case};
use contenders::{ALGORITHMS, Claim, Contender, Side};
use dropline_search::{GoalResult, Irregular};
use dropline_trial::{Rate, Trial};
use proptest::prelude::*;
use watched::{Ended, search};

type Checked = Result<(), TestCaseError>;

/// All contenders on one case.
fn for_every_algorithm(case: &Case, check: impl Fn(&Contender, Ended) -> Checked) -> Checked {
    for contender in ALGORITHMS.iter().filter(|contender| case.seed.is_multiple_of(contender.one_in)) {
        let ended = search(case, contender, &[], contender.most_trials);
        check(contender, ended)
            .map_err(|error| TestCaseError::fail(format!("{}: {error}", contender.name)))?;
    }
    Ok(())
}

/// That an answer says no more than the trials.
fn check_answer(case: &Case, contender: &Contender, ended: &Ended, goal: usize) -> Checked {
    let (outcome, width) = (ended.outcome[goal], ended.goals[goal].width);
    let learned: Vec<Trial> = ended.steps.iter().map(|step| step.trial.clone()).collect();
    let holds = |load: Option<Rate>, side| {
        load.is_none_or(|load| {
            let claim = Claim { goals: &ended.goals, goal, trials: &learned, load, side };
            (contender.bears_out)(case, &claim)
        })
    };
    // The upper end of an answer about our generator is the lowest load that the target itself failed, by any trial.
    let is_ours = outcome.result == GoalResult::Irregular(Irregular::GeneratorLimited);
    let upper = outcome.upper.filter(|_| !is_ours);
    prop_assert!(holds(outcome.lower, Side::Lower) && holds(upper, Side::Upper), "{outcome:?}");
    let (lower, upper) = (outcome.lower.map(Rate::as_millipps), outcome.upper.map(Rate::as_millipps));
    let distance = lower.zip(upper).map(|(lower, upper)| upper.saturating_sub(lower));
    prop_assert!(distance != Some(0), "{outcome:?}");
    let (min, max) = (case.range.min().as_millipps(), case.range.max().as_millipps());
    let as_it_says = match outcome.result {
        GoalResult::Regular => {
            distance.is_some_and(|distance| !width.is_exceeded_by(distance, upper.unwrap()))
        }
        GoalResult::Irregular(Irregular::AtMaximum) => (lower, upper) == (Some(max), None),
        GoalResult::Irregular(Irregular::BelowMinimum) => (lower, upper) == (None, Some(min)),
        GoalResult::Irregular(Irregular::GeneratorLimited) => {
            let ratio = ended.goals[goal].loss_ratio;
            let failed = |load: Rate| {
                ended.trials.iter().any(|trial| trial.input.load == load && trial.target_exceeds(ratio))
            };
            ended.trials.iter().any(|trial| trial.is_void_at(ratio)) && outcome.upper.is_none_or(failed)
        }
        // Only where loads cannot be told apart any more.
        GoalResult::Irregular(Irregular::Unfinished) => distance == Some(1),
        // Intervals: none of these algorithms states one.
        _ => false,
    };
    prop_assert!(as_it_says, "{outcome:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_search_ends_and_stays_within_its_range(case in any_case()) {
        for_every_algorithm(&case, |contender, ended| {
            prop_assert!(ended.trials.len() < contender.most_trials, "{} trials", ended.trials.len());
            let longest = ended.goals.iter().map(|goal| goal.trial_duration).max().unwrap();
            for Trial { input, .. } in &ended.trials {
                prop_assert!(case.range.min() <= input.load && input.load <= case.range.max(), "{input:?}");
                prop_assert!(!input.duration.is_zero() && input.duration <= longest, "{input:?}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn every_answer_is_borne_out_by_the_trials(case in any_case()) {
        for_every_algorithm(&case, |contender, ended| {
            (0..ended.goals.len()).try_for_each(|goal| check_answer(&case, contender, &ended, goal))
        })?;
    }

    #[test]
    fn a_search_resumed_after_any_trial_ends_as_if_it_had_not_stopped(case in any_case()) {
        for_every_algorithm(&case, |contender, ended| {
            let cut = (case.cut * (ended.trials.len() + 1) as f64) as usize;
            let resumed = search(&case, contender, &ended.trials[..cut], contender.most_trials);
            prop_assert_eq!(resumed.trials, ended.trials);
            prop_assert_eq!(resumed.outcome, ended.outcome);
            Ok(())
        })?;
    }

    #[test]
    fn a_search_that_is_stopped_claims_nothing_regular_that_is_not_narrow(case in any_case()) {
        for_every_algorithm(&case, |contender, ended| {
            let most = (case.cut * ended.trials.len() as f64) as usize;
            let stopped = search(&case, contender, &[], most);
            prop_assert_eq!(&stopped.trials[..], &ended.trials[..most]);
            for (goal, outcome) in stopped.goals.iter().zip(&stopped.outcome) {
                if outcome.result == GoalResult::Regular {
                    let (lower, upper) = (outcome.lower.unwrap(), outcome.upper.unwrap());
                    let distance = upper.as_millipps() - lower.as_millipps();
                    prop_assert!(!goal.width.is_exceeded_by(distance, upper.as_millipps()), "{outcome:?}");
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn each_phase_of_mdr_but_the_initial_one_ends_with_all_bounds_valid_or_at_a_limit(case in any_case()) {
        for contender in ALGORITHMS.iter().filter(|contender| contender.name.starts_with("mdr")) {
            let ended = search(&case, contender, &[], contender.most_trials);
            let last = ended.steps.last();
            let ends = ended.steps.iter().filter(|step| step.phase != step.next_phase).chain(last);
            for step in ends.filter(|step| step.phase != "initial") {
                for bounds in &step.bounds {
                    let (lower, upper) = (bounds.lower.unwrap(), bounds.upper.unwrap());
                    let hopeless = !lower.valid && lower.load == case.range.min();
                    let above = upper.valid || upper.load == case.range.max();
                    prop_assert!(hopeless || (lower.valid && above), "{}: {bounds:?}", step.phase);
                }
            }
        }
    }
}
