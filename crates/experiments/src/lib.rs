//! The project's own studies: a question each, with its rival.
//!
//! Owns the experiments, what the heartbeat costs and how reliable it is. No verb knows a study.
//! Start reading at [`EXPERIMENTS`].

pub mod aa_compare;
pub mod audio_2004;
mod batches;
pub mod flowgraph_latency;
pub mod heartbeat_cost;
pub mod heartbeat_reliability;
pub mod heartbeat_server;
pub mod poisson_loss;
pub mod run_log;
pub mod search_cost;
pub mod search_coverage;
pub mod search_real;
pub mod services;
pub mod trend_power;
pub mod wakeup_cyclictest;

use dropline_failure::Failure;
use dropline_record::Study;
use dropline_report::{Calibration, Graph};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What an experiment found.
#[derive(Clone, Debug)]
pub struct FoundStudy {
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

/// An experiment that can be named.
#[derive(Debug)]
pub struct Experiment {
    /// The word that names it.
    pub name: &'static str,
    /// What it asks, in a sentence.
    pub about: &'static str,
    /// How often it repeats everything when nobody says, where it repeats anything.
    pub runs: Option<u32>,
    /// The flags beside `--runs` that it heeds.
    pub flags: &'static [&'static str],
    run: Run,
    distributions: fn() -> Vec<dropline_record::Fit>,
    /// What it says of the runs in the text of a file of runs, with nothing measured, where `--keep` makes one.
    pub of_kept: Option<OfKept>,
}

/// Performs an experiment, and tells what it is at.
type Run = fn(&Effort, &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure>;

/// What it says of kept runs; an error if a line is no run of it, or there is none.
pub type OfKept = fn(&str) -> Result<Study, Failure>;

/// Every experiment, in the order of the help. A new one is a file beside this and a line here.
pub static EXPERIMENTS: [Experiment; 11] = [
    aa_compare::EXPERIMENT,
    audio_2004::EXPERIMENT,
    flowgraph_latency::EXPERIMENT,
    heartbeat_server::EXPERIMENT,
    poisson_loss::EXPERIMENT,
    search_cost::EXPERIMENT,
    search_coverage::EXPERIMENT,
    search_real::EXPERIMENT,
    services::EXPERIMENT,
    trend_power::EXPERIMENT,
    wakeup_cyclictest::EXPERIMENT,
];

impl Experiment {
    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        EXPERIMENTS.iter().find(|one| one.name == name)
    }

    /// Runs it; `progress` is told what it is at.
    ///
    /// # Errors
    /// If it cannot run here, or the user wants to stop.
    pub fn run(&self, effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
        (self.run)(effort, progress)
    }

    /// Distributions that it is about, for its page.
    pub fn distributions(&self) -> Vec<dropline_record::Fit> {
        (self.distributions)()
    }
}

#[cfg(test)]
mod tests {
    use super::EXPERIMENTS;

    #[test]
    fn an_experiment_that_keeps_runs_reads_them_again() {
        for one in &EXPERIMENTS {
            assert_eq!(one.of_kept.is_some(), one.flags.contains(&"keep"), "{}", one.name);
        }
    }
}
