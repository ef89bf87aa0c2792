//! Promises on random systems and adversarial answers.

use dropline_search::credible::Config;
use dropline_search::{Algorithm as _, Credible, Goal, GoalResult};
use dropline_trial::{LoadRange, Rate, Ratio, Trial, TrialInput, seed};
use proptest::prelude::*;
use rand::Rng as _;
use std::time::Duration;

/// Who answers.
#[derive(Clone, Debug)]
enum World {
    AllLost,
    NoneLost,
    /// More comes back than was sent.
    Surplus,
    /// Nothing was sent at all.
    Silent,
    /// Half the packets never leave, above a share of the range.
    SlowSender(f64),
    /// Any number.
    Anything,
    /// The opposite of what was answered last.
    Contrary,
    /// A limit that scatters, as shares of the logarithmic range.
    Knee(f64, f64),
    /// The same of one that takes nearly nothing above its limit.
    BreaksDown(f64, f64),
    /// The same, of whose trials so many fail at any load, and lose so much.
    Fails(f64, f64, f64),
}

#[derive(Clone, Debug)]
struct Case {
    config: Config,
    world: World,
    /// Whether trials cost no time at all.
    free: bool,
}

fn measure(case: &Case, number: u64, input: TrialInput) -> Trial {
    let mut chance = seed::generator(seed::of_trial(case.config.seed, number));
    let intended = input.load.packets_in(input.duration);
    let range = case.config.range;
    let (low, high) = (range.min().as_pps().ln(), range.max().as_pps().ln());
    let mut offered = intended;
    let mut above = |limit: f64, scatter: f64| {
        let limit = low + (high - low) * limit + scatter * (chance.random::<f64>() - 0.5);
        (1.0 - (limit - input.load.as_pps().ln()).exp()).max(0.0)
    };
    let lost = match case.world {
        World::AllLost => 1.0,
        World::NoneLost | World::Surplus => 0.0,
        World::Silent => {
            offered = 0;
            0.0
        }
        World::SlowSender(limit) => {
            if input.load.as_pps().ln() > low + limit * (high - low) {
                offered /= 2;
            }
            0.0
        }
        World::Anything => chance.random::<f64>().powi(4),
        World::Contrary => (number % 2) as f64,
        World::Knee(limit, scatter) => above(limit, scatter),
        World::BreaksDown(limit, scatter) => f64::from(above(limit, scatter) > 0.0) * 0.9,
        World::Fails(limit, share, deep) => {
            let over = above(limit, 0.01);
            over.max(f64::from(chance.random::<f64>() < share) * deep)
        }
    };
    let forwarded = match case.world {
        World::Surplus => offered.saturating_mul(2),
        _ => offered.saturating_sub((offered as f64 * lost).ceil() as u64),
    };
    let elapsed = if case.free { Duration::ZERO } else { input.duration };
    Trial { intended: Some(intended), offered, forwarded, elapsed, ..Trial::new(number, input, 7) }
}

fn world() -> impl Strategy<Value = World> {
    prop_oneof![
        Just(World::AllLost),
        Just(World::NoneLost),
        Just(World::Surplus),
        Just(World::Silent),
        (-0.1..1.1).prop_map(World::SlowSender),
        Just(World::Anything),
        Just(World::Contrary),
        (-0.1..1.1, 0.0..0.3).prop_map(|(limit, scatter)| World::Knee(limit, scatter)),
        (-0.01..0.01, 0.0..0.05).prop_map(|(limit, scatter)| World::Knee(limit, scatter)),
    ]
}

/// Targets by which a lower end may be contradicted.
fn contradicting() -> impl Strategy<Value = World> {
    prop_oneof![
        (0.2..0.9, 0.0..0.3).prop_map(|(limit, scatter)| World::Knee(limit, scatter)),
        (0.2..0.9, 0.0..0.3).prop_map(|(limit, scatter)| World::BreaksDown(limit, scatter)),
        (0.4..0.9, 0.02..0.5, 0.001..1.0).prop_map(|(limit, share, deep)| World::Fails(limit, share, deep)),
        Just(World::Anything),
        Just(World::Contrary),
    ]
}

fn goal() -> impl Strategy<Value = Goal> {
    let loss = prop_oneof![2 => Just(0.0), 1 => Just(0.005), 2 => 0.0..0.999];
    let exceed = prop_oneof![Just(0.0), Just(0.5), 0.0..0.99];
    let seconds = prop_oneof![3 => Just(1.0), 1 => (-6.0..2.0f64).prop_map(|log| 10f64.powf(log))];
    (loss, exceed, -4.0..-0.01, seconds).prop_map(|(loss, exceed, width, seconds): (f64, f64, f64, f64)| {
        let duration = Duration::from_secs_f64(seconds);
        Goal {
            loss_ratio: Ratio::new(loss).unwrap(),
            exceed_ratio: Ratio::new(exceed).unwrap(),
            width: Ratio::new(10f64.powf(width)).unwrap(),
            trial_duration: duration,
            initial_trial_duration: duration,
            duration_sum: duration,
        }
    })
}

fn any_case() -> impl Strategy<Value = Case> {
    let range =
        (-3.0..9.0, prop_oneof![Just(0.0), 0.0..0.01, 0.0..6.0]).prop_map(|(min, span): (f64, f64)| {
            let rate = |log: f64| Rate::pps(10f64.powf(log)).unwrap();
            LoadRange::new(rate(min), rate((min + span).min(12.0))).unwrap()
        });
    let goals = prop::collection::vec(goal(), 1..=3);
    let budget = prop_oneof![Just(14.0), 0.001..10.0];
    (goals, range, world(), any::<u64>(), budget, 0.5..0.999, prop::bool::weighted(0.02)).prop_map(
        |(goals, range, world, seed, budget, level, free)| {
            let budget = Duration::from_secs_f64(budget);
            Case { config: Config { goals, range, budget, level, seed }, world, free }
        },
    )
}

/// Performs a search of at most so many trials, after some that were performed before.
fn search(case: &Case, replayed: &[Trial], most: usize) -> (Credible, Vec<Trial>) {
    let mut search = Credible::new(case.config.clone()).unwrap();
    let mut trials = replayed.to_vec();
    for trial in replayed {
        search.record(trial);
    }
    while trials.len() < most
        && let Some(input) = search.next_trial()
    {
        assert_eq!(search.next_trial(), Some(input), "asked twice, it asks the same");
        let trial = measure(case, trials.len() as u64 + 1, input);
        search.record(&trial);
        trials.push(trial);
    }
    (search, trials)
}

/// No load is said to be too high where no trial at it or below it failed, or was none that a trial's failure speaks for.
fn check_that_a_failure_shows_it(
    case: &Case,
    search: &Credible,
    trials: &[Trial],
) -> Result<(), TestCaseError> {
    for (outcome, goal) in search.outcome().iter().zip(&case.config.goals) {
        let lowest = trials
            .iter()
            .filter(|trial| trial.exceeds(goal.loss_ratio) && !trial.is_void_at(goal.loss_ratio))
            .map(|trial| trial.input.load)
            .min();
        if let Some(upper) = outcome.upper {
            prop_assert!(lowest.is_some_and(|lowest| lowest <= upper), "{lowest:?} {outcome:?} {trials:?}");
        }
    }
    Ok(())
}

/// The lowest load is said not to be too high only where trials at it and above met the goal, and oftener than trials at it
/// failed.
fn check_that_its_trials_bear_the_lowest_load(
    case: &Case,
    search: &Credible,
    trials: &[Trial],
) -> Result<(), TestCaseError> {
    let min = case.config.range.min();
    for (outcome, goal) in search.outcome().iter().zip(&case.config.goals) {
        let told = trials.iter().filter(|trial| !trial.is_void_at(goal.loss_ratio));
        let (bad, good): (Vec<&Trial>, Vec<&Trial>) = told.partition(|trial| trial.exceeds(goal.loss_ratio));
        let bad = bad.iter().filter(|trial| trial.input.load == min).count();
        if outcome.lower == Some(min) {
            prop_assert!(good.len() > bad, "{} met it, {bad} failed: {outcome:?}", good.len());
        }
    }
    Ok(())
}

/// Of the trials that tell of a lower end fewer deny it than bear it: those that failed below it, and those that lost a little above it,
/// and let less through than it; and those that met the goal there and above, as far as they are whole.
fn check_that_few_contradict_a_lower_end(
    case: &Case,
    search: &Credible,
    trials: &[Trial],
) -> Result<(), TestCaseError> {
    const A_LITTLE: std::ops::Range<f64> = 0.002..0.15;
    for (outcome, goal) in search.outcome().iter().zip(&case.config.goals) {
        let Some(lower) = outcome.lower.filter(|_| !matches!(outcome.result, GoalResult::Irregular(_)))
        else {
            continue;
        };
        let (mut contradict, mut support) = (0_u64, 0.0);
        for trial in trials {
            let lost = trial.lost() as f64 / trial.offered.max(1) as f64;
            let load = trial.input.load.as_pps();
            let share = trial.input.duration.div_duration_f64(goal.trial_duration).min(1.0);
            // A short one that lost less may have met it as a whole one.
            let is_bad = lost * share > goal.loss_ratio.as_f64();
            let through = load * ((1.0 - lost) / (1.0 - goal.loss_ratio.as_f64())).min(1.0);
            let would_fail_from = if A_LITTLE.contains(&lost) { through } else { load };
            match trial.fails(goal.loss_ratio) {
                Some(true) if is_bad && would_fail_from < lower.as_pps() * (1.0 - 1e-6) => contradict += 1,
                Some(false) if load >= lower.as_pps() * (1.0 - 1e-6) => {
                    support += share;
                }
                _ => {}
            }
        }
        prop_assert!(
            contradict == 0 || contradict < support.round() as u64,
            "{contradict} against {support}: {outcome:?} {:?}",
            case.world
        );
    }
    Ok(())
}

fn check_bounds(case: &Case, search: &Credible) -> Result<(), TestCaseError> {
    let range = case.config.range;
    for ((bounds, outcome), goal) in search.bounds().iter().zip(search.outcome()).zip(&case.config.goals) {
        let (lower, upper) = (outcome.lower, outcome.upper);
        prop_assert_eq!((bounds.lower.map(|b| b.load), bounds.upper.map(|b| b.load)), (lower, upper));
        for load in lower.iter().chain(&upper) {
            prop_assert!(range.min() <= *load && *load <= range.max(), "{outcome:?}");
        }
        prop_assert!(lower.zip(upper).is_none_or(|(lower, upper)| lower <= upper), "{outcome:?}");
        match outcome.result {
            GoalResult::Narrow { median, level } => {
                let (lower, upper) = (lower.unwrap(), upper.unwrap());
                prop_assert!(1.0 - lower.as_pps() / upper.as_pps() <= goal.width.as_f64(), "{outcome:?}");
                prop_assert!(lower <= median && median <= upper, "{outcome:?}");
                prop_assert!((level.as_f64() - case.config.level).abs() < 1e-9);
            }
            GoalResult::Wide { median, .. } => {
                prop_assert!(lower.is_none_or(|lower| lower <= median), "{outcome:?}");
                prop_assert!(upper.is_none_or(|upper| median <= upper), "{outcome:?}");
            }
            GoalResult::AtMaximum { .. } => prop_assert!(upper.is_none() && lower.is_some(), "{outcome:?}"),
            GoalResult::BelowMinimum { .. } => prop_assert_eq!((lower, upper), (None, Some(range.min()))),
            GoalResult::Irregular(_) => {}
            GoalResult::Regular => prop_assert!(false, "an interval is not a regular result"),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_search_ends_within_its_range_and_budget(case in any_case()) {
        let (ended, trials) = search(&case, &[], 1200);
        prop_assert!(trials.len() <= 1000, "{} trials", trials.len());
        for trial in &trials {
            let load = trial.input.load;
            prop_assert!(case.config.range.min() <= load && load <= case.config.range.max());
        }
        let before_last: Duration = trials.iter().rev().skip(1).map(|trial| trial.elapsed).sum();
        prop_assert!(before_last <= case.config.budget, "{before_last:?}");
        check_bounds(&case, &ended)?;
        check_that_a_failure_shows_it(&case, &ended, &trials)?;
    }

    #[test]
    fn no_lower_end_is_at_the_lowest_load_where_its_own_trials_deny_it(case in any_case(), most in 0..60usize) {
        let (search, trials) = search(&case, &[], most);
        check_that_its_trials_bear_the_lowest_load(&case, &search, &trials)?;
    }

    #[test]
    fn fewer_of_the_trials_that_tell_of_a_lower_end_contradict_it_than_support_it(
        case in any_case(), world in contradicting(), exceed in prop_oneof![Just(0.0), Just(0.5)],
    ) {
        let mut case = Case { world, free: false, ..case };
        for goal in &mut case.config.goals {
            goal.exceed_ratio = Ratio::new(exceed).unwrap();
            (goal.trial_duration, goal.initial_trial_duration) = (Duration::from_secs(1), Duration::from_secs(1));
        }
        // Of a lower level trials alone bound the truth sooner, and their bound is the end.
        (case.config.budget, case.config.level) = (Duration::from_secs(30), 0.95);
        let (ended, trials) = search(&case, &[], 1200);
        check_that_few_contradict_a_lower_end(&case, &ended, &trials)?;
    }

    #[test]
    fn the_same_answers_lead_to_the_same_loads_and_a_resumed_search_goes_on(case in any_case(), cut in 0.0..1.0f64) {
        let (whole, trials) = search(&case, &[], 30);
        let cut = (cut * trials.len() as f64) as usize;
        let (resumed, again) = search(&case, &trials[..cut], 30);
        prop_assert_eq!(again, trials);
        prop_assert_eq!(resumed.outcome(), whole.outcome());
    }

    #[test]
    fn an_interrupted_search_states_bounds_in_order(case in any_case(), trials in 0..20usize) {
        let (interrupted, trials) = search(&case, &[], trials);
        check_bounds(&case, &interrupted)?;
        check_that_a_failure_shows_it(&case, &interrupted, &trials)?;
    }
}
