//! Whether limits moved between two searches: the promised fields of `dropline compare --json`.

use crate::{AnswerLine, CaveatLine, LoadUnit, VerdictWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `dropline compare` to two searches: B against A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSearches {
    /// What it comes to; limits are not `traded`.
    pub verdict: VerdictWord,
    /// Why nothing can be said of the targets, where an answer is about the generator or other programs; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_valid: Option<String>,
    /// A line for each loss ratio that both searched for.
    pub goals: Vec<MovedLine>,
    /// A change by a smaller share of A does not matter.
    pub smallest_effect: f64,
    /// What loads count.
    pub load_unit: LoadUnit,
    /// What was compared with.
    pub a: SearchedLine,
    /// What was compared.
    pub b: SearchedLine,
    /// How the intervals are made.
    pub estimator: String,
    /// Doubts.
    pub caveats: Vec<CaveatLine>,
}

impl ComparedSearches {
    /// Whether a limit regressed.
    pub fn is_worse(&self) -> bool {
        self.verdict.is_worse()
    }
}

/// One goal's limit of B as a multiple of that of A: above 1 is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MovedLine {
    /// The goal's.
    pub loss_ratio: f64,
    /// B ÷ A; null where one of the two is beyond the loads that were tried.
    pub ratio: Option<f64>,
    /// Lower end of its interval; null where nothing bounds it.
    pub low: Option<f64>,
    /// Upper end of its interval; null where nothing bounds it.
    pub high: Option<f64>,
    /// What it comes to; one limit is neither `mixed` nor `traded`.
    pub verdict: VerdictWord,
    /// Confidence level of each interval, at least; null where a search does not say.
    pub level: Option<f64>,
    /// How many times as long both searches would take to decide; null where it is decided or not known.
    pub needed: Option<f64>,
    /// Whose answer does not stand as it is stated, and why; absent where both stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubted: Option<String>,
    /// The loads that are open of A's limit where its answer does not stand as it is stated; absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_a: Option<OpenLine>,
    /// The same of B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_b: Option<OpenLine>,
    /// What A answers.
    pub of_a: AnswerLine,
    /// What B answers.
    pub of_b: AnswerLine,
}

/// Loads between which a limit may be anywhere, in packets a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLine {
    /// The lowest of them; null where nothing bounds them.
    pub low_pps: Option<f64>,
    /// The highest; null where nothing bounds them.
    pub high_pps: Option<f64>,
}

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchedLine {
    /// The file, or what was just measured.
    pub source: String,
    /// The target as the user wrote it.
    pub target: String,
    /// `credible`, `mlr`, `mdr` or `binary`.
    pub algorithm: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How many trials it made.
    pub trials: u64,
    /// Sum of the trials' elapsed times.
    pub elapsed_s: f64,
}
