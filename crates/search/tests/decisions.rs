//! What a search decides stays what it was: a record of an earlier version is gone on with only if the rules of
//! today ask for the trials that it holds.
//!
//! The snapshot keeps a line a search. Who changes a rule on purpose makes it anew with
//! `INSTA_UPDATE=always cargo test -p dropline-search --test decisions`, and says in the changelog that records of
//! before are refused by `--resume`.

use dropline_search::mdr::{self, Version};
use dropline_search::mlr::{self, EffectiveDuration};
use dropline_search::{Algorithm, Binary, Goal, Mdr, Mlr, Preset};
use dropline_trial::{LoadRange, Rate, Ratio, Trial, TrialInput, seed};
use std::fmt::Write as _;
use std::time::Duration;

const MAXIMUM: u64 = 10_000_000;

/// More trials than a search needs that is of any use.
const MOST_TRIALS: usize = 400;

/// A system's name, and what it loses of a trial.
type System = (&'static str, fn(Asked) -> u64);
/// A search that has not begun.
type Build = fn() -> Box<dyn Algorithm>;

/// Systems in whole numbers, so that no rounding of a processor's can make them differ.
const SYSTEMS: [System; 11] = [
    ("hard", |asked| asked.above(3_210_987)),
    ("low", |asked| asked.above(21_000)),
    ("below", |asked| asked.above(9_000)),
    ("all", |_| 0),
    ("soft", |asked| (0..4).map(|step| asked.above(2_000_000 + 400_000 * step) / 40).sum()),
    ("restless", |asked| asked.above(4_000_000 + 5_000 * asked.drawn(200))),
    ("states", |asked| asked.above(if asked.drawn(100) < 30 { 5_000_000 } else { 6_000_000 })),
    ("outages", |asked| if asked.drawn(100) < 12 { asked.sent / 20 } else { asked.above(1_500_000) }),
    ("floor", |asked| asked.sent / 400 + asked.above(7_654_321)),
    ("sinking", |asked| asked.above(8_000_000 - 20_000 * asked.number.min(200))),
    ("buffered", |asked| asked.above(2_500_000).saturating_sub(300_000)),
];

/// One trial as a system meets it.
#[derive(Clone, Copy)]
struct Asked {
    sent: u64,
    millis: u64,
    number: u64,
    chance: u64,
}

impl Asked {
    /// What is more than this capacity in packets a second.
    fn above(self, capacity: u64) -> u64 {
        self.sent.saturating_sub(capacity * self.millis / 1000)
    }

    /// A number below `end`, the trial's own.
    fn drawn(self, end: u64) -> u64 {
        (self.chance >> 20) % end
    }
}

fn trial(system: fn(Asked) -> u64, search: u64, number: u64, input: TrialInput) -> Trial {
    let sent = input.load.packets_in(input.duration);
    let chance = seed::of_trial(search, number);
    let millis = u64::try_from(input.duration.as_millis()).unwrap();
    let lost = system(Asked { sent, millis, number, chance }).min(sent);
    Trial {
        intended: Some(sent),
        offered: sent,
        forwarded: sent - lost,
        elapsed: input.duration + Duration::from_millis(500),
        ..Trial::new(number, input, chance)
    }
}

fn goal(loss: f64, exceed: f64, width: f64, [initial, trial, sum]: [u64; 3]) -> Goal {
    let ratio = |value| Ratio::new(value).unwrap();
    Goal {
        loss_ratio: ratio(loss),
        exceed_ratio: ratio(exceed),
        width: ratio(width),
        trial_duration: Duration::from_millis(trial),
        initial_trial_duration: Duration::from_millis(initial),
        duration_sum: Duration::from_millis(sum),
    }
}

fn range() -> LoadRange {
    LoadRange::new(Rate::pps(10_000.0).unwrap(), Rate::pps(MAXIMUM as f64).unwrap()).unwrap()
}

fn mlr(goals: Vec<Goal>, effective: EffectiveDuration) -> Box<dyn Algorithm> {
    Box::new(Mlr::new(mlr::Config { goals, range: range(), effective }).unwrap())
}

fn mdr(losses: &[f64], intermediate_phases: u8, doublings: u8, version: Version) -> Box<dyn Algorithm> {
    let goals = losses.iter().map(|&loss| goal(loss, 0.0, 0.005, [1000, 30_000, 30_000])).collect();
    let config = mdr::Config { goals, range: range(), intermediate_phases, doublings, version };
    Box::new(Mdr::new(config).unwrap())
}

fn binary(goals: &[Goal]) -> Box<dyn Algorithm> {
    Box::new(Binary::new(goals, range()).unwrap())
}

/// Every algorithm with rules that stay, as users ask for it.
const SEARCHES: [(&str, Build); 12] = [
    ("mlr csit", || mlr(Preset::Csit.goals(), EffectiveDuration::Elapsed)),
    ("mlr rfc2544", || mlr(Preset::Rfc2544.goals(), EffectiveDuration::Trial)),
    ("mlr tst009", || mlr(Preset::Tst009.goals(), EffectiveDuration::Trial)),
    ("mlr three goals", || {
        let goals = vec![
            goal(0.0, 0.2, 0.01, [500, 2000, 9000]),
            goal(0.001, 0.5, 0.005, [1000, 1000, 11_000]),
            goal(0.05, 0.75, 0.02, [250, 4000, 24_000]),
        ];
        mlr(goals, EffectiveDuration::Trial)
    }),
    ("mlr never exceeded", || {
        mlr(vec![goal(0.0, 0.0, 0.002, [100, 1000, 5000])], EffectiveDuration::Elapsed)
    }),
    ("mlr wide", || mlr(vec![goal(0.01, 0.9, 0.2, [1000, 1000, 30_000])], EffectiveDuration::Trial)),
    ("mdr", || mdr(&[0.0, 0.005], 2, 1, Version::Current)),
    ("mdr april", || mdr(&[0.0, 0.005], 2, 1, Version::First)),
    ("mdr three goals", || mdr(&[0.1, 0.0, 0.001], 3, 2, Version::Current)),
    ("mdr one phase", || mdr(&[0.0], 0, 3, Version::Current)),
    ("binary", || binary(&[goal(0.0, 0.0, 0.005, [30_000; 3])])),
    ("binary two goals", || binary(&[goal(0.005, 0.0, 0.01, [5000; 3]), goal(0.0, 0.0, 0.005, [10_000; 3])])),
];

/// A number for a text that another text hardly has (FNV-1a).
fn fingerprint(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// All that a search asks for, and what it says on the way and at the end, as a line.
fn line(name: &str, build: Build, system: System, seed: u64) -> String {
    let (mut search, mut told, mut trials, mut seconds) = (build(), String::new(), 0, Duration::ZERO);
    while trials < MOST_TRIALS
        && let Some(input) = search.next_trial()
    {
        trials += 1;
        seconds += input.duration;
        writeln!(told, "{input:?} {}", search.phase()).unwrap();
        search.record(&trial(system.1, seed, trials as u64, input));
        writeln!(told, "{:?}", search.bounds()).unwrap();
    }
    let outcome = search.outcome();
    writeln!(told, "{outcome:?}").unwrap();
    let bounds: Vec<String> = outcome
        .iter()
        .map(|goal| {
            let pps =
                |load: Option<Rate>| load.map_or_else(|| "-".to_owned(), |load| load.as_pps().to_string());
            format!("{}..{} {:?}", pps(goal.lower), pps(goal.upper), goal.result)
        })
        .collect();
    let found = bounds.join("; ");
    let print = fingerprint(&told);
    format!("{name}\t{}\t{seed}\t{trials}\t{}\t{found}\t{print:016x}", system.0, seconds.as_secs_f64())
}

#[test]
fn what_a_search_decides_is_what_it_always_decided() {
    let mut lines = vec!["search\tsystem\tseed\ttrials\tseconds\tfound\tall that was decided".to_owned()];
    for (name, build) in SEARCHES {
        for system in SYSTEMS {
            let seeds = if matches!(system.0, "restless" | "states" | "outages") { 1..=3 } else { 1..=1 };
            lines.extend(seeds.map(|seed| line(name, build, system, seed)));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}
