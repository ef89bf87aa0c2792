//! What a search knows of a goal: bounds on the way, an outcome at the end.

use dropline_trial::{Rate, Ratio};

/// The bounds of one goal at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Highest load known to achieve the goal, as the algorithm sees it.
    pub lower: Option<Bound>,
    /// Lowest load known to fail it, as the algorithm sees it.
    pub upper: Option<Bound>,
    /// As likely above the truth as below; `None` where the algorithm has no such belief.
    pub median: Option<Rate>,
}

/// A load that bounds a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Where it is.
    pub load: Rate,
    /// Whether its last trials bear it out; an invalid bound only tracks a width (MDR).
    pub valid: bool,
}

/// The answer to one goal (RFC 9971 §4.8.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalOutcome {
    /// Relevant lower bound, in packets a second; or the lower end of an interval, where the result has a
    /// level.
    pub lower: Option<Rate>,
    /// Relevant upper bound, or the upper end of an interval.
    pub upper: Option<Rate>,
    /// Conditional throughput in packets a second (RFC 9971 §4.8.3), where the algorithm has one.
    pub conditional_throughput_pps: Option<f64>,
    /// Whether both bounds stand and are close enough.
    pub result: GoalResult,
}

/// Whether an answer is one (RFC 9971 §4.8.4: Regular and Irregular Goal Result).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalResult {
    /// Both relevant bounds exist and their distance is at most the goal's width.
    Regular,
    /// Something is missing.
    Irregular(Irregular),
    /// The interval holds the truth with probability `level`, and is within the goal's width.
    Narrow {
        /// As likely above the truth as below.
        median: Rate,
        /// Probability that the truth is within the bounds.
        level: Ratio,
    },
    /// The interval holds the truth with probability `level`; it is wider than the goal asked for. An end
    /// that is missing is beyond the range.
    Wide {
        /// As likely above the truth as below.
        median: Rate,
        /// Probability that the truth is within the bounds.
        level: Ratio,
    },
    /// The goal is achieved at the highest load allowed, or so near it that the goal's width is kept.
    AtMaximum {
        /// Probability that the truth is not below the lower bound.
        level: Ratio,
    },
    /// The goal fails even at the lowest load allowed.
    BelowMinimum {
        /// Probability that the truth is not above the upper bound.
        level: Ratio,
    },
}

impl GoalResult {
    /// Probability that the bounds hold the true value; `None` where the algorithm states none.
    pub fn level(self) -> Option<Ratio> {
        match self {
            Self::Narrow { level, .. }
            | Self::Wide { level, .. }
            | Self::AtMaximum { level }
            | Self::BelowMinimum { level } => Some(level),
            Self::Regular | Self::Irregular(_) => None,
        }
    }
}

impl GoalOutcome {
    /// The middle of what is believed; `None` where one of the interval's ends is not known, for then it is a guess.
    pub fn median(&self) -> Option<Rate> {
        match (self.result, self.lower, self.upper) {
            (GoalResult::Narrow { median, .. } | GoalResult::Wide { median, .. }, Some(_), Some(_)) => {
                Some(median)
            }
            _ => None,
        }
    }
}

/// Why a result is irregular.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Irregular {
    /// The goal is achieved even at the highest load allowed.
    AtMaximum,
    /// The goal fails even at the lowest load allowed.
    BelowMinimum,
    /// The upper bound is the generator's limit, not the target's.
    GeneratorLimited,
    /// Other programs kept the target from its CPU: above the lower bound its losses may come of that.
    TargetStarved,
    /// The search ended before the bounds were close enough.
    Unfinished,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_without_one_of_its_ends_has_no_median() {
        let rate = |pps: u64| Rate::from_millipps(pps * 1000);
        let level = Ratio::new(0.95).unwrap();
        for (lower, upper) in [(None, None), (Some(1), None), (None, Some(3)), (Some(1), Some(3))] {
            let outcome = GoalOutcome {
                lower: lower.map(rate),
                upper: upper.map(rate),
                conditional_throughput_pps: None,
                result: GoalResult::Wide { median: rate(2), level },
            };
            let both = lower.and(upper).is_some();
            assert_eq!(outcome.median(), both.then(|| rate(2)), "{outcome:?}");
        }
    }
}
