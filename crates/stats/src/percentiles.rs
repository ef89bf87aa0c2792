//! Percentiles of counted events, with intervals that assume nothing about their distribution.

use crate::Binned;
use crate::special::binomial_quantile;

/// Name of the estimator.
pub const ESTIMATOR: &str = "type-1 percentile (smallest value with at least p·n events up to it); interval of order \
     statistics from exact binomial ranks";
/// A percentile is stated when so many events are expected on either side of it.
const BORNE_BY: f64 = 5.0;

/// A percentile, or what it would need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// In (0, 1).
    pub p: f64,
    /// Type 1; `None` when the events cannot bear it, or their length is not known there.
    pub value: Option<f64>,
    /// Lower end of the interval; `None` when its rank does not exist or is not known.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Events it needs, where there are fewer.
    pub needed: Option<u64>,
}

impl Percentile {
    /// The `p` percentile with an interval that holds it in `level` of all samples, were the events independent.
    ///
    /// It is refused where fewer than five events are expected on its thinner side, or where the rank of an end
    /// does not exist.
    ///
    /// # Panics
    /// If `p` or `level` is not in (0, 1).
    pub fn of(binned: &Binned, p: f64, level: f64) -> Self {
        Self::worth(binned, p, level, 1.0, (1.0 - level) / 2.0)
    }

    /// The same where so many events are worth one, with an interval that leaves `tail` of all samples out on either
    /// side.
    pub(crate) fn worth(binned: &Binned, p: f64, level: f64, inflation: f64, tail: f64) -> Self {
        assert!(p > 0.0 && p < 1.0 && level > 0.0 && level < 1.0, "a percentile is between 0 and 1");
        let needed = (needed(p, level) as f64 * inflation).ceil() as u64;
        let n = binned.count();
        if n < needed {
            return Self { p, value: None, low: None, high: None, needed: Some(needed) };
        }
        // 1e-9 forgives 0.07 · 100 not being 7.
        let rank = ((p * n as f64 - 1e-9).ceil() as u64).clamp(1, n);
        let effective = ((n as f64 / inflation) as u64).max(1);
        let low = (binomial_quantile(tail, effective, p) as f64 * inflation).floor() as u64;
        let high = ((binomial_quantile(1.0 - tail, effective, p) + 1) as f64 * inflation).ceil() as u64;
        let (low, high) = (low.clamp(1, rank), high.max(rank));
        Self {
            p,
            value: binned.ranked(rank),
            low: binned.ranked(low),
            high: binned.ranked(high),
            needed: None,
        }
    }
}

/// Events that the `p` percentile needs for an interval of this level.
pub fn needed(p: f64, level: f64) -> u64 {
    let thin = p.min(1.0 - p);
    let tail = (1.0 - level) / 2.0;
    let expected = (BORNE_BY / thin - 1e-6).ceil();
    let rank_exists = (tail.ln() / (-thin).ln_1p()).ceil();
    expected.max(rank_exists) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE64, binned};

    #[test]
    fn percentiles_and_their_intervals_are_those_of_the_reference() {
        let tables = [
            (
                IDLE,
                [
                    (0.01, 6.0, 6.0, 6.0),
                    (0.05, 6.0, 6.0, 6.0),
                    (0.1, 6.0, 6.0, 6.0),
                    (0.25, 7.0, 7.0, 7.0),
                    (0.5, 7.0, 7.0, 7.0),
                    (0.75, 13.0, 12.0, 13.0),
                    (0.9, 18.0, 18.0, 18.0),
                    (0.95, 20.0, 20.0, 21.0),
                    (0.99, 24.0, 23.0, 24.0),
                    (0.995, 29.0, 25.0, 35.0),
                    (0.999, 42.0, 41.0, 52.0),
                ],
            ),
            (
                IOZONE64,
                [
                    (0.01, 7.0, 7.0, 7.0),
                    (0.05, 8.0, 8.0, 8.0),
                    (0.1, 9.0, 9.0, 9.0),
                    (0.25, 10.0, 9.0, 10.0),
                    (0.5, 12.0, 11.0, 12.0),
                    (0.75, 16.0, 16.0, 16.0),
                    (0.9, 20.0, 20.0, 20.0),
                    (0.95, 22.0, 21.0, 22.0),
                    (0.99, 26.0, 25.0, 28.0),
                    (0.995, 38.0, 34.0, 41.0),
                    (0.999, 107.0, 70.0, 143.0),
                ],
            ),
        ];
        for (data, rows) in tables {
            let binned = binned(data);
            for (p, value, low, high) in rows {
                let found = Percentile::of(&binned, p, 0.95);
                assert_eq!((found.value, found.low, found.high), (Some(value), Some(low), Some(high)), "{p}");
            }
            let refused = Percentile::of(&binned, 0.9999, 0.95);
            assert_eq!((refused.value, refused.high, refused.needed), (None, None, Some(50_000)));
        }
    }

    #[test]
    fn what_a_percentile_needs_lets_its_ranks_exist() {
        assert_eq!((needed(0.9999, 0.95), needed(0.999, 0.95), needed(0.5, 0.95)), (50_000, 5000, 10));
        for p in [0.01, 0.3, 0.5, 0.99, 0.999] {
            let n = needed(p, 0.95);
            assert!(binomial_quantile(0.975, n, p) < n && binomial_quantile(0.025, n, p) > 0, "{p} {n}");
        }
    }

    #[test]
    fn a_percentile_among_events_of_unknown_length_has_no_value() {
        let above = Some(crate::Above { from: 20, count: 5 });
        let counted = crate::Counted::ticks(crate::Meaning::default(), [(6, 95)], above).unwrap();
        let p90 = Percentile::of(&counted.binned(), 0.9, 0.95);
        assert_eq!((p90.value, p90.low, p90.high), (Some(6.0), Some(6.0), None));
        assert_eq!(Percentile::of(&counted.binned(), 0.95, 0.95).value, Some(6.0));
    }
}
