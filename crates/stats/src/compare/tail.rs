//! How many times as often B is above a threshold as A.

use super::Design;
use super::curve::Curve;
use super::judgement::{Pivot, known_reach};
use super::sides::{KNOWN, Side, Sides, Spread, differences, spread, spread_apart};
use crate::special::{beta_quantile, student_beyond};

/// A ratio of tail masses and what is needed for its interval at any level.
///
/// Given all events above the threshold, how many of them are B's is binomial: the interval is the exact one of
/// that (Clopper and Pearson 1934), of counts divided by how much more they vary than independent ones would. It reaches to the
/// ratio of the shares that are stated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// Those beyond the threshold that is stated.
    stated: (f64, f64),
    /// Those that the interval rests on: where the threshold is A's, each half's beyond that of the other half.
    above: (f64, f64),
    count: (f64, f64),
    /// Variance inflation; at least 1.
    inflation: f64,
    freedom: f64,
}

/// From where on events of a batch are long.
#[derive(Clone, Copy, Debug)]
pub(super) enum Threshold {
    /// It was given.
    Given(f64),
    /// A percentile of what ended of A, which is stated; and for the interval the same of each half of A's batches: with each the
    /// other half is asked, the even ones first.
    Crossed { stated: f64, even: f64, odd: f64 },
}

impl Threshold {
    /// A's `p` quantile; of each half of its batches, where it has some.
    pub(super) fn of_a(sides: &Sides, p: f64) -> Option<Self> {
        if sides.a.batches.is_empty() {
            return sides.a.whole.ended_quantile(p).map(Self::Given);
        }
        let half = |first: usize| {
            let batches: Vec<Curve> = sides.a.batches.iter().skip(first).step_by(2).cloned().collect();
            Curve::together(&batches).ended_quantile(p)
        };
        Some(Self::Crossed { stated: sides.a.whole.ended_quantile(p)?, even: half(1)?, odd: half(0)? })
    }

    /// The one that is stated beside shares.
    pub(super) fn stated(self) -> f64 {
        let (Self::Given(stated) | Self::Crossed { stated, .. }) = self;
        stated
    }

    /// Of a batch by its number, from 0.
    fn at(self, batch: usize) -> f64 {
        match self {
            Self::Given(threshold) => threshold,
            Self::Crossed { even, odd, .. } => {
                if batch.is_multiple_of(2) {
                    even
                } else {
                    odd
                }
            }
        }
    }

    /// A side's events above what is stated, those that the interval rests on, and these by batch.
    fn above(self, side: &Side, lost_are_long: bool) -> (f64, f64, Vec<f64>) {
        let above = |curve: &Curve, at: f64| curve.above(at) - if lost_are_long { 0.0 } else { curve.lost() };
        let batches: Vec<f64> =
            side.batches.iter().enumerate().map(|(number, batch)| above(batch, self.at(number))).collect();
        let stated = above(&side.whole, self.stated());
        match self {
            Self::Given(_) => (stated, stated, batches),
            Self::Crossed { .. } => (stated, batches.iter().sum(), batches),
        }
    }
}

impl Tail {
    pub(super) fn of(sides: &Sides, threshold: Threshold, lost_are_long: bool) -> Self {
        let (a, b) = (&sides.a, &sides.b);
        let (stated_a, above_a, by_a) = threshold.above(a, lost_are_long);
        let (stated_b, above_b, by_b) = threshold.above(b, lost_are_long);
        let (stated, above) = ((stated_a, stated_b), (above_a, above_b));
        let count = (a.whole.count(), b.whole.count());
        let mut tail = Self { stated, above, count, inflation: 1.0, freedom: KNOWN };
        if sides.design == Design::Whole {
            return tail;
        }
        let residuals = |side: &Side, by: &[f64], above: f64, count: f64| -> Vec<f64> {
            side.batches.iter().zip(by).map(|(batch, by)| by / above - batch.count() / count).collect()
        };
        let (of_a, of_b) = (residuals(a, &by_a, above.0, count.0), residuals(b, &by_b, above.1, count.1));
        let each = [(&of_a, above.0), (&of_b, above.1)].into_iter().filter(|(_, above)| *above > 0.0);
        let mut found: Vec<(Spread, f64)> =
            each.map(|(of, above)| (spread_apart(of, 1.0 / above, sides.memory), above)).collect();
        if let (Design::Interleaved, [(a, _), (b, _)]) = (sides.design, found.as_mut_slice()) {
            // What neighbours share does not count.
            let between = spread(&differences(&of_a, &of_b));
            let left = sides.not_shared(between.variance, a.variance, b.variance);
            let shared = (a.variance + b.variance - left) / 2.0;
            for side in [a, b] {
                *side = Spread { variance: side.variance - shared, freedom: between.freedom };
            }
        }
        for (spread, above) in found {
            tail.inflation = tail.inflation.max(spread.variance * above);
            tail.freedom = tail.freedom.min(spread.freedom);
        }
        tail
    }

    /// Share of A's events beyond the threshold that is stated, of B's.
    pub(super) fn shares(&self) -> (f64, f64) {
        (self.stated.0 / self.count.0, self.stated.1 / self.count.1)
    }

    /// Their events, of A, of B.
    pub(super) fn stated(&self) -> (f64, f64) {
        self.stated
    }
}

impl Pivot for Tail {
    fn estimate(&self) -> Option<f64> {
        let (a, b) = self.shares();
        (a > 0.0).then(|| b / a)
    }

    fn ends(&self, reach: f64) -> (Option<f64>, Option<f64>) {
        let half = student_beyond(KNOWN, reach) / 2.0;
        if half <= 0.0 || self.above.0 + self.above.1 == 0.0 {
            return (None, None);
        }
        let (a, b) = (self.above.0 / self.inflation, self.above.1 / self.inflation);
        let odds = |share: f64| share / (1.0 - share) * self.count.0 / self.count.1;
        let low = if b > 0.0 { Some(odds(beta_quantile(b, a + 1.0, half))) } else { Some(0.0) };
        let high = (a > 0.0).then(|| odds(beta_quantile(b + 1.0, a, 1.0 - half)));
        // A ratio that is stated is in its interval.
        let stated = self.estimate();
        let low = low.map(|end| stated.map_or(end, |stated| end.min(stated)));
        let high = high.map(|end| stated.map_or(end, |stated| end.max(stated)));
        (low.filter(|end| end.is_finite()), high.filter(|end| end.is_finite()))
    }

    fn freedom(&self) -> f64 {
        self.freedom
    }

    fn scaled(&self, value: f64) -> f64 {
        value.ln()
    }

    fn unscaled(&self, value: f64) -> f64 {
        value.exp()
    }

    /// By Wald's standard error of the logarithm, which the exact interval approaches.
    fn inflation_limit(&self) -> Option<f64> {
        let ratio = self.estimate().filter(|ratio| *ratio > 0.0)?;
        let variance = self.inflation * (1.0 / self.above.0 + 1.0 / self.above.1);
        Some((ratio.ln() / known_reach()).powi(2) / variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::close;

    #[test]
    fn the_interval_of_a_ratio_is_the_exact_one_of_the_binomial_beneath() {
        let tail = Tail {
            stated: (10.0, 20.0),
            above: (10.0, 20.0),
            count: (1000.0, 1000.0),
            inflation: 1.0,
            freedom: KNOWN,
        };
        close(tail.estimate().unwrap(), 2.0);
        // Clopper and Pearson's of 20 in 30 is [0.4719, 0.8271].
        let (low, high) = tail.ends(known_reach());
        assert!(
            (low.unwrap() - 0.4719 / 0.5281).abs() < 1e-3 && (high.unwrap() - 0.8271 / 0.1729).abs() < 3e-3
        );
        let longer = Tail { count: (1000.0, 4000.0), ..tail };
        close(longer.estimate().unwrap(), 0.5);
        close(longer.ends(known_reach()).0.unwrap() * 4.0, low.unwrap());
        let spells = Tail { stated: (20.0, 40.0), above: (20.0, 40.0), inflation: 2.0, ..tail };
        close(spells.ends(known_reach()).1.unwrap(), high.unwrap());
        close(
            spells.inflation_limit().unwrap(),
            (2.0f64.ln() / 1.959_964).powi(2) / (2.0 * (1.0 / 20.0 + 1.0 / 40.0)),
        );
        close(tail.scaled(2.0), 2.0f64.ln());
        close(tail.unscaled(tail.scaled(3.0)), 3.0);
    }

    #[test]
    fn no_long_event_bounds_a_ratio_on_one_side_alone() {
        let of = |a, b| Tail {
            stated: (a, b),
            above: (a, b),
            count: (100.0, 100.0),
            inflation: 1.0,
            freedom: KNOWN,
        };
        assert_eq!((of(0.0, 0.0).ends(2.0), of(0.0, 5.0).estimate()), ((None, None), None));
        let (low, high) = of(0.0, 5.0).ends(2.0);
        assert!(low.unwrap() > 0.0 && high.is_none());
        let (low, high) = of(5.0, 0.0).ends(2.0);
        assert!(low == Some(0.0) && high.unwrap() > 0.0);
    }

    /// Blocks of 98 short events, and two that are as long as is said.
    fn blocks(long: impl Fn(usize) -> i64) -> Vec<crate::Binned> {
        let block = |number: usize| {
            let ticks = [(10, 98), (long(number), 2)];
            crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
        };
        (0..20).map(block).collect()
    }

    #[test]
    fn each_half_of_the_batches_is_asked_with_what_the_other_half_of_a_said() {
        let sides = Sides::of(&blocks(|number| 50 + number as i64 % 2), &blocks(|_| 99), Design::Apart);
        let threshold = Threshold::of_a(&sides, 0.995).unwrap();
        // The odd ones said 51 and the even ones 50.
        assert_eq!((threshold.at(0), threshold.at(1), threshold.at(2)), (51.0, 50.0, 51.0));
        let tail = Tail::of(&sides, threshold, true);
        assert_eq!(tail.above, (20.0, 40.0));
        // What is stated beside a threshold is beyond that very threshold.
        assert_eq!((threshold.stated(), tail.stated(), tail.shares()), (51.0, (0.0, 40.0), (0.0, 0.02)));
    }

    #[test]
    fn a_share_that_is_stated_beside_a_threshold_is_counted_beyond_that_threshold() {
        // Half of A's batches have a longer tail: no half's threshold is that of all of A.
        let a = blocks(|number| if number % 2 == 0 { 20 } else { 900 });
        let b = blocks(|number| if number % 3 == 0 { 30 } else { 400 });
        for design in [Design::Apart, Design::Interleaved, Design::Whole] {
            let sides = Sides::of(&a, &b, design);
            for p in [0.9, 0.98, 0.985, 0.99, 0.995] {
                let threshold = Threshold::of_a(&sides, p).unwrap();
                let tail = Tail::of(&sides, threshold, true);
                let count = |side: &Side| side.whole.above(threshold.stated());
                assert_eq!(tail.stated(), (count(&sides.a), count(&sides.b)), "{design:?} {p}");
                let (low, high) = tail.ends(known_reach());
                let Some(ratio) = tail.estimate() else { continue };
                assert!(low.is_none_or(|low| low <= ratio) && high.is_none_or(|high| ratio <= high));
            }
        }
    }

    #[test]
    fn long_events_in_spells_are_worth_fewer_and_those_in_every_block_are_not() {
        let of = |a: &[crate::Binned], b: &[crate::Binned], design| {
            Tail::of(&Sides::of(a, b, design), Threshold::Given(30.0), true)
        };
        let even = blocks(|_| 50);
        // In every fourth block: 1/5 - 1/20 five times, and -1/20 else.
        let spells = blocks(|number| if number.is_multiple_of(4) { 50 } else { 10 });
        let found = of(&even, &spells, Design::Apart);
        assert_eq!(found.stated(), (40.0, 10.0));
        let variance = (5.0 * 0.15 * 0.15 + 15.0 * 0.05 * 0.05) * 20.0 / 19.0;
        close(found.inflation, variance * 10.0);
        // Beside a side without any, they are worth no more.
        let beside_none = of(&blocks(|_| 10), &spells, Design::Apart);
        close(beside_none.inflation, found.inflation);
        close(found.freedom, 19.0);
        let same = of(&even, &even, Design::Apart);
        assert_eq!(same.inflation, 1.0);
        // In turns what both share does not count, and what alternates within two pairs neither.
        assert_eq!(of(&spells, &spells, Design::Interleaved).inflation, 1.0);
        let turns = of(&even, &spells, Design::Interleaved);
        // Ten batches of two pairs, each a tenth of all from its share, of ten long events.
        close(turns.inflation, 10.0 * 0.1 * 0.1 * 10.0 / 9.0 * 10.0);
        let whole = of(&even, &spells, Design::Whole);
        assert_eq!((whole.inflation, whole.freedom), (1.0, KNOWN));
    }
}
