//! Why an agent did not do what it was asked.

use crate::wire::Answer;
use dropline_failure::Failure;

/// Why an agent did not do what it was asked.
pub(crate) struct AgentRefusal {
    pub(crate) failure: Failure,
    /// It is not there, or was started again: it may be there in a moment.
    pub(crate) is_absent: bool,
}

impl From<AgentRefusal> for Failure {
    fn from(undone: AgentRefusal) -> Self {
        undone.failure
    }
}

/// What an agent answered, or why it did not do it.
pub(crate) fn done<T>(answer: Option<Answer<T>>, agent: &str) -> Result<T, AgentRefusal> {
    let absent = |failure| Err(AgentRefusal { failure, is_absent: true });
    match answer {
        Some(Answer::Done(done)) => Ok(done),
        Some(Answer::Failed(failed)) => Err(AgentRefusal { failure: failed.of(agent), is_absent: false }),
        Some(Answer::Busy) => absent(
            Failure::environment(format!("agent {agent}: it takes part in another measurement"))
                .advice("wait until that has ended, or choose other agents"),
        ),
        Some(Answer::Unknown) => {
            absent(Failure::environment(format!("agent {agent} was started again and knows of no session")))
        }
        None => {
            absent(Failure::environment(format!("agent {agent} does not answer")).advice(
                "see to that host, its network and its agent;  dropline fleet list  shows who is there",
            ))
        }
    }
}
