//! Time slices as replicates of a whole: how many of its events are worth one that is independent.

use crate::compare::sides::{BATCHES, Side, Spread, likeness, spread_apart};
use crate::special::{normal_tails, student_quantile};
use crate::{Binned, Percentile};

/// Name of the estimator.
pub const ESTIMATOR: &str = "type-1 percentile; interval of order statistics from binomial ranks, on as many events as the \
     spread of the share below it between at most 20 batches of time slices says, with Student's t";

/// Fewer slices say nothing about their spread, and the events are taken as independent.
const FEWEST: usize = 4;

/// The slices of one distribution, in batches.
#[derive(Clone, Debug)]
pub struct Replicates {
    side: Side,
    memory: f64,
}

impl Replicates {
    /// Of slices in order, those without events left out; `None` of fewer than four, which say nothing about their
    /// spread.
    pub fn of(slices: &[Binned]) -> Option<Self> {
        let filled: Vec<Binned> = slices.iter().filter(|slice| slice.count() > 0).cloned().collect();
        if filled.len() < FEWEST {
            return None;
        }
        let side = Side::of(&filled, filled.len().min(BATCHES));
        let memory = side.memory();
        Some(Self { side, memory })
    }

    /// Batches of slices that intervals rest on.
    pub fn batches(&self) -> usize {
        self.side.batches.len()
    }

    /// How much the median of a batch has in common with that of the one before: lag-1 correlation.
    pub fn likeness(&self) -> Option<f64> {
        let median = self.side.whole.quantile(0.5)?;
        Some(likeness(&self.side.residuals(median)))
    }

    /// The `p` percentile of the whole, with an interval from how batches differ.
    ///
    /// # Panics
    /// If `p` or `level` is not in (0, 1).
    pub fn percentile(&self, binned: &Binned, p: f64, level: f64) -> Percentile {
        let Some(spread) = self.spread_at(p) else { return Percentile::of(binned, p, level) };
        let reach = student_quantile(spread.freedom, (1.0 + level) / 2.0);
        let tail = normal_tails(-reach).probability();
        Percentile::worth(binned, p, level, self.inflation_of(spread, p), tail)
    }

    /// How many events are worth one that is independent, for the `p` percentile; `None` where there is none.
    pub fn inflation(&self, p: f64) -> Option<f64> {
        Some(self.inflation_of(self.spread_at(p)?, p))
    }

    /// Standard error of the mean; `None` where the length of some events is not known.
    pub fn mean_error(&self) -> Option<f64> {
        let whole = &self.side.whole;
        if whole.is_censored() {
            return None;
        }
        let (n, mean) = (whole.count(), sum(whole.cells(), |value| value) / whole.count());
        let variance = sum(whole.cells(), |value| (value - mean).powi(2)) / (n * n);
        let residuals: Vec<f64> = self
            .side
            .batches
            .iter()
            .map(|batch| (sum(batch.cells(), |value| value) - mean * batch.count()) / n)
            .collect();
        Some(spread_apart(&residuals, variance, self.memory).variance.max(variance).sqrt())
    }

    /// How uncertain the share of events below the `p` quantile is.
    fn spread_at(&self, p: f64) -> Option<Spread> {
        let at = self.side.whole.quantile(p)?;
        Some(spread_apart(&self.side.residuals(at), self.independent(p), self.memory))
    }

    /// The variance of that share, were all events independent.
    fn independent(&self, p: f64) -> f64 {
        p * (1.0 - p) / self.side.whole.count()
    }

    /// Batches that agree by chance are no better than independent events.
    fn inflation_of(&self, spread: Spread, p: f64) -> f64 {
        (spread.variance / self.independent(p)).max(1.0)
    }
}

fn sum(cells: &[crate::Cell], of: impl Fn(f64) -> f64) -> f64 {
    cells.iter().map(|cell| cell.count as f64 * of(cell.middle())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counted, Meaning};
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution as _, StandardNormal};

    /// 40 slices of 200 delays about 1000, each slice moved by its own normal amount of this deviation.
    fn slices(seed: u64, wander: f64) -> Vec<Binned> {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = move || -> f64 { StandardNormal.sample(&mut chance) };
        (0..40)
            .map(|_| {
                let middle = 1000.0 + wander * normal();
                let ticks: Vec<(i64, u64)> =
                    (0..200).map(|_| ((middle + 20.0 * normal()).round() as i64, 1)).collect();
                Counted::ticks(Meaning::default(), ticks, None).unwrap().binned()
            })
            .collect()
    }

    #[test]
    fn events_that_wander_together_are_worth_fewer_and_independent_ones_as_many_as_they_are() {
        let alone = Replicates::of(&slices(1, 0.0)).unwrap().inflation(0.5).unwrap();
        assert!((1.0..2.0).contains(&alone), "{alone}");
        // A slice of 200 whose common part is as large as its own: 100 events are worth about one.
        let wandering = Replicates::of(&slices(1, 20.0)).unwrap().inflation(0.5).unwrap();
        assert!((30.0..300.0).contains(&wandering), "{wandering}");
    }

    #[test]
    fn an_interval_by_slices_holds_the_truth_and_one_of_independent_events_does_not() {
        let (mut by_slices, mut alone, mut by_mean) = (0, 0, 0);
        for seed in 0..200 {
            let slices = slices(seed, 20.0);
            let replicates = Replicates::of(&slices).unwrap();
            let whole = Binned::together(&slices);
            let holds =
                |found: Percentile| u32::from((found.low.unwrap()..=found.high.unwrap()).contains(&1000.0));
            by_slices += holds(replicates.percentile(&whole, 0.5, 0.95));
            alone += holds(Percentile::of(&whole, 0.5, 0.95));
            let mean = crate::Moments::of(&whole).mean.unwrap();
            by_mean += u32::from((mean - 1000.0).abs() < 2.09 * replicates.mean_error().unwrap());
        }
        // 95 % of 200, less three standard deviations of chance.
        assert!(by_slices >= 181 && by_mean >= 181, "{by_slices} {by_mean}");
        assert!(alone < 100, "{alone}");
    }

    #[test]
    fn percentiles_that_slices_say_too_little_about_are_refused_with_what_they_need() {
        let slices = slices(3, 20.0);
        let whole = Binned::together(&slices);
        let p99 = Replicates::of(&slices).unwrap().percentile(&whole, 0.999, 0.95);
        assert_eq!(p99.value, None);
        assert!(p99.needed.unwrap() > whole.count());
        assert!(Replicates::of(&slices[..3]).is_none());
    }
}
