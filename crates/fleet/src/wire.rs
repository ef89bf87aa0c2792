//! What agents and coordinators say to one another, and under which subjects.
//!
//! An agent hears what is for it (`agent.NAME.…`) and for all (`fleet.…`), and tells results under its own name
//! (`result.SESSION.NAME`): a server that knows its key lets it do nothing else.

use crate::grant::Signed;
use dropline_failure::{Failure, FailureKind};
use dropline_record::{ProfileLine, TrialLine};
use dropline_trial::AgentState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Version of these messages; another major one is refused.
pub(crate) const SCHEMA: &str = "dropline-fleet/5";

/// Asked of all: who is there?
pub(crate) const WHO: &str = "fleet.who";
/// Said to all: when a trial starts.
pub(crate) const GO: &str = "fleet.go";
/// Said to all, again and again: the coordinator is there.
pub(crate) const LEASE: &str = "fleet.lease";
/// Said to all: a trial ends now.
pub(crate) const STOP: &str = "fleet.stop";

/// Said to all: a grant holds no more.
pub(crate) const REVOKE: &str = "fleet.revoke";

/// What one agent is asked: `open`, `arm`, `clock`, `limit`, `asks`, `agreed`, `observe`, `consent`, `look` or `close`.
pub(crate) fn ask(agent: &str, what: &str) -> String {
    format!("agent.{agent}.{what}")
}

/// Where an agent tells what it counted.
pub(crate) fn result(session: &str, agent: &str) -> String {
    format!("result.{session}.{agent}")
}

/// An agent, as it presents itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Who {
    /// Its name.
    pub name: String,
    /// Which of those that have this name: random, and another one each time that it is started.
    #[serde(default)]
    pub id: String,
    /// The host that it runs on.
    #[serde(default)]
    pub host: String,
    /// Labels by which it is chosen too.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// Version of what it says and hears.
    pub schema: String,
    /// CPUs that it may use.
    pub cpus: usize,
    /// What tells its clock from others; the same as ours where it is one clock.
    #[serde(default)]
    pub clock: Option<String>,
    /// The session that it takes part in, where it does.
    #[serde(default)]
    pub session: Option<String>,
    /// What it may do, in words.
    #[serde(default)]
    pub may: String,
}

/// An agent heard that a grant holds no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revoked {
    /// Its name.
    pub name: String,
    /// Whether it was ever shown a grant of that id.
    pub was_known: bool,
    /// Why it will not know that any more when it is started again.
    pub forgets: Option<String>,
}

/// Asks an agent to make a target ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Open {
    /// Which agent is meant of those that hear it: an id, as that of [`Who`].
    pub(crate) id: String,
    pub(crate) schema: String,
    pub(crate) version: String,
    pub(crate) session: String,
    pub(crate) target: String,
    pub(crate) profile: ProfileLine,
    pub(crate) slices: Option<u32>,
    pub(crate) patience_s: f64,
    pub(crate) moving: MovingLine,
    /// The shares of all agents of the session, and which is this one's.
    pub(crate) shares: Vec<u32>,
    pub(crate) index: usize,
    /// Number of the next trial.
    pub(crate) first_trial: u64,
    /// What the agents may send, by whom it was granted.
    #[serde(default)]
    pub(crate) grants: Vec<Signed>,
    /// What the target's host says of what is sent there.
    #[serde(default)]
    pub(crate) consents: Vec<Signed>,
}

/// Asks an agent to see what its host counts of packets from these addresses to a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Observe {
    /// Which agent is meant, as in [`Open`].
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) target: String,
    pub(crate) sources: Vec<IpAddr>,
}

/// What it is to these packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Observing {
    /// Whether its host has the target's address.
    pub(crate) has_target: bool,
}

/// Asks it whether its host consents now to what is sent, and leads none of it elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Consents {
    /// Which agent is meant, as in [`Open`].
    pub(crate) id: String,
    pub(crate) session: String,
    /// The agent that sends, by its name.
    pub(crate) agent: String,
    /// What it asks.
    #[serde(flatten)]
    pub(crate) question: Question,
}

/// What an agent that sends asks the target's host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// A word that nobody used before, which a consent answers.
    pub(crate) asked: String,
    /// Datagrams that left until now.
    pub(crate) sent: u64,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Consenting {
    /// That its host consents, where it has the target's address and does.
    pub(crate) consent: Option<Signed>,
    /// What leads packets elsewhere there, in words.
    pub(crate) led: Option<String>,
}

/// Tells an agent that sends what the target's host answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Agreed {
    /// Which agent is meant, as in [`Open`].
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) consents: Vec<Signed>,
}

/// Asks an agent that observes what was counted until now, and one that sends for what it asks consent with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Look {
    /// Which agent is meant, as in [`Open`].
    pub(crate) id: String,
    pub(crate) session: String,
}

/// How packets are moved, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MovingLine {
    pub(crate) send: String,
    pub(crate) receive: String,
    pub(crate) senders: Option<usize>,
    pub(crate) receivers: Option<usize>,
    pub(crate) ordinary_priority: bool,
}

/// The target is ready.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) note: Option<String>,
    pub(crate) generator: Option<String>,
    pub(crate) reply_buffer_bytes: Option<u64>,
    /// Where its packets come from, where they go to an address.
    #[serde(default)]
    pub(crate) source: Option<IpAddr>,
}

/// Asks an agent to be ready for a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arm {
    /// Which agent is meant, as in [`Open`].
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) trial: u64,
    /// How often agents were armed in this session: what one tells of an earlier time is of no trial.
    pub(crate) attempt: u64,
    /// The load of all, in millipackets a second.
    pub(crate) load_millipps: u64,
    pub(crate) duration_ns: u64,
    /// The turn of the first request of all.
    pub(crate) first_turn: u64,
}

/// What an agent answers: what was asked for, or why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer<T> {
    /// It is so.
    Done(T),
    /// It is not.
    Failed(Failed),
    /// It takes part in another session.
    Busy,
    /// It knows of no such session, or another agent of its name is meant.
    Unknown,
}

/// A failure on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) code: u8,
    pub(crate) text: String,
}

impl From<&Failure> for Failed {
    fn from(failure: &Failure) -> Self {
        Self { code: failure.exit_code(), text: failure.to_string() }
    }
}

impl Failed {
    /// The failure again, as that of this agent.
    pub(crate) fn of(&self, agent: &str) -> Failure {
        let text = format!("agent {agent}: {}", self.text);
        match self.code {
            code if code == Failure::usage("").exit_code() => Failure::usage(text),
            code if code == Failure::not_valid("").exit_code() => Failure::not_valid(text),
            code if code == Failure::interrupted().exit_code() => Failure::interrupted(),
            _ => Failure::environment(text),
        }
    }

    pub(crate) fn is_interruption(failure: &Failure) -> bool {
        failure.kind() == FailureKind::Interrupted
    }
}

/// What an agent's clock said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clock {
    pub(crate) heard_ns: i64,
    pub(crate) said_ns: i64,
}

/// A trial starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Go {
    pub(crate) session: String,
    pub(crate) attempt: u64,
    /// When, by each agent's own clock; by their ids.
    pub(crate) at: BTreeMap<String, i64>,
}

/// The coordinator of a session is there. Who takes part in a session was asked to by its id: nobody else's lease is renewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Alive {
    pub(crate) session: String,
}

/// What became of a trial at an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) attempt: u64,
    pub(crate) state: AgentState,
    pub(crate) line: Option<Box<TrialLine>>,
    pub(crate) failed: Option<Failed>,
    /// How much later than due its first packet left.
    pub(crate) late_ns: Option<i64>,
}

/// Whether two versions of the messages can speak to one another.
pub(crate) fn is_spoken(schema: &str) -> bool {
    schema == SCHEMA
}
