//! What became of delays over the time of a measurement, from its slices.

use crate::CourseWord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether one number of each slice stayed as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftLine {
    /// `median`, in the unit of the values; or `long`, the share of events above the whole's 95th percentile.
    pub of: String,
    /// What it did.
    pub course: CourseWord,
    /// Correlation of neighbouring slices.
    pub likeness: f64,
    /// From the first slice to the last, along the median slope.
    pub change: f64,
    /// Chance of as straight a trend where nothing changes, corrected for the number of questions.
    pub change_p: f64,
    /// Where the largest step is, in seconds from the first slice.
    pub step_at_s: f64,
    /// Median of the slices before it.
    pub before: f64,
    /// And behind it.
    pub after: f64,
    /// Chance of as large a step where nothing changes, corrected alike.
    pub step_p: f64,
}
