//! Why a trial lost packets: the promised fields of `dropline explain --json`.

use crate::{CaveatLine, Explanation, Record};
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

impl ExplainedLine {
    /// Of a record and the explanation of its trial.
    pub fn new(record: &Record, explanation: Explanation) -> Self {
        let caveats = record.caveats();
        Self { explanation, target: record.header.target.clone(), caveats }
    }
}
