//! By how much a quantile of B is above that of A.

use super::Design;
use super::judgement::Pivot;
use super::resampled::Resampled;
use super::sides::{Side, Sides, Spread};
use crate::special::{normal_quantile, normal_tails};

/// A difference of quantiles and how it is distributed, given what each side says of its own.
///
/// The share of events below a side's quantile has a standard error: that of batch means, or of independent events.
/// Moving the share by so many of them moves the quantile along the curve (Woodruff 1952). Both sides are moved by
/// all amounts, each as likely as it is for a normal error; where batches are paired, with their correlation. Quantiles of
/// independent events are resampled instead. An interval of few batches reads the distribution where Student's t says.
#[derive(Debug)]
pub(super) struct Difference {
    of_a: Option<f64>,
    of_b: Option<f64>,
    freedom: f64,
    /// Differences, ascending, and the probability of a smaller one.
    below: Vec<(f64, f64)>,
}

/// Fewer events than this beyond a quantile cannot bear it.
pub(super) const BORNE_BY: f64 = 5.0;
/// Standard errors that a side is moved by, to either side, and the steps.
const FARTHEST: f64 = 8.0;
/// Resampled quantiles are steps themselves: they are looked at more finely.
const STEP: f64 = 0.25;
const FINE_STEP: f64 = 0.16;

impl Difference {
    pub(super) fn of(sides: &Sides, p: f64) -> Self {
        let unknown = Self { of_a: None, of_b: None, freedom: 1.0, below: Vec::new() };
        let quantile = |side: &Side| side.whole.quantile(p);
        let (of_a, of_b) = (quantile(&sides.a), quantile(&sides.b));
        let (Some(a), Some(b)) = (of_a, of_b) else { return Self { of_a, of_b, ..unknown } };
        let (of_a, of_b, together) = sides.spreads_of_shares(a, b, p);
        let borne = |spread: Spread| p.min(1.0 - p) * p * (1.0 - p) / spread.variance >= BORNE_BY;
        if !borne(of_a) || !borne(of_b) {
            return unknown;
        }
        let again = |side: &Side, spread: Spread| {
            (sides.design == Design::Whole).then(|| Resampled::of(&side.whole, p, spread.variance.sqrt()))
        };
        let (a_again, b_again) = (again(&sides.a, of_a), again(&sides.b, of_b));
        let moved = |side: &Side, spread: Spread, again: Option<&Resampled>, errors: f64| {
            let along = side.whole.quantile(p + errors * spread.variance.sqrt());
            let along = along.unwrap_or(f64::INFINITY.copysign(errors));
            match again.map(|again| (again.at(errors), again.farthest(errors))) {
                Some((Some(sample), _)) => sample,
                Some((None, Some(farthest))) if errors < 0.0 => along.min(farthest),
                Some((None, Some(farthest))) => along.max(farthest),
                Some((None, None)) | None => along,
            }
        };
        let step = if sides.design == Design::Whole { FINE_STEP } else { STEP };
        let most = (FARTHEST / step) as i32;
        let steps = || (-most..=most).map(|index| f64::from(index) * step);
        let weight = |errors: f64| (-errors * errors / 2.0).exp();
        let apart = (1.0 - together * together).sqrt();
        let mut differences: Vec<(f64, f64)> = Vec::new();
        for first in steps() {
            let of_a = moved(&sides.a, of_a, a_again.as_ref(), first);
            for second in steps() {
                let of_b = moved(&sides.b, of_b, b_again.as_ref(), together * first + apart * second);
                differences.push((of_b - of_a, weight(first) * weight(second)));
            }
        }
        differences.retain(|(difference, _)| !difference.is_nan());
        differences.sort_by(|x, y| x.0.total_cmp(&y.0));
        let total: f64 = differences.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let below = differences
            .into_iter()
            .map(|(difference, weight)| {
                sum += weight / total;
                (difference, sum - weight / total / 2.0)
            })
            .collect();
        Self { of_a: Some(a), of_b: Some(b), freedom: of_a.freedom.min(of_b.freedom), below }
    }

    /// The quantiles themselves.
    pub(super) fn of_each(&self) -> (Option<f64>, Option<f64>) {
        (self.of_a, self.of_b)
    }

    /// Whether its 95 % interval ends on the side where no change is.
    pub(super) fn is_bounded_toward_none(&self) -> bool {
        let (low, high) = self.interval();
        match self.estimate() {
            Some(estimate) if estimate > 0.0 => low.is_some(),
            Some(estimate) if estimate < 0.0 => high.is_some(),
            Some(_) => true,
            None => false,
        }
    }

    fn at(&self, probability: f64) -> Option<f64> {
        let after = self.below.partition_point(|(_, below)| *below < probability);
        let (low, high) = (self.below.get(after.checked_sub(1)?)?, self.below.get(after)?);
        let share = (probability - low.1) / (high.1 - low.1);
        let value = if share > 0.0 { low.0 + share * (high.0 - low.0) } else { low.0 };
        value.is_finite().then_some(value)
    }
}

impl Pivot for Difference {
    fn estimate(&self) -> Option<f64> {
        Some(self.of_b? - self.of_a?)
    }

    fn ends(&self, reach: f64) -> (Option<f64>, Option<f64>) {
        let tail = normal_tails(-reach).probability();
        (self.at(tail), self.at(1.0 - tail))
    }

    fn freedom(&self) -> f64 {
        self.freedom
    }

    fn reach_to(&self, value: f64) -> f64 {
        let after = self.below.partition_point(|(difference, _)| *difference < value);
        let probability = self.below.get(after).map_or(1.0, |(_, below)| *below);
        if probability <= 0.0 || probability >= 1.0 {
            f64::INFINITY
        } else {
            normal_quantile(probability).abs()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sides::KNOWN;
    use super::*;

    /// Blocks of a thousand events spread evenly over ten thousand ticks, each block moved.
    fn blocks(more: i64, moved: impl Fn(usize) -> i64) -> Vec<crate::Binned> {
        let block = |number: usize| {
            let ticks = (0..1000).map(|event| (10_000 + 10 * event + more + moved(number), 1));
            crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
        };
        (0..20).map(block).collect()
    }

    #[test]
    fn a_quantile_that_one_side_alone_lost_leaves_that_of_the_other_known() {
        let lossy: Vec<crate::Binned> = blocks(0, |_| 0).into_iter().map(|it| it.with_lost(3000)).collect();
        let found = Difference::of(&Sides::of(&lossy, &blocks(0, |_| 0), Design::Apart), 0.5);
        assert!(found.of_each().0.is_none() && found.of_each().1.is_some() && found.estimate().is_none());
        let back = Difference::of(&Sides::of(&blocks(0, |_| 0), &lossy, Design::Apart), 0.5);
        assert!(back.of_each().0.is_some() && back.of_each().1.is_none());
    }

    #[test]
    fn the_interval_reaches_as_many_errors_as_were_asked_of_what_the_shares_vary() {
        let wander = |number: usize| [0, 310, -260, 170, -220][number % 5];
        let other = |number: usize| [240, -310, 120, 0, -170, 290, -170][number % 7];
        for design in [Design::Whole, Design::Apart, Design::Interleaved] {
            let sides = Sides::of(&blocks(0, wander), &blocks(500, other), design);
            let found = Difference::of(&sides, 0.5);
            let (a, b) = (found.of_each().0.unwrap(), found.of_each().1.unwrap());
            let (of_a, of_b, together) = sides.spreads_of_shares(a, b, 0.5);
            // A share of 1 is ten thousand ticks.
            let both = 2.0 * together * (of_a.variance * of_b.variance).sqrt();
            let error = 1e4 * (of_a.variance + of_b.variance - both).sqrt();
            let (low, high) = found.ends(2.0);
            for half in [b - a - low.unwrap(), high.unwrap() - (b - a)] {
                assert!((half / (2.0 * error) - 1.0).abs() < 0.08, "{design:?} {half} {error}");
            }
            assert!((found.reach_to(high.unwrap()) - 2.0).abs() < 0.1, "{design:?}");
            assert!((found.reach_to(low.unwrap()) - 2.0).abs() < 0.1, "{design:?}");
            assert_eq!(found.reach_to(1e9), f64::INFINITY);
            assert_eq!(found.freedom(), of_a.freedom.min(of_b.freedom));
        }
    }

    #[test]
    fn fewer_than_five_events_beyond_a_quantile_do_not_bear_it() {
        let few = |events: i64| {
            let ticks = (0..events).map(|event| (1000 + event, 1));
            [crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()]
        };
        let borne = |a: i64, b: i64| {
            Difference::of(&Sides::of(&few(a), &few(b), Design::Whole), 0.9).estimate().is_some()
        };
        assert_eq!([borne(51, 51), borne(49, 51), borne(51, 49)], [true, false, false]);
    }

    #[test]
    fn a_difference_is_bounded_where_its_interval_ends_toward_no_change() {
        const INF: f64 = f64::INFINITY;
        let is_bounded = |of_b: Option<f64>, below: &[(f64, f64)]| {
            let known = Difference { of_a: Some(1.0), of_b, freedom: KNOWN, below: below.to_vec() };
            known.is_bounded_toward_none()
        };
        let (low, high) =
            ([(-5.0, 0.001), (5.0, 0.5), (INF, 0.999)], [(-INF, 0.001), (0.0, 0.5), (5.0, 0.999)]);
        let (more, less) = (Some(2.0), Some(0.0));
        assert_eq!([is_bounded(more, &low), is_bounded(less, &high)], [true, true]);
        assert_eq!([is_bounded(less, &low), is_bounded(more, &high)], [false, false]);
        assert_eq!(
            [is_bounded(Some(1.0), &[]), is_bounded(None, &low)],
            [true, false],
            "none at all, and unknown"
        );
    }
}
