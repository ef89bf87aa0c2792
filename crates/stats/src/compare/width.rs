//! How many times as wide B is as A.

use super::Design;
use super::curve::Curve;
use super::sides::{KNOWN, Side, Sides, differences};
use crate::special::student_quantile;

/// A ratio of widths, B / A, with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WidthRatio {
    /// Width of A.
    pub of_a: Option<f64>,
    /// Width of B.
    pub of_b: Option<f64>,
    /// B / A.
    pub estimate: Option<f64>,
    /// Lower end; `None` where there are too few events, or batches, to say.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// An interval whose ends are more than so many times, or less than one of so many times, what was seen says nothing.
const WIDEST: f64 = 10.0;

/// A width of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Between the quartiles.
    Quartiles,
    /// Standard deviation.
    Deviation,
}

impl Width {
    pub(super) fn ratio(self, sides: &Sides) -> WidthRatio {
        let (of_a, of_b) = (self.of(&sides.a.whole), self.of(&sides.b.whole));
        let (Some(a), Some(b)) = (of_a, of_b) else {
            return WidthRatio { of_a, of_b, ..WidthRatio::default() };
        };
        let found = WidthRatio { of_a, of_b, estimate: Some(b / a), low: None, high: None };
        let error = match sides.design {
            Design::Whole => {
                self.error(&sides.a.whole).zip(self.error(&sides.b.whole)).map(|(a, b)| (a + b, KNOWN))
            }
            Design::Apart => {
                let one = |side: &Side| jackknife(&self.without_each(side)?);
                let batches = sides.a.batches.len().min(sides.b.batches.len()) as f64;
                let (times, left) = sides.remembered(batches);
                let freedom = if times > 1.0 { left } else { least_freedom(sides) };
                one(&sides.a).zip(one(&sides.b)).map(|(a, b)| ((a + b) * times, freedom))
            }
            Design::Interleaved => {
                let (a, b) = (self.without_each(&sides.a), self.without_each(&sides.b));
                a.zip(b).and_then(|(a, b)| Some((jackknife(&differences(&a, &b))?, least_freedom(sides))))
            }
        };
        // Few events have less than no spread by their kurtosis.
        let Some((variance, freedom)) = error.filter(|(variance, _)| *variance > 0.0) else { return found };
        let factor = (student_quantile(freedom, 0.975) * variance.sqrt()).exp();
        if factor > WIDEST {
            return found;
        }
        WidthRatio { low: Some(b / a / factor), high: Some(b / a * factor), ..found }
    }

    /// `None` where it is 0, or the length of some events that it needs is not known.
    fn of(self, curve: &Curve) -> Option<f64> {
        let width = match self {
            // Within one cell the quartiles are those of the cell, not of the events.
            Self::Quartiles if curve.recorded_quantile(0.25) == curve.recorded_quantile(0.75) => return None,
            Self::Quartiles => curve.quantile(0.75)? - curve.quantile(0.25)?,
            Self::Deviation => central(curve)?.0.sqrt(),
        };
        (width > 0.0 && width.is_finite()).then_some(width)
    }

    /// Variance of the logarithm of a width of independent events.
    fn error(self, curve: &Curve) -> Option<f64> {
        let n = curve.count();
        match self {
            Self::Deviation => {
                let (variance, fourth) = central(curve)?;
                Some((fourth / (variance * variance) - 1.0) / (4.0 * n))
            }
            Self::Quartiles => {
                let error = (0.25 * 0.75 / n).sqrt();
                let half = |p: f64| Some((curve.quantile(p + error)? - curve.quantile(p - error)?) / 2.0);
                let (low, high) = (half(0.25)?, half(0.75)?);
                // Shares below the quartiles have correlation 1/3.
                Some((low * low + high * high - 2.0 / 3.0 * low * high) / self.of(curve)?.powi(2))
            }
        }
    }

    /// Logarithms of the width without each batch.
    fn without_each(self, side: &Side) -> Option<Vec<f64>> {
        side.batches.iter().map(|batch| Some(self.of(&side.whole.without(batch))?.ln())).collect()
    }
}

fn least_freedom(sides: &Sides) -> f64 {
    sides.a.batches.len().min(sides.b.batches.len()) as f64 - 1.0
}

/// Variance of an estimate from what it was without each batch (Quenouille 1956, Tukey 1958).
fn jackknife(without: &[f64]) -> Option<f64> {
    let count = without.len() as f64;
    let mean = without.iter().sum::<f64>() / count;
    let squares: f64 = without.iter().map(|value| (value - mean).powi(2)).sum();
    (count > 1.0).then(|| squares * (count - 1.0) / count)
}

/// Variance with divisor n − 1, and fourth central moment.
fn central(curve: &Curve) -> Option<(f64, f64)> {
    let n = curve.count();
    if curve.is_censored() || n < 2.0 {
        return None;
    }
    let mean_of = |value: &dyn Fn(f64) -> f64| {
        let cells = curve.cells().iter().map(|cell| cell.count as f64 * value((cell.low + cell.high) / 2.0));
        cells.sum::<f64>() / n
    };
    let mean = mean_of(&|value| value);
    Some((mean_of(&|value| (value - mean).powi(2)) * n / (n - 1.0), mean_of(&|value| (value - mean).powi(4))))
}
