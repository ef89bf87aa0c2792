//! What the time slices of a distribution say.

use crate::{Count, DriftLine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slices as replicates: what intervals rest on, and whether anything changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlicesLine {
    /// Batches of slices that intervals rest on; null of fewer than four slices.
    pub batches: Option<u64>,
    /// How much the median of a batch has in common with that of the one before.
    pub likeness: Option<f64>,
    /// Independent events that would say as much about the median.
    pub effective_count: Option<f64>,
    /// The course of the median, and of the share of long events; empty of fewer than 20 slices.
    pub course: Vec<DriftLine>,
    /// In order.
    pub slices: Vec<SliceEvents>,
}

/// One slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceEvents {
    /// When it began, in seconds.
    pub begin_s: f64,
    /// Its length.
    pub duration_s: f64,
    /// Events.
    pub count: Count,
    /// Median; null without events.
    pub median: Option<f64>,
    /// Lower edge, upper edge and count of each occupied cell.
    pub cells: Vec<(f64, f64, Count)>,
}
