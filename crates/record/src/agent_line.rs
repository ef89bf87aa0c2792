//! One of several agents of a trial, as it is kept.

use crate::Count;
use dropline_trial::{Agent, AgentCounts, AgentState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several agents that performed a trial together; the trial's counts are their sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLine {
    /// Its name.
    pub name: String,
    /// Packets that left there; null, as the other counts, where it did not tell: the trial's sums are without them.
    pub offered: Option<Count>,
    /// Packets that came back there.
    pub forwarded: Option<Count>,
    /// max(0, offered − forwarded − generator_lost), there.
    pub lost: Option<Count>,
    /// Replies that its own socket dropped.
    #[serde(default)]
    pub generator_lost: Option<Count>,
    /// What became of it.
    pub state: AgentState,
}

impl From<&Agent> for AgentLine {
    fn from(agent: &Agent) -> Self {
        let count = |of: fn(AgentCounts) -> u64| agent.counts.map(|counts| Count(of(counts)));
        Self {
            name: agent.name.clone(),
            offered: count(|counts| counts.offered),
            forwarded: count(|counts| counts.forwarded),
            lost: count(AgentCounts::lost),
            generator_lost: count(|counts| counts.generator_lost),
            state: agent.state,
        }
    }
}

impl AgentLine {
    /// What was stored.
    pub(crate) fn agent(&self) -> Agent {
        let counts = self.offered.zip(self.forwarded).map(|(offered, forwarded)| AgentCounts {
            offered: offered.0,
            forwarded: forwarded.0,
            generator_lost: self.generator_lost.map_or(0, |count| count.0),
        });
        Agent { name: self.name.clone(), state: self.state, counts }
    }
}
