//! Which load teaches most: the one after which the goals' loads are expected to be known best.

use super::constants::choice::{ABOVE, BINS, DRAWS, FARTHEST, KNOWN};
use super::model::Shape;
use super::normal::Normal;

/// A goal that is not narrow yet, as far as the choice needs it.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// The goal's load of each draw, as a logarithm.
    pub(super) loads: Vec<f64>,
    /// Logarithms of the loads at the 10, 50 and 90 % points.
    pub(super) points: [f64; 3],
    /// Width wanted.
    pub(super) width: f64,
}

/// How many draws [`best`] wants.
pub(super) const fn draws() -> usize {
    DRAWS
}

/// The logarithm of the best load of those that come into question, within `range`.
pub(super) fn best(draws: &[Shape], wishes: &[Wish], seconds: f64, range: (f64, f64)) -> Option<f64> {
    let highest = wishes.iter().map(|wish| wish.points[1]).fold(f64::NEG_INFINITY, f64::max);
    let above = ABOVE.iter().map(|step| highest + step);
    let mut candidates: Vec<f64> = wishes
        .iter()
        .flat_map(|wish| wish.points)
        .chain(above)
        .map(|load| load.min(highest + FARTHEST).clamp(range.0, range.1))
        .collect();
    candidates.sort_by(f64::total_cmp);
    candidates.dedup_by(|later, earlier| (*later - *earlier).abs() < 1e-6);
    let mut best: Option<(f64, f64)> = None;
    for load in candidates {
        let ignorance = expected_ignorance(draws, wishes, seconds, load);
        if best.is_none_or(|(least, _)| ignorance < least) {
            best = Some((ignorance, load));
        }
    }
    best.map(|(_, load)| load)
}

/// Sum over the wishes of the expected logarithm of the standard deviation after a trial.
///
/// The logarithm, because a small chance of a far system must not decide where to look for the likely one.
fn expected_ignorance(draws: &[Shape], wishes: &[Wish], seconds: f64, load: f64) -> f64 {
    let normal = Normal::tables();
    let packets = libm::floor(libm::exp(load) * seconds).max(1.0);
    let edges = edges(draws, load, packets);
    let chances: Vec<Vec<f64>> = draws
        .iter()
        .map(|shape| {
            let mut before = 0.0;
            let mut chances: Vec<f64> = edges
                .iter()
                .map(|&edge| {
                    let at_most = shape.at_most(edge, packets, load, normal).max(before);
                    let chance = at_most - before;
                    before = at_most;
                    chance
                })
                .collect();
            chances.push((1.0 - before).max(0.0));
            chances
        })
        .collect();
    wishes
        .iter()
        .map(|wish| {
            let centre = wish.points[1];
            let known = KNOWN * wish.width;
            let mut expected = 0.0;
            for outcome in 0..=edges.len() {
                let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
                for (chances, goal) in chances.iter().zip(&wish.loads) {
                    let off = goal - centre;
                    sum += chances[outcome];
                    first += chances[outcome] * off;
                    second += chances[outcome] * off * off;
                }
                if sum > 0.0 {
                    let variance = (second - first * first / sum) / sum;
                    expected += sum * libm::log(variance.max(0.0) + known * known);
                }
            }
            0.5 * expected / draws.len() as f64
        })
        .sum()
}

/// Highest counts of the outcomes that are told apart: nothing lost, then even ratios over what is likely.
fn edges(draws: &[Shape], load: f64, packets: f64) -> Vec<f64> {
    let least = draws.iter().map(|shape| shape.mean_loss(load, -2.5)).fold(1.0, f64::min) * packets;
    let most = draws.iter().map(|shape| shape.mean_loss(load, 2.5)).fold(0.0, f64::max) * packets;
    let low = libm::floor(least * 0.8 - 2.0).max(1.0);
    let high = (1.2 * most + 4.0).min(packets).max(low + 1.0);
    let ratio = libm::pow(high / low, 1.0 / (BINS - 2) as f64);
    let mut edges = vec![0.0];
    let mut edge = low;
    for _ in 0..BINS - 1 {
        let whole = libm::floor(edge);
        if edges.last().is_none_or(|&last| whole > last) {
            edges.push(whole);
        }
        edge *= ratio;
    }
    edges
}
