//! Moments of counted events.

use crate::Binned;

/// Mean, spread and shape, in units; `None` of what so few events, or events of unknown length, do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation with divisor n − 1.
    pub deviation: Option<f64>,
    /// The same without what rounding to ticks adds: √(s² − q²/12) (Sheppard).
    pub deviation_sheppard: Option<f64>,
    /// Standard error of the mean, were the events independent and in the middle of their cells.
    pub standard_error: Option<f64>,
    /// How far the mean may be from there, wherever in their cells the events are.
    pub cell_error: Option<f64>,
    /// Skewness g₁, population form.
    pub skewness: Option<f64>,
    /// Excess kurtosis g₂, population form.
    pub excess_kurtosis: Option<f64>,
    /// Deviation ÷ mean.
    pub coefficient_of_variation: Option<f64>,
    /// Geometric mean; of positive values only.
    pub geometric_mean: Option<f64>,
    /// Mean of the middle 60 %: a fifth is trimmed from each side.
    pub trimmed_mean: Option<f64>,
    /// Median absolute deviation from the median, unscaled.
    pub median_absolute_deviation: Option<f64>,
}

/// Rounding to ticks averages out of a mean where events spread over more than this many of them: of normal ones it leaves
/// a 400th of a tick.
const AVERAGES_OUT: f64 = 0.5;
/// Share trimmed from each side.
const TRIMMED: f64 = 0.2;

impl Moments {
    /// Of all events; of none where the length of some is not known.
    pub fn of(binned: &Binned) -> Self {
        let n = binned.count() as f64;
        if binned.above().is_some() || binned.count() == 0 {
            return Self { median_absolute_deviation: median_deviation(binned), ..Self::default() };
        }
        let weighted = |value: &dyn Fn(f64) -> f64| {
            binned.cells().iter().map(|cell| cell.count as f64 * value(cell.middle())).sum::<f64>() / n
        };
        let mean = weighted(&|value| value);
        let central = |power: i32| weighted(&|value| (value - mean).powi(power));
        let (m2, m3, m4) = (central(2), central(3), central(4));
        let spread = (m2 > 0.0).then_some(m2);
        let variance = (binned.count() > 1).then(|| m2 * n / (n - 1.0));
        let sheppard = binned.quantum().powi(2) / 12.0;
        let positive = binned.cells().iter().all(|cell| cell.value > 0.0);
        Self {
            mean: Some(mean),
            deviation: variance.map(f64::sqrt),
            deviation_sheppard: variance.filter(|v| *v > sheppard).map(|v| (v - sheppard).sqrt()),
            standard_error: variance.map(|v| (v / n).sqrt()),
            cell_error: Some(cell_error(binned, m2.sqrt())),
            skewness: spread.map(|m2| m3 / m2.powf(1.5)),
            excess_kurtosis: spread.map(|m2| m4 / (m2 * m2) - 3.0),
            coefficient_of_variation: variance.filter(|_| mean > 0.0).map(|v| v.sqrt() / mean),
            geometric_mean: positive.then(|| weighted(&f64::ln).exp()),
            trimmed_mean: trimmed_mean(binned),
            median_absolute_deviation: median_deviation(binned),
        }
    }
}

/// Half the width of the cells, those of a tick left out where rounding to ticks averages out.
fn cell_error(binned: &Binned, deviation: f64) -> f64 {
    let tick = binned.quantum() * if deviation > AVERAGES_OUT * binned.quantum() { 1.5 } else { 0.0 };
    let widths = binned.cells().iter().map(|cell| (cell.high - cell.low, cell.count as f64));
    let sum: f64 = widths.filter(|(width, _)| *width > tick).map(|(width, count)| width * count).sum();
    sum / 2.0 / binned.count() as f64
}

/// Whole events are trimmed: ⌊0.2·n⌋ from each side.
fn trimmed_mean(binned: &Binned) -> Option<f64> {
    let n = binned.count();
    let cut = (n as f64 * TRIMMED) as u64;
    let (first, last) = (cut, n - cut);
    let (mut below, mut sum) = (0u64, 0.0);
    for cell in binned.cells() {
        let kept = (below + cell.count).min(last).saturating_sub(below.max(first));
        sum += kept as f64 * cell.middle();
        below += cell.count;
    }
    (last > first).then(|| sum / (last - first) as f64)
}

fn median_deviation(binned: &Binned) -> Option<f64> {
    let half = binned.count().div_ceil(2);
    let median = binned.ranked(half)?;
    let mut distances: Vec<(f64, u64)> =
        binned.cells().iter().map(|cell| ((cell.value - median).abs(), cell.count)).collect();
    distances.extend(binned.above().map(|(from, count)| (from - median, count)));
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0;
    distances
        .iter()
        .find(|(_, count)| {
            below += count;
            below >= half
        })
        .map(|(distance, _)| *distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE64, binned};
    use crate::{Counted, Meaning};

    #[test]
    fn moments_are_those_of_the_reference() {
        let tables = [
            (
                IDLE,
                [
                    10.064327, 5.297659, 5.289788, 0.051948, 2.401646, 15.274819, 0.526380, 9.079855,
                    8.443429, 1.0,
                ],
            ),
            (
                IOZONE64,
                [
                    13.399038, 6.570719, 6.564374, 0.064431, 8.508091, 143.259267, 0.490387, 12.522067,
                    12.269551, 3.0,
                ],
            ),
        ];
        for (data, table) in tables {
            let found = Moments::of(&binned(data));
            let found = [
                found.mean,
                found.deviation,
                found.deviation_sheppard,
                found.standard_error,
                found.skewness,
                found.excess_kurtosis,
                found.coefficient_of_variation,
                found.geometric_mean,
                found.trimmed_mean,
                found.median_absolute_deviation,
            ];
            for (found, reference) in found.into_iter().zip(table) {
                assert!(
                    (found.unwrap() - reference).abs() < 1e-6 + 1e-8 * reference,
                    "{found:?} {reference}"
                );
            }
        }
    }

    #[test]
    fn a_mean_is_that_of_the_middles_of_cells_and_its_error_knows_how_wide_they_are() {
        let of = |low, high, count| {
            let meaning = Meaning { rounding: crate::Rounding::Floor, ..Meaning::default() };
            Moments::of(&Counted::ranges(meaning, [(low, high, count)], None).unwrap().binned())
        };
        let wide = of(49_664, 50_175, 1_000_000);
        let means = [wide.mean, wide.geometric_mean, wide.trimmed_mean];
        assert!(means.iter().all(|mean| (mean.unwrap() - 49_920.0).abs() < 1e-6), "{means:?}");
        assert_eq!((wide.standard_error, wide.cell_error), (Some(0.0), Some(256.0)));
        assert_eq!(of(7, 7, 100).cell_error, Some(0.5), "that all share a tick says no more than that");
        assert_eq!(
            Moments::of(&binned(IDLE)).cell_error,
            Some(0.0),
            "ticks average out of what spreads over many"
        );
    }

    #[test]
    fn few_events_have_few_moments() {
        let of = |ticks: &[(i64, u64)]| {
            Moments::of(&Counted::ticks(Meaning::default(), ticks.iter().copied(), None).unwrap().binned())
        };
        assert_eq!(of(&[]), Moments::default());
        let one = of(&[(7, 1)]);
        assert_eq!((one.mean, one.deviation, one.skewness), (Some(7.0), None, None));
        let equal = of(&[(7, 100)]);
        assert_eq!((equal.deviation, equal.deviation_sheppard, equal.skewness), (Some(0.0), None, None));
        assert_eq!(of(&[(-3, 1), (3, 1)]).geometric_mean, None);
    }
}
