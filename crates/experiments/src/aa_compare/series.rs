//! Delays that follow one another: a Gaussian process, bent to the distribution of the idle histogram of 2004.

use dropline_stats::special::normal_tails;
use dropline_stats::{Binned, Counted, Event, Meaning, Rounding};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::sync::OnceLock;

const IDLE: &str = include_str!("../../../../experiments/audio-2004/idle.tsv");
/// A delay is written down in tenths of a microsecond.
const TICK_NS: f64 = 100.0;
/// Steps of the table from normal values to delays, and how far it reaches.
const STEPS: usize = 16_000;
const REACH: f64 = 5.0;

/// How much a delay has in common with those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Memory {
    /// Correlation ρ with the one before, ρᵏ with the k-th before.
    Autoregression(f64),
    /// Correlation 0.3, 0.26 and 0.2 at lags 1, 10 and 100.
    Long,
}

/// What is different in B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// Each delay is 5 % longer.
    Median,
    /// Twice as many lie beyond the 99th percentile of A.
    Tail,
}

/// Two sides in blocks.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) a: Vec<Binned>,
    pub(super) b: Vec<Binned>,
}

/// Parts of the long memory: share of the variance, correlation with the one before. What is left has none.
const LONG: [(f64, f64); 3] = [(0.05, 0.904_84), (0.05, 0.990_05), (0.2, 0.999_5)];

impl Memory {
    pub(super) fn name(self) -> String {
        match self {
            Self::Autoregression(0.0) => "none".into(),
            Self::Autoregression(rho) => format!("autoregression {rho}"),
            Self::Long => "long".into(),
        }
    }

    /// Whether a bar is set for it.
    pub(super) fn is_gated(self) -> bool {
        self != Self::Autoregression(0.99)
    }

    /// `count` standard normal values with this memory.
    fn draw(self, count: usize, chance: &mut ChaCha8Rng) -> Vec<f64> {
        let parts: &[(f64, f64)] = match &self {
            Self::Autoregression(rho) => &[(1.0, *rho)],
            Self::Long => &LONG,
        };
        let mut state: Vec<f64> = parts.iter().map(|_| StandardNormal.sample(chance)).collect();
        let alone = (1.0 - parts.iter().map(|(share, _)| share).sum::<f64>()).max(0.0).sqrt();
        let weights: Vec<(f64, f64, f64)> =
            parts.iter().map(|(share, rho)| (share.sqrt(), *rho, (1.0 - rho * rho).sqrt())).collect();
        (0..count)
            .map(|_| {
                let mut value = 0.0;
                for (state, (share, rho, fresh)) in state.iter_mut().zip(&weights) {
                    let news: f64 = StandardNormal.sample(chance);
                    *state = rho * *state + fresh * news;
                    value += share * *state;
                }
                if alone > 0.0 {
                    let news: f64 = StandardNormal.sample(chance);
                    value += alone * news;
                }
                value
            })
            .collect()
    }
}

impl Change {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "nothing differs",
            Self::Median => "B is 5 % slower",
            Self::Tail => "B is long twice as often",
        }
    }
}

impl Pair {
    /// One series whose blocks are A's and B's in turns: A B B A or B A A B by chance.
    pub(super) fn in_turns(
        memory: Memory,
        change: Change,
        blocks: usize,
        events: usize,
        number: u64,
    ) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(number);
        let values = memory.draw(2 * events, &mut chance);
        let mut pair = Self { a: Vec::new(), b: Vec::new() };
        for (quartet, values) in values.chunks(4 * (events / blocks)).enumerate() {
            let first_is_b = (number >> (quartet % 60)) & 1 == 1;
            for (turn, block) in values.chunks(events / blocks).enumerate() {
                let is_b = first_is_b != (turn == 1 || turn == 2);
                if is_b {
                    pair.b.push(binned(block, change))
                } else {
                    pair.a.push(binned(block, Change::None))
                }
            }
        }
        pair
    }

    /// A series each.
    pub(super) fn apart(memory: Memory, change: Change, blocks: usize, events: usize, number: u64) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(number ^ 0x5eed << 32);
        let mut side = |change: Change| -> Vec<Binned> {
            let values = memory.draw(events, &mut chance);
            values.chunks(events / blocks).map(|block| binned(block, change)).collect()
        };
        Self { a: side(Change::None), b: side(change) }
    }
}

fn binned(normal: &[f64], change: Change) -> Binned {
    let ticks = normal.iter().map(|value| ((delay(*value, change) * 1000.0 / TICK_NS).round() as i64, 1));
    let meaning =
        Meaning { unit_ns: 1000, quantum_ns: TICK_NS, rounding: Rounding::Round, event: Event::Each };
    Counted::ticks(meaning, ticks, None).expect("delays of microseconds").binned()
}

/// A delay in microseconds.
fn delay(normal: f64, change: Change) -> f64 {
    match change {
        Change::None => quantile(normal),
        Change::Median => 1.05 * quantile(normal),
        Change::Tail => {
            let above = normal_tails(normal).above.exp();
            // The longest 2 % are where the longest 1 % of A are; the others lie as they did.
            let moved = if above < 0.02 { above / 2.0 } else { 0.01 + (above - 0.02) * 0.99 / 0.98 };
            at_share(1.0 - moved)
        }
    }
}

/// The delay whose rank among all is that of this value among normal ones.
fn quantile(normal: f64) -> f64 {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let place = |step: usize| (step as f64 / STEPS as f64 * 2.0 - 1.0) * REACH;
        (0..=STEPS).map(|step| at_share(normal_tails(place(step)).probability())).collect()
    });
    let place = (normal.clamp(-REACH, REACH) / REACH + 1.0) / 2.0 * STEPS as f64;
    let before = (place as usize).min(STEPS - 1);
    table[before] + (place - before as f64) * (table[before + 1] - table[before])
}

/// The idle histogram's delay that this share of events is below; even within a microsecond.
fn at_share(share: f64) -> f64 {
    static CELLS: OnceLock<Vec<(f64, f64, f64)>> = OnceLock::new();
    let cells = CELLS.get_or_init(|| {
        let cells: Vec<(f64, f64)> = IDLE
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once('\t'))
            .filter_map(|(delay, count)| Some((delay.parse().ok()?, count.trim().parse().ok()?)))
            .collect();
        let all: f64 = cells.iter().map(|(_, count)| count).sum();
        let mut below = 0.0;
        cells
            .into_iter()
            .map(|(delay, count)| {
                let first = below;
                below += count / all;
                (first, count / all, delay)
            })
            .collect()
    });
    let at = cells.partition_point(|(below, _, _)| *below <= share).max(1) - 1;
    let (below, mass, delay) = cells[at];
    delay - 0.5 + ((share - below) / mass).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_have_the_correlation_that_they_are_named_for() {
        let mut chance = ChaCha8Rng::seed_from_u64(1);
        for (memory, lag, wanted) in [
            (Memory::Autoregression(0.5), 1, 0.5),
            (Memory::Autoregression(0.9), 5, 0.59),
            (Memory::Autoregression(0.0), 1, 0.0),
            (Memory::Long, 100, 0.21),
        ] {
            let values = memory.draw(400_000, &mut chance);
            let product: f64 = values.windows(lag + 1).map(|pair| pair[0] * pair[lag]).sum();
            let squares: f64 = values.iter().map(|value| value * value).sum();
            assert!((product / squares - wanted).abs() < 0.04, "{memory:?} {}", product / squares);
        }
    }

    #[test]
    fn delays_are_those_of_the_histogram_and_the_changes_what_they_say() {
        assert!((quantile(0.0) - 7.4168).abs() < 0.01, "{}", quantile(0.0));
        assert!((delay(0.0, Change::Median) / delay(0.0, Change::None) - 1.05).abs() < 1e-12);
        let two_percent = 2.053_75;
        let one_percent = 2.326_35;
        assert!((delay(two_percent, Change::Tail) - quantile(one_percent)).abs() < 0.02);
    }

    #[test]
    fn both_sides_have_all_their_blocks() {
        for pair in [
            Pair::in_turns(Memory::Long, Change::None, 40, 10_400, 5),
            Pair::apart(Memory::Long, Change::None, 40, 10_400, 5),
        ] {
            assert_eq!((pair.a.len(), pair.b.len()), (40, 40));
            assert!(pair.a.iter().chain(&pair.b).all(|block| block.count() == 260));
        }
    }
}
