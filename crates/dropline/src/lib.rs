//! The verbs: search, trial, serve, report. The only crate that knows all others.
//!
//! Owns the [`SearchPlan`], the [`Target`]s, the record on disk and the capture of the environment. It
//! decides neither which trial comes next nor how a packet moves, and prints nothing.
//! Start reading at [`searching`], then [`target`].

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod arriving;
pub mod background;
pub mod clock;
pub mod comparing;
mod course;
pub mod doctor;
pub mod environment;
pub mod experiment;
pub mod explaining;
pub mod exporting;
pub mod fail_if;
pub mod failure;
pub mod fitting;
pub mod flowgraph;
pub mod goals;
pub mod heartbeat;
pub mod heartbeat_cost;
pub mod heartbeat_reliability;
pub mod import;
pub mod injecting;
pub mod keeper;
mod nearest;
pub mod openmetrics;
pub mod overhearing;
pub mod plan;
mod quoted;
pub mod reading;
pub mod replaying;
pub mod scenario;
pub mod searching;
pub mod serving;
mod stored;
pub mod target;
pub mod trialing;
pub mod validity;
pub mod watching;
pub mod whole_file;

pub use dropline_record as record;
pub use dropline_report as report;
pub use dropline_search as algorithms;
pub use dropline_stats as statistics;
pub use dropline_traffic as moving;
pub use dropline_trial as measured;
pub use failure::Failure;
pub use nearest::nearest;
pub use plan::{AlgorithmPlan, SearchPlan};
pub use quoted::{quoted, quoted_path};
pub use searching::{Conditions, Finished, load_in, resume, search};
pub use target::{Live, Target};
pub use trialing::{TrialPlan, trial};
pub use watching::{Unwatched, Watcher};
