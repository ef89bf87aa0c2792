//! What changed between two sets of delays: the promised fields of `dropline compare --json`.

use crate::fit::CellLine;
use crate::{CaveatLine, Count, DesignWord, VerdictWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `dropline compare`: B against A. Values are in units of `unit_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// What it comes to.
    pub verdict: VerdictWord,
    /// Why nothing can be said of the targets, where trials are about the generator; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_valid: Option<String>,
    /// The median, B − A.
    pub core: QuestionLine,
    /// A high percentile, B − A.
    pub high_percentile: QuestionLine,
    /// Which percentile, in (0, 1).
    pub percentile: f64,
    /// The share of long events, B / A.
    pub tail_mass: TailMassLine,
    /// The share of lost events, B − A; absent where it is not known how many were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossLine>,
    /// Probability that an event of B is longer than one of A; ties count half.
    pub p_b_slower: Option<f64>,
    /// How wide each is.
    pub spread: SpreadLine,
    /// The difference at quantiles from low to high, each with its own interval.
    pub shift: Vec<ShiftLine>,
    /// Ranges of values with a peak each, of A and of B; null where they were not looked for.
    pub modes: Option<ModesLine>,
    /// By how much more the events may vary than is known before the verdict changes: 1 is no room.
    pub deff_limit: Option<f64>,
    /// What the intervals rest on.
    pub design: DesignWord,
    /// Confidence level of each interval.
    pub level: f64,
    /// The unit of all values, in nanoseconds.
    pub unit_ns: u64,
    /// What was compared with.
    pub a: SideLine,
    /// What was compared.
    pub b: SideLine,
    /// Seconds of measuring, both sides together, that would decide what is undecided, as far as can be told.
    pub more_s: Option<f64>,
    /// Seed of the order of the turns, where the tool measured both.
    pub seed: Option<u64>,
    /// How the intervals are made.
    pub estimator: String,
    /// Doubts.
    pub caveats: Vec<CaveatLine>,
}

impl Compared {
    /// Whether something became worse, whatever became better.
    pub fn is_worse(&self) -> bool {
        self.verdict.is_worse()
    }
}

/// One question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionLine {
    /// B − A, or B / A; null where the events cannot bear it.
    pub estimate: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The change as a share of A.
    pub relative: Option<f64>,
    /// Smallest effect that matters; of a ratio as a share.
    pub smallest_effect: f64,
    /// What it comes to: one question is neither `mixed` nor `traded`.
    pub verdict: VerdictWord,
    /// The effect that as many events as these show in 80 of 100 comparisons.
    pub detectable: Option<f64>,
    /// Of A itself.
    pub of_a: Option<f64>,
    /// Of B itself.
    pub of_b: Option<f64>,
    /// Probability that events without such an effect look like these, corrected for the number of questions (Holm).
    pub by_chance: Option<f64>,
    /// Design effect (how much more the events vary than independent ones) at which this verdict would change.
    pub deff_limit: Option<f64>,
    /// How many times as many events would decide; null where it is decided.
    pub needed: Option<f64>,
    /// What was asked of A is among the events that it lost: worse than any number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost_of_a: bool,
    /// As of A.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost_of_b: bool,
}

/// The question about lost events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossLine {
    /// The difference of the shares and its verdict; `of_a` and `of_b` are the shares. Nulls where neither lost any.
    #[serde(flatten)]
    pub question: QuestionLine,
    /// Events that A lost.
    pub lost_a: Count,
    /// Events that B lost.
    pub lost_b: Count,
    /// Events that were offered to A and came to an end, or were lost.
    pub offered_a: Count,
    /// As of A.
    pub offered_b: Count,
}

/// The question about long events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailMassLine {
    /// The ratio and its verdict; `of_a` and `of_b` are the shares.
    #[serde(flatten)]
    pub question: QuestionLine,
    /// Events above this are long.
    pub threshold: Option<f64>,
    /// Long events of A.
    pub above_a: Count,
    /// Long events of B.
    pub above_b: Count,
    /// The ratio above A's 99.9th percentile, where nobody gave a threshold.
    pub farther: Option<f64>,
}

/// The difference at one quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShiftLine {
    /// In (0, 1).
    pub p: f64,
    /// B − A.
    pub estimate: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// How many times as wide B is as A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpreadLine {
    /// The distance of the quartiles.
    pub quartiles: WidthLine,
    /// The standard deviation.
    pub standard_deviation: WidthLine,
}

/// A ratio of widths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct WidthLine {
    pub of_a: Option<f64>,
    pub of_b: Option<f64>,
    /// B / A.
    pub estimate: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// Modes of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ModesLine {
    pub a: Vec<ComparedModeLine>,
    pub b: Vec<ComparedModeLine>,
}

/// A range of values with one peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedModeLine {
    /// Lowest value.
    pub low: f64,
    /// Highest value.
    pub high: f64,
    /// Where most events are.
    pub peak: f64,
    /// Share of all events.
    pub mass: f64,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideLine {
    /// What was read or measured.
    pub source: String,
    /// Events.
    pub count: Count,
    /// Blocks or slices; 1 is none.
    pub blocks: u64,
    /// How long it was measured, where that is known.
    pub duration_s: Option<f64>,
    /// All events.
    pub histogram: Vec<CellLine>,
    /// The blocks in order, each as counts by cell of `histogram`; empty where there is one.
    pub over_time: Vec<BlockLine>,
}

/// The events of one block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockLine {
    /// Events.
    pub count: Count,
    /// Its occupied cells: index in `histogram`, count.
    pub cells: Vec<(u64, Count)>,
}
