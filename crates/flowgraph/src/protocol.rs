//! What is asked on stdin and answered on stdout, an object a line.

use serde::{Deserialize, Serialize};

/// One trial, as it is asked for.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Request {
    /// Samples a second, all pipes together; 0: as many as the graph takes.
    pub intended_load_pps: f64,
    /// How long samples are handed on, where they are not counted.
    pub duration_s: f64,
    /// Chance of this trial's copies.
    #[serde(default)]
    pub seed: u64,
}

/// How it went.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Samples that the load asked for; without a load what was offered.
    pub intended: u64,
    /// Samples that were offered to the graph.
    pub offered: u64,
    /// Samples that reached a sink.
    pub forwarded: u64,
    /// From the graph's start until its last sample, or as long as samples came due.
    pub duration_s: f64,
    /// With building the graph.
    pub elapsed_s: f64,
    /// What only graphs have.
    pub flowgraph: Graph,
    /// Doubts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Doubt>,
}

/// A doubt with its stable name.
#[derive(Clone, Debug, Serialize)]
pub struct Doubt {
    /// Its name.
    pub code: &'static str,
    /// In words.
    pub text: String,
}

/// What only graphs have.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    /// Its name and version.
    pub framework: &'static str,
    /// CPU time of the whole program while the graph ran.
    pub cpu_ns: u64,
    /// Threads that can run blocks.
    pub threads: u32,
    /// Bytes of a buffer between two blocks, as they were allocated.
    pub buffer_bytes: u64,
    /// Samples in a granule.
    pub granularity: u64,
    /// One for each pipe.
    pub pipes: Vec<Pipe>,
}

/// One pipe.
#[derive(Clone, Debug, Serialize)]
pub struct Pipe {
    /// Samples that were offered.
    pub offered: u64,
    /// Samples that reached its sink.
    pub forwarded: u64,
    /// Samples that came due while the backlog was full.
    pub lost: u64,
    /// The longest that the backlog was, in samples.
    pub longest_backlog: u64,
}
