//! One of several agents of a trial, as it is kept.

use crate::Count;
use dropline_trial::{Agent, AgentState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several agents that performed a trial together; the trial's counts are their sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLine {
    /// Its name.
    pub name: String,
    /// Packets that left there.
    pub offered: Count,
    /// Packets that came back there.
    pub forwarded: Count,
    /// max(0, offered − forwarded − generator_lost), there.
    pub lost: Count,
    /// Replies that its own socket dropped.
    #[serde(default)]
    pub generator_lost: Count,
    /// What became of it.
    pub state: AgentState,
}

impl From<&Agent> for AgentLine {
    fn from(agent: &Agent) -> Self {
        Self {
            name: agent.name.clone(),
            offered: Count(agent.offered),
            forwarded: Count(agent.forwarded),
            lost: Count(agent.lost()),
            generator_lost: Count(agent.generator_lost),
            state: agent.state,
        }
    }
}

impl AgentLine {
    /// What was stored.
    pub(crate) fn agent(&self) -> Agent {
        Agent {
            name: self.name.clone(),
            state: self.state,
            offered: self.offered.0,
            forwarded: self.forwarded.0,
            generator_lost: self.generator_lost.0,
        }
    }
}
