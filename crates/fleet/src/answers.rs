//! What the verbs of a fleet print with `--json`.

use crate::Who;
use schemars::JsonSchema;
use serde::Serialize;

/// Who answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentsLine {
    /// Each agent, as it presents itself.
    pub agents: Vec<Who>,
}

/// The clocks of those who answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClocksLine {
    /// Each agent's.
    pub agents: Vec<AgentClock>,
}

/// An agent's clock against that of whoever asks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentClock {
    /// The agent's name.
    pub name: String,
    /// Which of those that have this name.
    pub id: String,
    /// How far it is ahead, in nanoseconds; null where it did not answer when it was asked.
    pub ahead_ns: Option<i64>,
    /// By how much that may be wrong, in nanoseconds.
    pub bound_ns: Option<u64>,
}

/// What would disturb a trial of all who answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FleetFindings {
    /// The names of those who answered.
    pub answered: Vec<String>,
    /// What was found, a sentence each; empty where nothing was.
    pub found: Vec<String>,
}
