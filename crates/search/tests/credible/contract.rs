//! What an answer says on simulated systems.

use dropline_search::credible::Config;
use dropline_search::{
    Algorithm as _, Certified, Credible, CredibleError, Goal, GoalOutcome, GoalResult, Irregular, Limits,
    Mlr, Preset, Search, mlr,
};
use dropline_sim::{Settings, Simulated, System, default_range};
use dropline_trial::{Caveat, LoadRange, Measurer as _, Rate, Ratio, TrafficProfile, Trial, seed};
use rand::Rng as _;
use std::time::Duration;

struct Ended {
    answers: Vec<(GoalOutcome, Option<Rate>)>,
    spent: Duration,
    caveats: Vec<Caveat>,
}

impl Ended {
    fn is_doubted(&self, code: &str) -> bool {
        self.caveats.iter().any(|caveat| caveat.code() == code)
    }
}

fn search(name: &str, seed: u64, budget: Duration) -> Ended {
    search_with(name, Settings { seed, ..Settings::default() }, budget)
}

fn search_with(name: &str, settings: Settings, budget: Duration) -> Ended {
    search_for(name, settings, &Preset::Csit.goals(), default_range(), budget)
}

fn search_for(name: &str, settings: Settings, goals: &[Goal], range: LoadRange, budget: Duration) -> Ended {
    let seed = settings.seed;
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    let mut target = Simulated::new(System::named(name).unwrap(), settings, profile, 1);
    let mut search = Credible::new(Config { budget, seed, ..Config::new(goals.to_vec(), range) }).unwrap();
    let mut spent = Duration::ZERO;
    while let Some(input) = search.next_trial() {
        let Ok(trial) = target.measure(input);
        spent += trial.elapsed;
        search.record(&trial);
    }
    let truth =
        goals.iter().map(|goal| target.truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio));
    let answers = search.outcome().into_iter().zip(truth).collect();
    Ended { answers, spent, caveats: search.caveats() }
}

fn holds((outcome, truth): &(GoalOutcome, Option<Rate>)) -> bool {
    let truth = truth.unwrap();
    outcome.lower.is_none_or(|lower| lower <= truth) && outcome.upper.is_none_or(|upper| truth <= upper)
}

const BUDGET: Duration = Duration::from_secs(36);

#[test]
fn on_a_steady_system_the_answer_is_narrow_and_quick() {
    for (name, seconds) in [("hard", 21), ("consistent", 27)] {
        let ended: Vec<Ended> = (1..=8).map(|seed| search(name, seed, BUDGET)).collect();
        for one in &ended {
            assert!(one.answers.iter().all(holds), "{name}");
            let is_narrow =
                |(outcome, _): &(GoalOutcome, _)| matches!(outcome.result, GoalResult::Narrow { .. });
            assert!(one.answers.iter().all(is_narrow), "{name}: {:?}", one.answers);
        }
        let mean = ended.iter().map(|one| one.spent).sum::<Duration>() / 8;
        assert!(mean < Duration::from_secs(seconds), "{name}: {mean:?}");
    }
}

/// Trials that cost little beyond their length, as on loopback.
fn quick(name: &str, seed: u64) -> Ended {
    let overhead = Duration::from_millis(20);
    search_with(name, Settings { seed, overhead, ..Settings::default() }, BUDGET)
}

#[test]
fn where_trials_have_no_overhead_a_steady_target_is_answered_in_a_few_seconds() {
    let ended = quick("hard", 30_002);
    assert!(ended.answers.iter().all(holds), "{:?}", ended.answers);
    assert!(ended.answers.iter().all(|(outcome, _)| matches!(outcome.result, GoalResult::Narrow { .. })));
    assert!(ended.spent < Duration::from_secs(12), "{:?}", ended.spent);
}

#[test]
fn short_trials_that_say_another_thing_than_whole_ones_are_forgotten() {
    for seed in [1, 2] {
        let ended = quick("bucket", seed);
        assert!(ended.answers.iter().all(holds), "a fifth of a second bears 7 % more: {:?}", ended.answers);
    }
}

#[test]
fn on_a_noisy_system_the_answer_is_wide_and_holds_the_truth() {
    let (mut held, mut asked) = (0, 0);
    for (name, seed) in [("noisy", 1), ("noisy", 2), ("inconsistent", 3), ("inconsistent", 4), ("dips", 5)] {
        let ended = search(name, seed, BUDGET);
        assert!(ended.spent < BUDGET + Duration::from_millis(1500));
        for answer in &ended.answers {
            asked += 1;
            held += usize::from(holds(answer));
        }
        if name != "dips" {
            assert!(
                ended.answers.iter().all(|(outcome, _)| matches!(outcome.result, GoalResult::Wide { .. }))
            );
        }
    }
    assert!(held >= asked - 1, "{held} of {asked} intervals hold the true value");
}

#[test]
fn a_search_whose_time_is_over_while_it_looks_around_states_what_it_saw() {
    for (name, seed) in [("noisy", 1), ("hard", 2), ("soft", 3)] {
        let ended = search(name, seed, Duration::from_secs(4));
        assert!(ended.answers.iter().all(holds), "{name}: {:?}", ended.answers);
        let wide =
            |(outcome, _): &(GoalOutcome, Option<Rate>)| matches!(outcome.result, GoalResult::Wide { .. });
        assert!(ended.answers.iter().all(wide), "{name}: {:?}", ended.answers);
    }
}

#[test]
fn a_larger_budget_buys_a_narrower_interval() {
    let width = |seconds| {
        let ended = search("noisy", 9, Duration::from_secs(seconds));
        let (outcome, _) = ended.answers[0];
        1.0 - outcome.lower.unwrap().as_pps() / outcome.upper.unwrap().as_pps()
    };
    let (short, long) = (width(18), width(72));
    assert!(long < 0.7 * short, "{short} {long}");
}

fn of_csit(seed: u64) -> Config {
    Config { seed, ..Config::new(Preset::Csit.goals(), default_range()) }
}

fn simulated(name: &str, seed: u64) -> Simulated {
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    let settings = Settings { seed, ..Settings::default() };
    Simulated::new(System::named(name).unwrap(), settings, profile, 1)
}

const TO_CERTIFY: Duration = Duration::from_secs(1200);

/// An interval, and behind it the proof by RFC 9971 of the same goals.
fn certified(seed: u64) -> Certified {
    let proof = mlr::Config {
        goals: Preset::Csit.goals(),
        range: default_range(),
        effective: mlr::EffectiveDuration::Trial,
    };
    Certified::new(Credible::new(of_csit(seed)).unwrap(), Mlr::new(proof).unwrap(), TO_CERTIFY)
}

#[test]
fn a_certificate_is_regular_and_leaves_the_interval_as_it_was() {
    let mut certified = certified(3);
    let mut alone = Credible::new(of_csit(3)).unwrap();
    let mut target = simulated("consistent", 3);
    let mut more = 0;
    while let Some(input) = certified.next_trial() {
        let Ok(trial) = target.measure(input);
        match alone.next_trial() {
            Some(wanted) => {
                assert_eq!((input, certified.certified()), (wanted, None));
                alone.record(&trial);
            }
            None => more += 1,
        }
        certified.record(&trial);
    }
    assert_eq!(certified.outcome(), alone.outcome());
    let stated = certified.certified().unwrap();
    assert!(stated.iter().all(|outcome| outcome.result == GoalResult::Regular), "{stated:?}");
    assert!((14..60).contains(&more), "{more} trials more");
}

/// The proof is told of trials that lie beside the loads which it would try itself.
#[test]
fn a_certificate_that_is_not_regular_or_at_a_limit_has_spent_its_time() {
    for (name, seed) in ["noisy", "soft", "inconsistent", "dips"]
        .into_iter()
        .flat_map(|name| (31..34).map(move |seed| (name, seed)))
    {
        let (mut certified, mut target) = (certified(seed), simulated(name, seed));
        let mut spent = Duration::ZERO;
        while let Some(input) = certified.next_trial() {
            let Ok(trial) = target.measure(input);
            if certified.certified().is_some() {
                spent += trial.elapsed;
            }
            certified.record(&trial);
        }
        let unfinished = GoalResult::Irregular(Irregular::Unfinished);
        let stated = certified.certified().unwrap();
        let ended = stated.iter().all(|outcome| outcome.result != unfinished);
        assert!(ended || spent >= TO_CERTIFY, "{name} {seed}: {spent:?} {stated:?}");
    }
}

#[test]
fn what_is_believed_of_the_loss_is_in_order_and_more_time_buys_less_width() {
    let mut target = simulated("noisy", 4);
    let mut search = Credible::new(Config::new(Preset::Csit.goals(), default_range())).unwrap();
    assert_eq!(search.belief(), None);
    for _ in 0..14 {
        let input = search.next_trial().unwrap();
        let Ok(trial) = target.measure(input);
        search.record(&trial);
    }
    let belief = search.belief().unwrap();
    assert!(belief.curve.windows(2).all(|pair| pair[0].load < pair[1].load));
    assert!(belief.curve.iter().all(|point| 0.0 <= point.low && point.low <= point.median));
    assert!(belief.curve.iter().all(|point| point.median <= point.high && point.high <= 1.0));
    for outlook in belief.outlooks.into_iter().flatten() {
        assert!(outlook.width_after(Duration::from_secs(60)) < outlook.width && outlook.narrow_in.is_some());
    }
}

#[test]
fn a_system_without_loss_is_at_the_maximum_and_a_dead_one_below_the_minimum() {
    let range = default_range();
    let lossless = search("lossless", 1, BUDGET);
    for (outcome, _) in &lossless.answers {
        assert!(matches!(outcome.result, GoalResult::AtMaximum { .. }));
        assert_eq!((outcome.lower, outcome.upper), (Some(range.max()), None));
    }
    assert!(lossless.spent <= Duration::from_millis(10_500), "five trials and three short probes");
    for (outcome, _) in &search("dead", 1, BUDGET).answers {
        assert!(matches!(outcome.result, GoalResult::BelowMinimum { .. }));
        assert_eq!((outcome.lower, outcome.upper), (None, Some(range.min())));
    }
}

/// Most trials at the lowest load fail then, and a few do not.
#[test]
fn a_limit_a_little_below_the_lowest_load_is_never_said_to_be_at_it() {
    let rate = |mpps: f64| Rate::pps(mpps * 1e6).unwrap();
    for (capacity, seed, max) in [(0.99, 1, 4.0), (0.99, 2, 4.0), (0.99, 2, 1.02), (0.994, 2, 4.0)] {
        let settings = Settings { seed, capacity: Some(rate(capacity)), ..Settings::default() };
        let range = LoadRange::new(rate(1.0), rate(max)).unwrap();
        let ended = search_for("noisy", settings, &Preset::Csit.goals(), range, BUDGET);
        for answer in &ended.answers {
            assert!(holds(answer), "{capacity} {max} {seed}: {answer:?}");
            assert!(!matches!(answer.0.result, GoalResult::Narrow { .. }), "{capacity} {seed}: {answer:?}");
        }
    }
}

#[test]
fn a_limit_a_little_above_the_lowest_load_is_narrow_once_trials_bear_that_load() {
    let rate = |mpps: f64| Rate::pps(mpps * 1e6).unwrap();
    let range = LoadRange::new(rate(1.0), rate(4.0)).unwrap();
    let mut wide = 0;
    for seed in 1..=8 {
        let settings = Settings { seed, capacity: Some(rate(1.0005)), ..Settings::default() };
        for answer in &search_for("hard", settings, &Preset::Csit.goals(), range, BUDGET).answers {
            assert!(holds(answer), "{answer:?}");
            wide += u32::from(!matches!(answer.0.result, GoalResult::Narrow { .. }));
        }
    }
    assert!(wide <= 2, "{wide} of 16 answers");
}

/// The interval reaches beyond the range then: it is no reason to say that it lies below.
#[test]
fn a_target_that_meets_a_goal_at_the_highest_load_is_never_below_the_minimum() {
    let goal = |percent: f64| {
        let goals = Preset::Csit.goals();
        vec![Goal { loss_ratio: Ratio::new(percent / 100.0).unwrap(), ..goals[1] }]
    };
    let to = |mpps: f64| LoadRange::new(default_range().min(), Rate::pps(mpps * 1e6).unwrap()).unwrap();
    let cases = [
        ("floor", 9.0, goal(0.5), to(5.0)),
        ("hard", 9.0, goal(60.0), to(14.88)),
        ("hard", 5.0, goal(5.0), to(5.1)),
        ("hard", 5.0, Preset::Csit.goals(), to(5.01)),
        ("consistent", 5.0, Preset::Csit.goals(), to(5.02)),
        ("soft", 9.0, goal(0.5), to(8.0)),
        ("random-loss", 9.0, goal(0.5), to(5.0)),
        ("lossless", 9.0, Preset::Csit.goals(), to(5.0)),
    ];
    for (name, capacity, goals, range) in cases {
        for (seed, budget) in [(1, 5), (2, 20), (3, 36)] {
            let settings = Settings { seed, capacity: Rate::pps(capacity * 1e6).ok(), ..Settings::default() };
            let ended = search_for(name, settings, &goals, range, Duration::from_secs(budget));
            for ((outcome, _), goal) in ended.answers.iter().zip(&goals) {
                let said = format!("{name} {budget} s, {}: {outcome:?}", goal.loss_ratio);
                assert!(!matches!(outcome.result, GoalResult::BelowMinimum { .. }), "{said}");
                assert!(outcome.lower.is_some_and(|lower| lower > range.min()), "{said}");
            }
        }
    }
}

/// Seven trials in ten lose some packets, at the knee and far below it: a few lucky ones show no limit.
#[test]
fn a_target_that_loses_packets_in_most_trials_at_any_load_is_never_surely_narrow() {
    let capacity = 1e6;
    let mut sure = Vec::new();
    for seed in 1..=10 {
        let goals = Preset::Csit.goals()[..1].to_vec();
        let range = LoadRange::new(Rate::pps(1e3).unwrap(), Rate::pps(2e6).unwrap()).unwrap();
        let mut search = Credible::new(Config { budget: BUDGET, seed, ..Config::new(goals, range) }).unwrap();
        let mut chance = seed::generator(seed);
        let mut number = 0;
        while let Some(input) = search.next_trial() {
            number += 1;
            let seconds = input.duration.as_secs_f64();
            let offered = input.load.packets_in(input.duration);
            let excess = ((input.load.as_pps() - capacity) * seconds).max(0.0) as u64;
            // 1.2 a second.
            let pauses = (0..1200).filter(|_| chance.random::<f64>() < 1e-3 * seconds).count() as u64;
            let lost = (excess + 20 * pauses).min(offered);
            let elapsed = input.duration + Duration::from_millis(500);
            let counts = Trial { offered, forwarded: offered - lost, ..Trial::new(number, input, seed) };
            search.record(&Trial { intended: Some(offered), elapsed, ..counts });
        }
        if matches!(search.outcome()[0].result, GoalResult::Narrow { .. }) && search.caveats().is_empty() {
            sure.push((seed, search.outcome()));
        }
    }
    assert!(sure.is_empty(), "{sure:?}");
}

/// A loss that does not come again denies nothing, but it is a trial that failed.
#[test]
fn a_probe_that_failed_below_an_end_costs_it_two_good_trials_as_any_other_trial_does() {
    let range = LoadRange::new(Rate::pps(1e3).unwrap(), Rate::pps(4e6).unwrap()).unwrap();
    for failing in [0, 1] {
        let goals = Preset::Csit.goals()[..1].to_vec();
        let mut search = Credible::new(Config::new(goals, range)).unwrap();
        let (mut number, mut probes) = (0, 0);
        let mut good: Vec<(Rate, Duration)> = Vec::new();
        while let Some(input) = search.next_trial() {
            number += 1;
            let offered = input.load.packets_in(input.duration);
            let is_probe = input.duration == Duration::from_millis(400);
            probes += u64::from(is_probe);
            let once = u64::from(is_probe && probes <= failing);
            let excess = ((input.load.as_pps() - 1e6) * input.duration.as_secs_f64()).max(0.0) as u64;
            if once + excess == 0 {
                good.push((input.load, input.duration));
            }
            let counts =
                Trial { offered, forwarded: offered - once - excess, ..Trial::new(number, input, 1) };
            let elapsed = input.duration + Duration::from_millis(500);
            search.record(&Trial { intended: Some(offered), elapsed, ..counts });
        }
        assert!(search.caveats().is_empty(), "{:?}", search.caveats());
        let outcome = search.outcome()[0];
        assert!(matches!(outcome.result, GoalResult::Narrow { .. }), "{outcome:?}");
        let near = outcome.lower.unwrap().as_pps() * 0.8;
        let good: Duration =
            good.iter().filter(|(load, _)| load.as_pps() >= near).map(|(_, time)| *time).sum();
        assert!(good >= Duration::from_secs(4 + 2 * failing), "{failing} failed, {good:?} were good");
    }
}

/// Next to nothing comes through above the knee: neither what does leads there, nor how much is lost.
#[test]
fn a_target_that_breaks_down_is_found_and_said_to_be_anywhere_while_it_is_not() {
    let rate = |pps: u64| Rate::from_millipps(pps * 1000);
    let knee = rate(15_000);
    for budget in [3.0, 6.0, 12.0, 36.0] {
        let budget = Duration::from_secs_f64(budget);
        let range = LoadRange::new(rate(500), rate(60_000)).unwrap();
        let mut search =
            Credible::new(Config { budget, ..Config::new(Preset::Csit.goals(), range) }).unwrap();
        let mut number = 0;
        while let Some(input) = search.next_trial() {
            number += 1;
            let offered = input.load.packets_in(input.duration);
            let forwarded = if input.load > knee { offered / 100 } else { offered };
            let elapsed = input.duration + Duration::from_millis(100);
            search.record(&Trial { offered, forwarded, elapsed, ..Trial::new(number, input, 1) });
        }
        for outcome in search.outcome() {
            assert!(holds(&(outcome, Some(knee))), "{budget:?}: {outcome:?}");
            let (Some(lower), Some(upper)) = (outcome.lower, outcome.upper) else { continue };
            let ratio = upper.as_pps() / lower.as_pps();
            // Until then a single trial bore the lower end.
            assert_eq!(ratio < 1.1, budget.as_secs() > 12, "{budget:?}: {outcome:?}");
        }
    }
}

#[test]
fn what_cannot_be_searched_for_is_refused() {
    let legal = Config::new(Preset::Csit.goals(), default_range());
    let refused = |config: Config| Credible::new(config).unwrap_err();
    assert_eq!(refused(Config { goals: vec![], ..legal.clone() }), CredibleError::NoGoal);
    assert_eq!(refused(Config { level: 1.0, ..legal.clone() }), CredibleError::Level(1.0));
    assert_eq!(refused(Config { budget: Duration::ZERO, ..legal }), CredibleError::NoBudget);
}

#[test]
fn loss_far_below_the_knee_is_told_and_the_zero_loss_interval_reaches_below_it() {
    // A band is narrow: a search in twenty does not meet it.
    let mut doubted = 0;
    for seed in 1..=16 {
        let ended = search("band", seed, BUDGET);
        doubted += u32::from(!ended.caveats.is_empty());
        if ended.is_doubted("loss_below") {
            assert!(ended.answers.iter().all(holds), "{:?}", ended.answers);
            assert!(matches!(ended.answers[0].0.result, GoalResult::Wide { .. }), "{:?}", ended.answers);
        }
    }
    assert!(doubted >= 12, "{doubted} of 16");
}

/// A floor of loss, or one that grows with a power of the load: the goal that allows it is found as well as without, and
/// the one that does not is far below.
#[test]
fn loss_at_any_load_is_told_from_loss_above_the_capacity() {
    for name in ["floor", "random-loss", "slope"] {
        let ended: Vec<Ended> = (1..=4).map(|seed| search(name, seed, BUDGET)).collect();
        for one in &ended {
            assert!(holds(&one.answers[1]), "{name}: {:?}", one.answers);
            let (no_loss, half_percent) = (one.answers[0].0, one.answers[1].0);
            assert!(no_loss.lower < half_percent.lower, "{name}: {:?}", one.answers);
            let ends = half_percent.lower.zip(half_percent.upper);
            let width = ends.map(|(lower, upper)| 1.0 - lower.as_pps() / upper.as_pps());
            assert!(width.is_some_and(|width| width < 0.08), "{name}: {:?}", one.answers);
        }
        let doubted = ended.iter().filter(|one| !one.caveats.is_empty()).count();
        assert!(doubted <= 2, "{name}: {doubted} of 4");
        // One in twenty may miss.
        let held = ended.iter().filter(|one| holds(&one.answers[0])).count();
        assert!(held >= 3, "{name}: {held} of 4");
    }
}

/// The codes of what a whole search says beside its answers.
fn said(name: &str, seed: u64) -> Vec<String> {
    let profile = TrafficProfile { seed, ..TrafficProfile::default() };
    let settings = Settings { seed, ..Settings::default() };
    let mut target = Simulated::new(System::named(name).unwrap(), settings, profile, 1);
    let goals = Preset::Csit.goals();
    let config = Config { budget: BUDGET, seed, ..Config::new(goals.clone(), default_range()) };
    let limits = Limits { budget: Some(BUDGET), max_trials: None };
    let mut search = Search::new(Box::new(Credible::new(config).unwrap()), goals, limits);
    while let Some(input) = search.next_trial() {
        let Ok(trial) = target.measure(input);
        search.record(&trial);
    }
    search.settle();
    search.caveats().iter().map(|caveat| caveat.code().to_owned()).collect()
}

#[test]
fn a_target_that_becomes_slower_is_told() {
    let all: Vec<_> = (1..=4).map(|seed| said("drift", seed)).collect();
    assert!(all.iter().filter(|codes| codes.contains(&"drift".into())).count() >= 3, "{all:?}");
}

/// Random orders look strange now and then: a doubt in twenty searches is the price of the others.
#[test]
fn targets_that_do_not_change_are_seldom_doubted() {
    let searches = (11..=16).flat_map(|seed| ["hard", "soft", "lossless"].map(|name| (name, seed)));
    let doubted: Vec<_> =
        searches.map(|(name, seed)| said(name, seed)).filter(|codes| !codes.is_empty()).collect();
    assert!(doubted.len() <= 2, "of 18: {doubted:?}");
}
