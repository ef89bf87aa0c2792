//! One direction of frames that go both ways at once, as it is kept.

use crate::count::{counts, plain};
use crate::{Count, DelayLine, NegativeLine};
use dropline_stats::{Histogram, HistogramError};
use dropline_trial::{Delay, Direction, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One direction of a trial: its part of the load, and its part of every count. The counts of all directions sum to those of the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionLine {
    /// As the profile calls it.
    pub name: String,
    /// Its part of the intended load.
    pub intended_load_pps: f64,
    /// Packets its load asked for.
    pub intended: Count,
    /// Packets that left.
    pub offered: Count,
    /// Packets that came out in time, each counted once.
    pub forwarded: Count,
    /// max(0, offered − forwarded − generator_lost).
    pub lost: Count,
    /// lost ÷ offered; null when nothing was offered.
    pub loss_ratio: Option<f64>,
    /// Further copies.
    pub duplicated: Count,
    /// Packets that came out behind a later one.
    pub reordered: Count,
    /// What our own end had no room for.
    pub generator_lost: Count,
    /// Packets that left in lumps behind a pause of the sender.
    pub displaced: Count,
    /// From when each packet was due.
    pub delay_ns: Option<DelayLine>,
    /// From when each packet left.
    pub service_delay_ns: Option<DelayLine>,
    /// Delays below zero, kept apart.
    pub negative: NegativeLine,
    /// Packets lost by place.
    pub lost_at: BTreeMap<String, Count>,
}

impl From<&Direction> for DirectionLine {
    fn from(direction: &Direction) -> Self {
        let negative = Delay::default();
        let delays = [&direction.delay, &direction.service_delay];
        let negative = delays.into_iter().find(|delay| delay.negative > 0).unwrap_or(&negative);
        Self {
            name: direction.name.clone(),
            intended_load_pps: direction.load.as_pps(),
            intended: Count(direction.intended),
            offered: Count(direction.offered),
            forwarded: Count(direction.forwarded),
            lost: Count(direction.lost()),
            loss_ratio: direction.loss_ratio(),
            duplicated: Count(direction.duplicated),
            reordered: Count(direction.reordered),
            generator_lost: Count(direction.generator_lost),
            displaced: Count(direction.displaced),
            delay_ns: DelayLine::of(&direction.delay),
            service_delay_ns: DelayLine::of(&direction.service_delay),
            negative: NegativeLine { count: Count(negative.negative), min: negative.negative_min_ns },
            lost_at: counts(&direction.lost_at),
        }
    }
}

impl DirectionLine {
    /// What was counted again.
    ///
    /// # Errors
    /// If a histogram in the line is broken.
    pub fn direction(&self) -> Result<Direction, HistogramError> {
        let values = |line: &Option<DelayLine>| -> Result<Option<Histogram>, HistogramError> {
            line.as_ref().map(DelayLine::values).transpose()
        };
        Ok(Direction {
            name: self.name.clone(),
            load: Rate::from_millipps((self.intended_load_pps * 1000.0).round() as u64),
            intended: self.intended.0,
            offered: self.offered.0,
            forwarded: self.forwarded.0,
            duplicated: self.duplicated.0,
            reordered: self.reordered.0,
            generator_lost: self.generator_lost.0,
            displaced: self.displaced.0,
            delay: Delay {
                histogram: values(&self.delay_ns)?,
                negative: self.negative.count.0,
                negative_min_ns: self.negative.min,
            },
            service_delay: Delay { histogram: values(&self.service_delay_ns)?, ..Delay::default() },
            lost_at: plain(&self.lost_at),
        })
    }
}
