//! By how much a quantile of B is above that of A, of sides that wander too much for their shares to say it.

use super::Design;
use super::curve::Curve;
use super::difference::{BORNE_BY, Difference};
use super::judgement::Pivot;
use super::sides::{Side, Sides, Spread, memory_of, spread_apart};
use crate::sample::{mean, median};
use crate::special::student_quantile;

/// A difference of quantiles whose error is that of the batches' own quantiles around it.
///
/// Where batches follow one another alike, so few of them are left that a share of events may be nearly any share, and
/// the quantile lies anywhere. How far the batches' quantiles lie apart is seen all the same: each is an observation,
/// and the error of all is that of an autoregression. Student's t of so few reaches far beyond all that was seen to
/// wander, and what is farther still is a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wandering {
    of_each: (f64, f64),
    error: f64,
    freedom: f64,
}

/// A median by a row of events, each of which follows the one before: that of their logarithms, or of themselves where some
/// are not above zero. So the error of a side is as many times its scatter, however slow the side is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    of_each: (f64, f64),
    is_log: bool,
    error: f64,
    freedom: f64,
}

impl Row {
    /// Of sides whose events are known one by one; `None` of others.
    pub(super) fn of(sides: &Sides, p: f64) -> Option<Self> {
        let (a, b) = (&sides.a.events, &sides.b.events);
        if p != 0.5 || a.is_empty() || b.is_empty() {
            return None;
        }
        let of_each = (median(a)?, median(b)?);
        let is_log = a.iter().chain(b).all(|value| *value > 0.0);
        let rows = [a, b].map(|events| -> Vec<f64> {
            events.iter().map(|&value| if is_log { value.ln() } else { value }).collect()
        });
        let around = rows.map(|row| {
            let middle = mean(&row).unwrap_or(0.0);
            row.iter().map(|value| (value - middle) / row.len() as f64).collect::<Vec<_>>()
        });
        let [of_a, of_b] = widest(&around);
        let variance = of_a.variance + of_b.variance;
        let freedom = of_a.freedom.min(of_b.freedom);
        (variance > 0.0).then(|| Self { of_each, is_log, error: variance.sqrt(), freedom })
    }

    /// The medians themselves.
    pub(super) fn of_each(&self) -> (Option<f64>, Option<f64>) {
        (Some(self.of_each.0), Some(self.of_each.1))
    }

    /// How far a difference is, on the scale of the error.
    fn apart(&self, difference: f64) -> f64 {
        if self.is_log { (1.0 + difference / self.of_each.0).max(f64::MIN_POSITIVE).ln() } else { difference }
    }

    fn difference(&self, apart: f64) -> f64 {
        if self.is_log { self.of_each.0 * apart.exp_m1() } else { apart }
    }
}

/// Fewer sums say nothing of their memory.
const FEWEST_SUMS: usize = 8;

/// The spreads of two rows by sums over 1, 2, 4, … events, whichever reaches farthest: what is slow beneath much that is quick
/// shows in longer sums alone. Where one side remembers, so may the other, whose few events do not show it.
fn widest(rows: &[Vec<f64>; 2]) -> [Spread; 2] {
    let reach = |spreads: &[Spread; 2]| {
        let freedom = spreads[0].freedom.min(spreads[1].freedom);
        student_quantile(freedom, 0.975) * (spreads[0].variance + spreads[1].variance).sqrt()
    };
    let fewest = rows[0].len().min(rows[1].len());
    let lengths = std::iter::successors(Some(1), |length| Some(length * 2))
        .take_while(|length| *length == 1 || fewest / length >= FEWEST_SUMS);
    let spreads = lengths.map(|length| {
        let sums = [&rows[0], &rows[1]]
            .map(|row| row.chunks(length).map(|part| part.iter().sum()).collect::<Vec<f64>>());
        let memory = sums.iter().map(|sums| memory_of(sums)).fold(0.0, f64::max);
        sums.map(|sums| spread_apart(&sums, 0.0, memory))
    });
    let unknown = Spread { variance: 0.0, freedom: 1.0 };
    spreads.fold([unknown; 2], |kept, next| if reach(&next) > reach(&kept) { next } else { kept })
}

impl Pivot for Row {
    fn estimate(&self) -> Option<f64> {
        Some(self.of_each.1 - self.of_each.0)
    }

    fn ends(&self, reach: f64) -> (Option<f64>, Option<f64>) {
        let center = self.apart(self.of_each.1 - self.of_each.0);
        let end = |sign: f64| Some(self.difference(center + sign * reach * self.error));
        (end(-1.0), end(1.0).filter(|end| end.is_finite()))
    }

    fn freedom(&self) -> f64 {
        self.freedom
    }
}

/// Fewer batches do not show how long they remember.
const ENOUGH: usize = 10;

impl Wandering {
    /// What is said of sides measured apart where the difference by shares has no end toward no change. `None` where it
    /// has one, and where too few batches have such a quantile.
    pub(super) fn instead_of(shares: &Difference, sides: &Sides, p: f64) -> Option<Self> {
        if sides.design != Design::Apart || shares.is_bounded_toward_none() {
            return None;
        }
        let (a, b) = (sides.a.whole.quantile(p)?, sides.b.whole.quantile(p)?);
        let together = bearing(sides, p)?;
        let apart = |side: &Side, of_all: f64| {
            let around = around(side, together, p, of_all)?;
            Some(spread_apart(&around, 0.0, sides.memory))
        };
        let (of_a, of_b) = (apart(&sides.a, a)?, apart(&sides.b, b)?);
        let variance = of_a.variance + of_b.variance;
        let freedom = of_a.freedom.min(of_b.freedom);
        (variance > 0.0).then(|| Self { of_each: (a, b), error: variance.sqrt(), freedom })
    }

    /// The quantiles themselves.
    pub(super) fn of_each(&self) -> (Option<f64>, Option<f64>) {
        (Some(self.of_each.0), Some(self.of_each.1))
    }

    fn difference(&self) -> f64 {
        self.of_each.1 - self.of_each.0
    }
}

/// How far the quantile of each batch, of so many put together, is from that of all, as a part of their mean.
fn around(side: &Side, together: usize, p: f64, of_all: f64) -> Option<Vec<f64>> {
    let batches: Vec<Curve> = side.batches.chunks(together).map(Curve::together).collect();
    let count = batches.len() as f64;
    batches.iter().map(|batch| Some((batch.quantile(p)? - of_all) / count)).collect()
}

/// How many neighbouring batches must be put together for each to bear the quantile; `None` where too few are left.
fn bearing(sides: &Sides, p: f64) -> Option<usize> {
    let bears = |part: &[Curve]| part.iter().map(Curve::count).sum::<f64>() * p.min(1.0 - p) >= BORNE_BY;
    let fewest = sides.a.batches.len().min(sides.b.batches.len());
    (1..=fewest / ENOUGH)
        .find(|&together| [&sides.a, &sides.b].iter().all(|side| side.batches.chunks(together).all(bears)))
}

impl Pivot for Wandering {
    fn estimate(&self) -> Option<f64> {
        Some(self.difference())
    }

    fn ends(&self, reach: f64) -> (Option<f64>, Option<f64>) {
        (Some(self.difference() - reach * self.error), Some(self.difference() + reach * self.error))
    }

    fn freedom(&self) -> f64 {
        self.freedom
    }

    fn reach_to(&self, value: f64) -> f64 {
        (self.difference() - value).abs() / self.error
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::close;
    use super::super::{Answer, Binned, Comparison, Overall, Questions, Verdict};
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    const BLOCKS: usize = 40;

    /// Six events a block of about this level in microseconds, in nanoseconds.
    fn blocks(levels: &[f64], chance: &mut ChaCha8Rng) -> Vec<Binned> {
        blocks_of(6, levels, chance)
    }

    fn blocks_of(events: usize, levels: &[f64], chance: &mut ChaCha8Rng) -> Vec<Binned> {
        let block = |level: &f64| {
            let event = |_| (1000.0 * (level + 10.0 * chance.sample::<f64, _>(StandardNormal))) as i64;
            let mut ticks: Vec<(i64, u64)> = (0..events).map(event).map(|tick| (tick, 1)).collect();
            ticks.sort_unstable();
            crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
        };
        levels.iter().map(block).collect()
    }

    /// By the median alone.
    fn typical(a: &[Binned], b: &[Binned]) -> Answer {
        let questions =
            Questions { percentile: 0.99, above: None, smallest_effect: Some(0.0), more_loss: 0.0 };
        Comparison::of(a, b, Design::Apart, &questions).core
    }

    /// The second half of A is slower: 460 us, then 725.
    fn stepping(number: usize) -> f64 {
        if number < BLOCKS / 2 { 460.0 } else { 725.0 }
    }

    #[test]
    fn a_side_that_is_many_times_slower_is_found_beside_one_that_wanders() {
        let mut chance = ChaCha8Rng::seed_from_u64(1);
        let levels: Vec<f64> = (0..BLOCKS).map(stepping).collect();
        let mut against = |more: f64| {
            let (a, b) = (blocks(&levels, &mut chance), blocks(&[more; BLOCKS], &mut chance));
            (typical(&a, &b), typical(&b, &a))
        };
        let (there, back) = against(20_000.0);
        assert_eq!((there.verdict, back.verdict), (Verdict::Regressed, Verdict::Improved), "{there:?}");
        assert!(there.low.unwrap() > 5e6 && there.high.unwrap() < 35e6, "{there:?}");
        let (of_a, of_b) = (there.of_a.unwrap(), there.of_b.unwrap());
        assert_eq!((there.estimate, there.relative), (Some(of_b - of_a), Some((of_b - of_a) / of_a)));
        // What A itself wandered by, and several times that, may be chance.
        for near in [460.0, 725.0, 1000.0, 1500.0] {
            let (there, _) = against(near);
            assert_eq!(there.verdict, Verdict::NoEvidence, "{near} {there:?}");
            assert!(there.low.unwrap() < 0.0 && there.high.unwrap() > 0.0, "{near} {there:?}");
        }
    }

    /// How a level goes on from block to block.
    type Law = fn(f64, &mut ChaCha8Rng) -> f64;

    /// So many of a law in a row, far apart beside what events scatter.
    fn levels(law: Law, count: usize, chance: &mut ChaCha8Rng) -> Vec<f64> {
        let mut level = chance.sample::<f64, _>(StandardNormal);
        let mut next = |_| {
            level = law(level, chance);
            100_000.0 + 100.0 * level
        };
        (0..count).map(&mut next).collect()
    }

    fn remembers(share: f64, level: f64, chance: &mut ChaCha8Rng) -> f64 {
        share * level + (1.0 - share * share).sqrt() * chance.sample::<f64, _>(StandardNormal)
    }

    const LAWS: [(&str, Law); 5] = [
        ("autoregression 0.5", |level, chance| remembers(0.5, level, chance)),
        ("autoregression 0.9", |level, chance| remembers(0.9, level, chance)),
        ("autoregression 0.97", |level, chance| remembers(0.97, level, chance)),
        ("random walk", |level, chance| level + 0.3 * chance.sample::<f64, _>(StandardNormal)),
        ("steps", |level, chance| {
            let next = level + chance.sample::<f64, _>(StandardNormal);
            if chance.random_bool(1.0 / 15.0) { next } else { level }
        }),
    ];

    #[test]
    fn sides_of_one_law_that_wanders_are_called_different_no_more_often_than_the_level_says() {
        const PAIRS: u64 = 300;
        for (name, law) in LAWS {
            let (mut said, mut wrong) = (0, 0);
            for seed in 0..PAIRS {
                let mut chance = ChaCha8Rng::seed_from_u64(seed);
                let levels = levels(law, 2 * BLOCKS, &mut chance);
                let (a, b) = levels.split_at(BLOCKS);
                let sides = Sides::of(&blocks(a, &mut chance), &blocks(b, &mut chance), Design::Apart);
                let shares = Difference::of(&sides, 0.5);
                let Some(found) = Wandering::instead_of(&shares, &sides, 0.5) else { continue };
                said += 1;
                let reach = crate::special::student_quantile(found.freedom, 0.975);
                wrong += u64::from(found.reach_to(0.0) > reach);
            }
            assert!(20 * wrong <= said && said > 50, "{name}: {wrong} of {said}");
        }
    }

    #[test]
    fn long_events_of_sides_of_one_law_that_wanders_are_more_no_more_often_than_the_level_says() {
        const PAIRS: u64 = 300;
        let questions =
            Questions { percentile: 0.99, above: None, smallest_effect: Some(0.0), more_loss: 0.0 };
        for (name, law) in LAWS {
            let mut wrong = 0;
            for seed in 0..PAIRS {
                let mut chance = ChaCha8Rng::seed_from_u64(seed);
                let levels = levels(law, 2 * BLOCKS, &mut chance);
                let (a, b) = levels.split_at(BLOCKS);
                let (a, b) = (blocks_of(50, a, &mut chance), blocks_of(50, b, &mut chance));
                let found = Comparison::of(&a, &b, Design::Apart, &questions).tail_mass.verdict;
                wrong += u64::from(matches!(found, Verdict::Improved | Verdict::Regressed));
            }
            assert!(20 * wrong <= PAIRS, "{name}: {wrong} of {PAIRS}");
        }
    }

    /// Lost is what is above a level, more of it the farther; or a share that follows the level and is never none.
    #[test]
    fn sides_of_one_law_of_loss_that_wanders_are_called_different_no_more_often_than_the_level_says() {
        const PAIRS: u64 = 300;
        let questions =
            Questions { percentile: 0.99, above: None, smallest_effect: Some(0.0), more_loss: 0.0 };
        type Share = fn(f64) -> f64;
        let shares: [(&str, Share); 3] = [
            ("above the middle", |level| (0.4 * level).clamp(0.0, 1.0)),
            ("above what is rare", |level| (0.4 * (level - 1.0)).clamp(0.0, 1.0)),
            ("always", |level| 1.0 / (1.0 + (-level).exp())),
        ];
        for (name, law) in LAWS {
            for (of, share) in shares {
                let mut wrong = 0;
                for seed in 0..PAIRS {
                    let mut chance = ChaCha8Rng::seed_from_u64(seed);
                    let lossy: Vec<Binned> = levels(law, 2 * BLOCKS, &mut chance)
                        .iter()
                        .map(|level| {
                            let lost = (200.0 * share((level - 100_000.0) / 100.0)).round() as u64;
                            let came =
                                crate::Counted::ticks(crate::Meaning::default(), [(7, 200 - lost)], None);
                            came.unwrap().binned().with_lost(lost)
                        })
                        .collect();
                    let (a, b) = lossy.split_at(BLOCKS);
                    let found = Comparison::of(a, b, Design::Apart, &questions).loss;
                    let verdict = found.map(|loss| loss.verdict);
                    wrong += u64::from(matches!(verdict, Some(Verdict::Improved | Verdict::Regressed)));
                }
                assert!(50 * wrong <= 3 * PAIRS, "{name}, {of}: {wrong} of {PAIRS}");
            }
        }
    }

    /// Each block has a level of its own, and its events scatter less.
    #[test]
    fn few_blocks_are_not_taken_for_their_events() {
        const PAIRS: u64 = 400;
        let questions = Questions { percentile: 0.99, above: None, smallest_effect: None, more_loss: 0.0 };
        for (design, fewest) in [(Design::Apart, 2), (Design::Interleaved, 4)] {
            for turns in [fewest, 5, 10] {
                let mut wrong = 0;
                for seed in 0..PAIRS {
                    let mut chance = ChaCha8Rng::seed_from_u64(seed);
                    let mut side = || {
                        let mut level = |_| 300.0 + 60.0 * chance.sample::<f64, _>(StandardNormal);
                        let levels: Vec<f64> = (0..turns).map(&mut level).collect();
                        blocks_of(500, &levels, &mut chance)
                    };
                    let (a, b) = (side(), side());
                    let found = Comparison::of(&a, &b, design, &questions).verdict;
                    wrong += u64::from(!matches!(found, Overall::NoEvidence | Overall::Equivalent));
                }
                assert!(20 * wrong <= PAIRS, "{design:?} {turns}: {wrong} of {PAIRS}");
            }
        }
    }

    #[test]
    fn what_bounds_itself_or_has_too_few_batches_is_left_to_the_shares() {
        let mut chance = ChaCha8Rng::seed_from_u64(3);
        let even = |count: usize, chance: &mut ChaCha8Rng| blocks(&vec![700.0; count], chance);
        let of = |a: &[Binned], b: &[Binned], design| {
            let sides = Sides::of(a, b, design);
            Wandering::instead_of(&Difference::of(&sides, 0.5), &sides, 0.5)
        };
        let levels: Vec<f64> = (0..BLOCKS).map(stepping).collect();
        let (wanders, slow) = (blocks(&levels, &mut chance), blocks(&[20_000.0; BLOCKS], &mut chance));
        assert!(of(&wanders, &slow, Design::Apart).is_some());
        assert!(of(&wanders, &slow, Design::Whole).is_none(), "no batches");
        assert!(of(&wanders, &slow[..9], Design::Apart).is_none(), "nine of B");
        let (a, b) = (even(BLOCKS, &mut chance), even(BLOCKS, &mut chance));
        assert!(of(&a, &b, Design::Apart).is_none(), "nothing wanders");
        // Ten batches of twelve events bear a median, and twenty of six do not; ten of six are too few.
        let (a, b) = (&levels[10..30], &[20_000.0; 20]);
        let (a, b) = (blocks(a, &mut chance), blocks(b, &mut chance));
        let bears = |a: &[Binned], b: &[Binned]| bearing(&Sides::of(a, b, Design::Apart), 0.5);
        assert_eq!(
            (bears(&wanders, &slow), bears(&a, &b), bears(&a[..10], &b[..10])),
            (Some(1), Some(2), None)
        );
    }

    #[test]
    fn medians_of_rows_differ_by_the_error_of_their_logarithms_or_where_some_are_not_above_zero_of_themselves()
     {
        const SOME: [i64; 12] = [0, 40, -30, 20, -50, 10, 30, -20, 50, -40, -10, 5];
        let side = |together: usize, level: i64, times: i64| -> Vec<Binned> {
            let block = |part: &[i64]| {
                let ticks = part.iter().map(|more| (times * (level + more), 1));
                crate::Counted::ticks(crate::Meaning::default(), ticks, None).unwrap().binned()
            };
            SOME.chunks(together).map(block).collect()
        };
        let row = |together, level, p| {
            Row::of(&Sides::of(&side(together, level, 1), &side(together, level, 2), Design::Apart), p)
        };
        let scatter = |values: [f64; 12]| crate::sample::deviation(&values).unwrap().powi(2) / 12.0;
        for level in [1000, 0] {
            let values = SOME.map(|more| (level + more) as f64);
            let (middle, found) = (median(&values).unwrap(), row(1, level, 0.5).unwrap());
            close(found.of_each().0.unwrap(), middle);
            close(found.of_each().1.unwrap(), 2.0 * middle);
            close(found.estimate().unwrap(), middle);
            assert_eq!(found.freedom(), 11.0);
            let ends: [f64; 2] = match level {
                0 => {
                    let error = (scatter(values) + scatter(values.map(|value| 2.0 * value))).sqrt();
                    [-2.0, 2.0].map(|reach| middle + reach * error)
                }
                _ => {
                    let error = (2.0 * scatter(values.map(f64::ln))).sqrt();
                    [-2.0, 2.0].map(|reach| middle * ((2f64.ln() + reach * error).exp() - 1.0))
                }
            };
            close(found.ends(2.0).0.unwrap(), ends[0]);
            close(found.ends(2.0).1.unwrap(), ends[1]);
        }
        assert!(
            row(1, 1000, 0.9).is_none() && row(2, 1000, 0.5).is_none(),
            "another quantile; no single events"
        );
    }
}
