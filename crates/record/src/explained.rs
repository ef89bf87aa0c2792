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
    /// The target as the user wrote it.
    pub target: String,
    /// Doubts about the record.
    pub caveats: Vec<CaveatLine>,
}
