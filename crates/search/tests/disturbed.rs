//! No algorithm's answer rests on trials that our own side disturbed: a made target whose truth is known, and a
//! generator that is stopped, kept from its CPU by a quota, or by other processes, in some or all trials.

use dropline_search::{
    ALGORITHMS, Algorithm, Binary, Credible, Goal, GoalOutcome, GoalResult, Irregular, Limits, Mdr, Mlr,
    Preset, Search, credible, mdr, mlr,
};
use dropline_trial::{Caveat, Disturbance, LoadRange, Rate, Ratio, Trial, TrialInput, seed};
use rand::Rng as _;
use std::time::Duration;

/// What hinders the generator. All but the last two leave packets late, and lose some of those.
const KINDS: [Kind; 4] = [Kind::Stopped, Kind::Busy, Kind::LateAndLinkDown, Kind::Quota];
/// More trials than any of these searches needs.
const MOST: u64 = 1500;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// For 0.8 s of 2 s; what fell due leaves in a lump, of which the target's queue loses some.
    Stopped,
    /// Beside many processes, which keep the target from its CPU too.
    Busy,
    /// A short pause, and a link that was down for longer.
    LateAndLinkDown,
    /// A tenth of a CPU: most packets are not offered, and some of the others are lost in lumps.
    Quota,
}

impl Kind {
    /// What becomes of a trial in which the target alone would have lost so many of so many.
    fn disturbs(self, trial: &mut Trial, own_loss: f64, chance: &mut impl rand::Rng) {
        let intended = trial.intended.unwrap() as f64;
        let touched = |share: f64| (share * trial.intended.unwrap() as f64) as u64;
        let (offered, displaced, waited, down) = match self {
            Self::Stopped => (1.0, 0.4, 0.0, 0.0),
            Self::Busy => (1.0, 0.2, 0.5, 0.0),
            Self::LateAndLinkDown => (1.0, 0.05, 0.0, 0.3),
            Self::Quota => (0.1, 0.05, 0.0, 0.0),
        };
        trial.offered = touched(offered);
        let own = (own_loss * trial.offered as f64) as u64;
        let more: f64 = (displaced + waited + down) * chance.random_range(0.2..0.95);
        let lost = (own + touched(more)).min(trial.offered);
        trial.forwarded = trial.offered - lost;
        let waited = trial.duration.mul_f64(waited);
        trial.disturbance = Some(Disturbance { displaced: (displaced * intended) as u64, waited });
        trial.lost_at = Some([("link_down".to_owned(), touched(down).min(lost))].into());
    }
}

struct Ended {
    outcome: Vec<GoalOutcome>,
    trials: u64,
}

fn search(algorithm: &str, goals: &[Goal]) -> Search {
    let range = LoadRange::new(pps(1_000), pps(20_000)).unwrap();
    let all = goals.to_vec();
    let algorithm: Box<dyn Algorithm> = match algorithm {
        "credible" => Box::new(Credible::new(credible::Config::new(all, range)).unwrap()),
        "mlr" => {
            let effective = mlr::EffectiveDuration::Trial;
            Box::new(Mlr::new(mlr::Config { goals: all, range, effective }).unwrap())
        }
        "mdr" => Box::new(Mdr::new(mdr::Config::new(all, range)).unwrap()),
        _ => Box::new(Binary::new(goals, range).unwrap()),
    };
    Search::new(algorithm, goals.to_vec(), Limits { budget: None, max_trials: Some(MOST) })
}

/// A search for a target that does so many packets a second, of whose trials a share is disturbed.
fn ended(algorithm: &str, capacity: f64, kind: Kind, share: f64, chance: u64) -> Ended {
    let mut search = search(algorithm, &goals());
    let mut chance = seed::generator(chance);
    let mut trials = 0;
    while let Some(input) = search.next_trial() {
        trials += 1;
        let intended = input.load.packets_in(input.duration);
        let own_loss = (1.0 - capacity / input.load.as_pps()).max(0.0);
        let forwarded = intended - (own_loss * intended as f64) as u64;
        let counted = Trial::new(trials, input, trials);
        let mut trial = Trial { intended: Some(intended), offered: intended, forwarded, ..counted };
        if chance.random::<f64>() < share {
            kind.disturbs(&mut trial, own_loss, &mut chance);
        }
        search.record(&trial);
    }
    Ended { outcome: search.outcome(), trials }
}

fn goals() -> Vec<Goal> {
    Preset::Csit.goals()
}

fn pps(value: u64) -> Rate {
    Rate::from_millipps(value * 1000)
}

/// The load up to which a target of this capacity achieves a goal, and whether an answer says nothing else.
fn holds(outcome: &GoalOutcome, goal: &Goal, capacity: f64) -> bool {
    let truth = capacity / (1.0 - goal.loss_ratio.as_f64());
    let (lower, upper) = (outcome.lower.map(Rate::as_pps), outcome.upper.map(Rate::as_pps));
    let is_limited = outcome.result == GoalResult::Irregular(Irregular::GeneratorLimited);
    lower.is_none_or(|lower| lower <= truth * 1.001)
        && (is_limited || upper.is_none_or(|upper| truth <= upper * 1.001))
}

#[test]
fn no_answer_excludes_what_the_target_does_because_our_own_side_was_disturbed() {
    for (number, algorithm) in (0..).zip(ALGORITHMS) {
        for kind in KINDS {
            for (share, capacity) in [(0.3, 9_000.0), (0.3, 50_000.0), (0.8, 9_000.0), (0.8, 50_000.0)] {
                let Ended { outcome, trials } = ended(algorithm, capacity, kind, share, number);
                let context = format!("{algorithm}, {kind:?} in {share}, {capacity}: {outcome:?}");
                assert!(trials < MOST, "it ends: {context}");
                let all = outcome.iter().zip(goals()).all(|(outcome, goal)| holds(outcome, &goal, capacity));
                assert!(all, "{context}");
            }
        }
    }
}

#[test]
fn a_search_that_gets_no_clean_trial_ends_and_says_that_it_was_the_generator() {
    for algorithm in ALGORITHMS {
        for kind in KINDS {
            let Ended { outcome, trials } = ended(algorithm, 50_000.0, kind, 1.0, 3);
            assert!(trials < 100, "{algorithm}, {kind:?}: {trials} trials");
            for outcome in outcome {
                let limited = GoalResult::Irregular(Irregular::GeneratorLimited);
                assert_eq!(outcome.result, limited, "{algorithm}, {kind:?}: {outcome:?}");
                assert_eq!(outcome.lower, None, "{algorithm}, {kind:?}: nothing was borne");
            }
        }
    }
}

/// Doubts that a program may have of the trial that it performed, after which `trial` says that it is not valid.
const SAID: [&str; 5] =
    ["generator_limited", "generator_lost", "loss_doubted", "rule_appeared", "left_elsewhere"];

/// A search whose trials a program performs; of each it says, or does not say, that it is spoilt.
fn performed(algorithm: &str, capacity: f64, is_spoilt: impl Fn(u64) -> Option<Caveat>) -> Ended {
    let mut search = search(algorithm, &goals());
    let mut trials = 0;
    while let Some(input) = search.next_trial() {
        trials += 1;
        let intended = input.load.packets_in(input.duration);
        let forwarded = intended.min((capacity * input.duration.as_secs_f64()) as u64);
        let short = |caveat: &Caveat| match caveat {
            Caveat::GeneratorLimited { .. } => intended / 500,
            _ => 0,
        };
        let caveat = is_spoilt(trials);
        let offered = intended - caveat.as_ref().map_or(0, short);
        search.record(&Trial {
            intended: Some(intended),
            offered,
            forwarded: forwarded.min(offered),
            caveats: caveat.into_iter().collect(),
            ..Trial::new(trials, input, trials)
        });
    }
    Ended { outcome: search.outcome(), trials }
}

fn said(code: &str) -> Caveat {
    Caveat::Reported { code: code.into(), text: "the card was reset".into() }
}

#[test]
fn a_trial_that_its_own_program_says_is_spoilt_is_no_evidence_whatever_its_counts_are() {
    for algorithm in ALGORITHMS {
        for code in SAID {
            for capacity in [9_000.0, 50_000.0] {
                for clean in [0, 12] {
                    let spoilt = |number: u64| (clean == 0 || number % clean != 5).then(|| said(code));
                    let Ended { outcome, trials } = performed(algorithm, capacity, spoilt);
                    let context =
                        format!("{algorithm}, {code}, 1 of {clean} is clean, {capacity}: {outcome:?}");
                    assert!(trials < MOST, "it ends: {context}");
                    for outcome in &outcome {
                        let limited = GoalResult::Irregular(Irregular::GeneratorLimited);
                        assert_eq!(outcome.result, limited, "{context}");
                        assert!(clean > 0 || outcome.lower.is_none(), "nothing was borne: {context}");
                    }
                }
            }
        }
    }
}

#[test]
fn where_a_few_trials_are_said_to_be_spoilt_the_others_are_the_answer() {
    for algorithm in ALGORITHMS {
        for capacity in [9_000.0, 50_000.0] {
            let spoilt = |number: u64| (number % 12 == 1).then(|| said("loss_doubted"));
            let Ended { outcome, trials } = performed(algorithm, capacity, spoilt);
            assert!(trials < MOST, "{algorithm} ends");
            for (outcome, goal) in outcome.iter().zip(goals()) {
                let context = format!("{algorithm}, {capacity}: {outcome:?}");
                assert!(holds(outcome, &goal, capacity), "{context}");
                let limited = GoalResult::Irregular(Irregular::GeneratorLimited);
                assert_ne!(outcome.result, limited, "most trials are whole: {context}");
            }
        }
    }
}

/// Two packets of a thousand did not leave: less than the loss that one goal allows, and `trial` calls it not valid.
#[test]
fn an_answer_of_which_most_trials_are_not_valid_is_not_valid() {
    let limited = Caveat::GeneratorLimited { intended: 1000, offered: 998, error: None, interface: None };
    assert!(limited.invalidates());

    for algorithm in ALGORITHMS {
        let spoilt = |number: u64| (number % 12 != 5).then(|| limited.clone());
        let Ended { outcome, .. } = performed(algorithm, 9_000.0, spoilt);
        for outcome in outcome {
            let limited = GoalResult::Irregular(Irregular::GeneratorLimited);
            assert_eq!(outcome.result, limited, "{algorithm}: {outcome:?}");
        }
    }
}

/// A search that is cut off between two tries of a load knows no more of the target than one that tried it again.
#[test]
fn a_search_that_ends_while_it_tries_a_spoilt_load_again_says_that_it_was_the_generator() {
    for algorithm in ALGORITHMS {
        for clean in 0..4 {
            for void in 1..3 {
                let mut search = search(algorithm, &goals());
                for number in 1..=clean + void {
                    let Some(input) = search.next_trial() else { continue };
                    let intended = input.load.packets_in(input.duration);
                    let sent = if number <= clean { intended } else { intended / 2 };
                    let trial = Trial::new(number, input, number);
                    search.record(&Trial {
                        intended: Some(intended),
                        offered: sent,
                        forwarded: sent,
                        ..trial
                    });
                }
                let outcome = search.outcome();
                let says = |word| outcome.iter().any(|goal| goal.result == GoalResult::Irregular(word));
                let context = format!("{algorithm}, {clean} clean, {void} void: {outcome:?}");
                assert!(void < clean || !says(Irregular::Unfinished), "{context}");
                assert!(void + 1 >= clean || !says(Irregular::GeneratorLimited), "{context}");
            }
        }
    }
}

#[test]
fn a_target_far_below_the_load_is_found_though_every_trial_was_disturbed_a_little() {
    for algorithm in ALGORITHMS {
        let mut search = search(algorithm, &goals());
        let mut number = 0;
        while let Some(input) = search.next_trial() {
            number += 1;
            search.record(&bears_9_kpps(input, number));
        }
        let outcome = search.outcome();
        let all = outcome.iter().zip(goals()).all(|(outcome, goal)| holds(outcome, &goal, 9_000.0));
        assert!(all, "{algorithm}: {outcome:?}");
        let upper = outcome[0].upper.expect("what the target lost beyond doubt bounds it").as_pps();
        assert!(upper < 10_000.0, "{algorithm}: {upper}");
    }
}

/// One packet in a thousand left late; none was lost by that.
fn bears_9_kpps(input: TrialInput, number: u64) -> Trial {
    let intended = input.load.packets_in(input.duration);
    let forwarded = intended.min((9_000.0 * input.duration.as_secs_f64()) as u64);
    let disturbance = Some(Disturbance { displaced: intended / 1000, waited: Duration::ZERO });
    let counted = Trial::new(number, input, number);
    Trial { intended: Some(intended), offered: intended, forwarded, disturbance, ..counted }
}

#[test]
fn a_loss_that_may_be_our_own_doing_is_made_again() {
    for algorithm in ALGORITHMS {
        let mut search = search(algorithm, &goals());
        let wanted = search.next_trial().unwrap();
        let intended = wanted.load.packets_in(wanted.duration);
        let counted = Trial { intended: Some(intended), offered: intended, ..Trial::new(1, wanted, 7) };
        let disturbance = Some(Disturbance { displaced: intended / 2, waited: Duration::ZERO });
        let disturbed = Trial { forwarded: intended / 2, disturbance, ..counted.clone() };
        assert!(disturbed.is_void_at(Ratio::ZERO));
        search.record(&disturbed);
        assert_eq!(search.next_trial(), Some(wanted), "{algorithm}: the same again");
        search.record(&Trial { forwarded: intended / 2, ..counted });
        assert_ne!(search.next_trial(), Some(wanted), "{algorithm}");
    }
}

/// A search whose trials a program performs that says of none that it is spoilt: of each it says how much was offered, and how much
/// of that was lost though the target bears it. What the target cannot do is lost besides.
fn answered(algorithm: &str, capacity: f64, told: impl Fn(u64, f64) -> (f64, f64)) -> Ended {
    let mut search = search(algorithm, &goals());
    let mut trials = 0;
    while let Some(input) = search.next_trial() {
        trials += 1;
        let intended = input.load.packets_in(input.duration);
        let (share, lost) = told(trials, input.load.as_pps());
        let offered = (share * intended as f64) as u64;
        let borne = offered.min((capacity * input.duration.as_secs_f64()) as u64);
        let forwarded = borne.saturating_sub((lost * offered as f64).ceil() as u64);
        let counted = Trial::new(trials, input, trials);
        search.record(&Trial { intended: Some(intended), offered, forwarded, ..counted });
    }
    Ended { outcome: search.outcome(), trials }
}

#[test]
fn a_trial_that_was_not_offered_whole_bounds_nothing_whatever_it_lost() {
    for algorithm in ALGORITHMS {
        for (share, lost) in [(0.97, 0.02), (0.97, 0.5), (0.999, 0.02), (0.4, 0.3)] {
            let whole_below = |limit: f64| move |_, pps| if pps > limit { (share, lost) } else { (1.0, 0.0) };
            let Ended { outcome, trials } = answered(algorithm, 50_000.0, whole_below(5_000.0));
            let context = format!("{algorithm}, {share} offered, {lost} lost: {outcome:?}");
            assert!(trials < MOST, "it ends: {context}");
            for outcome in &outcome {
                assert_eq!(outcome.upper, None, "{context}");
                assert_eq!(outcome.result, GoalResult::Irregular(Irregular::GeneratorLimited), "{context}");
                assert!(outcome.lower.is_none_or(|lower| lower <= pps(5_000)), "{context}");
            }
        }
    }
}

/// One trial in two, by chance.
#[test]
fn no_answer_leaves_out_the_truth_for_trials_that_were_not_offered_whole() {
    for (place, algorithm) in (0..).zip(ALGORITHMS) {
        for case in 0..6u64 {
            let coin = |number: u64| {
                seed::uniforms(seed::of_trial(100 * case + place, number)).next().unwrap() < 0.5
            };
            let told = |number, _| if coin(number) { (0.97, 0.02) } else { (1.0, 0.0) };
            let Ended { outcome, trials } = answered(algorithm, 9_000.0, told);
            let context = format!("{algorithm}, {case}: {outcome:?}");
            assert!(trials < MOST, "it ends: {context}");
            let all = outcome.iter().zip(goals()).all(|(outcome, goal)| holds(outcome, &goal, 9_000.0));
            assert!(all, "{context}");
        }
    }
}

#[test]
fn a_highest_load_that_was_borne_is_not_where_our_generator_ends() {
    let after_the_first = |number: u64, load: f64| number > 1 && load > 15_000.0;
    let now_and_then = |number: u64, load: f64| [2, 3, 5].contains(&number) || load < 15_000.0;
    for is_short in [&after_the_first as &dyn Fn(u64, f64) -> bool, &now_and_then] {
        let told = |number: u64, load: f64| (if is_short(number, load) { 0.6 } else { 1.0 }, 0.0);
        let Ended { outcome, .. } = answered("credible", 50_000.0, told);
        for outcome in &outcome {
            assert_eq!((outcome.lower, outcome.upper), (Some(pps(20_000)), None), "{outcome:?}");
            // A few trials bear no level.
            assert_eq!(outcome.result, GoalResult::Irregular(Irregular::AtMaximum), "{outcome:?}");
        }
    }
    // By bisection, one trial there decides, and what it bore for a strict goal it bore for each looser one.
    let told = |number: u64, load: f64| (if after_the_first(number, load) { 0.6 } else { 1.0 }, 0.0);
    for outcome in &answered("binary", 50_000.0, told).outcome {
        assert_eq!((outcome.lower, outcome.upper), (Some(pps(20_000)), None), "{outcome:?}");
        assert_eq!(outcome.result, GoalResult::Irregular(Irregular::AtMaximum), "{outcome:?}");
    }
}
