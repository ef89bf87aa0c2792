//! Which graph a trial of a flowgraph ran, and what it cost.

use crate::Delay;
use std::time::Duration;

/// Pipes of source, head, stages and sink in a framework, as they were run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// With its version, as `FutureSDR 0.0.40`.
    pub framework: String,
    /// Who runs the blocks, by the framework's name for it.
    pub scheduler: String,
    /// Pipes beside one another.
    pub pipes: u32,
    /// Copy blocks in each.
    pub stages: u32,
    /// Of each buffer between two blocks, as it was allocated.
    pub buffer_bytes: u64,
    /// Most samples of one copy.
    pub max_copy: u64,
    /// Threads that can run blocks.
    pub threads: u32,
    /// CPUs that the program was kept to.
    pub cpus: Vec<u32>,
    /// CPUs of each core of this machine: those beside one another share it.
    pub cores: Vec<Vec<u32>>,
    /// CPU time of the program while the graph ran.
    pub cpu: Duration,
    /// How long a due sample may wait in front of the graph; `None` where it takes what it can.
    pub backlog: Option<Duration>,
    /// The longest that a sample waited there, by the longest queue.
    pub longest_wait: Option<Duration>,
    /// Samples that came due while there was no room for them, by pipe.
    pub lost: Vec<u64>,
    /// How long a granule was in each block, where that was asked for.
    pub residence: Vec<Residence>,
}

/// How long granules were in a block, its input buffer included; all pipes together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residence {
    /// From 1; the one behind the last stage is the sink. The first includes the head.
    pub block: u32,
    /// From leaving the block before it to leaving it.
    pub delay: Delay,
}
