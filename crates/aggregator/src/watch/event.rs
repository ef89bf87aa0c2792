//! What a monitor saw happen.

use schemars::JsonSchema;
use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Event {
    /// Since the watch began.
    pub at_s: f64,
    /// What it was.
    pub kind: EventKind,
    /// Of which variable; null where it is about the aggregator.
    pub variable: Option<u8>,
    /// In words.
    pub text: String,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A variable that had fallen silent, or the aggregator, is back.
    Back,
    /// The aggregator does not answer.
    NoReport,
    /// An older report than before arrived.
    Outdated,
    /// Variables that were set are not any more.
    Restarted,
    /// A variable fell silent.
    Silent,
}

impl EventKind {
    /// As words and commands call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Back => "back",
            Self::NoReport => "no_report",
            Self::Outdated => "outdated",
            Self::Restarted => "restarted",
            Self::Silent => "silent",
        }
    }

    /// Whether somebody has to look.
    pub fn is_alarm(self) -> bool {
        matches!(self, Self::NoReport | Self::Restarted | Self::Silent)
    }
}
