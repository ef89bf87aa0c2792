//! Whether a search says that a target changed: of targets that stay the same hardly ever, of those that do not nearly always.
//!
//! All is virtual time. Loads are chosen from what trials showed, so the order of trials is not independent of what they
//! found, and only searches tell how often chance alone looks like a change.

use dropline_search::{
    Algorithm, Binary, Credible, Goal, GoalResult, Limits, Mdr, Mlr, Preset, Search, credible, mdr, mlr,
};
use dropline_stats::Histogram;
use dropline_trial::{Caveat, Delay, LoadRange, Rate, Ratio, Trial, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _, StandardNormal};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

/// A trial as a target sees it: packets, packets a second, seconds, when it begins, and what the one before it left.
#[derive(Clone, Copy)]
struct Load<'a> {
    packets: u64,
    pps: f64,
    seconds: f64,
    now: f64,
    left: &'a Cell<f64>,
}

/// What came of it: lost packets, and where there is one the median of the delays in seconds.
type Came = (u64, Option<f64>);

type Target = fn(Load<'_>, u64, &mut ChaCha8Rng) -> Came;

const CAPACITY: f64 = 123_456.0;

fn binomial(of: u64, each: f64, chance: &mut ChaCha8Rng) -> u64 {
    Binomial::new(of, each.clamp(0.0, 1.0)).unwrap().sample(chance)
}

/// What a capacity loses.
fn excess(load: Load<'_>, capacity: f64) -> u64 {
    load.packets - load.packets.min((capacity * load.seconds) as u64)
}

/// What a capacity loses, and each of the other packets with a probability.
fn beside(load: Load<'_>, capacity: f64, each: f64, chance: &mut ChaCha8Rng) -> Came {
    let above = excess(load, capacity);
    (above + binomial(load.packets - above, each, chance), None)
}

/// Targets that are the same all the time: each trial is chance of its own.
const STEADY: [(&str, Target); 11] = [
    ("1e-5", |load, _, chance| beside(load, CAPACITY, 1e-5, chance)),
    ("1e-4", |load, _, chance| beside(load, CAPACITY, 1e-4, chance)),
    ("1e-3", |load, _, chance| beside(load, CAPACITY, 1e-3, chance)),
    ("1e-2", |load, _, chance| beside(load, CAPACITY, 1e-2, chance)),
    // Of each thousand packets one, four times of five.
    ("one in a thousand", |load, _, chance| {
        let above = excess(load, CAPACITY);
        ((above + binomial(load.packets / 1000, 0.8, chance)).min(load.packets), None)
    }),
    // A share that is another one in each trial.
    ("a share of the trial", |load, _, chance| {
        let z: f64 = StandardNormal.sample(chance);
        let each = 1e-3 * (1.5 * z).exp();
        beside(load, CAPACITY, each, chance)
    }),
    ("bad trials", |load, _, chance| {
        let capacity = if chance.random_bool(0.3) { 0.8 * CAPACITY } else { CAPACITY };
        (excess(load, capacity), None)
    }),
    ("trials of some loss", |load, _, chance| {
        let each = if chance.random_bool(0.3) { 0.02 } else { 0.0 };
        beside(load, CAPACITY, each, chance)
    }),
    // Once in two seconds for 10 ms or so.
    ("bursts", |load, _, chance| {
        let above = excess(load, CAPACITY);
        let gone: f64 = (0..(load.seconds * 100.0).ceil() as u32)
            .map(|_| match chance.random_bool(0.005) {
                true => -0.01 * (1.0 - chance.random::<f64>()).ln(),
                false => 0.0,
            })
            .sum();
        ((above + (gone * load.pps) as u64).min(load.packets), None)
    }),
    ("scatter", |load, _, chance| {
        let z: f64 = StandardNormal.sample(chance);
        (excess(load, CAPACITY * (0.01 * z).exp()), None)
    }),
    // More waits the higher the load is, and an idle one has to wake.
    ("queue", |load, _, chance| {
        let z: f64 = StandardNormal.sample(chance);
        let busy = (load.pps / CAPACITY).min(1.0);
        let wakes = 1e-4 * (1.0 - busy);
        let waits = if load.pps > CAPACITY { 256.0 / CAPACITY } else { 8e-6 / (1.001 - busy) };
        let (lost, _) = beside(load, CAPACITY, 1e-4, chance);
        (lost, Some((wakes + waits) * (0.05 * z).exp()))
    }),
];

/// What a queue of 256 loses whose capacity is another one at each moment.
fn queued(load: Load<'_>, capacity: impl Fn(f64) -> f64) -> Came {
    const STEP: f64 = 0.001;
    let (mut waits, mut lost) = (0.0, 0.0);
    for step in 0..(load.seconds / STEP).round() as u32 {
        waits = f64::max(0.0, waits + (load.pps - capacity(load.now + f64::from(step) * STEP)) * STEP);
        lost += f64::max(0.0, waits - 256.0);
        waits = f64::min(waits, 256.0);
    }
    (lost.round() as u64, None)
}

/// What a capacity of 1e5 loses with a queue of so many, which is kept from trial to trial.
fn kept(load: Load<'_>, queue: f64) -> Came {
    let waits = load.left.get() + load.packets as f64 - 1e5 * load.seconds;
    load.left.set(waits.clamp(0.0, queue));
    ((waits - queue).max(0.0).round() as u64, None)
}

/// Targets that are the same all the time, but for what a trial leaves to the next.
const KEEPING: [(&str, Target); 5] = [
    ("a queue of 1000", |load, _, _| kept(load, 1e3)),
    ("a queue of 2500", |load, _, _| kept(load, 2.5e3)),
    ("a queue of 5000", |load, _, _| kept(load, 5e3)),
    ("a queue of 20000", |load, _, _| kept(load, 2e4)),
    // As above for some time after it was overloaded: it has to cool down.
    ("a second's rest", |load, _, _| {
        let lost = excess(load, if load.now < load.left.get() { 0.95e5 } else { 1e5 });
        if lost > 0 {
            load.left.set(load.now + load.seconds + 0.5);
        }
        (lost, None)
    }),
];

/// One that has another capacity from a moment on, which is another one in each search.
fn changes(load: Load<'_>, at: f64, before: f64, since: f64, seed: u64) -> Came {
    let at = at + seed::generator(seed).random::<f64>();
    queued(load, |now| if now < at { before } else { since })
}

/// One that is slow in turns, so many seconds each.
fn flips(load: Load<'_>, each: f64, slow: f64, seed: u64) -> Came {
    let from = 2.0 * each * seed::generator(seed).random::<f64>();
    queued(load, |now| if ((now + from) / each) % 2.0 < 1.0 { 1e5 } else { slow })
}

const DRIFT: &[&str] = &["drift"];
const WARM_UP: &[&str] = &["warm_up"];
const TURNS: &[&str] = &["two_states"];
const OUTAGES: &[&str] = &["outages"];

/// Targets that are not, and which statement is true of them; the width of the goals is a tenth where it is said so.
const CHANGING: [(&str, Target, &[&str], bool, f64); 13] = [
    // A fifth less from half of the budget on.
    (
        "a fifth less",
        |load, _, chance| {
            let z: f64 = StandardNormal.sample(chance);
            let share = if load.now < 18.0 { 1.0 } else { 0.8 };
            (excess(load, share * CAPACITY * (0.002 * z).exp()), None)
        },
        DRIFT,
        false,
        18.0,
    ),
    ("half from 14 s on", |load, seed, _| changes(load, 14.0, 1e5, 5e4, seed), DRIFT, false, 19.0),
    ("half from 9 s on", |load, seed, _| changes(load, 9.0, 1e5, 5e4, seed), DRIFT, false, 10.0),
    ("half from 32 s on", |load, seed, _| changes(load, 32.0, 1e5, 5e4, seed), DRIFT, true, 33.0),
    ("twice from 25 s on", |load, seed, _| changes(load, 25.0, 5e4, 1e5, seed), DRIFT, true, 26.0),
    ("half in the first 3 s", |load, seed, _| changes(load, 2.5, 5e4, 1e5, seed), WARM_UP, false, 0.0),
    ("half in the first 5 s", |load, seed, _| changes(load, 4.5, 5e4, 1e5, seed), WARM_UP, false, 0.0),
    (
        "nothing in turns",
        |load, seed, _| flips(load, 5.0, 0.0, seed),
        &["two_states", "outages"],
        false,
        15.0,
    ),
    ("half in turns", |load, seed, _| flips(load, 5.0, 5e4, seed), TURNS, false, 15.0),
    // Two states of eight seconds each, 0.15 of the faster one apart.
    (
        "long turns",
        |load, seed, chance| {
            let slow = (load.now / 8.0 + seed::generator(seed).random::<f64>()) % 2.0 < 1.0;
            let z: f64 = StandardNormal.sample(chance);
            (excess(load, if slow { 0.85 } else { 1.0 } * CAPACITY * (0.002 * z).exp()), None)
        },
        TURNS,
        false,
        24.0,
    ),
    (
        "a second of nothing each three",
        |load, _, _| queued(load, |now| if now % 3.0 < 1.0 { 0.0 } else { 1e5 }),
        OUTAGES,
        false,
        0.0,
    ),
    ("a fiftieth a second", |load, _, _| queued(load, |now| 1e5 / (1.0 + 0.02 * now)), DRIFT, false, 0.0),
    (
        "half a hundredth a second",
        |load, _, _| queued(load, |now| 1e5 / (1.0 + 0.005 * now)),
        DRIFT,
        false,
        0.0,
    ),
];

/// A service time of 200 us that grows by 20 us a second, and a queue of 64.
const SLOWER_AND_SLOWER: Target = |load, _, _| {
    let each = 200e-6 + 20e-6 * (load.now + 0.5 * load.seconds);
    let lost = excess(load, 1.0 / each);
    (lost, Some(if lost > 0 { 64.0 * each } else { 600e-6 }))
};

/// What chooses the loads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Chooses {
    Credible,
    Mlr,
    Mdr,
    Binary,
}

/// Searches to make of each target.
#[derive(Clone, Copy)]
struct Searches {
    by: Chooses,
    range: (f64, f64),
    budget_s: u64,
    seeds: u64,
    /// What a trial takes beside its traffic.
    waits_ms: u64,
    is_sharp: bool,
    /// When the target changes, in seconds; 0 where it does all the time, or not at all.
    changes_at: f64,
}

/// A change is seen by trials of so many seconds.
const SHOWS_S: f64 = 3.0;

const FAR_APART: (f64, f64) = (1e3, 5e5);

impl Searches {
    fn of(by: Chooses, seeds: u64) -> Self {
        let budget_s = if by == Chooses::Credible { 36 } else { 120 };
        Self { by, range: FAR_APART, budget_s, seeds, waits_ms: 100, is_sharp: false, changes_at: 0.0 }
    }

    /// In how many a doubt is one of these.
    fn said_of(&self, name: &str, target: Target, codes: &[&str]) -> u64 {
        let mut all = BTreeMap::new();
        let mut found = 0;
        for seed in 1..=self.seeds {
            let (said, end, is_sure) = self.said(target, seed);
            // A search that ended before its target changed had none that does; few turns are told, or leave an answer unsure.
            let is_so = said.iter().any(|one| codes.contains(&one.code()))
                || end < self.changes_at + SHOWS_S
                || codes == TURNS && !is_sure;
            found += u64::from(is_so);
            // What changed says all: nothing stands beside it.
            assert!(
                said.len() == 1 || !said.iter().any(|one| OF_CHANGE.contains(&one.code())),
                "{name}, {seed}: {said:?}"
            );
            said.iter().for_each(|one| *all.entry(one.code().to_owned()).or_insert(0) += 1);
        }
        println!("{name}, {:?}: {found} of {} {all:?}", self.by, self.seeds);
        found
    }

    /// What a search says of a target beside its answer, when it ended, and whether it is sure of an answer.
    fn said(&self, target: Target, seed: u64) -> (Vec<Caveat>, f64, bool) {
        let goals = Preset::Csit.goals();
        let mut goals = if seed.is_multiple_of(3) { goals[..1].to_vec() } else { goals };
        if self.is_sharp {
            goals = vec![Goal { width: Ratio::new(0.0005).unwrap(), ..Preset::Csit.goals()[1] }];
        }
        let [least, most] = [self.range.0, self.range.1].map(|pps| Rate::pps(pps).unwrap());
        let limits = Limits { budget: Some(Duration::from_secs(self.budget_s)), max_trials: Some(200) };
        let algorithm = self.algorithm(&goals, LoadRange::new(least, most).unwrap(), seed);
        let mut search = Search::new(algorithm, goals, limits);
        let (mut now, left) = (0.0, Cell::new(0.0));
        for number in 1.. {
            let Some(input) = search.next_trial() else { break };
            let mut chance = seed::generator(seed::of_trial(seed, number));
            let (packets, seconds) = (input.load.packets_in(input.duration), input.duration.as_secs_f64());
            let load = Load { packets, pps: input.load.as_pps(), seconds, now, left: &left };
            let (lost, median) = target(load, seed, &mut chance);
            let mut histogram = Histogram::new();
            median.iter().for_each(|delay| histogram.record_n((delay * 1e9) as u64, packets - lost));
            let elapsed = input.duration + Duration::from_millis(self.waits_ms);
            now += elapsed.as_secs_f64();
            let counts =
                Trial { offered: packets, forwarded: packets - lost, ..Trial::new(number, input, 7) };
            let delay = Delay::of(histogram);
            search.record(&Trial { intended: Some(packets), elapsed, delay, ..counts });
        }
        search.settle();
        let is_sure = search.outcome().iter().any(|goal| matches!(goal.result, GoalResult::Narrow { .. }));
        (search.caveats(), now, is_sure)
    }

    fn algorithm(&self, goals: &[Goal], range: LoadRange, seed: u64) -> Box<dyn Algorithm> {
        let (goals, budget) = (goals.to_vec(), Duration::from_secs(self.budget_s));
        match self.by {
            Chooses::Credible => {
                let config = credible::Config { budget, seed, ..credible::Config::new(goals, range) };
                Box::new(Credible::new(config).unwrap())
            }
            Chooses::Mlr => {
                let effective = mlr::EffectiveDuration::Elapsed;
                Box::new(Mlr::new(mlr::Config { goals, range, effective }).unwrap())
            }
            Chooses::Mdr => Box::new(Mdr::new(mdr::Config::new(goals, range)).unwrap()),
            Chooses::Binary => Box::new(Binary::new(&goals, range).unwrap()),
        }
    }
}

/// What says that the target is not the same in all trials. Bad trials are bad ones, whenever they come.
const OF_CHANGE: &[&str] = &["slowed", "drift", "warm_up", "two_states", "unsteady", "outages"];

/// Were it so of one search in a hundred, more than this many of so many would be with a probability of 1 % at most.
fn most_of(searches: u64) -> u64 {
    let (mut one, mut sum, mut most) = (0.99f64.powi(searches as i32), 0.0, 0);
    loop {
        sum += one;
        if sum >= 0.99 {
            return most;
        }
        one *= (searches - most) as f64 / (most + 1) as f64 / 99.0;
        most += 1;
    }
}

fn are_seldom_doubted(by: &[Chooses], seeds: u64) {
    let (mut doubted, mut searches) = (0, 0);
    for by in by {
        for target in STEADY {
            doubted += Searches::of(*by, seeds).said_of(target.0, target.1, OF_CHANGE);
            searches += seeds;
        }
    }
    assert!(doubted <= most_of(searches), "{doubted} of {searches}, and {} may be", most_of(searches));
}

#[test]
fn a_target_that_stays_the_same_is_hardly_ever_said_to_change() {
    are_seldom_doubted(&[Chooses::Credible], searches(2));
}

/// Above the limit of a trial nearly nothing comes through, and the limits scatter: loads that were too high are no slow moments, however
/// long it is searched.
#[test]
fn a_target_that_breaks_down_above_a_limit_that_scatters_is_hardly_ever_said_to_change() {
    let breaks: [(&str, Target); 3] = [
        ("by half a per cent", |load, _, chance| broken(load, 0.005, chance)),
        ("by a fiftieth", |load, _, chance| broken(load, 0.02, chance)),
        ("by a ninth", |load, _, chance| broken(load, 0.11, chance)),
    ];
    let (mut doubted, mut all) = (0, 0);
    for (budget_s, seeds) in [(36, searches(2)), (120, searches(2))] {
        let searches = Searches { budget_s, waits_ms: 500, ..Searches::of(Chooses::Credible, seeds) };
        doubted += breaks.map(|(name, target)| searches.said_of(name, target, OF_CHANGE)).iter().sum::<u64>();
        all += seeds * breaks.len() as u64;
    }
    assert!(doubted <= most_of(all), "{doubted} of {all}, and {} may be", most_of(all));
}

/// What is lost of one that breaks down above a limit that scatters by so much.
fn broken(load: Load<'_>, scatter: f64, chance: &mut ChaCha8Rng) -> Came {
    let z: f64 = StandardNormal.sample(chance);
    let is_above = load.pps > CAPACITY * (scatter * z).exp();
    (if is_above { (0.96 * load.packets as f64) as u64 } else { 0 }, None)
}

/// The commonest limiter there is keeps a bucket of tokens: only the order of the trials is another one.
#[test]
fn what_trials_leave_to_one_another_is_hardly_ever_said_to_be_a_change() {
    let seeds = searches(6);
    let searches = Searches { waits_ms: 0, range: (1e3, 4e5), ..Searches::of(Chooses::Credible, seeds) };
    let changed = KEEPING.map(|(name, target)| searches.said_of(name, target, OF_CHANGE));
    let (all, of) = (changed.iter().sum::<u64>(), seeds * KEEPING.len() as u64);
    assert!(all <= most_of(of), "{changed:?} of {of}, and {} may be", most_of(of));
}

#[test]
fn nor_is_it_where_loads_are_bisected() {
    are_seldom_doubted(&[Chooses::Mlr, Chooses::Mdr, Chooses::Binary], 30);
}

/// Single packets, lost at random: nothing is worse for a moment.
#[test]
fn random_loss_is_told_as_that_and_not_as_bad_moments() {
    let said: Vec<Caveat> = STEADY[..3]
        .iter()
        .flat_map(|(_, target)| Searches::of(Chooses::Credible, 1).said(*target, 1).0)
        .collect();
    let moments = |caveat: &&Caveat| matches!(caveat, Caveat::BadMoments { trials: 2.., .. });
    assert_eq!(said.iter().find(moments), None);
}

#[test]
fn a_target_that_changes_is_said_to() {
    are_said_to_change(searches(4));
}

fn are_said_to_change(seeds: u64) {
    let searches = Searches { waits_ms: 0, range: (1e3, 4e5), ..Searches::of(Chooses::Credible, seeds) };
    let found = CHANGING.map(|(name, target, codes, is_sharp, changes_at)| {
        Searches { is_sharp, changes_at, ..searches }.said_of(name, target, codes)
    });
    let slower = Searches { budget_s: 20, range: (100.0, 8e3), ..searches };
    let slower = slower.said_of("slower and slower", SLOWER_AND_SLOWER, DRIFT);
    assert!(
        found.iter().chain([&slower]).all(|found| 10 * found >= 9 * seeds),
        "{found:?} {slower} of {seeds} each"
    );
}

/// Two states of twelve seconds each, 0.15 of the faster one apart, in a search that sees several of both.
#[test]
fn a_target_that_is_one_of_two_for_long_is_said_to_be() {
    let states: Target = |load, seed, chance| {
        let slow = (load.now / 12.0 + seed::generator(seed).random::<f64>()) % 2.0 < 1.0;
        let z: f64 = StandardNormal.sample(chance);
        (excess(load, if slow { 0.85 } else { 1.0 } * CAPACITY * (0.002 * z).exp()), None)
    };
    let seeds = searches(4);
    let searches = Searches { budget_s: 72, ..Searches::of(Chooses::Credible, seeds) };
    let found = searches.said_of("two states", states, OF_CHANGE);
    assert!(10 * found >= 9 * seeds, "{found} of {seeds}");
}

/// So many searches of each target, or as many as DROPLINE_SEARCHES says (100 take an hour).
#[expect(clippy::disallowed_methods, reason = "how long the test takes is the user's choice")]
fn searches(of_each: u64) -> u64 {
    std::env::var("DROPLINE_SEARCHES").map_or(of_each, |many| many.parse().expect("a number of searches"))
}
