//! The last line of a record: what the search answers.

use crate::{BackToBackLine, CaveatLine, GoalLine, ReasonWord};
use dropline_search::{CurvePoint, GoalOutcome, GoalResult, Outlook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The last line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultLine {
    /// One answer a goal, in the order of the goals.
    pub goals: Vec<AnswerLine>,
    /// Sum of the trials' durations: traffic.
    pub trial_seconds: f64,
    /// Sum of the trials' elapsed times: traffic and waits.
    pub elapsed_s: f64,
    /// Whether the user ended it early; what was measured is kept.
    pub interrupted: bool,
    /// What ended it.
    pub ended_by: EndWord,
    /// Delays after the search, where asked for.
    #[serde(default)]
    pub delay_at: Vec<DelayAtLine>,
    /// What was believed of the loss at each load, where the algorithm has a model.
    #[serde(default)]
    pub loss_curve: Vec<CurveLine>,
    /// The longest bursts, where those were searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to_back: Option<BackToBackLine>,
    /// Doubts about the whole.
    pub caveats: Vec<CaveatLine>,
}

/// What ended a search. One that has no result at all was killed, or could not write on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndWord {
    /// Nothing more was wanted: each goal has the answer that it can have.
    Done,
    /// Its budget was spent, or too little of it was left for another trial.
    Budget,
    /// It had made as many trials as it may.
    MaxTrials,
    /// The user stopped it.
    Interrupted,
    /// The target, or the program that performs the trials, failed; the caveat `search_broken` says how.
    TargetFailed,
    /// Every trial was answered, and then the program that performed them ended with a complaint: nobody knows what its
    /// answers are worth, and there is nothing to go on with. The caveat `search_broken` says how.
    EndingFailed,
}

impl EndWord {
    /// Whether something failed: what was believed then is no answer.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::TargetFailed | Self::EndingFailed)
    }
}

/// A goal and its answer. `lower_pps` and `upper_pps` are relevant bounds, or the ends of an interval
/// where `level` says how often it holds the truth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerLine {
    /// The goal with all its attributes.
    #[serde(flatten)]
    pub goal: GoalLine,
    /// Lower bound; null when there is none.
    pub lower_pps: Option<f64>,
    /// Upper bound; null when there is none.
    pub upper_pps: Option<f64>,
    /// Median of an interval; null where an end of it is not known, or the algorithm states bounds.
    pub median_pps: Option<f64>,
    /// Confidence level of the interval; null where the algorithm states bounds.
    pub level: Option<f64>,
    /// Conditional throughput (RFC 9971 §4.8.3).
    pub conditional_throughput_pps: Option<f64>,
    /// Whether it is an answer.
    pub result: ResultWord,
    /// Why it is not an answer.
    pub why: Option<ReasonWord>,
    /// What a longer search would buy; null where nothing is to be bought, or it is not known.
    #[serde(default)]
    pub outlook: Option<OutlookLine>,
    /// A second statement by RFC 9971, where asked for.
    pub certified: Option<CertifiedLine>,
}

/// What RFC 9971 says of the same goal, after as many trials as it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CertifiedLine {
    /// Relevant lower bound; null when there is none.
    pub lower_pps: Option<f64>,
    /// Relevant upper bound; null when there is none.
    pub upper_pps: Option<f64>,
    /// Conditional throughput (RFC 9971 §4.8.3).
    pub conditional_throughput_pps: Option<f64>,
    /// `regular` or `irregular`.
    pub result: ResultWord,
    /// Why it is irregular.
    #[serde(default)]
    pub why: Option<ReasonWord>,
}

/// What a longer search would buy, when widths fall with the square root of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutlookLine {
    /// A longer budget, in seconds.
    pub budget_s: f64,
    /// The width it would give.
    pub width: f64,
    /// The budget after which the width is that of the goal, in seconds.
    pub narrow_budget_s: f64,
}

/// What is believed of the mean loss ratio at a load: 2.5, 50 and 97.5 % points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct CurveLine {
    pub load_pps: f64,
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl From<&CurvePoint> for CurveLine {
    fn from(point: &CurvePoint) -> Self {
        let CurvePoint { load, low, median, high } = *point;
        Self { load_pps: load.as_pps(), low, median, high }
    }
}

impl OutlookLine {
    /// Round budgets, in seconds.
    const BUDGETS: [f64; 8] = [20.0, 36.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0];

    /// What the next round budget buys a search that has spent `elapsed_s`; `None` where it is narrow.
    pub fn new(outlook: &Outlook, elapsed_s: f64) -> Option<Self> {
        let narrow_in = outlook.narrow_in?.as_secs_f64();
        let longer = Self::BUDGETS.into_iter().find(|budget| *budget > 1.3 * elapsed_s);
        let budget_s = longer.unwrap_or(2.0 * elapsed_s);
        let more = Duration::try_from_secs_f64(budget_s - elapsed_s).ok()?;
        Some(Self { budget_s, width: outlook.width_after(more), narrow_budget_s: elapsed_s + narrow_in })
    }
}

/// Kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultWord {
    /// Both relevant bounds stand and are close enough (RFC 9971 §4.8.4.1).
    Regular,
    /// Something is missing; `why` says what.
    Irregular,
    /// The interval is within the goal's width.
    Narrow,
    /// The interval is wider than the goal's width.
    Wide,
    /// The goal is achieved at the highest load.
    AtMaximum,
    /// The goal fails at the lowest load.
    BelowMinimum,
}

impl ResultWord {
    /// As a person reads it: `below minimum`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Irregular => "irregular",
            Self::Narrow => "narrow",
            Self::Wide => "wide",
            Self::AtMaximum => "at maximum",
            Self::BelowMinimum => "below minimum",
        }
    }
}

/// A trial that measured the delay at a share of a goal's load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelayAtLine {
    /// Index of the goal, from 0.
    pub goal: u32,
    /// Share of the goal's headline load.
    pub share: f64,
    /// Number of the trial.
    pub trial: u64,
}

impl AnswerLine {
    /// The answer of a search to a goal.
    pub fn new(goal: GoalLine, outcome: &GoalOutcome) -> Self {
        let (result, why) = words(outcome.result);
        Self {
            goal,
            lower_pps: outcome.lower.map(dropline_trial::Rate::as_pps),
            upper_pps: outcome.upper.map(dropline_trial::Rate::as_pps),
            median_pps: outcome.median().map(dropline_trial::Rate::as_pps),
            level: outcome.result.level().map(dropline_trial::Ratio::as_f64),
            conditional_throughput_pps: outcome.conditional_throughput_pps,
            result,
            why,
            outlook: None,
            certified: None,
        }
    }

    /// How far its bounds are apart, packets a second; without one of them, endless.
    pub fn span(&self) -> f64 {
        self.lower_pps.zip(self.upper_pps).map_or(f64::INFINITY, |(lower, upper)| upper - lower)
    }

    /// The search was broken off: whatever was believed then is no answer, and bounds are what was known.
    pub fn leave_unfinished(&mut self) {
        if !self.is_generators() {
            (self.result, self.why) = (ResultWord::Irregular, Some(ReasonWord::Unfinished));
        }
        (self.median_pps, self.level, self.conditional_throughput_pps) = (None, None, None);
        (self.outlook, self.certified) = (None, None);
    }

    /// Whether it is about the generator or other programs, and not about the target beyond its lower bound.
    pub fn is_generators(&self) -> bool {
        self.why == Some(ReasonWord::GeneratorLimited) || self.is_starved()
    }

    /// Whom it is about, where that is not the target.
    pub fn about_others(&self) -> Option<&'static str> {
        match self.is_starved() {
            true => Some("other programs, which kept its target from a CPU"),
            false => self.is_generators().then_some("its generator"),
        }
    }

    /// Whether the goal fails even at the lowest load that was allowed.
    pub fn is_below_minimum(&self) -> bool {
        self.result == ResultWord::BelowMinimum || self.why == Some(ReasonWord::BelowMinimum)
    }

    /// Whether the search ended before it had an answer.
    pub fn is_unfinished(&self) -> bool {
        self.why == Some(ReasonWord::Unfinished)
    }

    /// Whether what ends it is that other programs kept the target from its CPU.
    pub fn is_starved(&self) -> bool {
        self.why == Some(ReasonWord::TargetStarved)
    }

    /// The number to compare: median, else conditional throughput, else lower bound. `None` of an interval that has
    /// one end only, or none: what is believed beyond is a guess.
    pub fn headline_pps(&self) -> Option<f64> {
        let is_open = self.lower_pps.is_none() || self.upper_pps.is_none();
        match self.result {
            ResultWord::Wide if is_open => None,
            _ => self.median_pps.or(self.conditional_throughput_pps).or(self.lower_pps),
        }
    }
}

impl CertifiedLine {
    /// The second statement of a search.
    pub fn new(outcome: &GoalOutcome) -> Self {
        let (result, why) = words(outcome.result);
        Self {
            lower_pps: outcome.lower.map(dropline_trial::Rate::as_pps),
            upper_pps: outcome.upper.map(dropline_trial::Rate::as_pps),
            conditional_throughput_pps: outcome.conditional_throughput_pps,
            result,
            why,
        }
    }
}

fn words(result: GoalResult) -> (ResultWord, Option<ReasonWord>) {
    match result {
        GoalResult::Regular => (ResultWord::Regular, None),
        GoalResult::Irregular(why) => (ResultWord::Irregular, Some(why.into())),
        GoalResult::Narrow { .. } => (ResultWord::Narrow, None),
        GoalResult::Wide { .. } => (ResultWord::Wide, None),
        GoalResult::AtMaximum { .. } => (ResultWord::AtMaximum, None),
        GoalResult::BelowMinimum { .. } => (ResultWord::BelowMinimum, None),
    }
}
