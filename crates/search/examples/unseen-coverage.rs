//! How often credible intervals hold the true value of targets that were made to mislead them, each with numbers of its own.
//!
//! `cargo run --release -p dropline-search --example unseen-coverage -- [SEEDS] [KIND,…] [BUDGET_S] [--from=SEED] [--each] [--trace]`
//! prints a line a kind. A seed draws a target's numbers, so that no two searches are of the same one. A true value is that of a
//! moment: of a target that changes, those of the first and of the last trial are looked for, and a statement that it changed
//! counts as much as an interval that holds the last one.

use dropline_search::credible::Config;
use dropline_search::{Credible, Goal, GoalOutcome, GoalResult, Limits, Preset, Search};
use dropline_trial::{Caveat, LoadRange, Rate, Trial, TrialInput, seed};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _, StandardNormal};
use std::collections::BTreeMap;
use std::time::Duration;

/// The lowest and the highest load.
const RANGE: (f64, f64) = (1e4, 1.5e7);
/// Of slow changes, in seconds.
const BUDGET: f64 = 36.0;
/// Trials from which a true value is taken.
const TRUTH_TRIALS: u64 = 1500;
/// What says that a target changed, or that its trials contradict one another.
const OF_CHANGE: [&str; 9] = [
    "slowed",
    "drift",
    "warm_up",
    "two_states",
    "unsteady",
    "carries_over",
    "outages",
    "goals_contradict",
    "moved",
];

/// What says why an answer has no end.
const OF_NO_END: [&str; 3] = ["fails_anywhere", "no_upper_end", "bad_moments"];

/// A trial as a target sees it.
#[derive(Clone, Copy)]
struct Asked {
    pps: f64,
    seconds: f64,
    /// When it begins, in seconds.
    now: f64,
    /// In [0, 1), another one for each load.
    hash: f64,
}

/// The numbers of one target, drawn from a seed.
#[derive(Clone, Copy)]
struct Numbers {
    limit: f64,
    scatter: f64,
    /// When it changes, and once more.
    at: [f64; 2],
    /// By which factor.
    by: [f64; 2],
    /// How often something happens, and how bad it is.
    often: f64,
    bad: f64,
    width: f64,
    /// What a trial takes beside its traffic, in seconds.
    overhead: f64,
    /// When it becomes faster late, and by which factor.
    late: f64,
    rise: f64,
    /// How many trials fail at any load: more than half.
    mostly: f64,
    /// A scatter that is large, and one of a target that breaks down above its limit, which loses so much then.
    wide: f64,
    cliff: f64,
    deep: f64,
    /// When it becomes slower with few trials left, and by which factor.
    last: f64,
    falls: f64,
    /// How many trials fail at any load: nearly half, or some.
    half: f64,
    some: f64,
    seed: u64,
}

type Lost = fn(&Numbers, Asked, &mut ChaCha8Rng) -> f64;

/// Name, what is lost of a trial, and whether it is the same all the time.
const KINDS: [(&str, Lost, bool); 41] = [
    // A limit that moves once, and stays.
    ("moves", |of, asked, chance| above(of, asked, moved(of, asked, false), chance), false),
    (
        "quiet-moves",
        |of, asked, chance| above(&Numbers { scatter: 0.0, ..*of }, asked, moved(of, asked, false), chance),
        false,
    ),
    ("moves-twice", |of, asked, chance| above(of, asked, moved(of, asked, true), chance), false),
    (
        "moves-slowly",
        |of, asked, chance| {
            let part = ((asked.now - of.at[0]) / of.width).clamp(0.0, 1.0);
            above(of, asked, of.by[0].powf(part), chance)
        },
        false,
    ),
    (
        "soft-moves",
        |of, asked, chance| {
            let share = moved(of, asked, false) * (of.scatter * normal(chance)).exp();
            let over = (asked.pps / (of.limit * share)).powf(10.0 + 20.0 * of.bad);
            binomial(asked, (1e-3 * over).min(0.9), chance)
        },
        false,
    ),
    // One that becomes faster in the last quarter, by little, or by degrees.
    (
        "rises-late",
        |of, asked, chance| {
            above(&Numbers { scatter: 0.2 * of.scatter, ..*of }, asked, risen(of, asked), chance)
        },
        false,
    ),
    ("rises-late-noisy", |of, asked, chance| above(of, asked, risen(of, asked), chance), false),
    (
        "rises-a-little",
        |of, asked, chance| {
            let share = if asked.now < of.at[0] { 1.0 } else { 1.05 + 0.05 * of.bad };
            above(of, asked, share, chance)
        },
        false,
    ),
    (
        "rises-slowly",
        |of, asked, chance| {
            above(
                &Numbers { scatter: 0.5 * of.scatter, ..*of },
                asked,
                1.0 + (of.rise - 1.0) * 0.5 * asked.now / BUDGET,
                chance,
            )
        },
        false,
    ),
    (
        "falls-late",
        |of, asked, chance| {
            above(&Numbers { scatter: 0.2 * of.scatter, ..*of }, asked, 1.0 / risen(of, asked), chance)
        },
        false,
    ),
    (
        "rises-late-wide",
        |of, asked, chance| {
            let rise = if asked.now < of.late { 1.0 } else { 1.2 + of.rise - 1.0 };
            above(&Numbers { scatter: of.wide, ..*of }, asked, rise, chance)
        },
        false,
    ),
    (
        "falls-far-late",
        |of, asked, chance| {
            let share = if asked.now < of.last { 1.0 } else { of.falls };
            above(&Numbers { scatter: 0.5 * of.scatter, ..*of }, asked, share, chance)
        },
        false,
    ),
    // More than half of all trials fail at any load, and then no load is a limit; or many lose a little.
    (
        "fails-mostly",
        |of, asked, chance| {
            let fails = chance.random_bool(of.mostly);
            let lost =
                if fails { (0.3 + 0.7 * chance.random::<f64>()) * asked.pps * asked.seconds } else { 0.0 };
            above(of, asked, 1.0, chance).max(lost)
        },
        true,
    ),
    (
        "shallow",
        |of, asked, chance| {
            let fails = chance.random_bool(of.often + 0.03);
            let lost =
                if fails { (0.01 + 0.07 * chance.random::<f64>()) * asked.pps * asked.seconds } else { 0.0 };
            above(&Numbers { scatter: 0.2 * of.scatter, ..*of }, asked, 1.0, chance).max(lost)
        },
        true,
    ),
    (
        "shallow-low",
        |of, asked, chance| {
            let fails = chance.random_bool(of.often + 0.03);
            let limit = Numbers { scatter: 0.2 * of.scatter, limit: of.limit * 0.1, ..*of };
            let lost = if fails { (0.006 + 0.05 * of.bad) * asked.pps * asked.seconds } else { 0.0 };
            above(&limit, asked, 1.0, chance).max(lost)
        },
        true,
    ),
    // Nearly half of all trials lose some per cent, or less than one, at any load; or more than half.
    ("shallow-half", |of, asked, chance| at_any_load(of, asked, (of.half, 0.01, 0.08), chance), true),
    ("shallow-mostly", |of, asked, chance| at_any_load(of, asked, (of.mostly, 0.01, 0.08), chance), true),
    ("tiny-half", |of, asked, chance| at_any_load(of, asked, (of.half, 0.001, 0.009), chance), true),
    // They do so the oftener, the higher the load is.
    (
        "fails-rising",
        |of, asked, chance| {
            let over = asked.pps / (0.3 * of.limit);
            at_any_load(of, asked, (0.9 * over / (over + 1.0), 0.01, 0.03 + 0.5 * of.bad * of.bad), chance)
        },
        true,
    ),
    // Few or many trials lose much at any load, and all above a limit that hardly scatters.
    ("fails-some", |of, asked, chance| at_any_load(of, asked, (of.some, 0.3, 1.0), chance), true),
    // All is lost, or much, of a share of the trials at any load.
    (
        "fails-often",
        |of, asked, chance| {
            let fails = chance.random_bool(of.often);
            above(of, asked, 1.0, chance).max(if fails { of.bad * asked.pps * asked.seconds } else { 0.0 })
        },
        true,
    ),
    (
        "out-often",
        |of, asked, chance| {
            let fails = chance.random_bool(of.often);
            above(of, asked, 1.0, chance).max(if fails { asked.pps * asked.seconds } else { 0.0 })
        },
        true,
    ),
    // For some seconds in all, at some time in the first third: nothing comes through.
    (
        "out-once",
        |of, asked, chance| {
            let (from, to) = (of.at[1] * 0.3, of.at[1] * 0.3 + 0.15 * of.width);
            let out = (asked.now + asked.seconds).min(to) - asked.now.max(from);
            above(of, asked, 1.0, chance).max(out.max(0.0) * asked.pps)
        },
        true,
    ),
    // It is out for seconds now and then.
    (
        "out-spells",
        |of, asked, chance| {
            let out: f64 = (0..40)
                .map(|step| {
                    let mut spell = seed::generator(seed::of_trial(of.seed, 1000 + step));
                    let from = 15.0 * (step as f64 + spell.random::<f64>());
                    let to = from + 2.0 + 3.0 * spell.random::<f64>();
                    ((asked.now + asked.seconds).min(to) - asked.now.max(from)).max(0.0)
                })
                .sum();
            above(of, asked, 1.0, chance).max(out * asked.pps)
        },
        true,
    ),
    // Loads are good or bad by a hash of them, from a point below the limit on.
    (
        "hash-half",
        |of, asked, chance| {
            let is_bad = asked.pps > 0.6 * of.limit && asked.hash < 0.55 + 0.4 * of.often;
            above(of, asked, 1.0, chance).max(if is_bad {
                0.03 * of.bad.max(0.2) * asked.pps * asked.seconds
            } else {
                0.0
            })
        },
        true,
    ),
    (
        "hash-rising",
        |of, asked, chance| {
            let often = (asked.pps / of.limit - 0.6) / 0.4;
            let is_bad = asked.hash < often;
            above(of, asked, 1.0, chance).max(if is_bad { 0.02 * asked.pps * asked.seconds } else { 0.0 })
        },
        true,
    ),
    // Flows on cores, by the load: what a core of a few gets too much.
    (
        "hash-cores",
        |of, asked, chance| {
            let mut placed = seed::generator((asked.hash * 1e15) as u64);
            let cores = 4 + (4.0 * of.often) as usize;
            let mut counts = vec![0.0; cores];
            let flows = 64 + (900.0 * of.bad) as usize;
            (0..flows).for_each(|_| counts[placed.random_range(0..cores)] += 1.0);
            let capacity = of.limit * (0.2 * of.scatter * normal(chance)).exp() / cores as f64;
            counts
                .iter()
                .map(|count| (asked.pps * count / flows as f64 - capacity).max(0.0) * asked.seconds)
                .sum()
        },
        true,
    ),
    // The same all the time, and noisy.
    ("hard", |of, asked, chance| above(&Numbers { scatter: 0.0, ..*of }, asked, 1.0, chance), true),
    ("scatters", |of, asked, chance| above(of, asked, 1.0, chance), true),
    (
        "scatters-much",
        |of, asked, chance| above(&Numbers { scatter: 3.0 * of.scatter, ..*of }, asked, 1.0, chance),
        true,
    ),
    (
        "scatters-wide",
        |of, asked, chance| above(&Numbers { scatter: of.wide, ..*of }, asked, 1.0, chance),
        true,
    ),
    (
        "scatters-widest",
        |of, asked, chance| above(&Numbers { scatter: 2.5 * of.cliff, ..*of }, asked, 1.0, chance),
        true,
    ),
    // Above the limit of the trial nearly nothing comes through, or four fifths.
    ("breaks", |of, asked, chance| broken(of, asked, of.deep, 1.0, chance), true),
    (
        "breaks-wide",
        |of, asked, chance| broken(&Numbers { cliff: 2.5 * of.cliff, ..*of }, asked, of.deep, 1.0, chance),
        true,
    ),
    ("breaks-little", |of, asked, chance| broken(of, asked, 0.2 * of.deep, 1.0, chance), true),
    ("breaks-moves", |of, asked, chance| broken(of, asked, of.deep, moved(of, asked, false), chance), false),
    (
        "skewed",
        |of, asked, chance| {
            let slow = -(1.0 - chance.random::<f64>()).ln();
            above(&Numbers { scatter: 0.0, ..*of }, asked, (-2.0 * of.scatter * slow).exp(), chance)
        },
        true,
    ),
    (
        "dips",
        |of, asked, chance| {
            let dip = if chance.random_bool(0.3 * of.often) { 1.0 - 0.4 * of.bad } else { 1.0 };
            above(of, asked, dip, chance)
        },
        true,
    ),
    (
        "steep-power",
        |of, asked, chance| {
            let share = (of.scatter * normal(chance)).exp();
            let loss = 1e-5 * (asked.pps / (of.limit * share)).min(1.0).powf(6.0 + 14.0 * of.bad);
            above(of, asked, share, chance) + binomial(asked, loss, chance)
        },
        true,
    ),
    (
        "floor",
        |of, asked, chance| above(of, asked, 1.0, chance) + binomial(asked, 4.5e-3 * of.bad, chance),
        true,
    ),
    (
        "red",
        |of, asked, chance| {
            let loss = 0.03 * ((asked.pps / of.limit - 0.5 - 0.4 * of.bad) / 0.3).clamp(0.0, 1.0);
            above(of, asked, 1.0, chance) + binomial(asked, loss, chance)
        },
        true,
    ),
];

fn normal(chance: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(chance)
}

fn binomial(asked: Asked, each: f64, chance: &mut ChaCha8Rng) -> f64 {
    let packets = (asked.pps * asked.seconds) as u64;
    Binomial::new(packets, each.clamp(0.0, 1.0)).expect("a probability").sample(chance) as f64
}

/// What a limit loses that is such a share of the usual one.
fn above(of: &Numbers, asked: Asked, share: f64, chance: &mut ChaCha8Rng) -> f64 {
    let limit = of.limit * share * (of.scatter * normal(chance)).exp();
    ((asked.pps - limit).max(0.0) * asked.seconds).ceil()
}

/// The same where so much of all is lost above a limit that scatters in its own way.
fn broken(of: &Numbers, asked: Asked, deep: f64, share: f64, chance: &mut ChaCha8Rng) -> f64 {
    let lost = above(&Numbers { scatter: of.cliff, ..*of }, asked, share, chance);
    if lost > 0.0 { lost.max(deep * asked.pps * asked.seconds) } else { 0.0 }
}

/// What a limit that hardly scatters loses, where a share of all trials lose at least so much of their packets.
fn at_any_load(
    of: &Numbers,
    asked: Asked,
    (share, least, most): (f64, f64, f64),
    chance: &mut ChaCha8Rng,
) -> f64 {
    let fails = chance.random_bool(share.min(1.0));
    let lost = least + (most - least) * chance.random::<f64>();
    let at_least = if fails { (lost * asked.pps * asked.seconds).floor() } else { 0.0 };
    above(&Numbers { scatter: 0.2 * of.scatter, ..*of }, asked, 1.0, chance).max(at_least)
}

/// The share of the limit that there is at a time.
fn moved(of: &Numbers, asked: Asked, twice: bool) -> f64 {
    match asked.now {
        now if now < of.at[0] => 1.0,
        now if twice && now >= of.at[1] => of.by[0] * of.by[1],
        _ => of.by[0],
    }
}

/// The same of one that becomes faster late.
fn risen(of: &Numbers, asked: Asked) -> f64 {
    if asked.now < of.late { 1.0 } else { of.rise }
}

impl Numbers {
    fn drawn(seed: u64, budget: f64) -> Self {
        let mut chance = seed::generator(seed::of_trial(seed, 900_001));
        let mut between = |low: f64, high: f64| low + (high - low) * chance.random::<f64>();
        let mut moves = || {
            let by = between(0.1, 0.4);
            if between(0.0, 1.0) < 0.5 { 1.0 - by } else { 1.0 / (1.0 - by) }
        };
        let by = [moves(), moves()];
        let first = between(0.3, 0.75);
        Self {
            limit: between(5e5f64.ln(), 8e6f64.ln()).exp(),
            scatter: between(5e-4f64.ln(), 0.02f64.ln()).exp(),
            at: [first * budget, between(first + 0.1, 0.9) * budget],
            by,
            often: between(0.25, 0.42),
            bad: between(0.05, 1.0),
            width: between(0.1, 0.5) * budget,
            overhead: if seed.is_multiple_of(2) { 0.5 } else { 0.3 * between(0.0, 1.0) * between(0.0, 1.0) },
            late: between(0.75, 0.93) * budget,
            rise: between(1.06, 1.6),
            mostly: between(0.54, 0.8),
            wide: between(0.02f64.ln(), 0.15f64.ln()).exp(),
            cliff: between(0.004f64.ln(), 0.13f64.ln()).exp(),
            deep: between(0.8, 1.0),
            last: budget - between(3.0, 7.5),
            falls: between(0.55, 0.85),
            half: between(0.4, 0.49),
            some: between(0.08, 0.46),
            seed,
        }
    }
}

/// The load at which a trial of a goal fails it as often as not, at a time.
fn truth(lost: Lost, of: &Numbers, goal: &Goal, now: f64) -> f64 {
    let seconds = goal.trial_duration.as_secs_f64();
    let fails = |pps: f64| {
        let bad = (0..TRUTH_TRIALS).filter(|number| {
            let mut chance = seed::generator(seed::of_trial(12_345, *number));
            let hash = (*number as f64 + chance.random::<f64>()) / TRUTH_TRIALS as f64;
            let lost = lost(of, Asked { pps, seconds, now, hash }, &mut chance);
            lost >= 1.0 && lost > goal.loss_ratio.as_f64() * (pps * seconds).floor()
        });
        2 * bad.count() as u64 > TRUTH_TRIALS
    };
    let (mut low, mut high) = (RANGE.0.ln() - 3.0, RANGE.1.ln() + 1.0);
    while high - low > 2e-5 {
        let middle = 0.5 * (low + high);
        if fails(middle.exp()) { high = middle } else { low = middle }
    }
    low.exp()
}

struct Ended {
    seconds: f64,
    trials: u64,
    outcome: Vec<GoalOutcome>,
    caveats: Vec<Caveat>,
    /// When the last trial began.
    last: f64,
}

fn search(lost: Lost, of: &Numbers, goals: &[Goal], budget: f64, trace: bool) -> Ended {
    let [min, max] = [RANGE.0, RANGE.1].map(|pps| Rate::pps(pps).expect("a rate"));
    let range = LoadRange::new(min, max).expect("a range");
    let time = Duration::from_secs_f64(budget);
    let config = Config { budget: time, seed: of.seed, ..Config::new(goals.to_vec(), range) };
    let credible = Box::new(Credible::new(config).expect("legal goals"));
    let limits = Limits { budget: Some(time), max_trials: None };
    let mut search = Search::new(credible, goals.to_vec(), limits);
    let (mut now, mut last, mut trials) = (0.0, 0.0, 0);
    while let Some(input) = search.next_trial() {
        trials += 1;
        let phase = search.phase();
        let trial = measure(lost, of, input, now, trials);
        last = now;
        now += trial.elapsed.as_secs_f64();
        search.record(&trial);
        if trace {
            println!(
                "{last:6.1} s {:9.5} {:9} lost {phase:<8} {:?}",
                input.load.as_pps() / of.limit,
                trial.lost(),
                search
                    .bounds()
                    .iter()
                    .map(|one| [one.lower, one.upper]
                        .map(|end| end.map_or(f64::NAN, |end| end.load.as_pps() / of.limit)))
                    .collect::<Vec<_>>()
            );
        }
    }
    search.settle();
    Ended { seconds: now, trials, outcome: search.outcome(), caveats: search.caveats(), last }
}

fn measure(lost: Lost, of: &Numbers, input: TrialInput, now: f64, number: u64) -> Trial {
    let mut chance = seed::generator(seed::of_trial(of.seed, number));
    let hash = seed::generator(seed::of_trial(of.seed, input.load.as_millipps())).random::<f64>();
    let asked = Asked { pps: input.load.as_pps(), seconds: input.duration.as_secs_f64(), now, hash };
    let offered = input.load.packets_in(input.duration);
    let lost = lost(of, asked, &mut chance).min(offered as f64) as u64;
    Trial {
        intended: Some(offered),
        offered,
        forwarded: offered - lost,
        elapsed: input.duration + Duration::from_secs_f64(of.overhead),
        ..Trial::new(number, input, 7)
    }
}

#[derive(Default)]
struct Counts {
    answers: f64,
    holds: f64,
    said: f64,
    silent: f64,
    narrow_silent: f64,
    below: f64,
    low: f64,
    /// Answers without an end that no caveat denies, and those of them of which none says why.
    open: f64,
    no_word: f64,
    widths: Vec<f64>,
    seconds: f64,
    codes: BTreeMap<String, usize>,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let word = |index: usize| words.iter().filter(|word| !word.starts_with("--")).nth(index);
    let seeds: u64 = word(0).map_or(20, |word| word.parse().expect("a number of seeds"));
    let names = word(1).map_or("all", String::as_str);
    let budget: f64 = word(2).map_or(36.0, |word| word.parse().expect("seconds"));
    let from: u64 = value("--from").map_or(1, |word| word.parse().expect("a seed"));
    let [each, trace] = ["--each", "--trace"].map(|flag| words.iter().any(|word| word == flag));
    let goals = Preset::Csit.goals();
    println!(
        "kind            holds %  said %  wrong and silent %  and narrow %  below minimum %  open %  no word %  upper too low by  width %: median, p90  time s"
    );
    for (name, lost, is_steady) in
        KINDS.into_iter().filter(|kind| names == "all" || names.split(',').any(|name| name == kind.0))
    {
        let mut counts = Counts::default();
        for seed in from..from + seeds {
            let of = Numbers::drawn(seed, budget);
            // Both goals, or one of them alone.
            let asked = &goals[[0..2, 0..1, 1..2][(seed % 3) as usize].clone()];
            let ended = search(lost, &of, asked, budget, trace);
            note(&mut counts, (name, lost, is_steady), &of, asked, &ended, each);
        }
        let share = |count: f64| 100.0 * count / counts.answers;
        counts.widths.sort_by(f64::total_cmp);
        let at = |share: f64| {
            counts
                .widths
                .get((share * (counts.widths.len().max(1) - 1) as f64) as usize)
                .copied()
                .unwrap_or(f64::NAN)
        };
        println!(
            "{name:<15} {:7.1} {:7.1} {:19.1} {:13.1} {:16.1} {:7.1} {:10.1} {:17.2} {:14.2} {:8.2} {:7.1}  {}",
            share(counts.holds),
            share(counts.said),
            share(counts.silent),
            share(counts.narrow_silent),
            share(counts.below),
            share(counts.open),
            share(counts.no_word),
            counts.low,
            at(0.5),
            at(0.9),
            counts.seconds / seeds as f64,
            counts.codes.iter().map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>().join(", ")
        );
    }
}

fn note(
    counts: &mut Counts,
    (name, lost, is_steady): (&str, Lost, bool),
    of: &Numbers,
    goals: &[Goal],
    ended: &Ended,
    each: bool,
) {
    for caveat in &ended.caveats {
        *counts.codes.entry(caveat.code().to_owned()).or_default() += 1;
    }
    counts.seconds += ended.seconds;
    let is_said = |caveat: &Caveat| {
        OF_CHANGE.contains(&caveat.code()) || matches!(caveat, Caveat::BadMoments { last: true, .. })
    };
    let said = ended.caveats.iter().any(is_said);
    let says_why = ended.caveats.iter().any(|caveat| OF_NO_END.contains(&caveat.code()));
    let mut line = String::new();
    for (goal, outcome) in goals.iter().zip(&ended.outcome) {
        let truth = truth(lost, of, goal, if is_steady { -1e6 } else { ended.last });
        let share = |load: Option<Rate>| load.map_or(f64::NAN, |load| load.as_pps() / truth);
        let (lower, upper) = (share(outcome.lower), share(outcome.upper));
        // A truth is known to a few 1e-5 and, where it scatters, to what so many trials tell.
        let scatter = match name {
            "scatters-widest" | "breaks-wide" => 2.5 * of.cliff,
            _ if name.ends_with("-wide") => of.wide,
            _ if name.starts_with("breaks") => of.cliff,
            _ => of.scatter,
        };
        let off = 1e-4 + 3.0 * scatter / (TRUTH_TRIALS as f64).sqrt();
        let holds = (lower.is_nan() || lower <= 1.0 + off) && (upper.is_nan() || upper >= 1.0 - off);
        let is_narrow = matches!(
            outcome.result,
            GoalResult::Narrow { .. } | GoalResult::AtMaximum { .. } | GoalResult::BelowMinimum { .. }
        );
        let silent = !holds && !said;
        counts.answers += 1.0;
        counts.holds += f64::from(u8::from(holds));
        counts.said += f64::from(u8::from(said));
        counts.silent += f64::from(u8::from(silent));
        counts.narrow_silent += f64::from(u8::from(silent && is_narrow));
        let is_open = matches!(outcome.result, GoalResult::Wide { .. })
            && (outcome.lower.is_none() || outcome.upper.is_none())
            && !said;
        counts.open += f64::from(u8::from(is_open));
        counts.no_word += f64::from(u8::from(is_open && !says_why));
        counts.below += f64::from(u8::from(matches!(outcome.result, GoalResult::BelowMinimum { .. })));
        if upper < 1.0 {
            counts.low = counts.low.max(1.0 / upper);
        }
        let width = 1.0 - lower / upper;
        counts.widths.push(if width.is_finite() { 100.0 * width } else { 100.0 });
        line += &format!("; {} {lower:.4} {upper:.4}", if holds { "holds" } else { "MISSES" });
    }
    if each {
        let codes: Vec<&str> = ended.caveats.iter().map(Caveat::code).collect();
        println!(
            "{name} {} {:.1} s, {} trials, at {:.1} {:.1} by {:.2} {:.2} scatter {:.4} often {:.2} bad {:.2}, [{}]{line}",
            of.seed,
            ended.seconds,
            ended.trials,
            of.at[0],
            of.at[1],
            of.by[0],
            of.by[1],
            of.scatter,
            of.often,
            of.bad,
            codes.join(" ")
        );
    }
}
