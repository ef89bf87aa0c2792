//! Those who perform a trial together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several generators of a trial, and what it counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name in the fleet.
    pub name: String,
    /// What became of it.
    pub state: AgentState,
    /// What it counted; `None` where it did not tell: that is not known.
    pub counts: Option<AgentCounts>,
}

/// What an agent counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentCounts {
    /// Packets that left there.
    pub offered: u64,
    /// Packets that came back there.
    pub forwarded: u64,
    /// Replies that its own socket dropped.
    pub generator_lost: u64,
}

impl AgentCounts {
    /// Packets that were lost of what it sent.
    pub fn lost(self) -> u64 {
        self.offered.saturating_sub(self.forwarded).saturating_sub(self.generator_lost)
    }
}

/// What became of an agent in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It sent its share, and told what it counted.
    Whole,
    /// It stopped before its time: it did not hear from who coordinates the trial any more, or was told to.
    Stopped,
    /// It stopped before its time: the target's host consented no longer, or was not heard of.
    NotConsented,
    /// It heard of the start too late, and sent nothing.
    NotStarted,
    /// Nothing was heard of it any more.
    Silent,
}

impl AgentState {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Stopped => "stopped early",
            Self::NotConsented => {
                "stopped early, for the target's host did not say any more that it consents"
            }
            Self::NotStarted => "heard of the start too late",
            Self::Silent => "not heard of again",
        }
    }
}

/// The start of a trial that several performed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommonStart {
    /// When it was to be, by the clock of who coordinated it, RFC 3339 in UTC.
    pub at: String,
    /// From the first agent's first packet to the last agent's, less what lay between them on purpose, in nanoseconds; null where
    /// no two told.
    pub skew_ns: Option<u64>,
    /// The largest bound of what is wrong with that for clocks that differ, in nanoseconds.
    pub bound_ns: Option<u64>,
}
