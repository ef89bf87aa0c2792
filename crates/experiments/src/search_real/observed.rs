//! What one search said.

use dropline_record::{Record, ResultWord};
use serde::{Deserialize, Serialize};

/// One search, as it is kept: a line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Observed {
    /// Name of the scene.
    pub(super) scene: String,
    /// From 1; 0 is the reference.
    pub(super) run: u32,
    /// When it began (RFC 3339).
    pub(super) started: String,
    /// What the trials cost.
    pub(super) elapsed_s: f64,
    pub(super) trials: u64,
    /// In the order of the goals.
    pub(super) answers: Vec<Answer>,
    /// Codes.
    pub(super) caveats: Vec<String>,
}

/// The answer to one goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) loss_ratio: f64,
    pub(super) lower_pps: Option<f64>,
    pub(super) upper_pps: Option<f64>,
    pub(super) median_pps: Option<f64>,
    pub(super) narrow: bool,
}

impl Observed {
    /// From the record of a search that ended; `None` of one without a result.
    pub(super) fn of(scene: &str, run: u32, record: &Record) -> Option<Self> {
        let result = record.result.as_ref()?;
        let answers = result.goals.iter().map(|goal| Answer {
            loss_ratio: goal.goal.loss_ratio,
            lower_pps: goal.lower_pps,
            upper_pps: goal.upper_pps,
            median_pps: goal.median_pps,
            narrow: goal.result == ResultWord::Narrow,
        });
        Some(Self {
            scene: scene.into(),
            run,
            started: record.header.started.clone(),
            elapsed_s: result.elapsed_s,
            trials: record.trials.len() as u64,
            answers: answers.collect(),
            caveats: result.caveats.iter().map(|caveat| caveat.code.clone()).collect(),
        })
    }
}

impl Answer {
    /// Whether a load is within the ends; an end that is missing is beyond all that was tried.
    pub(super) fn holds(&self, pps: f64) -> bool {
        self.says_anything()
            && self.lower_pps.is_none_or(|lower| lower <= pps)
            && self.upper_pps.is_none_or(|upper| pps <= upper)
    }

    /// Whether two answers have a load in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let below = |lower: Option<f64>, upper: Option<f64>| {
            lower.zip(upper).is_none_or(|(lower, upper)| lower <= upper)
        };
        self.says_anything()
            && below(self.lower_pps, other.upper_pps)
            && below(other.lower_pps, self.upper_pps)
    }

    fn says_anything(&self) -> bool {
        self.lower_pps.is_some() || self.upper_pps.is_some()
    }

    /// (upper − lower) ÷ upper.
    pub(super) fn width(&self) -> Option<f64> {
        self.lower_pps.zip(self.upper_pps).map(|(lower, upper)| 1.0 - lower / upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_missing_is_beyond_everything() {
        let answer = |lower_pps, upper_pps| Answer {
            loss_ratio: 0.0,
            lower_pps,
            upper_pps,
            median_pps: None,
            narrow: false,
        };
        let (low, high) = (answer(Some(1.0), Some(2.0)), answer(Some(3.0), None));
        assert!(low.holds(2.0) && !low.holds(2.5) && high.holds(1e9) && !answer(None, None).holds(1.0));
        assert!(!low.meets(&high) && high.meets(&answer(None, Some(3.0))) && low.meets(&low));
        assert!(!answer(None, None).meets(&low), "it says nothing");
        assert_eq!((low.width(), high.width()), (Some(0.5), None));
    }
}
