//! What delays at a probe did to each mode: the result of `inject`.

use crate::{BetweenLine, CaveatLine, Count, PathWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of `inject`. Times in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Injected {
    /// What was measured, or the two files.
    pub target: String,
    /// Where the delay was added; null of two files.
    pub probe: Option<String>,
    /// All probes that the program has reached.
    pub probes: Vec<String>,
    /// The delay that was asked for.
    pub delay_us: f64,
    /// What it really was, by the program's own clock; null where nothing crossed the probe.
    pub realised_us: Option<f64>,
    /// How often the probe was crossed with a delay.
    pub crossings: Option<Count>,
    /// Rounds of no delay, X, 2X, no delay.
    pub rounds: u64,
    /// Events without a delay, with it, with twice as much.
    pub events: [Count; 3],
    /// One a mode of the events without a delay.
    pub modes: Vec<InjectedModeLine>,
    /// Share of the events with the delay that the model does not place.
    pub total_variation: f64,
    /// What the numbers are.
    pub estimator: String,
    /// Doubts.
    pub caveats: Vec<CaveatLine>,
}

impl Injected {
    /// Whether two files were compared, and nothing was measured in turns.
    pub fn is_of_files(&self) -> bool {
        self.probe.is_none() && self.rounds > 0
    }
}

/// One mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedModeLine {
    /// Its shortest event without a delay.
    pub low: f64,
    /// Its longest.
    pub high: f64,
    /// The most frequent.
    pub peak: f64,
    /// Its share of the events without a delay.
    pub share: f64,
    /// With it.
    pub share_with: f64,
    /// Mean crossings by the delay X.
    pub once: Option<BetweenLine>,
    /// By 2X.
    pub twice: Option<BetweenLine>,
    /// What no delay at all looks like.
    pub floor: Option<f64>,
    /// Whether it crosses the probe.
    pub verdict: PathWord,
    /// How often each event crosses, where it is on the path.
    pub times: Option<u32>,
    /// Why it is undecided.
    pub why: Option<String>,
}
