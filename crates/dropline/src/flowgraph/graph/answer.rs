//! What a program that runs a graph says of a trial.

use crate::target::exec;
use serde::{Deserialize, Serialize};

/// What it is asked.
#[derive(Debug, Serialize)]
pub(super) struct Request {
    /// Samples a second, all pipes together; 0: as many as the graph takes.
    pub(super) intended_load_pps: f64,
    pub(super) duration_s: f64,
    pub(super) seed: u64,
}

/// An answer of the `exec:` protocol, with what only graphs have.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) counted: exec::Answer,
    pub(super) flowgraph: Ran,
}

impl Answer {
    /// Reads a line; an error says why it is none.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Graphs {
            flowgraph: Ran,
        }
        let counted = exec::Answer::read(line).map_err(|why| why.to_string())?;
        let Graphs { flowgraph } = serde_json::from_str(line).map_err(|why| why.to_string())?;
        Ok(Self { counted, flowgraph })
    }
}

/// What only graphs have.
#[derive(Debug, Deserialize)]
pub(super) struct Ran {
    pub(super) framework: String,
    pub(super) cpu_ns: u64,
    pub(super) threads: u32,
    pub(super) buffer_bytes: u64,
    pub(super) pipes: Vec<RanPipe>,
}

/// One pipe.
#[derive(Debug, Deserialize)]
pub(super) struct RanPipe {
    pub(super) lost: u64,
    pub(super) longest_backlog: u64,
}
