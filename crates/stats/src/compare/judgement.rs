//! From intervals to verdicts: one a question, corrected for asking several.

use crate::special::{normal_quantile, student_beyond, student_quantile};

/// Something estimated, with an interval that reaches so many standard errors.
pub(super) trait Pivot {
    fn estimate(&self) -> Option<f64>;
    /// Ends of the interval that reaches this many standard errors; `None` where the events do not bound it.
    fn ends(&self, reach: f64) -> (Option<f64>, Option<f64>);
    /// Degrees of freedom of the standard error.
    fn freedom(&self) -> f64;
    /// How many standard errors an interval reaches that just holds this value.
    fn reach_to(&self, value: f64) -> f64 {
        let above = self.estimate().is_none_or(|estimate| estimate > value);
        let holds = |reach: f64| {
            let (low, high) = self.ends(reach);
            if above { low.is_none_or(|low| low <= value) } else { high.is_none_or(|high| high >= value) }
        };
        let (mut short, mut long) = (0.0, FARTHEST);
        for _ in 0..40 {
            let middle = (short + long) / 2.0;
            if holds(middle) { long = middle } else { short = middle }
        }
        short
    }
    /// The 95 % interval.
    fn interval(&self) -> (Option<f64>, Option<f64>) {
        self.ends(student_quantile(self.freedom(), 1.0 - LEVEL / 2.0))
    }
    /// To the scale on which the interval is about even, no change being 0: its own, unless it says another.
    fn scaled(&self, value: f64) -> f64 {
        value
    }
    /// Back.
    fn unscaled(&self, value: f64) -> f64 {
        value
    }
    /// By how much more the variance might be before no change is in the 95 % interval.
    fn inflation_limit(&self) -> Option<f64> {
        let estimate = self.scaled(self.estimate()?);
        let (low, high) = self.interval();
        let toward =
            if estimate > 0.0 { estimate - self.scaled(low?) } else { self.scaled(high?) - estimate };
        Some((estimate / toward).powi(2)).filter(|limit| limit.is_finite())
    }
}

/// What a question came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// B is better by more than the smallest effect that matters.
    Improved,
    /// B is worse by more than that.
    Regressed,
    /// What difference there may be is smaller than what matters.
    Equivalent,
    /// The events do not say.
    NoEvidence,
}

/// One question and its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Of A and of B themselves, where there are such numbers.
    pub of_a: Option<f64>,
    /// As of A.
    pub of_b: Option<f64>,
    /// B − A, or B / A.
    pub estimate: Option<f64>,
    /// Lower end of the 95 % interval; `None` where the events do not bound it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The estimate as a share of A.
    pub relative: Option<f64>,
    /// Smallest effect that matters: a difference, or a share.
    pub smallest_effect: f64,
    /// Whether what was asked of A, and of B, is among the events that were lost: it is worse than any number.
    pub lost: (bool, bool),
    /// Of all questions together (Holm 1979).
    pub verdict: Verdict,
    /// The effect that as many events as these would show in 80 of 100 comparisons.
    pub detectable: Option<f64>,
    /// How often events without a difference beyond the smallest effect look like these, corrected for the number
    /// of questions.
    pub by_chance: Option<f64>,
    /// By how much more the events may vary than is known before no change is possible; of a difference found.
    pub deff_limit: Option<f64>,
    /// How many times as many events would decide; of a question that is undecided.
    pub needed: Option<f64>,
}

/// An interval that reaches farther has a level that no double tells from 1.
const FARTHEST: f64 = 37.0;
/// Chance that any of several questions finds a difference that is none.
const LEVEL: f64 = 0.05;
/// How surely a detectable effect is detected.
const POWER: f64 = 0.8;

/// From where to where an answer can be, beside A as it was measured: no share is below 0 or above 1, and no delay below none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Possible {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Possible {
    /// Anything.
    pub(super) const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    fn bound(self, value: f64) -> f64 {
        value.max(self.low).min(self.high)
    }
}

/// How many standard errors an interval reaches in 95 % of normal samples, were its spread known.
pub(super) fn known_reach() -> f64 {
    normal_quantile(0.975)
}

/// Answers a question, but for its verdict: B better is a smaller value.
pub(super) fn answer(
    pivot: &dyn Pivot,
    of: (Option<f64>, Option<f64>),
    smallest_effect: f64,
    zone: f64,
    possible: Possible,
) -> Answer {
    let estimate = pivot.estimate();
    let (low, high) = pivot.interval();
    let scaled =
        |value: Option<f64>| value.map(|value| pivot.scaled(value)).filter(|value| value.is_finite());
    let half = scaled(high).zip(scaled(low)).map(|(high, low)| (high - low) / 2.0);
    let detectable = half
        .map(|half| pivot.unscaled(half * (1.0 + normal_quantile(POWER) / known_reach())).min(possible.high));
    let center = scaled(estimate);
    let needed = half.zip(center).and_then(|(half, center)| {
        let aim = (center.abs() - zone).abs().max(zone / 2.0);
        (aim > 0.0).then(|| (half / aim).powi(2)).filter(|times| *times > 1.0)
    });
    Answer {
        of_a: of.0,
        of_b: of.1,
        estimate,
        low: low.map(|low| possible.bound(low)),
        high: high.map(|high| possible.bound(high)),
        relative: None,
        smallest_effect,
        lost: (false, false),
        verdict: Verdict::NoEvidence,
        detectable,
        by_chance: chance(pivot, zone),
        deff_limit: pivot.inflation_limit().filter(|limit| *limit > 1.0),
        needed,
    }
}

/// The smallest level at which the interval leaves the zone around no change.
fn chance(pivot: &dyn Pivot, zone: f64) -> Option<f64> {
    let estimate = match (pivot.estimate(), pivot.ends(known_reach())) {
        (Some(estimate), _) => pivot.scaled(estimate),
        // No event of A and some of B: as much larger as it can be.
        (None, (Some(low), _)) if low > 0.0 => f64::INFINITY,
        _ => return None,
    };
    if estimate.abs() <= zone {
        return Some(1.0);
    }
    let reach = pivot.reach_to(pivot.unscaled(zone.copysign(estimate)));
    Some(student_beyond(pivot.freedom(), reach))
}

/// Gives each answer its verdict. `zones` are the smallest effects on each question's own scale, as (low, high).
pub(super) fn judge(answers: &mut [&mut Answer], zones: &[(f64, f64)]) {
    let mut order: Vec<usize> =
        (0..answers.len()).filter(|&index| answers[index].by_chance.is_some()).collect();
    order.sort_by(|&i, &j| {
        answers[i].by_chance.unwrap_or(1.0).total_cmp(&answers[j].by_chance.unwrap_or(1.0))
    });
    let mut corrected = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        let own = answers[index].by_chance.unwrap_or(1.0);
        corrected = corrected.max(own * (order.len() - rank) as f64).min(1.0);
        answers[index].by_chance = Some(corrected);
    }
    for (answer, zone) in answers.iter_mut().zip(zones) {
        let different = answer.by_chance.is_some_and(|chance| chance <= LEVEL);
        answer.verdict = match (answer.low, answer.high) {
            (Some(low), _) if different && low > zone.1 => Verdict::Regressed,
            (_, Some(high)) if different && high < zone.0 => Verdict::Improved,
            (Some(low), Some(high)) if low > zone.0 && high < zone.1 => Verdict::Equivalent,
            _ => Verdict::NoEvidence,
        };
        let found = matches!(answer.verdict, Verdict::Improved | Verdict::Regressed);
        answer.deff_limit = answer.deff_limit.filter(|_| found);
        answer.needed = answer.needed.filter(|_| answer.verdict == Verdict::NoEvidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::close;

    /// An estimate with a normal error.
    struct Normal {
        estimate: Option<f64>,
        error: f64,
        freedom: f64,
    }

    impl Pivot for Normal {
        fn estimate(&self) -> Option<f64> {
            self.estimate
        }
        fn ends(&self, reach: f64) -> (Option<f64>, Option<f64>) {
            let end = |sign: f64| Some(self.estimate? + sign * reach * self.error);
            (end(-1.0), end(1.0))
        }
        fn freedom(&self) -> f64 {
            self.freedom
        }
    }

    #[test]
    fn an_answer_of_a_normal_error_is_that_of_students_test() {
        for sign in [1.0, -1.0] {
            let of = Normal { estimate: Some(sign * 6.0), error: 2.0, freedom: 10.0 };
            let found = answer(&of, (None, None), 1.0, 1.0, Possible::ALL);
            // t of 10 degrees of freedom at 97.5 % is 2.2281.
            close(found.low.unwrap(), sign * 6.0 - 4.4563);
            close(found.high.unwrap(), sign * 6.0 + 4.4563);
            close(found.detectable.unwrap(), 4.4563 * (1.0 + 0.841_621 / 1.959_964));
            // 2.5 errors beyond the zone, two-sided.
            close(found.by_chance.unwrap(), 0.0314);
            close(found.deff_limit.unwrap(), (6.0f64 / 4.4563).powi(2));
            assert_eq!(found.needed, None, "these decide");
        }
        let unsure = answer(
            &Normal { estimate: Some(2.0), error: 2.0, freedom: 10.0 },
            (None, None),
            1.0,
            1.0,
            Possible::ALL,
        );
        close(unsure.needed.unwrap(), 4.4563f64.powi(2));
        // Where the estimate is at the edge of the zone, half of the zone is aimed at.
        let edge = answer(
            &Normal { estimate: Some(-1.0), error: 2.0, freedom: 10.0 },
            (None, None),
            1.0,
            1.0,
            Possible::ALL,
        );
        close(edge.needed.unwrap(), (4.4563f64 / 0.5).powi(2));
        assert_eq!((edge.by_chance, edge.deff_limit), (Some(1.0), None));
        let none = answer(
            &Normal { estimate: None, error: 2.0, freedom: 10.0 },
            (None, None),
            1.0,
            1.0,
            Possible::ALL,
        );
        assert_eq!((none.by_chance, none.detectable, none.needed), (None, None, None));
    }

    fn asked(by_chance: Option<f64>, low: f64, high: f64) -> Answer {
        let of = Normal { estimate: None, error: 1.0, freedom: 10.0 };
        let empty = answer(&of, (None, None), 1.0, 1.0, Possible::ALL);
        Answer {
            by_chance,
            low: Some(low),
            high: Some(high),
            deff_limit: Some(2.0),
            needed: Some(3.0),
            ..empty
        }
    }

    #[test]
    fn the_more_is_asked_the_rarer_must_chance_be() {
        // Holm's: the rarest times three, the next times two, and never less than the one before.
        let mut answers = [
            asked(Some(0.02), 2.0, 3.0),
            asked(None, -9.0, 9.0),
            asked(Some(0.012), 2.0, 3.0),
            asked(Some(0.03), -3.0, -2.0),
        ];
        let [one, two, three, four] = &mut answers;
        judge(&mut [one, two, three, four], &[(-1.0, 1.0); 4]);
        let chances = answers.map(|answer| answer.by_chance);
        close(chances[2].unwrap(), 0.036);
        close(chances[0].unwrap(), 0.04);
        close(chances[3].unwrap(), 0.04);
        assert_eq!(chances[1], None);
        let verdicts = answers.map(|answer| answer.verdict);
        assert_eq!(
            verdicts,
            [Verdict::Regressed, Verdict::NoEvidence, Verdict::Regressed, Verdict::Improved]
        );
        assert_eq!(answers.map(|answer| answer.deff_limit.is_some()), [true, false, true, true]);
        assert_eq!(answers.map(|answer| answer.needed.is_some()), [false, true, false, false]);
    }

    #[test]
    fn a_difference_within_the_zone_is_equivalent_and_one_that_reaches_out_of_it_is_not() {
        let alone = |chance: f64, low: f64, high: f64| {
            let mut one = asked(Some(chance), low, high);
            judge(&mut [&mut one], &[(-1.0, 2.0)]);
            one.verdict
        };
        assert_eq!(alone(1.0, -0.9, 1.9), Verdict::Equivalent);
        assert_eq!(alone(1.0, -1.1, 1.9), Verdict::NoEvidence);
        assert_eq!(alone(1.0, -0.9, 2.1), Verdict::NoEvidence);
        assert_eq!(
            (alone(0.05, 2.1, 3.0), alone(0.051, 2.1, 3.0)),
            (Verdict::Regressed, Verdict::NoEvidence)
        );
        assert_eq!(
            (alone(0.01, -3.0, -1.1), alone(0.01, 1.5, 3.0)),
            (Verdict::Improved, Verdict::NoEvidence)
        );
    }
}
