//! Watching an aggregator: what changed between reports, what fell silent, and a page that shows it.

mod alarm;
mod event;
pub mod monitor;
pub mod page;
pub mod state;

pub use alarm::{AlarmCommand, CommandCounts};
pub use event::{Event, EventKind};
pub use monitor::{Monitor, Watch};
pub use page::{Answers, Content, Http, PAGE, RunningHttp};
pub use state::WatchState;
