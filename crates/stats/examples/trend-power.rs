//! What `stats::trend` finds in histories whose truth is known, and what it finds where nothing is.
//!
//! `cargo run -p dropline-stats --example trend-power -- REPETITIONS SEED`. Each bar is printed with what it came to; the
//! exit code is 1 where one is missed.

#![expect(clippy::disallowed_types, reason = "it says how long ten thousand nights took")]

use dropline_stats::trend::{Night, Trend, Wanted};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal, StudentT};
use std::process::ExitCode;
use std::time::Instant;

const WANTED: Wanted = Wanted { smallest_effect: 0.0, more_is_better: true };
const NIGHTS: usize = 250;
/// A change is found where it is reported within so many nights.
const WITHIN: usize = 5;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let repetitions = numbers.next().unwrap_or(50);
    let seed = numbers.next().unwrap_or(1);
    println!("repetitions {repetitions}, seed {seed}, {NIGHTS} nights");
    let bench = Bench { repetitions, seed };
    let mut met = true;
    println!("\nfalse alarms in 1000 nights                bar   found     drifts");
    for (name, most, made) in QUIET {
        met &= bench.quiet(name, *most, *made);
    }
    println!("\nsteps found within {WITHIN} nights             bar   found     changes a history");
    for (name, least, made, truth) in STEPS {
        met &= bench.steps(name, *least, *made, truth);
    }
    println!("\nfound within 30 nights, asked after 2, 3, 5, 8, 13, 20, 30   bar   found   median nights");
    for (name, least, noise, size) in POWER {
        met &= bench.power(name, *least, *noise, *size);
    }
    println!("\nasked every night from the 30th on, told apart by night: new changes in 1000 nights");
    for (name, _, made) in QUIET.iter().filter(|(name, _, _)| NIGHTLY.contains(name)) {
        bench.nightly(name, *made);
    }
    met &= bench.long();
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

type Chance = ChaCha8Rng;
type Made = fn(&mut Chance, usize) -> Vec<Night>;

/// Histories without a change: the most false alarms.
const QUIET: &[(&str, f64, Made)] = &[
    ("white, own errors", 0.5, |chance, count| nights(white(chance, count, 0.01), Some(0.01))),
    ("white, no errors", 0.5, |chance, count| nights(white(chance, count, 0.01), None)),
    ("mixed", 0.5, |chance, count| mixed(chance, count, 1.0)),
    ("mixed, half as wide", 0.5, |chance, count| mixed(chance, count, 0.5)),
    ("mixed, twice as wide", 0.5, |chance, count| mixed(chance, count, 2.0)),
    ("mixed, no errors", 1.5, |chance, count| without(mixed(chance, count, 1.0))),
    ("mixed, shuffled", 1.5, |chance, count| shuffled(chance, count)),
    ("spikes", 0.5, spikes),
    ("t3", 0.5, |chance, count| nights(heavy(chance, count, 3.0), None)),
    ("ar 0.3", 0.5, |chance, count| nights(alike(chance, count, 0.3), None)),
    ("ar 0.6", 2.0, |chance, count| nights(alike(chance, count, 0.6), None)),
    ("ar 0.6, own errors", 2.0, |chance, count| nights(alike(chance, count, 0.6), Some(0.01))),
    ("ar 0.9", 6.0, |chance, count| nights(alike(chance, count, 0.9), None)),
    ("ar 0.9 and white", 6.0, |chance, count| {
        let white = white(chance, count, 0.01);
        nights(added(alike(chance, count, 0.9), white), Some(0.01))
    }),
    ("two bad nights", 0.5, two_bad),
    ("two bad nights at the end", 0.5, two_bad_at_the_end),
    ("three times the noise", 0.5, |chance, count| {
        let mut noise = white(chance, count, 0.01);
        noise[count / 2..].iter_mut().for_each(|value| *value *= 3.0);
        nights(noise, None)
    }),
    ("machines with a mark", 3.0, machines),
    ("weekly rhythm", 3.0, |chance, count| weekly(chance, count, 0.01, 0.005)),
    ("weekly rhythm, strong", 3.0, |chance, count| weekly(chance, count, 0.04, 0.004)),
    ("two machines by chance", 3.0, |chance, count| interleaved(chance, count, 0.5)),
    ("two machines, one rare", 3.0, |chance, count| interleaved(chance, count, 0.12)),
    ("two machines in turns", 3.0, |chance, count| {
        let noise = white(chance, count, 0.005);
        let turns = (0..count).map(|night| if night % 2 == 0 { 0.0 } else { -0.04 }).collect();
        nights(added(noise, turns), None)
    }),
    ("two machines, runs of 4", 3.0, |chance, count| sticky(chance, count, 4.0)),
    ("missing weeks", 3.0, |chance, count| missing(chance, count, 0.0)),
    ("missing weeks, ar 0.8", 3.0, |chance, count| missing(chance, count, 0.8)),
    ("t2.5 with a drift", 3.0, |chance, count| {
        let noise = heavy(chance, count, 2.5);
        let drift = (0..count).map(|night| 0.05 * night as f64 / count as f64).collect();
        nights(added(noise, drift), None)
    }),
    ("t2.5 with a slow drift", 3.0, |chance, count| {
        let noise = heavy(chance, count, 2.5);
        let drift = (0..count).map(|night| -0.015 * night as f64 / count as f64).collect();
        nights(added(noise, drift), Some(0.01))
    }),
    ("t2.5 that wanders", 3.0, |chance, count| {
        let noise = heavy(chance, count, 2.5);
        let steps = white(chance, count, 0.0007);
        let wander = steps
            .iter()
            .scan(0.0, |sum, step| {
                *sum += step;
                Some(*sum)
            })
            .collect();
        nights(added(noise, wander), None)
    }),
    ("short: 40 white nights", 3.0, |chance, _| nights(white(chance, 40, 0.01), None)),
    ("short: 40 nights of ar 0.6", 8.0, |chance, _| nights(alike(chance, 40, 0.6), None)),
    ("coarse values", 0.5, |chance, count| {
        let rounded = white(chance, count, 0.004).iter().map(|value| (value / 0.01).round() * 0.01).collect();
        nights(rounded, None)
    }),
    ("equal values", 0.5, |_, count| nights(vec![0.0; count], None)),
];
const NIGHTLY: [&str; 6] = ["white, no errors", "mixed", "spikes", "t3", "ar 0.6", "weekly rhythm"];

/// Histories with changes: the least share that is found.
const STEPS: &[(&str, f64, Made, &[usize])] = &[
    (
        "three",
        0.95,
        |chance, count| {
            let noise = white(chance, count, 0.01);
            nights(stepped(noise, &[(62, -0.02), (125, 0.03), (187, -0.02)]), None)
        },
        &[62, 125, 187],
    ),
    (
        "three, own errors",
        0.95,
        |chance, count| {
            let noise = white(chance, count, 0.01);
            nights(stepped(noise, &[(62, -0.02), (125, 0.03), (187, -0.02)]), Some(0.01))
        },
        &[62, 125, 187],
    ),
    (
        "stepvar",
        0.95,
        |chance, count| {
            let mut noise = white(chance, count, 0.01);
            noise[125..].iter_mut().for_each(|value| *value *= 2.0);
            nights(stepped(noise, &[(125, -0.03)]), None)
        },
        &[125],
    ),
    (
        "ramp 5 % over 60",
        0.0,
        |chance, count| {
            let noise = white(chance, count, 0.01);
            let ramp =
                (0..count).map(|night| -0.05 * ((night as f64 - 100.0) / 60.0).clamp(0.0, 1.0)).collect();
            nights(added(noise, ramp), None)
        },
        &[130],
    ),
    ("step at a mark", 0.0, machines, &[83]),
];

/// A step after 100 nights: the least share found by the thirtieth night.
const POWER: &[(&str, f64, Made, f64)] = &[
    ("white 1 %", 0.0, |chance, count| nights(white(chance, count, 0.01), None), -0.01),
    ("white 2 %", 0.95, |chance, count| nights(white(chance, count, 0.01), None), -0.02),
    ("white 2 %, own errors", 0.95, |chance, count| nights(white(chance, count, 0.01), Some(0.01)), -0.02),
    ("white 3 %", 0.95, |chance, count| nights(white(chance, count, 0.01), None), -0.03),
    ("ar 0.3, 2 %", 0.0, |chance, count| nights(alike(chance, count, 0.3), None), -0.02),
    ("mixed 0.5 %", 0.90, |chance, count| mixed(chance, count, 1.0), -0.005),
    ("mixed 1 %", 0.90, |chance, count| mixed(chance, count, 1.0), -0.01),
    ("mixed, no errors 1.5 %", 0.0, |chance, count| without(mixed(chance, count, 1.0)), -0.015),
    ("mixed, shuffled 1.5 %", 0.0, |chance, count| shuffled(chance, count), -0.015),
];

/// How often, and with what chance.
struct Bench {
    repetitions: u64,
    seed: u64,
}

impl Bench {
    fn chances(&self, name: &str) -> impl Iterator<Item = Chance> {
        let own = name.bytes().fold(self.seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        (0..self.repetitions).map(move |number| Chance::seed_from_u64(own ^ (number << 40)))
    }

    fn quiet(&self, name: &str, most: f64, made: Made) -> bool {
        let (mut alarms, mut drifts, mut count) = (0, 0, 0);
        for mut chance in self.chances(name) {
            let nights = made(&mut chance, NIGHTS);
            let trend = Trend::of(&nights, WANTED).expect("enough nights");
            alarms += trend.changes.len();
            drifts += trend.drifts.len();
            count += nights.len();
        }
        let rate = |found: usize| found as f64 / count as f64 * 1000.0;
        let met = rate(alarms) <= most;
        println!("{name:<38} {most:>7.1} {:>7.2} {:>10.2}{}", rate(alarms), rate(drifts), said(met));
        met
    }

    fn steps(&self, name: &str, least: f64, made: Made, truth: &[usize]) -> bool {
        let (mut found, mut changes, mut drifts) = (0, 0, 0);
        for mut chance in self.chances(name) {
            let trend = Trend::of(&made(&mut chance, NIGHTS), WANTED).expect("enough nights");
            let is_found =
                |at: &&usize| trend.changes.iter().any(|change| change.at.abs_diff(**at) <= WITHIN);
            found += truth.iter().filter(is_found).count();
            changes += trend.changes.len();
            drifts += trend.drifts.len();
        }
        let all = self.repetitions as f64;
        let share = found as f64 / (all * truth.len() as f64);
        let met = share >= least;
        let each = |count: usize| count as f64 / all;
        println!(
            "{name:<38} {least:>7.2} {share:>7.3} {:>10.2}, drifts {:.2}{}",
            each(changes),
            each(drifts),
            said(met)
        );
        met
    }

    fn power(&self, name: &str, least: f64, made: Made, size: f64) -> bool {
        let mut waits = Vec::new();
        for mut chance in self.chances(name) {
            let mut nights = made(&mut chance, 130);
            nights[100..].iter_mut().for_each(|night| night.value *= 1.0 + size);
            let is_found = |after: &usize| {
                let trend = Trend::of(&nights[..100 + after], WANTED).expect("enough nights");
                trend.changes.iter().any(|change| change.at.abs_diff(100) <= WITHIN)
            };
            waits.extend([2, 3, 5, 8, 13, 20, 30].into_iter().find(is_found));
        }
        waits.sort_unstable();
        let share = waits.len() as f64 / self.repetitions as f64;
        let met = share >= least;
        let middle = waits.get(waits.len() / 2).copied().unwrap_or(0);
        println!("{name:<58} {least:>5.2} {share:>7.3} {middle:>7}{}", said(met));
        met
    }

    /// Asked each night, as users do: a change counts once, a suspected one by itself.
    fn nightly(&self, name: &str, made: Made) {
        let repetitions = self.repetitions.div_ceil(4);
        let (mut sure, mut suspected) = (0, 0);
        for mut chance in self.chances(name).take(repetitions as usize) {
            let nights = made(&mut chance, NIGHTS);
            let mut told: [Vec<usize>; 2] = Default::default();
            for count in 30..=nights.len() {
                let trend = Trend::of(&nights[..count], WANTED).expect("enough nights");
                for change in &trend.changes {
                    let told = &mut told[usize::from(change.is_suspected)];
                    if !told.iter().any(|at| at.abs_diff(change.at) <= WITHIN) {
                        told.push(change.at);
                    }
                }
            }
            sure += told[0].len();
            suspected += told[1].len();
        }
        let rate = |found: usize| found as f64 / (repetitions as f64 * (NIGHTS - 30) as f64) * 1000.0;
        println!("{name:<38} {:>15.2}, suspected {:.2}", rate(sure), rate(suspected));
    }

    /// Ten thousand nights with 19 changes, and without one.
    fn long(&self) -> bool {
        let mut chance = Chance::seed_from_u64(self.seed);
        let steps: Vec<(usize, f64)> =
            (1..20).map(|step| (step * 500, if step % 2 == 0 { 0.03 } else { -0.03 })).collect();
        let mut met = true;
        for steps in [&steps[..], &[]] {
            let nights = nights(stepped(white(&mut chance, 10_000, 0.01), steps), Some(0.01));
            let timed = || {
                let begun = Instant::now();
                let trend = Trend::of(&nights, WANTED).expect("enough nights");
                (begun.elapsed(), trend)
            };
            // Of a busy machine the shortest of several says most.
            let (took, trend) = (0..20).map(|_| timed()).min_by_key(|timed| timed.0).expect("it was tried");
            let found = trend.changes.len();
            met &= found == steps.len();
            println!(
                "10000 nights with {} changes: {found} found in {took:.1?} (bar 50 ms, in a release build)",
                steps.len()
            );
        }
        met
    }
}

fn said(met: bool) -> &'static str {
    if met { "" } else { "   MISSED" }
}

/// Values from logarithms, a night each day.
fn nights(logs: Vec<f64>, error: Option<f64>) -> Vec<Night> {
    let night = |(day, log): (usize, f64)| {
        let value = 1e6 * log.exp();
        Night { day: day as f64, value, error: error.map(|error| error * value), is_marked: false }
    };
    logs.into_iter().enumerate().map(night).collect()
}

fn normal(chance: &mut Chance) -> f64 {
    StandardNormal.sample(chance)
}

fn white(chance: &mut Chance, count: usize, deviation: f64) -> Vec<f64> {
    (0..count).map(|_| deviation * normal(chance)).collect()
}

fn added(one: Vec<f64>, other: Vec<f64>) -> Vec<f64> {
    one.into_iter().zip(other).map(|(one, other)| one + other).collect()
}

fn stepped(mut noise: Vec<f64>, steps: &[(usize, f64)]) -> Vec<f64> {
    for (at, size) in steps {
        noise[*at..].iter_mut().for_each(|value| *value += size);
    }
    noise
}

/// An autoregression with a deviation of 1 %.
fn alike(chance: &mut Chance, count: usize, likeness: f64) -> Vec<f64> {
    let mut value = 0.01 * normal(chance);
    (0..count)
        .map(|_| {
            value = likeness * value + 0.01 * (1.0f64 - likeness * likeness).sqrt() * normal(chance);
            value
        })
        .collect()
}

/// Student's t with a scale of 0.6 %.
fn heavy(chance: &mut Chance, count: usize, freedom: f64) -> Vec<f64> {
    let law = StudentT::new(freedom).expect("degrees of freedom");
    (0..count).map(|_| 0.006 * law.sample(chance)).collect()
}

/// Seven of ten nights with 0.3 %, the others with 2.5 %; errors are so many times what they should be.
fn mixed(chance: &mut Chance, count: usize, times: f64) -> Vec<Night> {
    (0..count)
        .map(|day| {
            let deviation = if chance.random_bool(0.7) { 0.003 } else { 0.025 };
            let value = 1e6 * (deviation * normal(chance)).exp();
            Night { day: day as f64, value, error: Some(times * deviation * value), is_marked: false }
        })
        .collect()
}

fn without(mut nights: Vec<Night>) -> Vec<Night> {
    nights.iter_mut().for_each(|night| night.error = None);
    nights
}

/// The same, each error at another night.
fn shuffled(chance: &mut Chance, count: usize) -> Vec<Night> {
    let mut nights = mixed(chance, count, 1.0);
    for last in (1..nights.len()).rev() {
        let other = chance.random_range(0..=last);
        let error = nights[last].error;
        nights[last].error = nights[other].error;
        nights[other].error = error;
    }
    nights
}

/// Two nights of a hundred are 6 to 30 standard deviations low.
fn spikes(chance: &mut Chance, count: usize) -> Vec<Night> {
    let mut noise = white(chance, count, 0.01);
    for value in &mut noise {
        if chance.random_bool(0.02) {
            *value -= chance.random_range(0.06..0.3);
        }
    }
    nights(noise, Some(0.01))
}

fn two_bad(chance: &mut Chance, count: usize) -> Vec<Night> {
    let mut noise = white(chance, count, 0.01);
    noise[count / 2..count / 2 + 2].iter_mut().for_each(|value| *value -= 0.05);
    nights(noise, None)
}

fn two_bad_at_the_end(chance: &mut Chance, count: usize) -> Vec<Night> {
    let mut noise = white(chance, count, 0.01);
    noise[count - 2..].iter_mut().for_each(|value| *value -= 0.05);
    nights(noise, None)
}

/// A machine of another speed after a third and after two thirds, each with a mark.
fn machines(chance: &mut Chance, count: usize) -> Vec<Night> {
    let mut all =
        nights(stepped(white(chance, count, 0.01), &[(count / 3, -0.1), (2 * count / 3, 0.25)]), None);
    all[count / 3].is_marked = true;
    all[2 * count / 3].is_marked = true;
    all
}

fn weekly(chance: &mut Chance, count: usize, depth: f64, deviation: f64) -> Vec<Night> {
    let rhythm = (0..count).map(|night| if night % 7 >= 5 { -depth } else { 0.0 }).collect();
    nights(added(white(chance, count, deviation), rhythm), None)
}

fn interleaved(chance: &mut Chance, count: usize, share: f64) -> Vec<Night> {
    let other = (0..count).map(|_| if chance.random_bool(share) { -0.04 } else { 0.0 }).collect();
    nights(added(white(chance, count, 0.005), other), Some(0.005))
}

fn sticky(chance: &mut Chance, count: usize, run: f64) -> Vec<Night> {
    let mut is_other = false;
    let other = (0..count)
        .map(|_| {
            is_other ^= chance.random_bool(1.0 / run);
            if is_other { -0.04 } else { 0.0 }
        })
        .collect();
    nights(added(white(chance, count, 0.005), other), None)
}

/// Some weeks are missing, and single nights.
fn missing(chance: &mut Chance, count: usize, likeness: f64) -> Vec<Night> {
    let mut all = nights(alike(chance, 2 * count, likeness), None);
    let mut gap = 0;
    all.retain(|_| {
        if gap == 0 && chance.random_bool(0.03) {
            gap = chance.random_range(1..40);
        }
        gap = usize::saturating_sub(gap, 1);
        gap == 0
    });
    all.truncate(count);
    all
}
