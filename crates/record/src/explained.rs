//! Why a trial lost packets: the promised fields of `dropline explain --json`.

use crate::{CaveatLine, Explanation};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `dropline explain`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExplainedLine {
    /// Why packets were lost.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The trial's number.
    pub trial: u64,
    /// Which of the trials that is, and why that one; null where there is but one.
    pub chosen: Option<String>,
    /// The target as the user wrote it.
    pub target: String,
    /// Doubts about the trial, and about what was read of the record.
    pub caveats: Vec<CaveatLine>,
}
