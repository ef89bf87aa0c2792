//! What a trial of a real-time pipeline saw: granules of samples on their way from source to sink.

use crate::Delay;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Passages through all pipes of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passages {
    /// Samples of a granule, where the program or the user says it.
    pub granularity: Option<u64>,
    /// Samples at a sink for so many at its source, in lowest terms: (1, 1) where a graph keeps the rate.
    pub ratio: (u64, u64),
    /// By number.
    pub pipes: Vec<Pipe>,
    /// Who recorded the events, and what became of those that are not here.
    pub recorder: Recorder,
    /// Delays over time.
    pub timeline: Timeline,
    /// The longest, the longest first.
    pub slowest: Vec<Passage>,
    /// The events themselves, where they are kept beside the record.
    pub kept: Option<KeptEvents>,
}

/// Events that are kept as a CTF 1.8 trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptEvents {
    /// Directory of the trace, in the record's directory.
    pub directory: String,
    /// Events in it.
    pub events: u64,
    /// Events after them, for which there was no room.
    pub left_out: u64,
}

/// One granule from source to sink, in ns of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The pipe.
    pub pipe: u32,
    /// The granule, from 1, as its source counts.
    pub n: u64,
    /// When it left the source.
    pub tx_ns: u64,
    /// When it reached the sink.
    pub rx_ns: u64,
}

impl Passage {
    /// From source to sink; below zero where the clocks of two processors disagree.
    pub fn delay_ns(&self) -> i64 {
        self.rx_ns.wrapping_sub(self.tx_ns) as i64
    }
}

/// One pipe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipe {
    /// As the program numbers it.
    pub number: u32,
    /// What became of its events.
    pub counts: PassageCounts,
    /// From source to sink, without what was cut.
    pub delay: Delay,
    /// Percentiles with intervals of the level beside them.
    pub percentiles: Vec<Percentile>,
    /// Arithmetic mean, in ns.
    pub mean_ns: Option<f64>,
    /// Of those passages: the first and the last arrival at the sink.
    pub span_ns: Option<(u64, u64)>,
    /// Samples in flight by an independent sampler, over that span: their mean.
    pub sampled_in_flight: Option<f64>,
    /// The beginning.
    pub warm_up: WarmUp,
    /// Nothing reached the sink for so long before the recording ended, in ns.
    pub silent_ns: Option<u64>,
}

/// Level of the intervals of percentiles.
pub const LEVEL: f64 = 0.95;

/// A percentile of the delays of a pipe, in ns; null where the passages cannot bear it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// In (0, 1).
    pub p: f64,
    /// The smallest delay that so many do not exceed.
    pub value_ns: Option<f64>,
    /// Lower end of its interval.
    pub low_ns: Option<f64>,
    /// Upper end.
    pub high_ns: Option<f64>,
}

/// The beginning of a pipe, when its buffers were empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmUp {
    /// Passages at the beginning that are unlike the others, by MSER-5; `None` where there are too few to tell.
    pub found: Option<u64>,
    /// Passages at the beginning that are in no delay: only what was asked for.
    pub cut: u64,
}

/// What became of the events of a pipe.
///
/// tx = passed + in_flight + without_rx + crowded_tx + between_tx + duplicated_tx, and
/// rx = passed + before_start + without_tx + crowded_rx + between_rx + duplicated_rx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassageCounts {
    /// Events at the source.
    pub tx: u64,
    /// Events at the sink.
    pub rx: u64,
    /// Granules seen at both ends.
    pub passed: u64,
    /// Left the source after the last granule that arrived: on their way when the recording ended.
    pub in_flight: u64,
    /// Left the source, and a later one arrived, but they did not: lost in the pipe, or their event was.
    pub without_rx: u64,
    /// Arrived before anything that was seen to leave: on their way when the recording began.
    pub before_start: u64,
    /// Arrived and were not seen to leave: their event was lost.
    pub without_tx: u64,
    /// Waited for their other end while more granules passed than are remembered.
    pub crowded_tx: u64,
    /// The same at the sink.
    pub crowded_rx: u64,
    /// Granules of the source that are no boundary at the sink, where the graph changes the rate.
    pub between_tx: u64,
    /// Granules of the sink that are no boundary at the source.
    pub between_rx: u64,
    /// The same granule left again.
    pub duplicated_tx: u64,
    /// The same granule arrived again.
    pub duplicated_rx: u64,
    /// Delays more negative than two processors' clocks explain: below −50 ns.
    pub clocks_disagree: u64,
}

/// Who recorded, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorder {
    /// `ring`, `lttng` or `trace`: a trace that was recorded elsewhere.
    pub name: String,
    /// The clock of the stamps, as `tsc` or `monotonic`.
    pub clock: String,
    /// Events that were recorded.
    pub recorded: u64,
    /// For which a buffer had no room.
    pub discarded: u64,
    /// Of threads for which there was no buffer.
    pub homeless: u64,
    /// Written over before they were read.
    pub lapped: u64,
    /// Packets of a trace that are missing, by their numbers.
    pub lost_packets: u64,
    /// What was damaged, or nothing that a tracepoint writes.
    pub unreadable: u64,
    /// Of pipes beyond the number that is followed.
    pub foreign: u64,
    /// Programs that attached.
    pub programs: u32,
}

impl Recorder {
    /// Events that were to be recorded and are not here; packets that are missing count as one each.
    pub fn missing(&self) -> u64 {
        self.discarded + self.homeless + self.lapped + self.lost_packets
    }
}

/// Delays over time: slices of one length, by when granules arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Where the first slice begins, in ns of the stamps' clock.
    pub origin_ns: u64,
    /// Length of a slice; 0 where nothing passed.
    pub slice_ns: u64,
    /// Passages of all pipes: slice, lowest delay of the cell in ns, highest, how many.
    pub cells: Vec<(u32, u64, u64, u64)>,
    /// A lane a pipe; of the first pipes alone where there are many.
    pub lanes: Vec<Lane>,
}

/// A pipe over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// The pipe.
    pub pipe: u32,
    /// Slices with a passage, in order.
    pub slices: Vec<LaneSlice>,
}

/// Passages of a pipe that arrived in one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneSlice {
    /// Which.
    pub slice: u32,
    /// How many.
    pub count: u64,
    /// The shortest delay, in ns.
    pub min_ns: i64,
    /// The middle one, to 1 part in 16.
    pub p50_ns: i64,
    /// The longest.
    pub max_ns: i64,
}
