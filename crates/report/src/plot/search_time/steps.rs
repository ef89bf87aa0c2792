//! What a search knew of a goal, step by step.

use crate::plot::scale::Scale;
use crate::search_summary::SearchSummary;
use dropline_record::{BoundsLine, TrialLine};

/// Steps of a line that are kept at most.
const MOST: usize = 300;

/// What was known from the end of one trial to the end of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// In seconds of the search.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) bounds: BoundsLine,
    /// Whether an earlier goal has the same lower bound, the same upper bound.
    pub(super) shared: [bool; 2],
}

/// How long a search took on its own clock.
pub(crate) fn time_span(finding: &SearchSummary) -> f64 {
    let ends = finding.record.trials.iter().map(|trial| trial.at_s + trial.elapsed_s);
    ends.filter(|end| end.is_finite()).fold(0.0, f64::max)
}

/// All steps of a goal.
pub(super) fn steps(finding: &SearchSummary, goal: usize) -> Vec<Step> {
    let end = time_span(finding);
    let mut steps: Vec<Step> = Vec::new();
    for trial in &finding.record.trials {
        let Some(&bounds) = trial.bounds.get(goal) else { continue };
        let from = trial.at_s + trial.elapsed_s;
        if !from.is_finite() {
            continue;
        }
        if let Some(before) = steps.last_mut() {
            before.to = from;
        }
        steps.push(Step { from, to: end.max(from), bounds, shared: shared(trial, goal) });
    }
    steps
}

fn shared(trial: &TrialLine, goal: usize) -> [bool; 2] {
    let (own, earlier) = (trial.bounds[goal], &trial.bounds[..goal]);
    [
        earlier.iter().any(|other| other.lower_pps == own.lower_pps),
        earlier.iter().any(|other| other.upper_pps == own.upper_pps),
    ]
}

/// Steps that change something, no more than a line may have.
pub(super) fn thinned(steps: Vec<Step>, time: &Scale) -> Vec<Step> {
    let least = if steps.len() > MOST { (time.high - time.low) / MOST as f64 } else { 0.0 };
    let mut kept: Vec<Step> = Vec::new();
    for step in steps {
        match kept.last_mut() {
            Some(last) if (last.bounds, last.shared) == (step.bounds, step.shared) => last.to = step.to,
            Some(last) if last.to - last.from < least => *last = Step { from: last.from, ..step },
            _ => kept.push(step),
        }
    }
    kept
}
