//! Did it change? Two sets of delays, three questions: the typical one, a high percentile, how many are long; and a
//! fourth where some were lost: how many. What was lost is longer than anything that came, so that a side which loses its
//! slow events does not pass for a faster one.
//!
//! Each answer is an interval and a verdict. With blocks (time slices, or turns of a measurement that alternates)
//! the intervals come from how blocks differ, so that events which follow one another alike do not pass for as many
//! witnesses; without blocks they take events as independent, and `deff_limit` says how wrong that may be.

pub(crate) mod curve;
mod difference;
mod judgement;
mod loss;
mod resampled;
pub(crate) mod sides;
mod tail;
mod wandering;
mod width;

pub use judgement::{Answer, Verdict};
pub use loss::wilson;
pub use width::WidthRatio;

use crate::Binned;
use curve::Curve;
use difference::{BORNE_BY, Difference};
use judgement::{Pivot, Possible, answer, judge};
use loss::Loss;
use sides::{Side, Sides, differences, likeness};
use tail::{Tail, Threshold};
use wandering::{Row, Wandering};
use width::Width;

/// How the blocks of A and of B were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// There is one of a side, or fewer than four pairs of turns: events are taken as independent. Of turns that says nothing.
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
    /// Growth of the share of lost events that does not matter: 0 counts all that is more than chance.
    pub more_loss: f64,
}

impl Default for Questions {
    /// The 99th percentile, and any growth of loss.
    fn default() -> Self {
        Self { percentile: 0.99, above: None, smallest_effect: None, more_loss: 0.0 }
    }
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
    /// The share of lost events, B − A; `None` where neither side lost any.
    pub loss: Option<Answer>,
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
    /// What came back is faster, and less came back.
    Traded,
    /// All differences are smaller than what matters.
    Equivalent,
    /// The events do not say.
    NoEvidence,
}

/// Share of A that matters when nobody says.
pub const SMALLEST_EFFECT: f64 = 0.02;
const THRESHOLD: f64 = 0.99;
const FARTHER: f64 = 0.999;
/// A side has at least so many long events, or what is long must be said.
const LONG_ONES: f64 = 2.0;
/// Shares of lost events that are known to differ by less are alike: the loss that a search allows beside none.
const ALIKE_LOSS: f64 = 0.005;

impl Comparison {
    /// Compares the blocks of B with those of A, in one unit.
    pub fn of(a: &[Binned], b: &[Binned], design: Design, questions: &Questions) -> Self {
        let sides = Sides::of(a, b, design);
        let share = questions.smallest_effect.unwrap_or(SMALLEST_EFFECT);
        let tick = a.iter().chain(b).map(Binned::quantum).fold(0.0, f64::max);
        let least = if questions.smallest_effect.is_none() { tick } else { 0.0 };
        let effect = |of_a: Option<f64>| of_a.map_or(least, |value| (share * value.abs()).max(least));

        let difference = |p: f64| {
            let mut found = of_quantile(&sides, p, effect);
            found.relative = found.estimate.zip(found.of_a).filter(|(_, a)| *a > 0.0).map(|(d, a)| d / a);
            found.lost = (sides.a.whole.is_lost_at(p), sides.b.whole.is_lost_at(p));
            found
        };
        let (mut core, mut high) = (difference(0.5), difference(questions.percentile));

        let (tail, threshold, farther) = tail(&sides, questions);
        let zone = (1.0 + share).ln();
        let mut tail_mass = match &tail {
            Some(tail) => {
                let (of_a, of_b) = tail.shares();
                let possible = Possible { low: 0.0, high: 1.0 / of_a };
                answer(tail, (Some(of_a), Some(of_b)), share, zone, possible)
            }
            None => {
                let none = Tail::of(&sides, Threshold::Given(f64::INFINITY), false);
                answer(&none, (None, None), share, zone, Possible::ALL)
            }
        };
        tail_mass.relative = tail_mass.estimate.map(|ratio| ratio - 1.0);
        let zones = [
            (-core.smallest_effect, core.smallest_effect),
            (-high.smallest_effect, high.smallest_effect),
            (1.0 / (1.0 + share), 1.0 + share),
        ];
        let mut loss = loss(&sides, questions.more_loss);
        match &mut loss {
            Some(loss) => {
                let allowed = (-questions.more_loss, questions.more_loss);
                judge(
                    &mut [&mut core, &mut high, &mut tail_mass, loss],
                    &[zones[0], zones[1], zones[2], allowed],
                );
                loss.settle();
                [&mut core, &mut high].into_iter().for_each(|quantile| quantile.follow(loss.verdict));
            }
            None => judge(&mut [&mut core, &mut high, &mut tail_mass], &zones),
        }
        let quantiles = [&core, &high].into_iter().filter(|answer| answer.lost != (true, true));
        let quantiles: Vec<Verdict> = quantiles.map(|answer| answer.verdict).collect();
        let verdict = Overall::with_loss(quantiles, tail_mass.verdict, loss.map(|loss| loss.verdict));
        let of_loss = loss.and_then(|loss| loss.deff_limit);
        let limits = [core.deff_limit, high.deff_limit, tail_mass.deff_limit, of_loss];
        Self {
            design: sides.design,
            batches: (sides.a.batches.len(), sides.b.batches.len()),
            core,
            high_percentile: high,
            tail_mass,
            loss,
            threshold,
            above: tail.map_or((0.0, 0.0), |tail| tail.stated()),
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
        let found = of_quantile(&sides, p, |_| 0.0);
        Some(Shift { p, estimate: found.estimate?, low: found.low, high: found.high })
    };
    quantiles.iter().filter_map(shift).collect()
}

/// What is said of a quantile: by the shares of events below it, or where they wander too much by the batches' own.
fn of_quantile(sides: &Sides, p: f64, effect: impl Fn(Option<f64>) -> f64) -> Answer {
    let possible = |of_a: Option<f64>| of_a.map_or(Possible::ALL, |of_a| sides.possible_beside(of_a));
    if let Some(row) = Row::of(sides, p) {
        let smallest = effect(row.of_each().0);
        return answer(&row, row.of_each(), smallest, smallest, possible(row.of_each().0));
    }
    let shares = Difference::of(sides, p);
    let batches = Wandering::instead_of(&shares, sides, p);
    let of_each = batches.map_or_else(|| shares.of_each(), |batches| batches.of_each());
    let pivot: &dyn Pivot = batches.as_ref().map_or(&shares, |batches| batches);
    let smallest = effect(of_each.0);
    answer(pivot, of_each, smallest, smallest, possible(of_each.0))
}

/// A given threshold is asked of all events. Of A's own percentile the shares are those of all events too; their interval rests
/// on that of one half of A, asked of the other half of both sides, and the other way round: no half is asked what it has said
/// itself.
fn tail(sides: &Sides, questions: &Questions) -> (Option<Tail>, Option<f64>, Option<f64>) {
    // Where some loss is allowed, that loss makes no tail.
    let of = |threshold| Tail::of(sides, threshold, questions.more_loss == 0.0);
    if let Some(above) = questions.above {
        return (Some(of(Threshold::Given(above))), Some(above), None);
    }
    // The percentile of so few is the largest of them, or near it; and of ones that follow one another fewer are left.
    let beyond = sides.a.whole.count().min(sides.b.whole.count()) * (1.0 - THRESHOLD);
    let needed = if sides.design == Design::Apart { BORNE_BY } else { LONG_ONES };
    if beyond < needed {
        return (None, None, None);
    }
    let farther = Threshold::of_a(sides, FARTHER).and_then(|at| {
        let (a, b) = of(at).shares();
        (a > 0.0).then(|| b / a)
    });
    let threshold = Threshold::of_a(sides, THRESHOLD);
    (threshold.map(of), threshold.map(Threshold::stated), farther)
}

/// `None` where no event was lost.
fn loss(sides: &Sides, allowed: f64) -> Option<Answer> {
    (sides.a.whole.lost() + sides.b.whole.lost() > 0.0).then(|| {
        let loss = Loss::of(sides);
        let (of_a, of_b) = loss.shares();
        let possible = Possible { low: -of_a, high: 1.0 - of_a };
        answer(&loss, (Some(of_a), Some(of_b)), allowed, allowed, possible)
    })
}

fn b_slower(a: &Curve, b: &Curve) -> Option<f64> {
    let known = !a.is_cut_off() && !b.is_cut_off() && a.count() > 0.0 && b.count() > 0.0;
    known.then(|| {
        let below = b.cells().iter().map(|cell| cell.count as f64 * a.below((cell.low + cell.high) / 2.0));
        let lost = b.lost() * (a.count() - a.lost() / 2.0);
        (below.sum::<f64>() + lost) / (a.count() * b.count())
    })
}

impl Answer {
    /// Of shares of lost events: what is known not to differ by what anybody asks for is alike.
    fn settle(&mut self) {
        let within = |low: f64, high: f64| low > -ALIKE_LOSS && high < ALIKE_LOSS;
        let alike = self.low.zip(self.high).is_some_and(|(low, high)| within(low, high));
        if self.verdict == Verdict::NoEvidence && alike {
            self.verdict = Verdict::Equivalent;
        }
    }

    /// A quantile that one side alone has lost became worse where the loss did.
    fn follow(&mut self, loss: Verdict) {
        match (self.lost, loss) {
            ((false, true), Verdict::Regressed) | ((true, false), Verdict::Improved) => self.verdict = loss,
            _ => {}
        }
    }
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

    /// Of the verdicts about quantiles, about the tail, in which the lost are, and about loss where some were lost.
    fn with_loss(quantiles: Vec<Verdict>, tail: Verdict, loss: Option<Verdict>) -> Self {
        if (Self::of(&quantiles), loss) == (Self::Improved, Some(Verdict::Regressed)) {
            return Self::Traded;
        }
        let all: Vec<Verdict> = quantiles.into_iter().chain([tail]).chain(loss).collect();
        Self::of(&all)
    }

    /// Whether something became worse.
    pub fn is_worse(self) -> bool {
        matches!(self, Self::Mixed | Self::Traded | Self::Regressed)
    }
}

#[cfg(test)]
mod tests;
