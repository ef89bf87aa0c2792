//! Goals whose answers no target can have: a load without loss above the highest with some loss.

use crate::{Goal, GoalOutcome};
use dropline_trial::{Caveat, Ratio};

/// A doubt for each two goals whose answers contradict one another.
pub(crate) fn contradictions(goals: &[Goal], outcomes: &[GoalOutcome]) -> Vec<Caveat> {
    let of = |goal: usize| goals.get(goal).zip(outcomes.get(goal));
    let pairs = (0..goals.len()).flat_map(|strict| (0..goals.len()).map(move |loose| (strict, loose)));
    pairs.filter_map(|(strict, loose)| contradiction(of(strict)?, of(loose)?)).collect()
}

fn contradiction(
    (strict, best): (&Goal, &GoalOutcome),
    (loose, worst): (&Goal, &GoalOutcome),
) -> Option<Caveat> {
    if !implies(strict, loose) {
        return None;
    }
    let achieved = best.lower?;
    let limit = match (best.result.level(), worst.result.level()) {
        // Ends of intervals claim less than loads that were tried.
        (Some(_), Some(_)) => worst.upper.filter(|upper| achieved >= *upper)?,
        _ => match (worst.lower, worst.upper) {
            (Some(lower), Some(_)) if achieved > lower => lower,
            (None, Some(upper)) if achieved >= upper => upper,
            _ => return None,
        },
    };
    let ends = [best.lower, best.upper, worst.lower, worst.upper];
    let (low, high) = (ends.into_iter().flatten().min()?, ends.into_iter().flatten().max()?);
    Some(Caveat::GoalsContradict {
        strict_loss_ratio: strict.loss_ratio.as_f64(),
        loose_loss_ratio: loose.loss_ratio.as_f64(),
        achieved_pps: achieved.as_pps(),
        limit_pps: limit.as_pps(),
        low_pps: low.as_pps(),
        high_pps: high.as_pps(),
    })
}

/// Whether a target that achieves `strict` at a load achieves `loose` there too.
fn implies(strict: &Goal, loose: &Goal) -> bool {
    let longer = strict.loss_ratio == Ratio::ZERO && strict.trial_duration > loose.trial_duration;
    strict.loss_ratio < loose.loss_ratio
        && strict.exceed_ratio <= loose.exceed_ratio
        && (strict.trial_duration == loose.trial_duration || longer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GoalResult;
    use dropline_trial::Rate;
    use std::time::Duration;

    fn goal(loss_ratio: f64, seconds: u64) -> Goal {
        let trial = Duration::from_secs(seconds);
        Goal {
            loss_ratio: Ratio::new(loss_ratio).unwrap(),
            exceed_ratio: Ratio::ZERO,
            width: Ratio::new(0.005).unwrap(),
            trial_duration: trial,
            initial_trial_duration: trial,
            duration_sum: trial,
        }
    }

    fn outcome(lower: f64, upper: f64, level: Option<f64>) -> GoalOutcome {
        let rate = |pps| Rate::pps(pps).unwrap();
        let result = match level {
            Some(level) => GoalResult::Wide { median: rate(lower), level: Ratio::new(level).unwrap() },
            None => GoalResult::Regular,
        };
        GoalOutcome {
            lower: Some(rate(lower)),
            upper: Some(rate(upper)),
            conditional_throughput_pps: None,
            result,
        }
    }

    #[test]
    fn more_without_loss_than_with_some_is_a_contradiction_whatever_the_order_of_the_goals() {
        let (strict, loose) = (outcome(8.491e6, 8.53e6, None), outcome(8.288e6, 8.33e6, None));
        let found = contradictions(&[goal(0.0, 30), goal(0.005, 30)], &[strict, loose]);
        let [Caveat::GoalsContradict { achieved_pps, limit_pps, low_pps, high_pps, .. }] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((achieved_pps, limit_pps, low_pps, high_pps), (8.491e6, 8.288e6, 8.288e6, 8.53e6));
        assert_eq!(contradictions(&[goal(0.005, 30), goal(0.0, 30)], &[loose, strict]), found);
        assert_eq!(contradictions(&[goal(0.0, 30), goal(0.005, 30)], &[loose, strict]), []);
    }

    #[test]
    fn a_goal_whose_limit_nobody_saw_contradicts_none() {
        let (strict, loose) = (outcome(3e3, 3.01e3, None), outcome(2.297e3, 2.3e3, None));
        let open = GoalOutcome { upper: None, ..loose };
        assert_eq!(contradictions(&[goal(0.0, 2), goal(0.005, 2)], &[strict, open]), []);
    }

    #[test]
    fn intervals_that_overlap_and_goals_that_do_not_follow_from_one_another_are_none() {
        let (higher, lower) = (outcome(8.30e6, 8.50e6, Some(0.95)), outcome(8.29e6, 8.40e6, Some(0.95)));
        assert_eq!(contradictions(&[goal(0.0, 1), goal(0.005, 1)], &[higher, lower]), []);
        let apart = outcome(8.1e6, 8.2e6, Some(0.95));
        assert_eq!(contradictions(&[goal(0.0, 1), goal(0.005, 1)], &[higher, apart]).len(), 1);
        let (short, long) = (outcome(9e6, 9.1e6, None), outcome(8e6, 8.1e6, None));
        assert_eq!(contradictions(&[goal(0.0, 1), goal(0.005, 60)], &[short, long]), []);
        assert_eq!(contradictions(&[goal(0.0, 60), goal(0.005, 1)], &[short, long]).len(), 1);
    }
}
