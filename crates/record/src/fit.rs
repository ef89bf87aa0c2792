//! What is said about one distribution: the promised fields of `dropline fit --json`.

mod shape;
mod sliced;

pub use shape::*;
pub use sliced::*;

use crate::{CaveatLine, Count, ShapeWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The answer of `dropline fit`. Values, bounds, and parameters of location and scale are in units of `unit_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// What was read.
    pub source: String,
    /// Events.
    pub count: Count,
    /// Events known only to be long, part of `count`.
    pub censored: Option<CensoredLine>,
    /// The unit of all values, in nanoseconds.
    pub unit_ns: u64,
    /// What a tick is worth, in nanoseconds.
    pub quantum_ns: f64,
    /// `round` or `floor`: which true values a tick stands for.
    pub rounding: String,
    /// What was counted: `each`, `maximum of 32`, `unknown`.
    pub event: String,
    /// Smallest recorded value.
    pub min: Option<f64>,
    /// Largest recorded value.
    pub max: Option<f64>,
    /// Different values.
    pub distinct: u64,
    /// How percentiles and their intervals are estimated.
    pub estimator: String,
    /// How often the intervals hold the true value, were the events independent.
    pub level: f64,
    /// Percentiles.
    pub percentiles: Vec<FitPercentileLine>,
    /// Mean, spread, shape.
    pub moments: MomentsLine,
    /// The families of laws, the best by BIC first.
    pub families: Vec<FamilyLine>,
    /// The best of them.
    pub best: Option<String>,
    /// Whether that one holds.
    pub best_holds: Option<HoldsLine>,
    /// Is it normal?
    pub normality: Option<NormalityLine>,
    /// How straight the events lie on each family's quantiles.
    pub ppcc: Option<PpccLine>,
    /// What kind of distribution it is; null without events to tell by.
    pub verdict: Option<ShapeWord>,
    /// The verdict in words.
    pub verdict_text: Option<String>,
    /// Peaks from low to high.
    pub modes: Vec<ModeLine>,
    /// How the number of modes was found.
    pub modes_tried: Vec<ModesTriedLine>,
    /// Components of the best mixture, where one was asked for.
    pub mixture: Vec<ComponentLine>,
    /// Mixtures by number of components.
    pub mixtures_tried: Vec<MixtureTriedLine>,
    /// What lies beyond a threshold.
    pub tail: Option<TailLine>,
    /// The name of each estimator.
    pub estimators: BTreeMap<String, String>,
    /// The histogram: each occupied cell.
    pub histogram: Vec<CellLine>,
    /// What its time slices say; absent where the file has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<SlicesLine>,
    /// Doubts.
    pub caveats: Vec<CaveatLine>,
}

/// Events at or beyond a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CensoredLine {
    /// They are at least this.
    pub from: f64,
    /// How many.
    pub count: Count,
}

/// A percentile; its value is null where the events cannot bear it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitPercentileLine {
    /// In (0, 1).
    pub p: f64,
    /// Smallest recorded value that a share `p` of the events does not exceed.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Events it needs, where there are fewer.
    pub needed: Option<Count>,
}

/// Moments; null is what the events do not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct MomentsLine {
    /// Sum of the ticks, exactly, as digits.
    pub sum_ticks: Option<String>,
    /// Sum of their squares, exactly, as digits.
    pub sum_squared_ticks: Option<String>,
    /// Events taken in the middle of their cells; null where wide cells leave it open: then it is between the next two.
    pub mean: Option<f64>,
    /// Were every event at the lower end of its cell; absent where the mean is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_low: Option<f64>,
    /// Were every event at the upper end of its cell; absent where the mean is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_high: Option<f64>,
    /// Of the mean, so that 1.96 of them hold half the width of the cells too where these are wider than a tick, or a tick is
    /// wider than what the events spread over.
    pub standard_error: Option<f64>,
    /// Divisor n − 1.
    pub standard_deviation: Option<f64>,
    /// Without what rounding to ticks adds.
    pub standard_deviation_sheppard: Option<f64>,
    pub skewness: Option<f64>,
    pub excess_kurtosis: Option<f64>,
    pub coefficient_of_variation: Option<f64>,
    pub geometric_mean: Option<f64>,
    /// Of the middle 60 %.
    pub trimmed_mean: Option<f64>,
    /// From the median, unscaled.
    pub median_absolute_deviation: Option<f64>,
}

/// One cell of a histogram: true values in [low, high).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct CellLine {
    pub low: f64,
    pub high: f64,
    pub count: Count,
}
