//! Did it change? Two sets of delays, three questions: the typical one, a high percentile, how many are long.
//!
//! Each answer is an interval and a verdict. With blocks (time slices, or turns of a measurement that alternates)
//! the intervals come from how blocks differ, so that events which follow one another alike do not pass for as many
//! witnesses; without blocks they take events as independent, and `deff_limit` says how wrong that may be.

pub(crate) mod curve;
mod difference;
mod judgement;
mod resampled;
pub(crate) mod sides;
mod tail;
mod width;

pub use judgement::{Answer, Verdict};
pub use width::WidthRatio;

use crate::Binned;
use curve::Curve;
use difference::Difference;
use judgement::{answer, judge};
use sides::{Side, Sides, differences, likeness};
use tail::{Tail, Threshold};
use width::Width;

/// How the blocks of A and of B were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// There are none, or too few: events are taken as independent.
    Whole,
    /// A's one after another, B's at another time.
    Apart,
    /// In turns; block k of A is a neighbour of block k of B.
    Interleaved,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Questions {
    /// The high percentile, in (0.5, 1).
    pub percentile: f64,
    /// Events above this are long; A's 99th percentile where it is not given.
    pub above: Option<f64>,
    /// Smallest share of A that matters; where it is not given 2 %, and no less than a tick.
    pub smallest_effect: Option<f64>,
}

/// A comparison of B with A; smaller values are better.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What the intervals rest on.
    pub design: Design,
    /// Batches of each side that they were made from; 0 where events are taken as independent.
    pub batches: (usize, usize),
    /// The median, B − A.
    pub core: Answer,
    /// The high percentile, B − A.
    pub high_percentile: Answer,
    /// The share of long events, B / A.
    pub tail_mass: Answer,
    /// From where on they are long; `None` of no events.
    pub threshold: Option<f64>,
    /// Long events of A and of B among those that were asked.
    pub above: (f64, f64),
    /// The ratio at A's 99.9th percentile, where the threshold was not given.
    pub farther: Option<f64>,
    /// Distance of the quartiles, B / A.
    pub quartiles: WidthRatio,
    /// Standard deviation, B / A.
    pub deviation: WidthRatio,
    /// Probability that an event of B is longer than one of A; ties count half.
    pub b_slower: Option<f64>,
    /// Lag-1 correlation of neighbouring batches' medians: the larger of both sides, or in turns of their differences.
    pub likeness: Option<f64>,
    /// All three together.
    pub verdict: Overall,
    /// By how much more the events may vary than is known before this verdict changes.
    pub deff_limit: Option<f64>,
}

/// Several verdicts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overall {
    /// Some better, none worse.
    Improved,
    /// Some worse, none better.
    Regressed,
    /// Some better, some worse.
    Mixed,
    /// All differences are smaller than what matters.
    Equivalent,
    /// The events do not say.
    NoEvidence,
}

/// Share of A that matters when nobody says.
pub const SMALLEST_EFFECT: f64 = 0.02;
const THRESHOLD: f64 = 0.99;
const FARTHER: f64 = 0.999;

impl Comparison {
    /// Compares the blocks of B with those of A, in one unit.
    pub fn of(a: &[Binned], b: &[Binned], design: Design, questions: &Questions) -> Self {
        let sides = Sides::of(a, b, design);
        let share = questions.smallest_effect.unwrap_or(SMALLEST_EFFECT);
        let tick = a.iter().chain(b).map(Binned::quantum).fold(0.0, f64::max);
        let least = if questions.smallest_effect.is_none() { tick } else { 0.0 };
        let effect = |of_a: Option<f64>| of_a.map_or(least, |value| (share * value.abs()).max(least));

        let difference = |p: f64| {
            let pivot = Difference::of(&sides, p);
            let (of_a, of_b) = pivot.of_each();
            let smallest = effect(of_a);
            let mut found = answer(&pivot, (of_a, of_b), smallest, smallest);
            found.relative = found.estimate.zip(of_a).filter(|(_, a)| *a > 0.0).map(|(d, a)| d / a);
            found
        };
        let (mut core, mut high) = (difference(0.5), difference(questions.percentile));

        let (tail, threshold, farther) = tail(&sides, questions);
        let zone = (1.0 + share).ln();
        let mut tail_mass = match &tail {
            Some(tail) => {
                let (of_a, of_b) = tail.shares();
                answer(tail, (Some(of_a), Some(of_b)), share, zone)
            }
            None => answer(&Tail::of(&sides, Threshold::Given(f64::INFINITY)), (None, None), share, zone),
        };
        tail_mass.relative = tail_mass.estimate.map(|ratio| ratio - 1.0);
        let zones = [
            (-core.smallest_effect, core.smallest_effect),
            (-high.smallest_effect, high.smallest_effect),
            (1.0 / (1.0 + share), 1.0 + share),
        ];
        judge(&mut [&mut core, &mut high, &mut tail_mass], &zones);
        let verdict = Overall::of(&[core.verdict, high.verdict, tail_mass.verdict]);
        let limits = [core.deff_limit, high.deff_limit, tail_mass.deff_limit];
        Self {
            design: sides.design,
            batches: (sides.a.batches.len(), sides.b.batches.len()),
            core,
            high_percentile: high,
            tail_mass,
            threshold,
            above: tail.map_or((0.0, 0.0), |tail| tail.above()),
            farther,
            quartiles: Width::Quartiles.ratio(&sides),
            deviation: Width::Deviation.ratio(&sides),
            b_slower: b_slower(&sides.a.whole, &sides.b.whole),
            likeness: alike(&sides),
            verdict,
            deff_limit: limits.into_iter().flatten().reduce(f64::min),
        }
    }
}

/// By how much one quantile of B is above that of A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Which quantile, in (0, 1).
    pub p: f64,
    /// B − A.
    pub estimate: f64,
    /// Lower end of its own 95 % interval; `None` where the events do not bound it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// The shift function (Doksum 1974): the difference at each of these quantiles that the events can bear.
pub fn shifts(a: &[Binned], b: &[Binned], design: Design, quantiles: &[f64]) -> Vec<Shift> {
    let sides = Sides::of(a, b, design);
    let shift = |&p: &f64| {
        let pivot = Difference::of(&sides, p);
        let found = answer(&pivot, pivot.of_each(), 0.0, 0.0);
        Some(Shift { p, estimate: found.estimate?, low: found.low, high: found.high })
    };
    quantiles.iter().filter_map(shift).collect()
}

/// A given threshold is asked of all events. A's own percentile is read off one half of A and asked of the other half
/// of both sides, and the other way round: no half is asked what it has said itself.
fn tail(sides: &Sides, questions: &Questions) -> (Option<Tail>, Option<f64>, Option<f64>) {
    if let Some(above) = questions.above {
        return (Some(Tail::of(sides, Threshold::Given(above))), Some(above), None);
    }
    let farther = Threshold::of_a(sides, FARTHER).and_then(|at| {
        let (a, b) = Tail::of(sides, at).shares();
        (a > 0.0).then(|| b / a)
    });
    let tail = Threshold::of_a(sides, THRESHOLD).map(|at| Tail::of(sides, at));
    (tail, tail.and(sides.a.whole.recorded_quantile(THRESHOLD)), farther)
}

fn b_slower(a: &Curve, b: &Curve) -> Option<f64> {
    let known = !a.is_censored() && !b.is_censored() && a.count() > 0.0 && b.count() > 0.0;
    known.then(|| {
        let below = b.cells().iter().map(|cell| cell.count as f64 * a.below((cell.low + cell.high) / 2.0));
        below.sum::<f64>() / (a.count() * b.count())
    })
}

fn alike(sides: &Sides) -> Option<f64> {
    let residuals = |side: &Side| {
        let median = side.whole.quantile(0.5)?;
        (!side.batches.is_empty()).then(|| side.residuals(median))
    };
    let (a, b) = (residuals(&sides.a)?, residuals(&sides.b)?);
    Some(match sides.design {
        Design::Interleaved => likeness(&differences(&a, &b)),
        Design::Apart | Design::Whole => likeness(&a).max(likeness(&b)),
    })
}

impl Overall {
    /// Of the verdicts of several questions.
    pub fn of(verdicts: &[Verdict]) -> Self {
        let any = |verdict: Verdict| verdicts.contains(&verdict);
        match (any(Verdict::Improved), any(Verdict::Regressed)) {
            (true, true) => Self::Mixed,
            (true, false) => Self::Improved,
            (false, true) => Self::Regressed,
            (false, false) if verdicts.is_empty() || any(Verdict::NoEvidence) => Self::NoEvidence,
            (false, false) => Self::Equivalent,
        }
    }

    /// Whether something became worse.
    pub fn is_worse(self) -> bool {
        matches!(self, Self::Mixed | Self::Regressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{IDLE, IOZONE32, IOZONE64, binned};

    fn compared(a: &str, b: &str) -> Comparison {
        let questions = Questions { percentile: 0.99, above: Some(42.0), smallest_effect: None };
        Comparison::of(&[binned(a)], &[binned(b)], Design::Whole, &questions)
    }

    #[track_caller]
    fn near(found: Option<f64>, reference: f64, tolerance: f64) {
        let found = found.unwrap();
        assert!((found - reference).abs() <= tolerance, "{found} {reference}");
    }

    #[test]
    fn lowering_the_sectors_is_mixed_as_in_the_reference() {
        let found = compared(IOZONE64, IOZONE32);
        near(found.core.estimate, -1.327417, 1e-6);
        near(found.core.low, -1.487, 0.02);
        near(found.core.high, -1.206, 0.02);
        assert_eq!(found.core.verdict, Verdict::Improved);
        near(found.high_percentile.estimate, 0.461, 0.001);
        near(found.high_percentile.low, -1.494, 0.1);
        near(found.high_percentile.high, 7.603, 0.25);
        assert_eq!(found.high_percentile.verdict, Verdict::NoEvidence);
        near(found.tail_mass.estimate, 2.516129, 1e-6);
        near(found.tail_mass.low, 1.640050, 1e-5);
        near(found.tail_mass.high, 3.947876, 1e-5);
        assert_eq!((found.tail_mass.verdict, found.above), (Verdict::Regressed, (31.0, 78.0)));
        near(found.tail_mass.deff_limit, 4.9, 0.05);
        near(found.b_slower, 1.0 - 0.629695, 1e-6);
        assert_eq!((found.verdict, found.verdict.is_worse()), (Overall::Mixed, true));
        near(found.deff_limit, 4.9, 0.05);
    }

    #[test]
    fn disk_load_regresses_all_three() {
        let found = compared(IDLE, IOZONE64);
        near(found.core.estimate, 4.123631, 1e-6);
        near(found.core.low, 4.001, 0.02);
        near(found.core.high, 4.283, 0.02);
        near(found.high_percentile.estimate, 2.187, 0.001);
        near(found.tail_mass.estimate, 3.444444, 1e-6);
        near(found.tail_mass.low, 1.600701, 1e-5);
        near(found.tail_mass.high, 8.225378, 1e-5);
        near(found.b_slower, 1.0 - 0.251202, 1e-6);
        assert_eq!(found.verdict, Overall::Regressed);
    }

    #[test]
    fn a_set_compared_with_itself_has_no_difference_and_the_reverse_of_a_change_is_its_reverse() {
        let same = compared(IDLE, IDLE);
        assert_eq!((same.core.estimate, same.core.verdict), (Some(0.0), Verdict::Equivalent));
        assert_ne!(same.verdict, Overall::Regressed);
        let there = compared(IOZONE64, IOZONE32);
        let back = compared(IOZONE32, IOZONE64);
        near(back.core.low, -there.core.high.unwrap(), 1e-9);
        near(back.tail_mass.low, 1.0 / there.tail_mass.high.unwrap(), 1e-9);
        near(back.deviation.low, 1.0 / there.deviation.high.unwrap(), 1e-9);
    }

    /// A machine that becomes slower and faster by the minute is no reason to miss what B adds to each minute.
    #[test]
    fn what_neighbouring_blocks_share_does_not_hide_a_difference() {
        let blocks = |more: i64| -> Vec<Binned> {
            let block = |number: i64| {
                let wander = 60 * (number % 20 - 10).abs() + more;
                let events = (0..200).map(|event| (1000 + wander + event * (3 + number % 3) % 301, 1));
                crate::Counted::ticks(crate::Meaning::default(), events, None).unwrap().binned()
            };
            (0..40).map(block).collect()
        };
        let questions = Questions { percentile: 0.99, above: None, smallest_effect: Some(0.0) };
        let of = |design| Comparison::of(&blocks(0), &blocks(40), design, &questions).core;
        let (turns, apart) = (of(Design::Interleaved), of(Design::Apart));
        assert_eq!((turns.verdict, apart.verdict), (Verdict::Regressed, Verdict::NoEvidence));
        assert!(turns.low.unwrap() > 0.0 && apart.low.is_none_or(|low| low < -40.0), "{turns:?} {apart:?}");
    }

    #[test]
    fn no_events_and_equal_events_give_no_number_that_is_none() {
        let questions = Questions { percentile: 0.99, above: None, smallest_effect: None };
        let of = |cells: &[(i64, u64)]| {
            crate::Counted::ticks(crate::Meaning::default(), cells.iter().copied(), None).unwrap().binned()
        };
        for (a, b) in [(of(&[]), of(&[])), (of(&[]), of(&[(7, 5)])), (of(&[(7, 1)]), of(&[(7, 1)]))] {
            let found = Comparison::of(&[a], &[b], Design::Whole, &questions);
            assert_eq!(found.core.estimate, None);
            assert_eq!(found.verdict, Overall::NoEvidence);
            for answer in [&found.core, &found.high_percentile, &found.tail_mass] {
                let numbers = [answer.estimate, answer.low, answer.high, answer.detectable, answer.needed];
                assert!(numbers.into_iter().flatten().all(f64::is_finite), "{answer:?}");
            }
        }
        let equal = Comparison::of(&[of(&[(7, 900)])], &[of(&[(7, 800)])], Design::Whole, &questions);
        assert_eq!(equal.core.verdict, Verdict::Equivalent);
        assert_eq!((equal.quartiles.estimate, equal.deviation.of_a.is_some()), (None, false));
        let few = [of(&[(1000, 1), (1100, 1), (1200, 1)])];
        let found = Comparison::of(&[of(&[(7, 100), (8, 50)])], &few, Design::Whole, &questions);
        assert_eq!(
            (found.deviation.low, found.deviation.high),
            (None, None),
            "three events say nothing of spread"
        );
    }
}
