//! Agents that performed a trial together, in words.

use crate::number::{self, JOIN};
use dropline_record::{AgentLine, AgentState, CommonStart, TrialLine};

/// Each agent with what it counted, and how well all started together: a label and words each.
pub(crate) fn facts(trial: &TrialLine) -> Vec<(String, String)> {
    let agents = trial.agents.iter().map(|agent| (agent.name.clone(), agent_words(agent)));
    let start = trial.start.as_ref().and_then(start_words).map(|words| ("start".to_owned(), words));
    agents.chain(start).collect()
}

fn agent_words(agent: &AgentLine) -> String {
    let counts = format!(
        "offered{JOIN}{}, forwarded{JOIN}{}, lost{JOIN}{}",
        number::count(agent.offered.0),
        number::count(agent.forwarded.0),
        number::count(agent.lost.0)
    );
    match agent.state {
        AgentState::Whole => counts,
        other => format!("{}; {counts}", other.words()),
    }
}

fn start_words(start: &CommonStart) -> Option<String> {
    let skew = number::nanoseconds(start.skew_ns?);
    Some(match start.bound_ns.unwrap_or(0) {
        0 => format!("within {skew}, by one clock"),
        bound => format!("within {skew}, by clocks that are known to {}", number::nanoseconds(bound)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_says_by_which_clocks_it_is_known() {
        let start = |skew_ns, bound_ns| start_words(&CommonStart { at: String::new(), skew_ns, bound_ns });
        assert_eq!(start(Some(40_000), Some(0)).unwrap(), "within 40\u{a0}us, by one clock");
        assert!(
            start(Some(40_000), Some(71_000)).unwrap().ends_with("by clocks that are known to 71\u{a0}us")
        );
        assert_eq!(start(None, Some(0)), None, "one agent starts with nobody");
    }
}
