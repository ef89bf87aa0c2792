//! Random search problems: goals, ranges, and systems however strange.

use dropline_search::Goal;
use dropline_trial::{LoadRange, Rate, Ratio, Trial, TrialInput, seed};
use proptest::prelude::*;
use rand::Rng as _;
use std::time::Duration;

/// A search problem.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) goals: Vec<Goal>,
    pub(crate) range: LoadRange,
    /// Of MDR.
    pub(crate) phases: u8,
    /// Of MDR.
    pub(crate) doublings: u8,
    world: World,
    pub(crate) seed: u64,
    /// After which share of its trials the search is interrupted.
    pub(crate) cut: f64,
}

/// What a system does with load x, a share of the range on a logarithmic scale.
#[derive(Clone, Debug)]
enum World {
    /// Loses what is above a limit.
    Knee { limit: f64 },
    /// Loses a share below and above, none in bands between.
    Bands { edges: Vec<f64>, loss: f64 },
    /// Loses the same share always.
    Steady { loss: f64 },
    /// Loses a share in some trials, at whatever load.
    Flapping { often: f64, loss: f64 },
    /// Its limit moves with each trial.
    Drifting { limit: f64, step: f64 },
    /// Its limit is another one in each trial.
    Restless { limit: f64, scatter: f64 },
    /// Loses nothing in trials of up to a share of the longest.
    Patient { limit: f64, share: f64 },
    /// Our own sender offers no more than a limit.
    SlowSender { limit: f64 },
    /// Answers each load with the opposite of what it answered last.
    Contrary,
}

impl World {
    /// Lost and unsent shares of a trial. Depends on nothing but the trial's number and input, and the
    /// seed; the contrary one on how often the load was tried.
    fn answer(&self, case: &Case, number: u64, input: TrialInput, tried: u64) -> (f64, f64) {
        let mut chance = seed::generator(seed::of_trial(case.seed, number));
        let (min, max) = (case.range.min().as_pps().ln(), case.range.max().as_pps().ln());
        let x = if max > min { (input.load.as_pps().ln() - min) / (max - min) } else { 0.5 };
        let above = |limit: f64| if x > limit { 1.0 - ((limit - x) * (max - min)).exp() } else { 0.0 };
        let lost = match *self {
            Self::Knee { limit } => above(limit),
            Self::Bands { ref edges, loss } => {
                let lossy = edges.iter().filter(|&&edge| edge < x).count() % 2 == 1;
                loss * f64::from(u8::from(lossy))
            }
            Self::Steady { loss } => loss,
            Self::Flapping { often, loss } => loss * f64::from(u8::from(chance.random_bool(often))),
            Self::Drifting { limit, step } => above(limit + step * number as f64),
            Self::Restless { limit, scatter } => above(limit + scatter * (chance.random::<f64>() - 0.5)),
            Self::Patient { limit, share } => {
                let longest = case.goals.iter().map(|goal| goal.trial_duration).max().unwrap();
                if input.duration.as_secs_f64() > share * longest.as_secs_f64() { above(limit) } else { 0.0 }
            }
            Self::SlowSender { limit } => return (0.0, above(limit)),
            Self::Contrary => (tried % 2) as f64,
        };
        (lost, 0.0)
    }
}

/// A trial of a case's system, after the earlier ones.
pub(crate) fn measure(case: &Case, earlier: &[Trial], input: TrialInput) -> Trial {
    let number = earlier.len() as u64 + 1;
    let tried = earlier.iter().filter(|trial| trial.input.load == input.load).count() as u64;
    let (lost, unsent) = case.world.answer(case, number, input, tried);
    let intended = input.load.packets_in(input.duration);
    let offered = intended - (intended as f64 * unsent).ceil() as u64;
    let forwarded = offered.saturating_sub((offered as f64 * lost).ceil() as u64);
    Trial { intended: Some(intended), offered, forwarded, ..Trial::new(number, input, case.seed) }
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1.0, (-6.0..0.0f64).prop_map(|log| 10f64.powf(log) * 0.999)]
}

fn world() -> impl Strategy<Value = World> {
    let limit = || -0.1..1.1;
    prop_oneof![
        limit().prop_map(|limit| World::Knee { limit }),
        (prop::collection::vec(0.0..1.0, 1..6), share())
            .prop_map(|(edges, loss)| World::Bands { edges, loss }),
        share().prop_map(|loss| World::Steady { loss }),
        (0.0..1.0, share()).prop_map(|(often, loss)| World::Flapping { often, loss }),
        (limit(), -0.02..0.02).prop_map(|(limit, step)| World::Drifting { limit, step }),
        (limit(), 0.0..0.3).prop_map(|(limit, scatter)| World::Restless { limit, scatter }),
        (limit(), 0.0..1.0).prop_map(|(limit, share)| World::Patient { limit, share }),
        limit().prop_map(|limit| World::SlowSender { limit }),
        Just(World::Contrary),
    ]
}

fn goal() -> impl Strategy<Value = Goal> {
    let ratio = |fraction: f64| Ratio::new(fraction).unwrap();
    let exceed = prop_oneof![Just(0.0), Just(0.5), 0.0..0.95];
    (share(), exceed, -3.5..-0.1, -3.0..2.0, 0.0..1.0, 0.0..1.3).prop_map(
        move |(loss, exceed, width, duration, initial, sum): (f64, f64, f64, f64, f64, f64)| {
            let seconds = 10f64.powf(duration);
            Goal {
                loss_ratio: ratio(loss),
                exceed_ratio: ratio(exceed),
                width: ratio(10f64.powf(width)),
                trial_duration: Duration::from_secs_f64(seconds),
                initial_trial_duration: Duration::from_secs_f64(seconds * 10f64.powf(-2.0 * initial)),
                duration_sum: Duration::from_secs_f64(seconds * 10f64.powf(sum)),
            }
        },
    )
}

pub(crate) fn any_case() -> impl Strategy<Value = Case> {
    let range = (-1.0..9.0, prop_oneof![1 => Just(0.0), 1 => 0.0..0.01, 6 => 0.0..6.0]).prop_map(
        |(min, span): (f64, f64)| {
            let rate = |log: f64| Rate::pps(10f64.powf(log)).unwrap();
            LoadRange::new(rate(min), rate((min + span).min(12.0))).unwrap()
        },
    );
    let goals = prop::collection::vec(goal(), 1..=4);
    (goals, range, 0..=4u8, 1..=3u8, world(), any::<u64>(), 0.0..1.0).prop_map(
        |(goals, range, phases, doublings, world, seed, cut)| Case {
            goals,
            range,
            phases,
            doublings,
            world,
            seed,
            cut,
        },
    )
}
