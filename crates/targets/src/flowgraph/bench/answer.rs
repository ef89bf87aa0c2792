//! What a program that runs a graph says of a trial.

use crate::exec;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What it is asked.
#[derive(Debug, Serialize)]
pub(super) struct GraphRequest {
    /// Samples a second, all pipes together; 0: as many as the graph takes.
    pub(super) intended_load_pps: f64,
    pub(super) duration_s: f64,
    pub(super) seed: u64,
}

/// An answer of the `exec:` protocol, with what only graphs have.
#[derive(Debug)]
pub struct GraphAnswer {
    /// Its exact counts of samples.
    pub counted: exec::Answer,
    /// What the graph was.
    pub flowgraph: Ran,
}

/// What stands beside the counts.
const GRAPHS: &str = "it has no \"flowgraph\" with framework, cpu_ns, threads, buffer_bytes, and pipes with lost and \
                      longest_backlog each";

impl GraphAnswer {
    /// Reads a line.
    ///
    /// # Errors
    /// Why it is none, in words.
    pub fn read(line: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Graphs {
            flowgraph: Ran,
        }
        let counted = exec::Answer::read(line).map_err(|why| why.to_string())?;
        let Graphs { flowgraph } = serde_json::from_str(line).map_err(|_| GRAPHS.to_owned())?;
        Ok(Self { counted, flowgraph })
    }
}

/// What only graphs have.
#[derive(Debug, Deserialize)]
pub struct Ran {
    pub(super) framework: String,
    pub(super) cpu_ns: u64,
    pub(super) threads: u32,
    pub(super) buffer_bytes: u64,
    /// One after the other.
    pub pipes: Vec<RanPipe>,
}

impl Ran {
    /// Samples that were lost in the backlogs of all pipes.
    pub fn lost(&self) -> u64 {
        self.pipes.iter().fold(0, |sum, pipe| sum.saturating_add(pipe.lost))
    }

    /// How long the longest backlog of a pipe is to wait for, where a pipe gets so many samples a second; `None` where
    /// no time is that long.
    pub fn longest_wait(&self, of_a_pipe_pps: f64) -> Option<Duration> {
        let longest = self.pipes.iter().map(|pipe| pipe.longest_backlog).max().unwrap_or(0);
        Duration::try_from_secs_f64(longest as f64 / of_a_pipe_pps).ok()
    }
}

/// One pipe.
#[derive(Debug, Deserialize)]
pub struct RanPipe {
    /// Samples for which its backlog had no room.
    pub lost: u64,
    /// Samples that waited when most did.
    pub longest_backlog: u64,
}
