//! Which graph a trial of a flowgraph ran, as it is kept.

use crate::{Count, DelayLine};
use dropline_stats::{Histogram, HistogramError};
use dropline_trial::Delay;
use dropline_trial::graph::{Graph, Residence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Pipes of source, head, stages and sink in a framework, as they were run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphLine {
    /// With its version, as `FutureSDR 0.0.40`.
    pub framework: String,
    /// Who runs the blocks, by the framework's name for it.
    pub scheduler: String,
    /// Pipes beside one another.
    pub pipes: u32,
    /// Copy blocks in each.
    pub stages: u32,
    /// Of each buffer between two blocks, as it was allocated.
    pub buffer_bytes: Count,
    /// Most samples of one copy.
    pub max_copy: Count,
    /// Threads that can run blocks.
    pub threads: u32,
    /// CPUs that the program was kept to.
    pub cpus: Vec<u32>,
    /// CPUs of each core of the machine: those beside one another share it.
    pub cores: Vec<Vec<u32>>,
    /// CPU time of the program while the graph ran.
    pub cpu_s: f64,
    /// How long a due sample may wait in front of the graph; null where the graph takes what it can.
    pub backlog_s: Option<f64>,
    /// The longest that a sample waited there.
    pub longest_wait_s: Option<f64>,
    /// Samples that came due while there was no room for them, by pipe.
    pub lost: Vec<Count>,
    /// How long a granule was in each block, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residence: Vec<ResidenceLine>,
}

/// How long granules were in a block, its input buffer included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResidenceLine {
    /// From 1; the one behind the last stage is the sink. The first includes the head.
    pub block: u32,
    /// From leaving the block before it to leaving it.
    pub delay_ns: Option<DelayLine>,
}

impl From<&Graph> for GraphLine {
    fn from(graph: &Graph) -> Self {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        Self {
            framework: graph.framework.clone(),
            scheduler: graph.scheduler.clone(),
            pipes: graph.pipes,
            stages: graph.stages,
            buffer_bytes: Count(graph.buffer_bytes),
            max_copy: Count(graph.max_copy),
            threads: graph.threads,
            cpus: graph.cpus.clone(),
            cores: graph.cores.clone(),
            cpu_s: graph.cpu.as_secs_f64(),
            backlog_s: seconds(graph.backlog),
            longest_wait_s: seconds(graph.longest_wait),
            lost: graph.lost.iter().copied().map(Count).collect(),
            residence: graph
                .residence
                .iter()
                .map(|of| ResidenceLine { block: of.block, delay_ns: DelayLine::of(&of.delay) })
                .collect(),
        }
    }
}

impl GraphLine {
    /// The graph again.
    ///
    /// # Errors
    /// If a histogram in the line is broken.
    pub fn graph(&self) -> Result<Graph, HistogramError> {
        let seconds = |time: f64| Duration::try_from_secs_f64(time).unwrap_or_default();
        let residence = |line: &ResidenceLine| -> Result<Residence, HistogramError> {
            let histogram = line.delay_ns.as_ref().map(|delay| Histogram::from_v2_deflate(&delay.histogram));
            let delay = Delay { histogram: histogram.transpose()?, ..Delay::default() };
            Ok(Residence { block: line.block, delay })
        };
        Ok(Graph {
            framework: self.framework.clone(),
            scheduler: self.scheduler.clone(),
            pipes: self.pipes,
            stages: self.stages,
            buffer_bytes: self.buffer_bytes.0,
            max_copy: self.max_copy.0,
            threads: self.threads,
            cpus: self.cpus.clone(),
            cores: self.cores.clone(),
            cpu: seconds(self.cpu_s),
            backlog: self.backlog_s.map(seconds),
            longest_wait: self.longest_wait_s.map(seconds),
            lost: self.lost.iter().map(|count| count.0).collect(),
            residence: self.residence.iter().map(residence).collect::<Result<_, _>>()?,
        })
    }
}
