//! What lies beyond a threshold: how much, and in which shape.

mod shape;

use crate::likelihood::log_likelihood;
use crate::simplex::{EXACT, golden, minimum};
use crate::special::beta_quantile;
use crate::{Binned, Cell, Law};

pub use shape::TailShape;

/// Name of the estimator.
pub const ESTIMATOR: &str = "share beyond the threshold with Clopper and Pearson's interval; generalised Pareto law of \
     the excess by interval likelihood, profile interval of its ξ";
/// Fewer events beyond the threshold bear no shape.
pub const FEWEST: u64 = 30;
/// Half the 95 % point of chi-square with one degree of freedom.
const HALF_CHI: f64 = 1.920_729_410_347_062_2;
/// The same for an end, near which events are dense, so that its likelihood is not that of a normal law.
const OF_AN_END: f64 = 3.0;
/// Shapes ξ of laws with an end that are tried for one, less their sign.
const SHAPES: (f64, f64) = (1e-4, 20.0);
/// An end so many doublings of the tail's length away is none.
const FARTHEST_END: i32 = 20;

/// The share of events beyond a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mass {
    /// Events recorded above it.
    pub count: u64,
    /// Of all.
    pub ratio: f64,
    /// Lower end of the exact interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

impl Mass {
    /// Clopper and Pearson's interval for `count` of `n`; `None` of nothing.
    pub fn of(count: u64, n: u64, level: f64) -> Option<Self> {
        let tail = (1.0 - level) / 2.0;
        let (k, rest) = (count as f64, n.checked_sub(count).filter(|_| n > 0)? as f64);
        Some(Self {
            count,
            ratio: k / n as f64,
            low: if count == 0 { 0.0 } else { beta_quantile(k, rest + 1.0, tail) },
            high: if rest == 0.0 { 1.0 } else { beta_quantile(k + 1.0, rest, 1.0 - tail) },
        })
    }
}

/// The generalised Pareto law of the excess.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Excess {
    /// Scale σ.
    pub sigma: f64,
    /// Shape ξ: 0 exponential, below it bounded (−1 uniform), above it heavy.
    pub xi: f64,
    /// Lower end of the 95 % profile interval of ξ.
    pub xi_low: f64,
    /// Upper end of it.
    pub xi_high: f64,
    /// ln L.
    pub log_likelihood: f64,
    /// ln L of the exponential law.
    pub exponential: f64,
    /// Value beyond which the law has nothing; `None` where it has no end.
    pub end: Option<f64>,
    /// Lower end of the 95 % profile interval of the end; `None` where the law has no end.
    pub end_low: Option<f64>,
    /// Upper end of it; `None` where the events do not bound it.
    pub end_high: Option<f64>,
    /// Mean of the recorded values beyond the threshold's own tick.
    pub mean_excess: f64,
    /// Hill's estimate of ξ: never to be read alone, it is positive for bounded tails too.
    pub hill: f64,
}

impl Excess {
    /// Of the events recorded above `threshold`, however few; `None` where they fill fewer than two cells.
    pub fn of(binned: &Binned, threshold: f64) -> Option<Self> {
        let beyond = binned.beyond(threshold);
        let edge = beyond.cells().first()?.low.min(threshold + (threshold_step(binned, threshold)));
        if beyond.cells().len() < 2 || beyond.above().is_some() {
            return None;
        }
        let k = beyond.count() as f64;
        let middle = |cell: &Cell| (cell.low + cell.high) / 2.0 - edge;
        let mean = beyond.cells().iter().map(|cell| cell.count as f64 * middle(cell)).sum::<f64>() / k;
        let loss = |sigma: f64, xi: f64| -log_likelihood(&beyond, &Law::Pareto { loc: edge, sigma, xi });
        let mut best: Option<(f64, f64, f64)> = None;
        for start in [-0.6, -0.1, 0.3, 1.0] {
            // A bounded law must reach the last event.
            let reach = beyond.cells().last().map_or(mean, |cell| cell.high - edge);
            let sigma = if start < 0.0 { -start * reach * 1.1 } else { mean };
            let mut function = |at: &[f64]| loss(at[0].exp(), at[1]);
            let found = minimum(&mut function, &[sigma.ln(), start], &[0.2, 0.2], EXACT);
            if best.is_none_or(|(value, _, _)| found.value < value) {
                best = Some((found.value, found.at[0].exp(), found.at[1]));
            }
        }
        let (least, sigma, xi) = best?;
        let profile = |xi: f64| {
            let centre = sigma.ln();
            golden(&mut |s: f64| loss(s.exp(), xi), centre - 6.0, centre + 8.0, 1e-7).1
        };
        let limit = |direction: f64| {
            let outside = |xi: f64| profile(xi) > least + HALF_CHI;
            let mut step = 0.25;
            let (mut inside, mut end) = (xi, xi + direction * step);
            while !outside(end) && step < 64.0 {
                inside = end;
                step *= 2.0;
                end += direction * step;
            }
            for _ in 0..40 {
                let middle = (inside + end) / 2.0;
                if outside(middle) { end = middle } else { inside = middle }
            }
            (inside + end) / 2.0
        };
        let law_end = Law::Pareto { loc: edge, sigma, xi }.end();
        let last = beyond.cells().last()?.low;
        // Of a law with this end, whatever its shape.
        let is_outside = |end: f64| {
            let of_shape = |shape: f64| loss((end - edge) * shape.exp(), -shape.exp());
            golden(&mut { of_shape }, SHAPES.0.ln(), SHAPES.1.ln(), 1e-7).1 > least + OF_AN_END
        };
        let between = |mut inside: f64, mut outside: f64| {
            for _ in 0..50 {
                let middle = f64::midpoint(inside, outside);
                if is_outside(middle) { outside = middle } else { inside = middle }
            }
            outside
        };
        let end_low = law_end.map(|end| between(end, last));
        let end_high = law_end.and_then(|end| {
            let reach = (end - edge).max(beyond.quantum());
            let far = (1..FARTHEST_END).map(|doubled| edge + reach * f64::from(doubled).exp2());
            far.into_iter().find(|&far| is_outside(far)).map(|far| between(end, far))
        });
        let exponential = -golden(&mut |s: f64| loss(s.exp(), 0.0), mean.ln() - 3.0, mean.ln() + 3.0, 1e-9).1;
        let weighted = |value: &dyn Fn(f64) -> f64| {
            beyond.cells().iter().map(|cell| cell.count as f64 * value(cell.middle())).sum::<f64>() / k
        };
        Some(Self {
            sigma,
            xi,
            xi_low: limit(-1.0),
            xi_high: limit(1.0),
            log_likelihood: -least,
            exponential,
            end: law_end,
            end_low,
            end_high,
            mean_excess: weighted(&|value| value - edge),
            hill: weighted(&|value| (value / edge).max(1.0).ln()),
        })
    }

    /// Twice what ξ gains over the exponential law, and the chance of that.
    pub fn against_exponential(&self) -> (f64, f64) {
        let gain = (2.0 * (self.log_likelihood - self.exponential)).max(0.0);
        (gain, crate::special::chi_square_above(gain, 1.0))
    }
}

/// How far behind the recorded threshold the excess begins: where its own cell ends.
fn threshold_step(binned: &Binned, threshold: f64) -> f64 {
    let own = binned.cells().iter().rev().find(|cell| cell.value <= threshold);
    own.map_or(binned.quantum() / 2.0, |cell| cell.high - cell.value)
}

/// ξ at higher and higher thresholds: one law would keep it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtThreshold {
    /// Recorded value.
    pub threshold: f64,
    /// Events above it.
    pub count: u64,
    /// The law of the excess.
    pub excess: Excess,
}

/// The shape of the tail at thresholds from p80 on, as long as enough events lie beyond.
pub fn stability(binned: &Binned) -> Vec<AtThreshold> {
    let n = binned.count() as f64;
    let mut thresholds: Vec<f64> = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.997, 0.999, 0.9999]
        .iter()
        .filter_map(|p| binned.ranked((p * n).ceil() as u64))
        .collect();
    thresholds.dedup();
    thresholds
        .into_iter()
        .filter(|&threshold| binned.count_above(threshold) >= FEWEST)
        .filter_map(|threshold| {
            let excess = Excess::of(binned, threshold)?;
            Some(AtThreshold { threshold, count: binned.count_above(threshold), excess })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::seeded;
    use crate::references::{IDLE, IOZONE64, binned};
    use rand::Rng as _;

    #[test]
    fn shares_beyond_have_exact_intervals() {
        for (data, count, ratio, low, high) in
            [(IDLE, 9, 0.000865, 0.000396, 0.001642), (IOZONE64, 31, 0.002981, 0.002026, 0.004228)]
        {
            let binned = binned(data);
            let mass = Mass::of(binned.count_above(42.0), binned.count(), 0.95).unwrap();
            assert_eq!(mass.count, count);
            for (found, reference) in [(mass.ratio, ratio), (mass.low, low), (mass.high, high)] {
                assert!((found - reference).abs() < 1e-6, "{found} {reference}");
            }
        }
        assert_eq!(Mass::of(0, 0, 0.95), None);
        let none = Mass::of(0, 100, 0.95).unwrap();
        assert!((none.high - 0.036_217).abs() < 1e-5 && none.low == 0.0);
        assert_eq!(Mass::of(5, 5, 0.95).unwrap().high, 1.0);
    }

    #[test]
    fn the_law_of_the_excess_is_that_of_the_reference() {
        let table = [
            (IDLE, [16.055556, 11.953222, 0.277614, -33.830295, -33.983039, 0.280605], (-0.684, 2.166), None),
            (
                IOZONE64,
                [47.177419, 87.374907, -0.714718, -147.420876, -150.470796, 0.659609],
                (-1.182, -0.190),
                Some(164.750948),
            ),
        ];
        for (data, numbers, (low, high), end) in table {
            let found = Excess::of(&binned(data), 42.0).unwrap();
            let all = [
                found.mean_excess,
                found.sigma,
                found.xi,
                found.log_likelihood,
                found.exponential,
                found.hill,
            ];
            for (found, reference) in all.iter().zip(numbers) {
                assert!((found / reference - 1.0).abs() < 1e-3, "{found} {reference}");
            }
            assert!((found.xi_low - low).abs() < 2e-3 && (found.xi_high - high).abs() < 2e-3, "{found:?}");
            assert_eq!(found.end.is_some(), end.is_some());
            if let (Some(found), Some(end)) = (found.end, end) {
                assert!((found / end - 1.0).abs() < 1e-3, "{found}");
            }
        }
        let (gain, p) = Excess::of(&binned(IOZONE64), 42.0).unwrap().against_exponential();
        assert!((gain - 6.100).abs() < 5e-3 && (p - 0.0135).abs() < 2e-4, "{gain} {p}");
    }

    #[test]
    fn the_interval_of_an_end_holds_it_and_has_no_upper_end_where_there_may_be_none() {
        let (mut held, mut bounded) = (0, 0);
        for seed in 0..40 {
            let mut chance = seeded(seed);
            // ξ = −0.7, σ = 700: it ends at 1000 ticks.
            let mut event = || 1000.0 * (1.0 - chance.random::<f64>().powf(0.7));
            let ticks: Vec<(i64, u64)> = (0..300).map(|_| (event() as i64, 1)).collect();
            let meaning = crate::Meaning { rounding: crate::Rounding::Floor, ..Default::default() };
            let found =
                Excess::of(&crate::Counted::ticks(meaning, ticks, None).unwrap().binned(), -1.0).unwrap();
            let low = found.end_low.unwrap();
            held += u32::from(low <= 1000.0 && found.end_high.is_none_or(|high| high >= 1000.0));
            bounded += u32::from(found.end_high.is_some_and(|high| high < 1200.0));
        }
        assert!(held >= 36 && bounded >= 36, "{held} {bounded}");
        let idle = Excess::of(&binned(IDLE), 42.0).unwrap();
        assert_eq!((idle.end, idle.end_low, idle.end_high), (None, None, None));
    }

    #[test]
    fn a_mixture_has_another_tail_at_each_threshold() {
        let found = stability(&binned(IOZONE64));
        let near = |threshold: f64| found.iter().find(|at| at.threshold == threshold).unwrap().excess.xi;
        assert!((near(20.0) - 0.67).abs() < 0.02, "{found:?}");
        assert!(found.iter().all(|at| at.count >= FEWEST));
        assert!(
            stability(&binned(IDLE))
                .iter()
                .any(|at| at.threshold == 20.0 && (at.excess.xi - 0.50).abs() < 0.02)
        );
    }
}
