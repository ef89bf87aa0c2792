//! What a quantile of independent events might have been: the bootstrap (Efron 1979) of counted cells.

use super::curve::Curve;
use crate::special::normal_tails;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution as _};

/// Samples that are drawn.
const SAMPLES: usize = 4000;
/// Cells within so many standard errors of the quantile are drawn one by one.
const WINDOW: f64 = 10.0;
/// Each comparison draws the same samples: it has the same answer each time.
const SEED: u64 = 2004;

/// Quantiles of samples drawn from a curve, ascending.
#[derive(Debug)]
pub(super) struct Resampled(Vec<f64>);

impl Resampled {
    /// Of the `p` quantile, whose share has this standard error.
    pub(super) fn of(curve: &Curve, p: f64, error: f64) -> Self {
        let n = curve.count();
        let at = |cell: usize| curve.below_cell(cell) / n;
        let cells = curve.cells();
        let near = |cell: &usize| {
            at(*cell) + cells[*cell].count as f64 / n > p - WINDOW * error && at(*cell) < p + WINDOW * error
        };
        let window: Vec<usize> = (0..cells.len()).filter(near).collect();
        let Some(&first) = window.first() else { return Self(Vec::new()) };
        let mut chance = ChaCha8Rng::seed_from_u64(SEED);
        let rank = p * n;
        let mut quantiles: Vec<f64> = (0..SAMPLES)
            .filter_map(|_| {
                let mut below = binomial(n as u64, at(first), &mut chance);
                let mut left = n as u64 - below;
                let mut share_left = 1.0 - at(first);
                for cell in &cells[first..first + window.len()] {
                    let share = cell.count as f64 / n;
                    let drawn = binomial(left, share / share_left, &mut chance);
                    if drawn > 0 && (below + drawn) as f64 >= rank {
                        let inside = (rank - below as f64) / drawn as f64;
                        return Some(cell.low + inside.max(0.0) * (cell.high - cell.low));
                    }
                    below += drawn;
                    left -= drawn;
                    share_left -= share;
                }
                None
            })
            .collect();
        quantiles.sort_by(f64::total_cmp);
        Self(quantiles)
    }

    /// The quantile of the sample that lies so many normal standard errors from the middle one; `None` where too few
    /// samples lie beyond.
    pub(super) fn at(&self, errors: f64) -> Option<f64> {
        let place = normal_tails(errors).probability() * self.0.len() as f64 - 0.5;
        let before = place.floor();
        if before < 4.0 || before + 5.0 > self.0.len() as f64 {
            return None;
        }
        let (low, high) = (self.0[before as usize], self.0[before as usize + 1]);
        Some(low + (place - before) * (high - low))
    }

    /// The farthest that [`at`](Self::at) gives to one side.
    pub(super) fn farthest(&self, side: f64) -> Option<f64> {
        let index = if side < 0.0 { 5 } else { self.0.len().checked_sub(6)? };
        self.0.get(index).copied()
    }
}

fn binomial(n: u64, share: f64, chance: &mut ChaCha8Rng) -> u64 {
    if share >= 1.0 {
        return n;
    }
    Binomial::new(n, share.max(0.0)).map_or(0, |law| law.sample(chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_median_might_have_been_lies_about_it_as_its_standard_error_says() {
        let ticks = (0..1000).map(|event| (10_000 + 10 * event, 1));
        let counted = crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap();
        let curve = Curve::of([&counted.binned()]);
        // Of even events: a share of 1 is ten thousand ticks.
        let error = (0.25f64 / 1000.0).sqrt();
        let drawn = Resampled::of(&curve, 0.5, error);
        let median = curve.quantile(0.5).unwrap();
        for errors in [-2.0, -1.0, 0.0, 1.0, 2.0] {
            let found = drawn.at(errors).unwrap() - median;
            assert!((found - errors * error * 1e4).abs() < 30.0, "{errors} {found}");
        }
        assert_eq!((drawn.at(-4.0), drawn.at(4.0)), (None, None), "too few samples lie beyond");
        assert!(drawn.farthest(-1.0).unwrap() < drawn.at(-2.5).unwrap());
        assert!(drawn.farthest(1.0).unwrap() > drawn.at(2.5).unwrap());
    }
}
