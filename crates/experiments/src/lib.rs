//! The project's own studies: a question each, with its rival.
//!
//! Owns the experiments, what the heartbeat costs and how reliable it is. No verb knows a study.
//! Start reading at [`run`].

pub mod aa_compare;
pub mod audio_2004;
pub mod flowgraph_latency;
pub mod heartbeat_cost;
pub mod heartbeat_reliability;
pub mod heartbeat_server;
pub mod poisson_loss;
pub mod run_log;
pub mod search_cost;
pub mod search_coverage;
pub mod search_real;
pub mod wakeup_cyclictest;

use dropline_failure::{Failure, nearest};
use dropline_record::Study;
use dropline_report::{Calibration, Graph};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What an experiment found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Tables and words.
    pub study: Study,
    /// Searches to draw.
    pub graphs: Vec<Graph>,
    /// Stated levels against achieved ones.
    pub calibrations: Vec<Calibration>,
}

/// How much of it to run.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Runs of each cell; `None`: as many as the experiment needs.
    pub runs: Option<u32>,
    /// Seed of the first run, where runs are made by chance; `None`: 1.
    pub first_seed: Option<u64>,
    /// Whether everything is done only a little: it shows that the experiment works and proves nothing.
    pub small: bool,
    /// Whether everything there is is done, however long it takes.
    pub full: bool,
    /// Only the rows whose names hold this.
    pub only: Option<String>,
    /// Time for each search; `None`: what a search has when nothing is said.
    pub budget: Option<Duration>,
    /// Where runs are kept as they end; those that are there already are not done again.
    pub keep: Option<PathBuf>,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
}

/// Names of the experiments.
pub const NAMES: [&str; 9] = [
    "aa-compare",
    "audio-2004",
    "flowgraph-latency",
    "heartbeat-server",
    "poisson-loss",
    "search-cost",
    "search-coverage",
    "search-real",
    "wakeup-cyclictest",
];

/// Runs the experiment of this name; `progress` is told what it is at.
///
/// # Errors
/// If there is none of this name, or the user wants to stop.
pub fn run(name: &str, effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<Found, Failure> {
    match name {
        "audio-2004" => audio_2004::run(effort, progress),
        "flowgraph-latency" => flowgraph_latency::run(effort, progress),
        "heartbeat-server" => heartbeat_server::run(effort, progress),
        "aa-compare" => aa_compare::run(effort, progress),
        "poisson-loss" => poisson_loss::run(effort, progress),
        "search-cost" => search_cost::run(effort, progress),
        "search-coverage" => search_coverage::run(effort, progress),
        "search-real" => search_real::run(effort, progress),
        "wakeup-cyclictest" => wakeup_cyclictest::run(effort, progress),
        _ => Err(Failure::usage(format!("there is no experiment {name:?}{}", nearest(name, &NAMES)))
            .advice(format!("there are {}", NAMES.join(", ")))),
    }
}

/// Distributions that an experiment is about, for its page.
pub fn distributions(name: &str) -> Vec<dropline_record::Fit> {
    if name == "audio-2004" { audio_2004::distributions() } else { Vec::new() }
}
