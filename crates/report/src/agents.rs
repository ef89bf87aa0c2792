//! Agents that performed a trial together, in words.

use crate::number::{self, JOIN};
use dropline_record::{AgentLine, AgentState, CommonStart, TrialLine, path_words};

/// Each agent with what it counted, and how well all started together: a label and words each.
pub(crate) fn facts(trial: &TrialLine) -> Vec<(String, String)> {
    let agents = trial.agents.iter().map(|agent| (agent.name.clone(), agent_words(agent)));
    let start = trial.start.as_ref().and_then(start_words).map(|words| ("start".to_owned(), words));
    let each = trial.lost_at.iter().flatten().map(|(place, packets)| (place.as_str(), packets.0));
    let path = path_words(each, number::count).map(|words| ("path".to_owned(), words));
    agents.chain(start).chain(path).collect()
}

/// What is said behind a count that lacks those of agents that did not tell.
pub(crate) fn lacking(trial: &TrialLine) -> String {
    let silent = trial.agents.iter().filter(|agent| agent.offered.is_none());
    let names: Vec<&str> = silent.map(|agent| agent.name.as_str()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; of {} not known", names.join(", ")),
    }
}

fn agent_words(agent: &AgentLine) -> String {
    let counts = match (agent.offered, agent.forwarded, agent.lost) {
        (Some(offered), Some(forwarded), Some(lost)) => format!(
            "offered{JOIN}{}, forwarded{JOIN}{}, lost{JOIN}{}",
            number::count(offered.0),
            number::count(forwarded.0),
            number::count(lost.0)
        ),
        _ => "what it sent is not known, and in no count".to_owned(),
    };
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
    fn what_an_agent_sent_that_did_not_tell_is_not_known_and_not_0() {
        let silent = AgentLine {
            name: "west-1".into(),
            offered: None,
            forwarded: None,
            lost: None,
            generator_lost: None,
            state: AgentState::Silent,
        };
        let words = agent_words(&silent);
        assert!(words.contains("not known") && !words.contains('0'), "{words}");
    }

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
