//! Watching an aggregator: what changed between reports, what fell silent, and a page that shows it.

mod alarm;
mod event;
pub mod monitor;
pub mod state;

pub use alarm::{AlarmCommand, CommandCounts};
pub use event::{Event, EventKind};
pub use monitor::{Monitor, Watch};
pub use state::WatchState;

/// The page that shows a [`WatchState`]; it asks for `state.json` every second.
pub const PAGE: &str = include_str!("watch/page.html");
