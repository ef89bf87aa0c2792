//! One thing that was done with a service, as it is kept.

use dropline_failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Numbers {
    /// By name; what does not exist is not there.
    pub(super) figures: BTreeMap<String, f64>,
    /// In words.
    pub(super) words: String,
    /// Codes of caveats.
    pub(super) caveats: Vec<String>,
}

/// The same, with what it is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Observed {
    pub(super) service: String,
    pub(super) step: String,
    pub(super) round: u32,
    /// When it ended, as RFC 3339.
    pub(super) ended: String,
    #[serde(flatten)]
    pub(super) numbers: Numbers,
    /// Why there is nothing.
    pub(super) failed: Option<String>,
}

impl Observed {
    pub(super) fn of(service: &str, step: &str, round: u32, found: Result<Numbers, Failure>) -> Self {
        let failed = found.as_ref().err().map(ToString::to_string);
        Self {
            service: service.into(),
            step: step.into(),
            round,
            ended: dropline_archive::clock::now_utc(),
            numbers: found.unwrap_or_default(),
            failed,
        }
    }

    pub(super) fn is_of(&self, service: &str, step: &str, round: u32) -> bool {
        (self.service.as_str(), self.step.as_str(), self.round) == (service, step, round)
    }

    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.numbers.figures.get(name).copied()
    }
}
