//! A time slice of a trial, as it is kept.

use crate::count::Sum;
use crate::count::seconds;
use crate::{Count, NegativeLine};
use dropline_stats::{HistogramError, Recorded};
use dropline_trial::Slice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceLine {
    /// Its length.
    pub duration_s: f64,
    /// Packets that were due in it and left.
    pub offered: Count,
    /// Of those, how many came back.
    pub forwarded: Count,
    /// How long they took from when they were due; absent where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<SliceDelayLine>,
}

/// Delays of a slice, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceDelayLine {
    /// Delays of zero or more.
    pub count: Count,
    /// Their sum.
    pub sum: Sum,
    /// The sum of their squares.
    pub sum_squared: Sum,
    /// The smallest.
    pub min: Option<u64>,
    /// The largest.
    pub max: Option<u64>,
    /// Delays below zero, kept apart.
    #[serde(default, skip_serializing_if = "is_none")]
    pub negative: NegativeLine,
    /// Packets that came back and whose delay is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drops: Count,
    /// Periods that passed without an event.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: Count,
    /// When the first of them was due, from the trial's start.
    pub first: Option<u64>,
    /// When the last one was.
    pub last: Option<u64>,
    /// All values to two digits: HdrHistogram V2 deflate, base64.
    pub histogram: String,
}

fn is_none(negative: &NegativeLine) -> bool {
    negative.count.0 == 0
}

fn is_zero(count: &Count) -> bool {
    count.0 == 0
}

impl From<&Slice> for SliceLine {
    fn from(slice: &Slice) -> Self {
        Self {
            duration_s: slice.duration.as_secs_f64(),
            offered: Count(slice.offered),
            forwarded: Count(slice.forwarded),
            delay_ns: slice.delay.as_ref().map(|delay| SliceDelayLine {
                count: Count(delay.count),
                sum: Sum(delay.sum_ns),
                sum_squared: Sum(delay.sum_squared_ns),
                min: delay.min_ns,
                max: delay.max_ns,
                negative: NegativeLine { count: Count(delay.negative), min: delay.negative_min_ns },
                drops: Count(slice.drops().unwrap_or(0)),
                missed: Count(delay.missed),
                first: delay.first_ns,
                last: delay.last_ns,
                histogram: delay.cells_to_v2_deflate(),
            }),
        }
    }
}

impl SliceLine {
    /// What was counted again.
    ///
    /// # Errors
    /// If its histogram is broken.
    pub fn slice(&self) -> Result<Slice, HistogramError> {
        Ok(Slice {
            duration: seconds(self.duration_s),
            offered: self.offered.0,
            forwarded: self.forwarded.0,
            delay: self.delay_ns.as_ref().map(SliceDelayLine::recorded).transpose()?,
        })
    }
}

impl SliceDelayLine {
    /// The delays again.
    ///
    /// # Errors
    /// If the histogram is broken.
    pub fn recorded(&self) -> Result<Recorded, HistogramError> {
        let plain = Recorded {
            count: self.count.0,
            sum_ns: self.sum.0,
            sum_squared_ns: self.sum_squared.0,
            min_ns: self.min,
            max_ns: self.max,
            negative: self.negative.count.0,
            negative_min_ns: self.negative.min,
            missed: self.missed.0,
            first_ns: self.first,
            last_ns: self.last,
            ..Recorded::default()
        };
        plain.with_cells_of_v2_deflate(&self.histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::Recorder;
    use std::time::Duration;

    #[test]
    fn a_slice_is_kept_exactly() {
        let mut recorder = Recorder::new();
        [5, 900, 1_000_000_007, -3].into_iter().for_each(|delay| recorder.record_signed(delay));
        recorder.record(u64::MAX >> 8);
        recorder.at(17);
        recorder.miss(2);
        let slice = Slice {
            duration: Duration::from_millis(25),
            offered: 9,
            forwarded: 6,
            delay: Some(recorder.recorded()),
        };
        let text = serde_json::to_string(&SliceLine::from(&slice)).unwrap();
        let back: SliceLine = serde_json::from_str(&text).unwrap();
        assert_eq!(back.slice(), Ok(slice));
        assert!(text.contains(r#""drops":1"#), "six came back, five have a delay: {text}");
    }

    #[test]
    fn a_slice_of_counts_alone_has_no_delays() {
        let text = r#"{"duration_s":0.025,"offered":4,"forwarded":3}"#;
        let line: SliceLine = serde_json::from_str(text).unwrap();
        assert_eq!(line.slice().unwrap().delay, None);
        assert_eq!(serde_json::to_string(&line).unwrap(), text);
    }
}
