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

/// Of fewer events the law is not seen that says how uncertain their width is.
const FEW: f64 = 30.0;
/// What is taken for it then, an exponential one: its kurtosis, and how uncertain the logarithm of the distance of its
/// quartiles is, times the events.
const HEAVY: (f64, f64) = (9.0, 2.2);

/// How much so many events are taken for ones of a heavy law: not at all where there are twice as many.
fn heavy(events: f64) -> f64 {
    (1.0 - events / (2.0 * FEW)).max(0.0)
}

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
                let fewest = sides.a.whole.count().min(sides.b.whole.count());
                let freedom = if fewest < FEW { fewest - 1.0 } else { KNOWN };
                self.error(&sides.a.whole).zip(self.error(&sides.b.whole)).map(|(a, b)| (a + b, freedom))
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
                let kurtosis = fourth / (variance * variance);
                Some((kurtosis + heavy(n) * (HEAVY.0 - kurtosis).max(0.0) - 1.0) / (4.0 * n))
            }
            Self::Quartiles => {
                let error = (0.25 * 0.75 / n).sqrt();
                let half = |p: f64| Some((curve.quantile(p + error)? - curve.quantile(p - error)?) / 2.0);
                let (low, high) = (half(0.25)?, half(0.75)?);
                // Shares below the quartiles have correlation 1/3.
                let seen = (low * low + high * high - 2.0 / 3.0 * low * high) / self.of(curve)?.powi(2);
                Some(seen + heavy(n) * (HEAVY.1 / n - seen).max(0.0))
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
        let cells = curve.cells().iter().map(|cell| cell.count as f64 * value(cell.middle()));
        cells.sum::<f64>() / n
    };
    let mean = mean_of(&|value| value);
    Some((mean_of(&|value| (value - mean).powi(2)) * n / (n - 1.0), mean_of(&|value| (value - mean).powi(4))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::close;

    fn blocks(count: i64, width: impl Fn(i64) -> i64) -> Vec<crate::Binned> {
        let block = |number: i64| {
            let ticks = (0..400).map(|event| (10_000 + event * width(number), 1));
            crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
        };
        (0..count).map(block).collect()
    }

    fn curve(ticks: &[i64], lost: u64) -> Curve {
        let ticks = ticks.iter().map(|&tick| (tick, 1));
        let counted = crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap();
        Curve::of([&counted.binned().with_lost(lost)])
    }

    #[test]
    fn a_variance_has_its_divisor_and_none_is_said_of_one_event_or_beside_lost_ones() {
        let (variance, fourth) = central(&curve(&[1, 2, 3, 4, 5], 0)).unwrap();
        close(variance, 2.5);
        close(fourth, 6.8);
        assert_eq!(central(&curve(&[1, 2, 3, 4, 5], 1)), None);
        assert_eq!(central(&curve(&[1], 0)), None);
        close(central(&curve(&[1, 3], 0)).unwrap().0, 2.0);
        close(jackknife(&[1.0, 2.0, 3.0, 4.0]).unwrap(), 3.75);
        assert_eq!(jackknife(&[1.0]), None);
    }

    #[test]
    fn widths_of_even_events_are_as_uncertain_as_their_law_says() {
        // Of the logarithm: of quartiles it comes to 1/n, of the deviation (1.8 - 1)/4n.
        let even = Curve::of(&blocks(1, |_| 1));
        let near =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        near(Width::Quartiles.error(&even).unwrap() * 400.0, 1.0);
        near(Width::Deviation.error(&even).unwrap() * 400.0, 0.2);
        near(Width::Quartiles.of(&even).unwrap(), 200.0);
        near(Width::Deviation.of(&even).unwrap(), 400.0 / 12.0f64.sqrt());
        let sides = Sides::of(&blocks(1, |_| 1), &blocks(1, |_| 3), Design::Whole);
        let found = Width::Deviation.ratio(&sides);
        near(found.estimate.unwrap(), 3.0);
        near((found.high.unwrap() / 3.0).ln(), 1.96 * (2.0 * 0.2 / 400.0f64).sqrt());
        near((3.0 / found.low.unwrap()).ln(), 1.96 * (2.0 * 0.2 / 400.0f64).sqrt());
    }

    #[test]
    fn ratios_of_widths_of_few_events_are_held_as_often_as_is_said() {
        use rand::SeedableRng as _;
        use rand_distr::{Distribution as _, Exp1, StandardNormal};
        const PAIRS: u64 = 300;
        let each = |is_heavy| [(is_heavy, Width::Deviation), (is_heavy, Width::Quartiles)];
        for (is_heavy, width) in [false, true].into_iter().flat_map(each) {
            for count in [5, 8, 12, 20, 29] {
                let (mut held, mut said) = (0, 0);
                for seed in 0..PAIRS {
                    let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
                    let mut side = || {
                        let mut event = |_| {
                            let normal: f64 = StandardNormal.sample(&mut chance);
                            let long: f64 = Exp1.sample(&mut chance);
                            ((1e6 + 1e5 * if is_heavy { long } else { normal }) as i64, 1)
                        };
                        let ticks: Vec<(i64, u64)> = (0..count).map(&mut event).collect();
                        [crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()]
                    };
                    let (a, b) = (side(), side());
                    let found = width.ratio(&Sides::of(&a, &b, Design::Whole));
                    let holds =
                        found.low.is_none_or(|low| low <= 1.0) && found.high.is_none_or(|it| it >= 1.0);
                    (said, held) = (said + u64::from(found.low.is_some()), held + u64::from(holds));
                }
                let told = format!("{width:?} {is_heavy} {count}: {held} of {PAIRS}, {said} said");
                assert!(100 * held >= 93 * PAIRS && (count < 12 || 2 * said > PAIRS), "{told}");
            }
        }
    }

    #[test]
    fn an_interval_of_batches_rests_on_the_fewer_less_one() {
        let some = |number: i64| 100 + [0, 5, -4, 3, -6][number as usize % 5];
        let sides = Sides::of(&blocks(6, some), &blocks(9, some), Design::Apart);
        close(least_freedom(&sides), 5.0);
        for (design, freedom) in [(Design::Apart, 9.0), (Design::Interleaved, 9.0)] {
            let other = |number: i64| 100 + [4, -5, 3, 0, -2, 6, -6][number as usize % 7];
            let sides = Sides { memory: 0.0, ..Sides::of(&blocks(10, some), &blocks(10, other), design) };
            let without = |side: &Side| Width::Deviation.without_each(side).unwrap();
            let (a, b) = (without(&sides.a), without(&sides.b));
            let variance = match design {
                Design::Apart => jackknife(&a).unwrap() + jackknife(&b).unwrap(),
                _ => jackknife(&differences(&a, &b)).unwrap(),
            };
            let found = Width::Deviation.ratio(&sides);
            let half = (found.high.unwrap() / found.estimate.unwrap()).ln();
            let freedom = if design == Design::Apart { freedom } else { least_freedom(&sides) };
            close(half, student_quantile(freedom, 0.975) * variance.sqrt());
            close(found.low.unwrap() * found.high.unwrap(), found.estimate.unwrap().powi(2));
        }
    }
}
