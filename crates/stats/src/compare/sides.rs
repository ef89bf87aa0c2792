//! The two sides of a comparison in batches: what an interval is made from.

use super::Design;
use super::curve::Curve;
use crate::Binned;
use crate::special::normal_quantile;

/// Batches of each side: fewer say little about their own spread, more are not independent.
const BATCHES: usize = 20;
/// Below this, blocks say nothing about their spread and the events are taken as independent.
pub(super) const FEWEST: usize = 4;
/// Neighbouring batches that are more alike than this are put together.
const ALIKE: f64 = 0.3;
/// The least that a variance may be of what independent events would have: batches that agree by chance.
const LEAST: f64 = 0.25;
/// Degrees of freedom of a variance that is known.
pub(super) const KNOWN: f64 = 1e9;

/// Both sides, whole and in batches.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) design: Design,
}

/// One side.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) whole: Curve,
    /// Empty where the events are taken as independent.
    pub(super) batches: Vec<Curve>,
}

/// The spread of a sum over batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) variance: f64,
    pub(super) freedom: f64,
}

impl Sides {
    pub(super) fn of(a: &[Binned], b: &[Binned], design: Design) -> Self {
        let few = a.len().min(b.len()) < FEWEST || (design == Design::Interleaved && a.len() != b.len());
        let design = if few { Design::Whole } else { design };
        let (of_a, of_b) = match design {
            Design::Whole => (0, 0),
            Design::Apart => (a.len().min(BATCHES), b.len().min(BATCHES)),
            Design::Interleaved => (paired(a.len()), paired(a.len())),
        };
        Self { a: Side::of(a, of_a), b: Side::of(b, of_b), design }
    }

    /// Only the batches with an odd number, from 0: what the even ones of A have said must not be asked of them again.
    pub(super) fn odd_batches(&self) -> Self {
        let odd = |side: &Side| {
            let batches: Vec<Curve> = side.batches.iter().skip(1).step_by(2).cloned().collect();
            Side { whole: Curve::together(&batches), batches }
        };
        let b = if self.design == Design::Interleaved { odd(&self.b) } else { self.b.clone() };
        Self { a: odd(&self.a), b, design: self.design }
    }

    /// A's batches with an even number.
    pub(super) fn even_half_of_a(&self) -> Curve {
        let batches: Vec<Curve> = self.a.batches.iter().step_by(2).cloned().collect();
        Curve::together(&batches)
    }
}

/// Two pairs are a batch where that leaves ten of them: A B B A is even to a drift.
fn paired(pairs: usize) -> usize {
    if pairs >= 2 * BATCHES {
        BATCHES
    } else if pairs >= BATCHES {
        pairs / 2
    } else {
        pairs
    }
}

impl Side {
    fn of(blocks: &[Binned], batches: usize) -> Self {
        let batches = (0..batches)
            .map(|index| {
                let from = index * blocks.len() / batches;
                let to = (index + 1) * blocks.len() / batches;
                Curve::of(&blocks[from..to])
            })
            .collect();
        Self { whole: Curve::of(blocks), batches }
    }

    /// How much each batch has below `x` beyond its share, as a part of all events.
    pub(super) fn residuals(&self, x: f64) -> Vec<f64> {
        let n = self.whole.count();
        let share = self.whole.below(x) / n;
        self.batches.iter().map(|batch| (batch.below(x) - share * batch.count()) / n).collect()
    }

    /// How uncertain the share of events below `x` is.
    pub(super) fn spread_of_share(&self, x: f64, p: f64) -> Spread {
        let independent = p * (1.0 - p) / self.whole.count();
        if self.batches.is_empty() {
            return Spread { variance: independent, freedom: KNOWN };
        }
        let found = spread(&self.residuals(x));
        Spread { variance: found.variance.max(LEAST * independent), ..found }
    }
}

/// Variance of the sum of these residuals. Neighbours that are alike are put together, and what likeness is then
/// left widens the result.
pub(super) fn spread(residuals: &[f64]) -> Spread {
    let mut residuals = residuals.to_vec();
    while residuals.len() >= 2 * 5 && likeness(&residuals) > ALIKE {
        residuals = residuals.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
    let count = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let left = likeness(&residuals).clamp(0.0, 0.8);
    let widened = if left > ALIKE { (1.0 + left) / (1.0 - left) } else { 1.0 };
    Spread { variance: squares * count / (count - 1.0) * widened, freedom: count - 1.0 }
}

/// Lag-1 correlation, without the −1/K that residuals of a common mean have.
pub(super) fn likeness(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares > 0.0 { products / squares + 1.0 / residuals.len() as f64 } else { 0.0 }
}

/// Correlation of two rows of residuals.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let both = (product(a, a) * product(b, b)).sqrt();
    if both > 0.0 { product(a, b) / both } else { 0.0 }
}

/// How many standard errors an interval reaches in 95 % of normal samples, were its spread known.
pub(super) fn known_reach() -> f64 {
    normal_quantile(0.975)
}
