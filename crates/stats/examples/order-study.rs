//! How often two measurements of one thing are called different, by how their events follow one another.
//!
//! `cargo run --release -p dropline-stats --example order-study -- [PAIRS] [SEED] [EVENTS]`

use dropline_stats::compare::{Comparison, Design, Overall, Questions, Verdict};
use dropline_stats::{Binned, Counted, Meaning, order};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

type Law = fn(usize, &mut ChaCha8Rng) -> Vec<f64>;

fn normal(chance: &mut ChaCha8Rng) -> f64 {
    chance.sample(StandardNormal)
}

fn remembering(share: f64, count: usize, chance: &mut ChaCha8Rng) -> Vec<f64> {
    let mut level = normal(chance);
    let mut next = |_| {
        level = share * level + (1.0 - share * share).sqrt() * normal(chance);
        level
    };
    (0..count).map(&mut next).collect()
}

const LAWS: [(&str, Law); 8] = [
    ("independent", |count, chance| remembering(0.0, count, chance)),
    ("rho 0.5", |count, chance| remembering(0.5, count, chance)),
    ("rho 0.9", |count, chance| remembering(0.9, count, chance)),
    ("rho 0.99", |count, chance| remembering(0.99, count, chance)),
    // GARCH(1, 1).
    ("spells", |count, chance| {
        let (mut variance, mut last) = (1.0, 0.0f64);
        let mut next = |_| {
            variance = 0.03 + 0.12 * last * last + 0.85 * variance;
            last = variance.sqrt() * normal(chance);
            last
        };
        (0..count + 200).map(&mut next).skip(200).collect()
    }),
    ("two states", |count, chance| {
        let mut high = chance.random_bool(0.5);
        let mut next = |_| {
            high ^= chance.random_bool(0.1);
            normal(chance) + if high { 3.0 } else { 0.0 }
        };
        (0..count).map(&mut next).collect()
    }),
    ("sine", |count, chance| {
        let phase: f64 = chance.random();
        let wave = |at: usize| (std::f64::consts::TAU * (phase + at as f64 / count as f64 * 1.3)).sin();
        (0..count).map(|at| wave(at) + normal(chance)).collect()
    }),
    ("slow state", |count, chance| {
        let slow = remembering(0.97, count, chance);
        slow.iter().map(|slow| slow + 2.0 * normal(chance)).collect()
    }),
];

fn delays(law: Law, count: usize, chance: &mut ChaCha8Rng) -> Vec<i64> {
    law(count, chance).into_iter().map(|value| (100_000.0 * (0.35 * value).exp()) as i64).collect()
}

fn counted(events: &[i64]) -> Binned {
    Counted::ticks(Meaning::default(), events.iter().map(|&tick| (tick, 1)), None).unwrap().binned()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |or: u64| arguments.next().map_or(or, |word| word.parse().expect("a number"));
    let (pairs, seed, only, first) = (number(100), number(1), number(0), number(0));
    println!(
        "{:12} {:>6} {:>6} {:>6} | {:>5} {:>5} {:>5} | {:>7} {:>7}",
        "law", "events", "wrong", "dep", "core", "high", "tail", "width", "bounded"
    );
    for (name, law) in LAWS.into_iter().skip(first as usize) {
        for count in [20, 50, 100, 300, 1000, 5000] {
            if only > 0 && only != count {
                continue;
            }
            let (mut wrong, mut dependent, mut each) = (0, 0, [0; 3]);
            let mut widths = Vec::new();
            for pair in 0..pairs {
                let mut chance = ChaCha8Rng::seed_from_u64(seed << 32 | pair);
                let (a, b) =
                    (delays(law, count as usize, &mut chance), delays(law, count as usize, &mut chance));
                // As `compare` does: from where both are steady.
                let left_out = order::warm_up(&a).max(order::warm_up(&b));
                let (a, b) = (&a[left_out..], &b[left_out..]);
                let blocks = |events: &[i64]| order::blocks(events).map(counted).collect::<Vec<_>>();
                let alike = order::are_dependent(&[a, b], pair);
                let questions =
                    Questions { percentile: 0.99, above: None, smallest_effect: None, more_loss: 0.0 };
                let found = match alike {
                    true => Comparison::of(&blocks(a), &blocks(b), Design::Apart, &questions),
                    false => Comparison::of(&[counted(a)], &[counted(b)], Design::Whole, &questions),
                };
                dependent += u32::from(alike);
                let differs =
                    |verdict: Verdict| u32::from(matches!(verdict, Verdict::Improved | Verdict::Regressed));
                wrong += u32::from(!matches!(found.verdict, Overall::Equivalent | Overall::NoEvidence));
                let answers = [&found.core, &found.high_percentile, &found.tail_mass];
                each.iter_mut().zip(answers).for_each(|(each, answer)| *each += differs(answer.verdict));
                widths.extend(found.core.low.zip(found.core.high).map(|(low, high)| high - low));
            }
            widths.sort_by(f64::total_cmp);
            let share = |of: u32| 100.0 * f64::from(of) / pairs as f64;
            let median = widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN) / 1000.0;
            println!(
                "{name:12} {count:6} {:5.1}% {:5.0}% | {:4.1}% {:4.1}% {:4.1}% | {median:7.2} {:6.0}%",
                share(wrong),
                share(dependent),
                share(each[0]),
                share(each[1]),
                share(each[2]),
                share(widths.len() as u32)
            );
        }
    }
}
