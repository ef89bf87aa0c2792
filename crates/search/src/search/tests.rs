//! What a search makes of trials that are void, ours, or of a target that died.

use super::*;
use dropline_trial::{Disturbance, Ratio, TargetActivity};

/// Asks for one load until it has an answer, and reports it as an upper bound when bad.
#[derive(Debug, Default)]
struct OneLoad {
    answered: Option<Trial>,
}

const LOAD: Rate = Rate::from_millipps(1_000_000);

impl Algorithm for OneLoad {
    fn next_trial(&mut self) -> Option<TrialInput> {
        let input = TrialInput { load: LOAD, duration: Duration::from_secs(1) };
        self.answered.is_none().then_some(input)
    }

    fn record(&mut self, trial: &Trial) {
        self.answered = Some(trial.clone());
    }

    fn phase(&self) -> String {
        "only".into()
    }

    fn bounds(&self) -> Vec<Bounds> {
        vec![Bounds::default()]
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        let bad = self.answered.as_ref().is_some_and(|trial| trial.exceeds(Ratio::ZERO));
        vec![GoalOutcome {
            lower: None,
            upper: bad.then_some(LOAD),
            conditional_throughput_pps: None,
            result: GoalResult::Irregular(Irregular::Unfinished),
        }]
    }
}

fn search(limits: Limits) -> Search {
    let second = Duration::from_secs(1);
    let goal = Goal {
        loss_ratio: Ratio::ZERO,
        exceed_ratio: Ratio::ZERO,
        width: Ratio::new(0.005).unwrap(),
        trial_duration: second,
        initial_trial_duration: second,
        duration_sum: second,
    };
    Search::new(Box::<OneLoad>::default(), vec![goal], limits)
}

fn trial(offered: u64) -> Trial {
    let input = TrialInput { load: LOAD, duration: Duration::from_secs(1) };
    Trial { intended: Some(1000), offered, forwarded: offered, ..Trial::new(1, input, 7) }
}

/// Says that its only goal fails at the lowest load, whatever it is told.
#[derive(Debug)]
struct Fails;

impl Algorithm for Fails {
    fn next_trial(&mut self) -> Option<TrialInput> {
        None
    }

    fn record(&mut self, _: &Trial) {}

    fn phase(&self) -> String {
        "only".into()
    }

    fn bounds(&self) -> Vec<Bounds> {
        vec![Bounds::default()]
    }

    fn outcome(&self) -> Vec<GoalOutcome> {
        let result = GoalResult::Irregular(Irregular::BelowMinimum);
        vec![GoalOutcome { lower: None, upper: Some(LOAD), conditional_throughput_pps: None, result }]
    }
}

#[test]
fn a_target_that_fails_at_the_lowest_load_and_achieved_the_goal_before_became_slower() {
    let mut fails = search(Limits::default());
    fails.algorithm = Box::new(Fails);
    let silent = Trial { forwarded: 0, ..trial(1000) };
    fails.record(&trial(1000));
    fails.record(&silent);
    assert_eq!(fails.caveats(), [], "once is a moment");
    (0..2).for_each(|_| fails.record(&silent));
    assert_eq!(fails.caveats(), [Caveat::Slowed { before_pps: LOAD.as_pps(), then_pps: 0.0 }]);
}

#[test]
fn a_load_we_could_not_offer_is_tried_again_and_then_bounds_us_not_the_target() {
    let mut search = search(Limits::default());
    for _ in 0..=VOID_TRIES {
        assert!(search.next_trial().is_some());
        search.record(&trial(900));
    }
    assert_eq!(search.next_trial(), None);
    assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
}

/// Others kept the target from its CPU for so long, and it lost so many of a thousand.
fn starved(kept_ms: u64, lost: u64) -> Trial {
    let ns = kept_ms * 1_000_000;
    let watched = TargetActivity { waited_ns: Some(ns), others_ns: Some(ns), ..TargetActivity::default() };
    Trial { forwarded: 1000 - lost, watched: Some(watched), ..trial(1000) }
}

#[test]
fn a_target_that_others_kept_from_its_cpu_is_no_limit_of_the_generator() {
    let mut search = search(Limits::default());
    (0..=VOID_TRIES).for_each(|_| search.record(&starved(400, 300)));
    assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::TargetStarved));
    assert_eq!(search.outcome()[0].upper, None, "it may do more");
}

#[test]
fn an_answer_that_rests_on_nothing_but_a_target_without_its_cpu_is_not_one_of_the_target() {
    // It lost more than that explains, so each trial counts.
    let mut search = search(Limits::default());
    let trial = starved(400, 900);
    let doubt = trial.starved_target().unwrap();
    search.record(&Trial { caveats: vec![doubt], ..trial });
    assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::TargetStarved));
    let mut throttled = self::search(Limits::default());
    let doubt = Caveat::GeneratorThrottled { stopped_ns: 1, times: 1, runtime_us: 1, period_us: 2 };
    throttled.record(&Trial { forwarded: 10, caveats: vec![doubt], ..self::trial(1000) });
    assert_eq!(throttled.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
}

#[test]
fn where_the_generator_was_as_much_in_the_way_it_is_its_limit() {
    let mut search = search(Limits::default());
    search.record(&starved(400, 300));
    search.record(&trial(900));
    let lumps = Disturbance { displaced: 250, ..Disturbance::default() };
    search.record(&Trial { disturbance: Some(lumps), ..starved(400, 300) });
    assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
}

#[test]
fn a_load_that_the_target_fails_too_bounds_the_target() {
    let mut search = search(Limits::default());
    for _ in 0..=VOID_TRIES {
        search.record(&trial(900));
    }
    search.record(&Trial { forwarded: 900, ..trial(1000) });
    assert_ne!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
}

#[test]
fn a_good_trial_after_a_void_one_is_evidence() {
    let mut search = search(Limits::default());
    search.record(&trial(900));
    search.record(&trial(1000));
    assert_eq!((search.next_trial(), search.outcome()[0].upper), (None, None));
}

/// One packet of a thousand, in a trial that was made later than one without loss.
#[test]
fn a_packet_lost_at_the_lowest_load_is_not_a_target_that_became_slower() {
    let mut fails = search(Limits::default());
    fails.algorithm = Box::new(Fails);
    fails.record(&trial(1000));
    (0..9).for_each(|_| fails.record(&Trial { forwarded: 999, ..trial(1000) }));
    assert_eq!(fails.caveats(), []);
}

/// A trial of which the target saw the first part alone.
fn died(offered: u64) -> Trial {
    let gone = Caveat::TargetUnreachable { error: "ECONNREFUSED".into(), at_ns: 7, refused: 1, reports: 0 };
    Trial { forwarded: offered / 2, caveats: vec![gone], ..trial(offered) }
}

#[test]
fn a_trial_in_which_the_target_died_decides_nothing_and_is_asked_for_again() {
    for offered in [1000, 900, 1, 0] {
        let mut search = search(Limits::default());
        for _ in 0..VOID_TRIES {
            search.record(&died(offered));
            assert!(search.last_is_void() && search.next_trial().is_some());
            assert_eq!((search.outcome()[0].upper, search.bounds()[0].upper), (None, None));
        }
        search.record(&trial(1000));
        assert!(!search.last_is_void(), "it lived, and lost nothing");
        assert_eq!((search.next_trial(), search.outcome()[0].upper), (None, None));
    }
}

#[test]
fn a_load_that_the_target_never_survives_is_the_targets_limit_and_not_ours() {
    for offered in [1000, 900, 1, 0] {
        let mut search = search(Limits::default());
        (0..=VOID_TRIES).for_each(|_| search.record(&died(offered)));
        assert!(!search.last_is_void());
        assert_eq!(search.outcome()[0].upper, Some(LOAD));
        assert_ne!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
    }
}

/// A goal that half of the trials may fail, of three seconds in all.
fn tolerant() -> Search {
    let mut search = search(Limits::default());
    let exceed_ratio = Ratio::new(0.5).unwrap();
    search.goals[0] = Goal { exceed_ratio, duration_sum: Duration::from_secs(3), ..search.goals[0] };
    search
}

#[test]
fn one_failure_of_the_targets_own_does_not_pay_for_what_is_charged_to_us() {
    let limited = GoalResult::Irregular(Irregular::GeneratorLimited);
    let mut search = tolerant();
    (0..=VOID_TRIES).for_each(|_| search.record(&trial(900)));
    let fails = Trial { forwarded: 900, ..trial(1000) };
    search.record(&fails);
    assert_eq!(search.outcome()[0].result, limited, "1 s of 3 s is within the goal");
    search.record(&fails);
    assert_ne!(search.outcome()[0].result, limited, "2 s are beyond it");
}

#[test]
fn where_most_trials_are_void_they_are_not_tried_again_for_ever() {
    let at = |number: u64, offered| {
        let load = Rate::from_millipps(1_000_000 + number);
        Trial { input: TrialInput { load, duration: Duration::from_secs(1) }, ..trial(offered) }
    };
    let mut search = search(Limits::default());
    for number in 0..VOIDS_BORNE {
        search.record(&at(number, 900));
        assert!(search.next_trial().is_some(), "void number {number} is tried again");
    }
    search.record(&at(VOIDS_BORNE, 900));
    assert_eq!(search.next_trial(), None, "the algorithm has its answer");
    let mut mostly_good = self::search(Limits { budget: None, max_trials: None });
    (0..=VOIDS_BORNE).for_each(|number| mostly_good.record(&at(number, 1000)));
    mostly_good.algorithm = Box::<OneLoad>::default();
    (0..=VOIDS_BORNE).for_each(|number| mostly_good.record(&at(number, 900)));
    assert!(mostly_good.next_trial().is_some(), "half of all are good");
}

#[test]
fn a_search_that_ends_without_clean_trials_says_that_it_was_the_generator() {
    let mut search = search(Limits { budget: None, max_trials: Some(2) });
    (0..2).for_each(|_| search.record(&trial(900)));
    assert_eq!(search.next_trial(), None);
    assert_eq!(search.outcome()[0].result, GoalResult::Irregular(Irregular::GeneratorLimited));
    let mut half = self::search(Limits { budget: None, max_trials: Some(2) });
    half.record(&trial(900));
    half.record(&trial(1000));
    assert_eq!(half.outcome()[0].result, GoalResult::Irregular(Irregular::Unfinished));
}

#[test]
fn limits_end_a_search_before_a_trial_not_within() {
    let mut by_time = search(Limits { budget: Some(Duration::from_millis(1500)), max_trials: None });
    by_time.record(&trial(900));
    assert!(by_time.next_trial().is_some(), "1.0 of 1.5 s are spent");
    by_time.record(&trial(900));
    assert_eq!(by_time.next_trial(), None);
    let mut by_number = search(Limits { budget: None, max_trials: Some(1) });
    by_number.record(&trial(900));
    assert_eq!(by_number.next_trial(), None);
}

#[test]
fn where_our_side_ended_first_a_load_bounds_the_limit_only_if_it_failed_oftener_than_not_and_none_above_it_was_met()
 {
    let lowest = |judged: &[(u64, u64, u64)]| {
        let judged =
            judged.iter().map(|&(load, failed, met)| (Rate::from_millipps(load), Judged { failed, met }));
        lowest_failed(&judged.collect()).map(Rate::as_millipps)
    };
    assert_eq!(lowest(&[(1, 0, 3), (2, 2, 8), (3, 2, 1)]), Some(3));
    assert_eq!(lowest(&[(1, 0, 3), (2, 2, 1), (3, 1, 1), (4, 1, 0)]), Some(2));
    assert_eq!(lowest(&[(2, 1, 0), (3, 0, 4)]), None);
    assert_eq!(lowest(&[(2, 1, 0), (3, 0, 4), (4, 1, 0)]), Some(4));
    assert_eq!(lowest(&[]), None);
}
