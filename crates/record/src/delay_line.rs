//! Delays, as they are kept.

use crate::Count;
use dropline_stats::{Histogram, HistogramError};
use dropline_trial::Delay;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Numbers about a set of delays, in nanoseconds. A percentile that the count cannot bear is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelayLine {
    /// How many values.
    pub count: Count,
    /// The lowest, in ns.
    pub min: Option<u64>,
    /// Half of them are this or lower, in ns.
    pub p50: Option<u64>,
    /// 90 % of them are this or lower, in ns.
    pub p90: Option<u64>,
    /// 99 % of them are this or lower, in ns.
    pub p99: Option<u64>,
    /// 99.9 % of them are this or lower, in ns.
    pub p99_9: Option<u64>,
    /// The highest, in ns.
    pub max: Option<u64>,
    /// All values: HdrHistogram V2 deflate, base64.
    pub histogram: String,
}

/// Delays below zero: the clocks disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NegativeLine {
    /// How many.
    pub count: Count,
    /// The most negative, in nanoseconds.
    pub min: Option<i64>,
}

impl DelayLine {
    /// All values again.
    ///
    /// # Errors
    /// If the histogram in it is broken.
    pub fn values(&self) -> Result<Histogram, HistogramError> {
        Histogram::from_v2_deflate(&self.histogram)
    }

    /// The line of a set of delays; `None` when none was measured.
    pub fn of(delay: &Delay) -> Option<Self> {
        let values = delay.histogram.as_ref()?;
        Some(Self { histogram: values.to_v2_deflate(), ..Self::numbers(values) })
    }

    /// What the line says of the values, without them.
    pub(crate) fn numbers(values: &Histogram) -> Self {
        Self {
            count: Count(values.count()),
            min: values.min(),
            p50: values.quantile(0.5),
            p90: values.quantile(0.9),
            p99: values.quantile(0.99),
            p99_9: values.quantile(0.999),
            max: values.max(),
            histogram: String::new(),
        }
    }
}
