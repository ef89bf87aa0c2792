//! What a trial of an audio server's cycles saw beside its delays, as it is kept.

use crate::Count;
use dropline_trial::Cycles;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles by how late they were, and the server that ran them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CyclesLine {
    /// Which server.
    pub server: String,
    /// Whether it has a real-time policy.
    pub realtime: bool,
    /// Frames a second.
    pub rate_hz: u32,
    /// Frames of a period.
    pub period_frames: u32,
    /// How long a period was by this machine's clock.
    pub period_ns: f64,
    /// Schedules: one, and one more for each time that the server began anew.
    pub schedules: Count,
    /// Cycles late by less than half a period.
    pub below_half: Count,
    /// By half a period to a period.
    pub to_period: Count,
    /// By more than a period.
    pub beyond: Count,
    /// Xruns that the server told.
    pub xruns: Count,
    /// The same an hour.
    pub xruns_per_hour: Option<BetweenLine>,
    /// Mean delay.
    pub mean_ns: Option<BetweenLine>,
}

/// A number and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct BetweenLine {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl From<&Cycles> for CyclesLine {
    fn from(cycles: &Cycles) -> Self {
        let between =
            |of: Option<(f64, f64, f64)>| of.map(|(low, value, high)| BetweenLine { value, low, high });
        Self {
            server: cycles.server.clone(),
            realtime: cycles.realtime,
            rate_hz: cycles.rate,
            period_frames: cycles.period_frames,
            period_ns: cycles.period_ns,
            schedules: Count(cycles.schedules),
            below_half: Count(cycles.below_half),
            to_period: Count(cycles.to_period),
            beyond: Count(cycles.beyond),
            xruns: Count(cycles.xruns),
            xruns_per_hour: between(cycles.xruns_per_hour),
            mean_ns: between(cycles.mean_ns),
        }
    }
}

impl CyclesLine {
    /// What was seen again.
    pub fn cycles(&self) -> Cycles {
        let between = |of: Option<BetweenLine>| of.map(|of| (of.low, of.value, of.high));
        Cycles {
            server: self.server.clone(),
            realtime: self.realtime,
            rate: self.rate_hz,
            period_frames: self.period_frames,
            period_ns: self.period_ns,
            schedules: self.schedules.0,
            below_half: self.below_half.0,
            to_period: self.to_period.0,
            beyond: self.beyond.0,
            xruns: self.xruns.0,
            xruns_per_hour: between(self.xruns_per_hour),
            mean_ns: between(self.mean_ns),
        }
    }
}
