//! What every multiple loss ratio search keeps to, on systems nobody would build.

use dropline_search::mlr::{Config, EffectiveDuration};
use dropline_search::{Algorithm as _, Goal, GoalOutcome, GoalResult, Irregular, Mlr, Preset};
use dropline_trial::{LoadRange, Measurer as _, Rate, Ratio, Trial, TrialInput};
use proptest::prelude::*;
use std::time::Duration;

/// More trials than any of these searches needs.
const PLENTY: usize = 20_000;

/// A system by what it does to one trial: `chance` is the trial's own, in [0, 1).
#[derive(Clone, Copy, Debug)]
enum Sut {
    Dead,
    Lossless,
    /// Loses the same share of everything.
    Flapping(f64),
    /// Capacity in packets a second that sinks by this factor with every trial.
    Drifting(f64, f64),
    /// Capacity that is another one for every trial.
    Noisy(f64, f64),
    /// Lossless in every other band of loads of this width.
    Banded(f64),
    /// Gives back more than was sent.
    Surplus,
}

impl Sut {
    fn answer(self, input: TrialInput, number: u64) -> Trial {
        let sent = input.load.packets_in(input.duration);
        let chance = (dropline_trial::seed::of_trial(5, number) >> 11) as f64 / (1u64 << 53) as f64;
        let within = |capacity: f64| sent.min((capacity * input.duration.as_secs_f64()) as u64);
        let forwarded = match self {
            Self::Dead => 0,
            Self::Lossless => sent,
            Self::Flapping(share) => {
                if chance < share {
                    sent / 2
                } else {
                    sent
                }
            }
            Self::Drifting(capacity, factor) => within(capacity * factor.powi(number as i32)),
            Self::Noisy(capacity, spread) => within(capacity * (1.0 + spread * (chance - 0.5))),
            Self::Banded(band) => {
                if ((input.load.as_pps() / band) as u64).is_multiple_of(2) {
                    sent
                } else {
                    sent / 2
                }
            }
            Self::Surplus => sent + 3,
        };
        let elapsed = input.duration + Duration::from_millis(500);
        Trial { intended: Some(sent), offered: sent, forwarded, elapsed, ..Trial::new(number, input, number) }
    }
}

fn systems() -> impl Strategy<Value = Sut> {
    prop_oneof![
        Just(Sut::Dead),
        Just(Sut::Lossless),
        Just(Sut::Surplus),
        (0.05..0.95).prop_map(Sut::Flapping),
        (2e4..2e6, 0.9..1.02).prop_map(|(capacity, factor)| Sut::Drifting(capacity, factor)),
        (2e4..2e6, 0.0..0.5).prop_map(|(capacity, spread)| Sut::Noisy(capacity, spread)),
        (5e2..5e5).prop_map(Sut::Banded),
    ]
}

prop_compose! {
    fn goals_of_any_kind()(
        loss in prop_oneof![Just(0.0), Just(0.005), 0.0..0.3],
        exceed in prop_oneof![Just(0.0), Just(0.5), 0.0..0.9],
        width in 0.002..0.2,
        trial_ms in 100u64..60_000,
        initial in 0.01..1.0,
        repeats in 0.5..30.0,
    ) -> Goal {
        let trial = Duration::from_millis(trial_ms);
        Goal {
            loss_ratio: Ratio::new(loss).unwrap(),
            exceed_ratio: Ratio::new(exceed).unwrap(),
            width: Ratio::new(width).unwrap(),
            trial_duration: trial,
            initial_trial_duration: trial.mul_f64(initial).max(Duration::from_nanos(1)),
            duration_sum: trial.mul_f64(repeats),
        }
    }
}

fn range() -> LoadRange {
    LoadRange::new(Rate::pps(1e4).unwrap(), Rate::pps(1e6).unwrap()).unwrap()
}

fn search(goals: Vec<Goal>, effective: EffectiveDuration) -> Mlr {
    Mlr::new(Config { goals, range: range(), effective }).unwrap()
}

/// Searches to the end, or for `PLENTY` trials: the trials made, and the answers.
fn run(mut search: Mlr, sut: Sut) -> (Vec<Trial>, Vec<GoalOutcome>) {
    let mut trials = Vec::new();
    while trials.len() < PLENTY
        && let Some(input) = search.next_trial()
    {
        let trial = sut.answer(input, trials.len() as u64 + 1);
        search.record(&trial);
        trials.push(trial);
    }
    (trials, search.outcome())
}

/// Whether a load is a lower and whether it is an upper bound, in the words of RFC 9971 and in floats; `None`
/// where a rounding error could tell either.
fn by_definition(
    goal: &Goal,
    effective: EffectiveDuration,
    load: Rate,
    trials: &[Trial],
) -> Option<(bool, bool)> {
    let mut sums = [[0.0; 2]; 2];
    for trial in trials.iter().filter(|trial| trial.input.load == load) {
        let full = trial.input.duration >= goal.trial_duration;
        let counted = match effective {
            EffectiveDuration::Trial => trial.duration,
            EffectiveDuration::Elapsed => trial.elapsed,
        };
        sums[usize::from(full)][usize::from(trial.exceeds(goal.loss_ratio))] += counted.as_secs_f64();
    }
    let [[short_good, short_bad], [full_good, full_bad]] = sums;
    let exceed = goal.exceed_ratio.as_f64();
    let excess = (short_bad - short_good * exceed / (1.0 - exceed)).max(0.0);
    let bad = full_bad + excess;
    let whole = goal.duration_sum.as_secs_f64().max(full_good + bad);
    let (optimistic, pessimistic) = (bad / whole - exceed, (whole - full_good) / whole - exceed);
    let clear = optimistic.abs() > 1e-9 && pessimistic.abs() > 1e-9;
    clear.then_some((optimistic < 0.0 && pessimistic < 0.0, optimistic > 0.0 && pessimistic > 0.0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_search_ends_within_the_range_and_its_regular_results_are_what_they_say(
        sut in systems(), goals in prop::collection::vec(goals_of_any_kind(), 1..4), counts_overhead: bool,
    ) {
        let effective =
            if counts_overhead { EffectiveDuration::Elapsed } else { EffectiveDuration::Trial };
        let (trials, outcomes) = run(search(goals.clone(), effective), sut);
        prop_assert!(trials.len() < PLENTY, "{} trials", trials.len());
        for trial in &trials {
            prop_assert!(range().clamp(trial.input.load) == trial.input.load, "{:?}", trial.input);
        }
        for (goal, outcome) in goals.iter().zip(outcomes) {
            let class = |load| by_definition(goal, effective, load, &trials);
            if let Some((lower, _)) = outcome.lower.and_then(class) {
                prop_assert!(lower, "{outcome:?}");
            }
            if let Some((_, upper)) = outcome.upper.and_then(class) {
                prop_assert!(upper, "{outcome:?}");
            }
            match outcome.result {
                GoalResult::Regular => {
                    let (lower, upper) = (outcome.lower.unwrap(), outcome.upper.unwrap());
                    let distance = (upper.as_pps() - lower.as_pps()) / upper.as_pps();
                    prop_assert!(distance <= goal.width.as_f64() + 1e-9, "{outcome:?}");
                    prop_assert!(outcome.conditional_throughput_pps.unwrap() >= 0.0);
                }
                GoalResult::Irregular(Irregular::AtMaximum) => prop_assert_eq!(outcome.lower, Some(range().max())),
                GoalResult::Irregular(Irregular::BelowMinimum) => prop_assert_eq!(outcome.upper, Some(range().min())),
                other => prop_assert!(false, "{other:?} without a limit"),
            }
        }
    }

    #[test]
    fn a_search_that_learns_its_trials_again_asks_for_the_same_next(
        sut in systems(), goals in prop::collection::vec(goals_of_any_kind(), 1..3), after in 1usize..40,
    ) {
        let (trials, outcomes) = run(search(goals.clone(), EffectiveDuration::Trial), sut);
        let mut resumed = search(goals, EffectiveDuration::Trial);
        let known = after.min(trials.len());
        trials[..known].iter().for_each(|trial| resumed.record(trial));
        for trial in &trials[known..] {
            prop_assert_eq!(resumed.next_trial(), Some(trial.input));
            resumed.record(trial);
        }
        prop_assert_eq!(resumed.next_trial(), None);
        prop_assert_eq!(resumed.outcome(), outcomes);
    }
}

#[test]
fn the_order_of_goals_is_the_order_of_answers_and_nothing_else() {
    let goals = Preset::Csit.goals();
    let backwards: Vec<Goal> = goals.iter().rev().copied().collect();
    let sut = Sut::Noisy(5e5, 0.02);
    let (trials, mut outcomes) = run(search(goals, EffectiveDuration::Elapsed), sut);
    let (others, reversed) = run(search(backwards, EffectiveDuration::Elapsed), sut);
    outcomes.reverse();
    assert_eq!((trials.len(), outcomes), (others.len(), reversed));
}

#[test]
fn limits_are_answers_of_their_own() {
    let result = |sut| run(search(Preset::Tst009.goals(), EffectiveDuration::Trial), sut).1[0].result;
    assert_eq!(result(Sut::Dead), GoalResult::Irregular(Irregular::BelowMinimum));
    assert_eq!(result(Sut::Lossless), GoalResult::Irregular(Irregular::AtMaximum));
    assert_eq!(result(Sut::Surplus), GoalResult::Irregular(Irregular::AtMaximum));
}

#[test]
fn what_cannot_be_searched_for_is_refused_with_its_number() {
    let refused = |goals| Mlr::new(Config { goals, range: range(), effective: EffectiveDuration::Trial });
    assert!(refused(vec![]).unwrap_err().to_string().contains("at least one"));
    let mut goals = Preset::Csit.goals();
    goals[1].width = Ratio::ZERO;
    assert!(refused(goals).unwrap_err().to_string().starts_with("goal 2: "));
    let mut endless = Preset::Csit.goals();
    endless[0].duration_sum = Duration::MAX;
    assert!(refused(endless).unwrap_err().to_string().contains("a year"));
}

#[test]
#[expect(clippy::disallowed_types, reason = "what deciding costs is the question")]
fn deciding_costs_less_than_a_millisecond_with_ten_thousand_trials_behind_it() {
    let mut search = search(Preset::Csit.goals(), EffectiveDuration::Elapsed);
    let sut = Sut::Noisy(5e5, 0.05);
    let mut loads: Vec<Rate> = Vec::new();
    while let Some(input) = search.next_trial() {
        search.record(&sut.answer(input, loads.len() as u64 + 1));
        loads.push(input.load);
    }
    // The same loads bad and good by turns: what was an answer is none any more.
    for number in 0..10_000u64 {
        let load = loads[number as usize % loads.len()];
        let input = TrialInput { load, duration: Duration::from_secs(1) };
        let answer = if (number / loads.len() as u64).is_multiple_of(2) { Sut::Dead } else { Sut::Lossless };
        search.record(&answer.answer(input, number));
    }
    assert!(search.next_trial().is_some(), "it has something to decide");
    // The best of ten: the machine may be busy with something else.
    let each = (0..10).map(|_| {
        let start = std::time::Instant::now();
        for _ in 0..10 {
            std::hint::black_box((search.next_trial(), search.outcome()));
        }
        start.elapsed() / 10
    });
    let each = each.min().unwrap();
    assert!(each < Duration::from_millis(1), "{each:?} a decision");
}

#[test]
fn a_system_that_fades_or_fails_a_little_everywhere_is_not_followed_width_by_width() {
    for (name, preset, seeds) in
        [("drift", Preset::Csit, 8), ("floor", Preset::Csit, 4), ("drift", Preset::Rfc2544, 8)]
    {
        for seed in 1..=seeds {
            let settings = dropline_sim::Settings { seed, ..Default::default() };
            let profile = dropline_trial::TrafficProfile { seed, ..Default::default() };
            let system = dropline_sim::System::named(name).unwrap();
            let mut sut = dropline_sim::Simulated::new(system, settings, profile, 1);
            let (goals, range) = (preset.goals(), dropline_sim::default_range());
            let mut search = Mlr::new(Config { goals, range, effective: preset.effective() }).unwrap();
            let mut trials = 0;
            while let Some(input) = search.next_trial() {
                let Ok(trial) = sut.measure(input);
                search.record(&trial);
                trials += 1;
                assert!(trials < 600, "{name}, seed {seed}");
            }
        }
    }
}
