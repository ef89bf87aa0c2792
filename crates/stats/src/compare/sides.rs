//! The two sides of a comparison in batches: what an interval is made from.

use super::Design;
use super::curve::Curve;
use super::judgement::Possible;
use crate::Binned;

/// Batches of each side: fewer say little about their own spread, more are not independent.
pub(crate) const BATCHES: usize = 20;
/// One block says nothing about how blocks differ, and the events are taken as independent. Two say little: Student's t of
/// one degree of freedom says how little.
const FEWEST: usize = 2;
/// Of so few pairs the sides go up and down together by chance, and seem to share it.
const FEWEST_PAIRS: usize = 4;
/// Neighbouring batches of measurements in turns that are more alike than this are put together.
const ALIKE: f64 = 0.3;
/// Beyond this, batches of a measurement by itself are taken for ones that remember.
const REMEMBERED: f64 = 0.25;
/// A longer memory is not told from a drift.
const LONGEST: f64 = 0.95;
/// The least that a variance may be of what independent events would have: batches that agree by chance.
const LEAST: f64 = 0.25;
/// Two sides that are measured in turns never pass for one.
const MOST_TOGETHER: f64 = 0.95;
/// Residuals below this share of a batch are what doubles leave of none.
const ROUNDING: f64 = 1e-12;
/// Degrees of freedom of a variance that is known.
pub(super) const KNOWN: f64 = 1e9;

/// Both sides, whole and in batches.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub(super) a: Side,
    pub(super) b: Side,
    pub(super) design: Design,
    /// How much a batch has in common with the one before, of sides measured apart: where medians wander, so does the
    /// tail, whose few events do not show it.
    pub(super) memory: f64,
    /// How much the medians of neighbouring turns have in common: the few events of a tail are alike by chance, and share no
    /// more than these.
    pub(super) together: f64,
}

/// One side.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) whole: Curve,
    /// Where each block is one event: these, in the order of time. So few say something as a row, and nothing in batches.
    pub(crate) events: Vec<f64>,
    /// Empty where the events are taken as independent.
    pub(crate) batches: Vec<Curve>,
}

/// The spread of a sum over batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) variance: f64,
    pub(crate) freedom: f64,
}

impl Sides {
    pub(super) fn of(a: &[Binned], b: &[Binned], design: Design) -> Self {
        let design = match design {
            _ if a.len().min(b.len()) < FEWEST => Design::Whole,
            Design::Interleaved if a.len().min(b.len()) < FEWEST_PAIRS => Design::Whole,
            Design::Interleaved if a.len() != b.len() => Design::Apart,
            design => design,
        };
        let (of_a, of_b) = match design {
            Design::Whole => (0, 0),
            Design::Apart => (a.len().min(BATCHES), b.len().min(BATCHES)),
            Design::Interleaved => (paired(a.len()), paired(a.len())),
        };
        let (a, b) = (Side::of(a, of_a), Side::of(b, of_b));
        let memory = match design {
            Design::Apart => a.memory().max(b.memory()),
            Design::Interleaved | Design::Whole => 0.0,
        };
        let together = match (design, a.whole.quantile(0.5), b.whole.quantile(0.5)) {
            (Design::Interleaved, Some(of_a), Some(of_b)) => {
                correlation(&a.residuals(of_a), &b.residuals(of_b))
            }
            _ => 0.0,
        };
        Self { a, b, design, memory, together }
    }

    /// How uncertain the shares of each side's events below its own value are, about `p`, and how they correlate.
    ///
    /// In turns it is the difference of neighbours that is uncertain: what both share does not count.
    pub(super) fn spreads_of_shares(&self, below_a: f64, below_b: f64, p: f64) -> (Spread, Spread, f64) {
        let of = |side: &Side, x: f64| self.spread_of_share(side, x, p);
        if self.design != Design::Interleaved {
            return (of(&self.a, below_a), of(&self.b, below_b), 0.0);
        }
        let (a, b) = (self.a.residuals(below_a), self.b.residuals(below_b));
        let least = |side: &Side| LEAST * p * (1.0 - p) / side.whole.count();
        let variance = |residuals: &[f64], least: f64| around_zero(residuals).max(least);
        let (of_a, of_b) = (variance(&a, least(&self.a)), variance(&b, least(&self.b)));
        let found = spread(&differences(&a, &b));
        let both = (of_a * of_b).sqrt();
        let apart = self.not_shared(found.variance, of_a, of_b).max(least(&self.a) + least(&self.b));
        let together = ((of_a + of_b - apart) / (2.0 * both)).clamp(-MOST_TOGETHER, MOST_TOGETHER);
        let scale = apart / (of_a + of_b - 2.0 * together * both);
        let scaled = |variance: f64| Spread { variance: scale * variance, freedom: found.freedom };
        (scaled(of_a), scaled(of_b), together)
    }

    /// What is left of two variances where turns share what their medians do, or less.
    pub(super) fn not_shared(&self, seen: f64, of_a: f64, of_b: f64) -> f64 {
        seen.max(of_a + of_b - 2.0 * self.together.max(0.0) * (of_a * of_b).sqrt())
    }

    /// How uncertain the share of a side's events below `x` is, about `p`.
    fn spread_of_share(&self, side: &Side, x: f64, p: f64) -> Spread {
        let independent = p * (1.0 - p) / side.whole.count();
        if side.batches.is_empty() {
            return Spread { variance: independent, freedom: KNOWN };
        }
        let found = spread_apart(&side.residuals(x), independent, self.memory);
        Spread { variance: found.variance.max(LEAST * independent), ..found }
    }

    /// How far a quantile of B may be from A's: no delay is below none, unless some that were measured are.
    pub(super) fn possible_beside(&self, of_a: f64) -> Possible {
        let lowest = [&self.a, &self.b].into_iter().filter_map(|side| side.whole.cells().first());
        let floor = lowest.map(|cell| cell.low).fold(0.0, f64::min);
        Possible { low: floor - of_a, high: f64::INFINITY }
    }

    /// How many times as much a sum over batches varies as it would without memory, and how many batches are left of
    /// so many.
    pub(super) fn remembered(&self, batches: f64) -> (f64, f64) {
        ((1.0 + self.memory) / (1.0 - self.memory), left(batches, self.memory))
    }
}

/// So many batches that remember are worth these without memory, less what their mean took.
fn left(batches: f64, memory: f64) -> f64 {
    (batches * (1.0 - memory) / (1.0 + memory) - 0.5).max(1.0)
}

/// Variance of the sum of residuals of batches in a row: as an autoregression's, beyond what independent events have.
///
/// Freedom is that of so few batches (Satterthwaite 1946).
pub(crate) fn spread_apart(residuals: &[f64], independent: f64, memory: f64) -> Spread {
    let count = residuals.len() as f64;
    let plain = spread_without_memory(residuals);
    let variance = plain.variance;
    let memory = memory_of(residuals).max(memory);
    if memory <= 0.0 {
        return plain;
    }
    let beyond = (variance - independent).max(0.0) * (1.0 + memory) / (1.0 - memory);
    let within = variance.min(independent);
    let both = within + beyond;
    let parts = within * within / (count - 1.0) + beyond * beyond / left(count, memory);
    let freedom = if parts > 0.0 { both * both / parts } else { count - 1.0 };
    Spread { variance: both, freedom: freedom.max(1.0) }
}

/// The same of batches that do not remember.
pub(super) fn spread_without_memory(residuals: &[f64]) -> Spread {
    Spread { variance: around_zero(residuals), freedom: residuals.len() as f64 - 1.0 }
}

/// Correlation of a batch with the one before, freed of its bias (Kendall 1954); 0 where it may be chance.
pub(super) fn memory_of(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    if likeness(residuals) <= REMEMBERED {
        return 0.0;
    }
    let seen = likeness(residuals) - 1.0 / count;
    (seen + (1.0 + 3.0 * seen) / count).clamp(0.0, LONGEST)
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
    pub(crate) fn of(blocks: &[Binned], batches: usize) -> Self {
        let batches: Vec<Curve> = (0..batches)
            .map(|index| {
                let from = index * blocks.len() / batches;
                let to = (index + 1) * blocks.len() / batches;
                Curve::of(&blocks[from..to])
            })
            .collect();
        let is_row =
            !batches.is_empty() && blocks.iter().all(|block| block.count() == 1 && block.above().is_none());
        let row = blocks.iter().filter(|_| is_row).flat_map(Binned::cells).map(|cell| cell.middle());
        Self { whole: Curve::of(blocks), events: row.collect(), batches }
    }

    /// How much each batch has below `x` beyond its share, as a part of all events.
    pub(crate) fn residuals(&self, x: f64) -> Vec<f64> {
        let n = self.whole.count();
        let share = self.whole.below(x) / n;
        let beyond = self.batches.iter().map(|batch| {
            let beyond = batch.below(x) - share * batch.count();
            // What rounding leaves of batches that are equal is no memory of one another.
            if beyond.abs() > ROUNDING * batch.count() { beyond / n } else { 0.0 }
        });
        beyond.collect()
    }

    /// How much the median of a batch has in common with that of the one before.
    pub(crate) fn memory(&self) -> f64 {
        self.whole.quantile(0.5).map_or(0.0, |median| memory_of(&self.residuals(median)))
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
    let left = likeness(&residuals).clamp(0.0, 0.8);
    let widened = if left > ALIKE { (1.0 + left) / (1.0 - left) } else { 1.0 };
    Spread { variance: around_zero(&residuals) * widened, freedom: count - 1.0 }
}

/// By how much each residual of B is above that of its neighbour of A.
pub(super) fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    b.iter().zip(a).map(|(b, a)| b - a).collect()
}

/// Variance of the sum of residuals that have nothing in common but their mean.
fn around_zero(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    residuals.iter().map(|residual| residual * residual).sum::<f64>() * count / (count - 1.0)
}

/// Pearson's, of residuals around 0; 0 where one side does not vary.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let scale = (product(one, one) * product(other, other)).sqrt();
    if scale > 0.0 { product(one, other) / scale } else { 0.0 }
}

/// Lag-1 correlation, without the −1/K that residuals of a common mean have.
pub(crate) fn likeness(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares > 0.0 { products / squares + 1.0 / residuals.len() as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::close;

    #[test]
    fn neighbours_that_go_together_are_alike_and_those_that_alternate_are_not() {
        close(likeness(&[1.0, 1.0, -1.0, -1.0]), 0.5);
        close(likeness(&[1.0, -1.0, 1.0, -1.0]), -0.5);
        close(likeness(&[0.0, 0.0]), 0.0);
        close(memory_of(&[1.0, -1.0, 1.0, -1.0]), 0.0);
        // 5/12 + (1 + 3 * 5/12)/6, as Kendall frees it of its bias.
        close(memory_of(&[2.0, 1.0, 1.0, -1.0, -1.0, -2.0]), 0.791_667);
        close(memory_of(&[5.0, 4.0, 3.0, 2.0, 1.0, -1.0, -2.0, -3.0, -4.0, -5.0]), LONGEST);
    }

    #[test]
    fn the_spread_of_a_sum_is_that_of_its_residuals_around_their_mean() {
        close(around_zero(&[1.0, 2.0, -3.0]), 21.0);
        let alternating = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        let found = spread(&alternating);
        close(found.variance, 100.0 / 9.0);
        close(found.freedom, 9.0);
    }

    #[test]
    fn neighbours_in_turns_that_are_alike_are_put_together_and_widen_what_is_left() {
        let found = spread(&[5.0, 4.0, 3.0, 2.0, 1.0, -1.0, -2.0, -3.0, -4.0, -5.0]);
        // Five pairs 9, 5, 0, -5, -9: squares 212, likeness 90/212 + 1/5.
        let left = 90.0 / 212.0 + 0.2;
        close(found.variance, 212.0 * 5.0 / 4.0 * (1.0 + left) / (1.0 - left));
        close(found.freedom, 4.0);
        // Nine are too few to be put together.
        let nine = [4.0, 3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0];
        close(spread(&nine).freedom, 8.0);
    }

    #[test]
    fn memory_widens_only_what_is_beyond_independent_events() {
        let residuals = [1.0, -1.0, 1.0, -1.0];
        let plain = spread_apart(&residuals, 1.0, 0.0);
        close(plain.variance, 16.0 / 3.0);
        close(plain.freedom, 3.0);
        // 1 within, 13/3 beyond and three times as much with a memory of a half; less than one batch is left.
        let remembered = spread_apart(&residuals, 1.0, 0.5);
        close(remembered.variance, 14.0);
        close(remembered.freedom, 196.0 / (1.0 / 3.0 + 169.0));
        let within = spread_apart(&residuals, 6.0, 0.5);
        close(within.variance, 16.0 / 3.0);
        close(within.freedom, 3.0);
        close(spread_apart(&[0.0; 4], 0.0, 0.5).freedom, 3.0);
        // Of many batches (1 - memory)/(1 + memory) are left.
        close(left(60.0, 0.5), 19.5);
        close(left(2.0, 0.5), 1.0);
    }

    #[test]
    fn twenty_batches_are_made_of_more_blocks_and_pairs_of_pairs_where_ten_remain() {
        assert_eq!([60, 40, 39, 20, 19, 4].map(paired), [20, 20, 19, 10, 19, 4]);
        let of = |a: usize, b: usize, design| {
            let sides = Sides::of(&blocks(a, |_| 0), &blocks(b, |_| 0), design);
            (sides.design, sides.a.batches.len(), sides.b.batches.len())
        };
        assert_eq!(of(25, 7, Design::Apart), (Design::Apart, 20, 7));
        assert_eq!(of(4, 4, Design::Apart), (Design::Apart, 4, 4));
        assert_eq!(of(2, 25, Design::Apart), (Design::Apart, 2, 20));
        assert_eq!(of(1, 25, Design::Apart), (Design::Whole, 0, 0));
        assert_eq!(of(8, 9, Design::Interleaved), (Design::Apart, 8, 9));
        assert_eq!(of(3, 3, Design::Interleaved), (Design::Whole, 0, 0));
        assert_eq!(of(20, 20, Design::Interleaved), (Design::Interleaved, 10, 10));
        assert_eq!(of(25, 25, Design::Whole), (Design::Whole, 0, 0));
    }

    /// Blocks of a hundred events spread evenly over a hundred ticks, each block moved.
    fn blocks(count: usize, moved: impl Fn(i64) -> i64) -> Vec<Binned> {
        let block = |number: i64| {
            let ticks = (0..100).map(|event| (1000 + event + moved(number), 1));
            crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
        };
        (0..count as i64).map(block).collect()
    }

    #[test]
    fn a_wander_that_both_sides_share_is_no_uncertainty_of_their_difference() {
        let wander = |number: i64| [0, 9, -7, 4, -6][number as usize % 5];
        let other = |number: i64| [5, -8, 1, 9, -7, 3, -3][number as usize % 7];
        let differ = |b: &dyn Fn(i64) -> i64| {
            let sides = Sides::of(&blocks(15, wander), &blocks(15, b), Design::Interleaved);
            let (a, b, together) = sides.spreads_of_shares(1050.0, 1050.0, 0.5);
            let apart = a.variance + b.variance - 2.0 * together * (a.variance * b.variance).sqrt();
            let of = |side: &Side| side.residuals(1050.0);
            let seen = spread(&differences(&of(&sides.a), &of(&sides.b))).variance;
            (apart, seen, together)
        };
        // A quarter of what independent events have, of each side.
        let least = 2.0 * 0.25 * 0.25 / 1500.0;
        let (shared, _, together) = differ(&wander);
        close(shared / least, 1.0);
        assert!(together > 0.8, "{together}");
        let (apart, seen, together) = differ(&other);
        assert!(seen > least && together.abs() < 0.5, "{together}");
        close(apart / seen, 1.0);
    }

    #[test]
    fn sides_of_independent_events_have_the_spread_of_a_binomial_and_batches_never_much_less() {
        let whole = Sides::of(&blocks(6, |_| 0), &blocks(12, |_| 0), Design::Whole);
        let (a, b, together) = whole.spreads_of_shares(1050.0, 1050.0, 0.1);
        close(a.variance * 600.0, 0.09);
        close(b.variance * 1200.0, 0.09);
        assert_eq!((a.freedom, together), (KNOWN, 0.0));
        let apart = Sides::of(&blocks(6, |_| 0), &blocks(12, |_| 0), Design::Apart);
        let (a, b, _) = apart.spreads_of_shares(1050.0, 1050.0, 0.1);
        close(a.variance * 600.0, 0.25 * 0.09);
        close(b.variance * 1200.0, 0.25 * 0.09);
    }

    #[test]
    fn blocks_that_are_equal_have_no_memory_of_one_another() {
        for x in [1003.3, 1049.7, 1081.9] {
            let sides = Sides::of(&blocks(20, |_| 0), &blocks(7, |_| 0), Design::Apart);
            assert!(
                [&sides.a, &sides.b].iter().all(|side| side.residuals(x).iter().all(|it| *it == 0.0)),
                "{x}"
            );
            assert_eq!(sides.memory, 0.0);
        }
    }

    #[test]
    fn a_side_that_wanders_slowly_remembers_and_has_fewer_batches() {
        let slow = |number: i64| 10 * (number / 5 % 2);
        let sides = Sides::of(&blocks(20, slow), &blocks(20, |_| 0), Design::Apart);
        assert!(sides.memory > 0.3 && sides.memory == sides.a.memory(), "{}", sides.memory);
        let remembers = Sides { memory: 0.5, ..sides };
        let (times, batches) = remembers.remembered(10.0);
        close(times, 3.0);
        close(batches, 10.0 / 3.0 - 0.5);
        assert_eq!(Sides::of(&blocks(20, slow), &blocks(20, slow), Design::Interleaved).memory, 0.0);
    }
}
