//! Searches that are answered with anything.

use dropline_search::mlr::{self, EffectiveDuration};
use dropline_search::{Algorithm, Binary, Goal, GoalResult, Irregular, Limits, Mdr, Mlr, Search, mdr};
use dropline_trial::{LoadRange, Rate, Ratio, Trial, TrialInput};
use std::time::Duration;

/// Trials that one search is fed with at most: `mlr` weighs each choice.
const MOST_TRIALS: u64 = 30;

/// Whatever the answers, a search asks for loads within its range, asks the same when asked again, knows
/// bounds in order, and says nothing regular that is not narrow.
pub fn check(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let range = range(&mut bytes);
    let which = bytes.byte();
    let goals: Vec<Goal> = (0..=which >> 6).map(|_| goal(&mut bytes)).collect();
    let Some((algorithm, goals)) = algorithm(which, goals, range) else { return };
    let mut search = Search::new(algorithm, goals, Limits { budget: None, max_trials: Some(MOST_TRIALS) });
    let longest = search.goals().iter().map(|goal| goal.trial_duration).max().expect("a goal");
    let mut number = 0;
    while !bytes.0.is_empty()
        && let Some(input) = search.next_trial()
    {
        assert_eq!(search.next_trial(), Some(input), "asked twice, it asks the same");
        assert!(range.min() <= input.load && input.load <= range.max(), "{input:?} of {range:?}");
        assert!(!input.duration.is_zero() && input.duration <= longest, "{input:?}");
        assert!(!search.phase().is_empty());
        number += 1;
        search.record(&answer(&mut bytes, number, input));
        check_answers(&search, range);
    }
    assert_eq!(search.next_trial(), search.next_trial());
}

fn check_answers(search: &Search, range: LoadRange) {
    let (outcomes, bounds) = (search.outcome(), search.bounds());
    assert_eq!((outcomes.len(), bounds.len()), (search.goals().len(), search.goals().len()));
    for (goal, outcome) in search.goals().iter().zip(&outcomes) {
        for load in [outcome.lower, outcome.upper].into_iter().flatten() {
            assert!(range.min() <= load && load <= range.max(), "{outcome:?} of {range:?}");
        }
        let distance = outcome.lower.zip(outcome.upper).map(|(lower, upper)| {
            assert!(lower < upper, "{outcome:?}");
            (upper.as_millipps() - lower.as_millipps(), upper.as_millipps())
        });
        match outcome.result {
            GoalResult::Regular => {
                let (distance, upper) = distance.expect("a regular result has both bounds");
                assert!(!goal.width.is_exceeded_by(distance, upper), "{outcome:?}");
            }
            GoalResult::Irregular(Irregular::AtMaximum) => assert_eq!(outcome.lower, Some(range.max())),
            GoalResult::Irregular(Irregular::BelowMinimum) => assert_eq!(outcome.upper, Some(range.min())),
            GoalResult::Irregular(Irregular::GeneratorLimited | Irregular::Unfinished) => {}
            stated => panic!("{stated:?} is not for an algorithm that states bounds"),
        }
        if let Some(conditional) = outcome.conditional_throughput_pps {
            let lower = outcome.lower.expect("a conditional throughput is that of a lower bound");
            assert!((0.0..=lower.as_pps()).contains(&conditional), "{outcome:?}");
        }
    }
}

fn range(bytes: &mut Bytes) -> LoadRange {
    let (a, b) = (bytes.load(), bytes.load());
    LoadRange::new(a.min(b), a.max(b)).expect("in order")
}

fn goal(bytes: &mut Bytes) -> Goal {
    let trial_duration = bytes.duration();
    Goal {
        loss_ratio: bytes.ratio(),
        exceed_ratio: bytes.ratio(),
        width: bytes.ratio(),
        trial_duration,
        initial_trial_duration: bytes.duration().min(trial_duration),
        duration_sum: bytes.duration(),
    }
}

/// The algorithm that `which` chooses, and its goals; `None` if it refuses them.
fn algorithm(which: u8, goals: Vec<Goal>, range: LoadRange) -> Option<(Box<dyn Algorithm>, Vec<Goal>)> {
    Some(match which % 4 {
        0 => (Box::new(Binary::new(&goals, range).ok()?), goals),
        1 => {
            // MDR has one width and one pair of durations.
            let first = goals[0];
            let goals: Vec<Goal> =
                goals.iter().map(|goal| Goal { loss_ratio: goal.loss_ratio, ..first }).collect();
            let config = mdr::Config {
                goals: goals.clone(),
                range,
                intermediate_phases: which >> 2 & 3,
                doublings: which >> 4 & 3,
                version: if which & 8 == 0 { mdr::Version::Current } else { mdr::Version::First },
            };
            (Box::new(Mdr::new(config).ok()?), goals)
        }
        chosen => {
            let effective = if chosen == 2 { EffectiveDuration::Trial } else { EffectiveDuration::Elapsed };
            let config = mlr::Config { goals: goals.clone(), range, effective };
            (Box::new(Mlr::new(config).ok()?), goals)
        }
    })
}

/// What a measurer may say about a trial: a few answers that matter, and any counts at all.
fn answer(bytes: &mut Bytes, number: u64, input: TrialInput) -> Trial {
    let intended = input.load.packets_in(input.duration);
    let counted = |offered, forwarded| Trial {
        intended: Some(intended),
        offered,
        forwarded,
        ..Trial::new(number, input, 7)
    };
    match bytes.byte() {
        0..80 => counted(intended, intended),
        80..140 => counted(intended, intended.saturating_sub(u64::from(bytes.byte()))),
        140..180 => counted(intended, intended / 256 * u64::from(bytes.byte())),
        180..200 => counted(intended / 2, intended / 2),
        200..210 => counted(0, 0),
        210..225 => Trial { intended: None, ..counted(intended, bytes.number()) },
        225..240 => {
            let (duration, elapsed) = (bytes.duration(), bytes.duration());
            Trial { duration, elapsed, ..counted(intended, intended) }
        }
        _ => Trial {
            intended: Some(bytes.number()),
            generator_lost: bytes.number(),
            duration: Duration::ZERO,
            ..counted(bytes.number(), bytes.number())
        },
    }
}

/// Made-up bytes, taken from the front; zeroes when there are none left.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Any number, small ones as likely as large ones.
    fn number(&mut self) -> u64 {
        let bits = self.byte() % 65;
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        u64::from_be_bytes(std::array::from_fn(|_| self.byte())) & mask
    }

    fn load(&mut self) -> Rate {
        Rate::from_millipps(self.number())
    }

    /// From nothing to more than a search can add up, short ones as likely as long ones.
    fn duration(&mut self) -> Duration {
        let ns = Duration::from_nanos(self.number());
        if self.byte() < 250 { ns } else { ns * 1000 }
    }

    fn ratio(&mut self) -> Ratio {
        Ratio::from_billionths(self.number() % 1_000_000_000).expect("below one")
    }
}
