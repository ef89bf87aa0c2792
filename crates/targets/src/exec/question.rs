//! What a program is asked about a trial.

use dropline_trial::{TrafficProfile, TrialInput};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What an answer is an answer to.
#[derive(Clone, Debug)]
pub struct Question {
    /// Number of the trial.
    pub trial: u64,
    /// Load and duration.
    pub input: TrialInput,
    /// Chance of this trial.
    pub seed: u64,
    /// How many packets it may intend; `None` where load and duration were not asked for.
    pub intends: Option<RangeInclusive<u64>>,
    /// How long packets may still come back after the last one left.
    pub drain: Duration,
    /// What the trial may have cost, waits included: nobody waited for longer.
    pub costs_at_most: Duration,
    /// Whether the user stopped the trial: then less was sent, for a shorter time.
    pub stopped: bool,
}

impl Question {
    /// What trial `number` is about, whose answer is waited for this long beyond its duration.
    pub fn new(number: u64, input: TrialInput, profile: &TrafficProfile, patience: Duration) -> Self {
        // Each part of the load may have been rounded by itself.
        let parts = profile.directions.len().max(1) * profile.streams.len().max(1);
        let intends = profile.arrival.intends(input, parts as u64);
        let (seed, drain) = (profile.trial_seed(number), profile.drain.longest);
        let costs_at_most = input.duration.saturating_add(drain).saturating_add(patience);
        Self { trial: number, input, seed, intends, drain, costs_at_most, stopped: false }
    }

    /// How long the trial may really have been: a hundredth shorter or longer than asked. Beyond, it is of another load,
    /// and a limit that rests on it would be as wrong.
    pub(super) fn lasts(&self) -> RangeInclusive<Duration> {
        let (asked, hundredth) = (self.input.duration, self.input.duration / 100);
        asked - hundredth..=asked.saturating_add(hundredth)
    }
}
