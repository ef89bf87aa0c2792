//! Events in the order in which they were measured: whether those near one another are alike, and the blocks that then show
//! how much they vary.
//!
//! Events that follow one another alike are no independent witnesses. Whether they do is one permutation test: sums over
//! neighbours, of 2, 4, 8, … of them, vary more in the order of time than in any other. It looks at ranks, which see levels
//! that wander, and at which events are long, which sees spells.

use crate::chance::seeded;
use rand::seq::SliceRandom as _;

/// Name of the estimator.
pub const ESTIMATOR: &str = "permutation test at 5 % of the largest excess of the variance of sums over 2, 4, 8, … \
     neighbours, of ranks and of events above the 90th percentile";
/// Independent events are called dependent as rarely as this.
const LEVEL: f64 = 0.05;
/// Of few events what is alike shows worse, and is looked for more.
const FEW: usize = 50;
const LEVEL_OF_FEW: f64 = 0.1;
/// Fewer events have too few long ones for these to be alike.
const SHOWS_SPELLS: usize = 100;
/// Other orders that the order of time is held against.
const ORDERS: usize = 199;
/// Share of the events that is not long.
const SHORT: f64 = 0.9;
/// Sums are over no more than this part of the events.
const LONGEST: usize = 2;
/// Fewer events have no neighbours to speak of.
const FEWEST: usize = 8;
/// Cuts of a side; of fewer than five events each, its events themselves.
const BLOCKS: usize = 40;
const LEAST_BLOCK: usize = 5;

/// Whether the events of either side, each in the order of time, are more alike with those near them than they would be in
/// another order. Sides of fewer than eight events say nothing about that.
pub fn are_dependent(sides: &[&[i64]], seed: u64) -> bool {
    let mut rows: Vec<Vec<[f64; 2]>> =
        sides.iter().filter(|side| side.len() >= FEWEST).map(|side| scored(side)).collect();
    let fewest = rows.iter().map(Vec::len).min().unwrap_or(0);
    let level = if fewest < FEW { LEVEL_OF_FEW } else { LEVEL };
    let seen = excesses(&rows);
    if seen.is_empty() {
        return false;
    }
    let mut chance = seeded(seed);
    let others: Vec<Vec<f64>> = (0..ORDERS)
        .map(|_| {
            rows.iter_mut().for_each(|row| row.shuffle(&mut chance));
            excesses(&rows)
        })
        .collect();
    // Each excess in the units of its own scatter, so that the largest is of equals.
    let scales: Vec<(f64, f64)> = (0..seen.len())
        .map(|which| {
            let of: Vec<f64> = others.iter().map(|other| other[which]).collect();
            let mean = of.iter().sum::<f64>() / of.len() as f64;
            let variance = of.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / of.len() as f64;
            (mean, variance.sqrt())
        })
        .collect();
    let largest = |excesses: &[f64]| {
        let scaled = excesses.iter().zip(&scales).filter(|(_, (_, deviation))| *deviation > 0.0);
        scaled.map(|(value, (mean, deviation))| (value - mean) / deviation).fold(f64::NEG_INFINITY, f64::max)
    };
    let seen = largest(&seen);
    let as_large = others.iter().filter(|other| largest(other) >= seen).count();
    ((as_large + 1) as f64) <= level * (ORDERS + 1) as f64
}

/// Cuts of equal length, in order, as the blocks of a comparison: of few events each is one.
pub fn blocks(events: &[i64]) -> impl Iterator<Item = &[i64]> {
    let blocks = if events.len() < BLOCKS * LEAST_BLOCK { events.len() } else { BLOCKS };
    (0..blocks).map(move |block| {
        &events[block * events.len() / blocks..(block + 1) * events.len() / blocks]
    })
}

/// The rank of each event and whether it is long, both less their means and in units of their deviation.
fn scored(events: &[i64]) -> Vec<[f64; 2]> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&at| events[at]);
    let mut scores = vec![[0.0; 2]; events.len()];
    let mut from = 0;
    for same in order.chunk_by(|&a, &b| events[a] == events[b]) {
        let middle = from as f64 + (same.len() - 1) as f64 / 2.0;
        let is_long = from as f64 >= SHORT * events.len() as f64;
        same.iter().for_each(|&at| scores[at] = [middle, f64::from(u8::from(is_long))]);
        from += same.len();
    }
    for which in 0..2 {
        let n = scores.len() as f64;
        let mean = scores.iter().map(|score| score[which]).sum::<f64>() / n;
        let variance = scores.iter().map(|score| (score[which] - mean).powi(2)).sum::<f64>() / n;
        let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        scores.iter_mut().for_each(|score| score[which] = (score[which] - mean) / deviation);
    }
    scores
}

/// Of each length and each score: the mean square of sums over so many neighbours, of all sides together, to the power of a
/// third, whose scatter is about even.
fn excesses(rows: &[Vec<[f64; 2]>]) -> Vec<f64> {
    let sums: Vec<Vec<[f64; 2]>> = rows.iter().map(|row| summed(row)).collect();
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0) / LONGEST;
    let lengths = std::iter::successors(Some(2), |length| Some(length * 2)).take_while(|&it| it <= longest);
    let mut excesses = Vec::new();
    for length in lengths {
        let (mut squares, mut count) = ([0.0; 2], 0.0);
        for sums in sums.iter().filter(|sums| sums.len() > length * LONGEST) {
            for from in 0..sums.len() - length {
                for (which, squares) in squares.iter_mut().enumerate() {
                    *squares += (sums[from + length][which] - sums[from][which]).powi(2);
                }
            }
            count += (sums.len() - length) as f64;
        }
        let shown = if longest * LONGEST < SHOWS_SPELLS { 1 } else { 2 };
        excesses.extend(squares[..shown].iter().map(|squares| (squares / count / length as f64).cbrt()));
    }
    excesses
}

/// Sums of all before each place, and of all.
fn summed(row: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sum = [0.0; 2];
    let mut sums = Vec::with_capacity(row.len() + 1);
    sums.push(sum);
    for score in row {
        sum = [sum[0] + score[0], sum[1] + score[1]];
        sums.push(sum);
    }
    sums
}
