//! What a trial of a real-time pipeline saw, as it is kept.

use crate::{Count, DelayLine, NegativeLine};
use dropline_stats::HistogramError;
use dropline_trial::Delay;
pub use dropline_trial::passages::Percentile;
use dropline_trial::passages::{
    KeptEvents, LEVEL, Lane, LaneSlice, Passage, PassageCounts, Passages, Pipe, Recorder, Timeline, WarmUp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Passages through all pipes of a program. Times are of the clock of the stamps, unless they are lengths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassagesLine {
    /// Samples of a granule; null where nobody said it.
    pub granularity: Option<Count>,
    /// Samples at a sink for so many at its source: `[1, 4]` where a graph keeps one of four.
    pub ratio: [Count; 2],
    /// Level of the percentiles' intervals.
    pub level: f64,
    /// By number.
    pub pipes: Vec<PipeLine>,
    /// Who recorded the events, and what became of those that are not here.
    pub recorder: RecorderLine,
    /// Delays over time.
    pub timeline: TimelineLine,
    /// The longest, the longest first.
    pub slowest: Vec<PassageLine>,
    /// The events themselves, where they are kept beside the record.
    pub events: Option<KeptEventsLine>,
}

/// One pipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipeLine {
    /// As the program numbers it.
    pub pipe: u32,
    /// What became of its events.
    pub counts: PassageCountsLine,
    /// From source to sink, without what was cut.
    pub delay_ns: Option<DelayLine>,
    /// Delays below zero.
    pub negative: NegativeLine,
    /// Percentiles with their intervals.
    pub percentiles: Vec<Percentile>,
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// When the first of those passages arrived.
    pub first_ns: Option<Count>,
    /// When the last one did.
    pub last_ns: Option<Count>,
    /// Granules a second at the sink, from the first arrival to the last; null with fewer than two.
    pub granules_per_s: Option<f64>,
    /// Mean of what an independent sampler saw between source and sink, in samples.
    pub sampled_in_flight: Option<f64>,
    /// Passages at the beginning that are unlike the others; null where that cannot be told.
    pub warm_up_found: Option<Count>,
    /// Passages at the beginning that are in no delay.
    pub warm_up_cut: Count,
    /// Nothing reached the sink for so long before the recording ended.
    pub silent_ns: Option<Count>,
}

/// What became of the events of a pipe; see the glossary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct PassageCountsLine {
    pub tx: Count,
    pub rx: Count,
    pub passed: Count,
    pub in_flight: Count,
    pub without_rx: Count,
    pub before_start: Count,
    pub without_tx: Count,
    pub crowded_tx: Count,
    pub crowded_rx: Count,
    pub between_tx: Count,
    pub between_rx: Count,
    pub duplicated_tx: Count,
    pub duplicated_rx: Count,
    pub clocks_disagree: Count,
}

/// Who recorded, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecorderLine {
    /// `ring`, `lttng` or `trace`.
    pub name: String,
    /// `tsc` or `monotonic`, or the name that a trace has for it.
    pub clock: String,
    /// Events that were recorded.
    pub recorded: Count,
    /// For which a buffer had no room.
    pub discarded: Count,
    /// Of threads for which there was no buffer.
    pub homeless: Count,
    /// Written over before they were read.
    pub lapped: Count,
    /// Packets of a trace that are missing.
    pub lost_packets: Count,
    /// What was damaged, or nothing that a tracepoint writes.
    pub unreadable: Count,
    /// Of pipes beyond the number that is followed.
    pub foreign: Count,
    /// Programs that attached.
    pub programs: u32,
}

/// Delays over time, by when granules arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineLine {
    /// Where the first slice begins.
    pub origin_ns: Count,
    /// Length of a slice.
    pub slice_ns: Count,
    /// All pipes: slice, lowest delay of the cell in ns, highest, how many.
    pub cells: Vec<(u32, Count, Count, Count)>,
    /// A lane a pipe.
    pub lanes: Vec<LaneLine>,
}

/// A pipe over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaneLine {
    /// The pipe.
    pub pipe: u32,
    /// Slice, passages, shortest delay, middle one, longest, in ns.
    pub slices: Vec<(u32, Count, i64, i64, i64)>,
}

/// One granule from source to sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct PassageLine {
    pub pipe: u32,
    pub n: Count,
    pub tx_ns: Count,
    pub rx_ns: Count,
}

/// Events that are kept as a CTF 1.8 trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptEventsLine {
    /// Directory of the trace, in the record's directory.
    pub directory: String,
    /// Events in it.
    pub kept: Count,
    /// Events after them, for which there was no room.
    pub left_out: Count,
}

impl From<&Passages> for PassagesLine {
    fn from(passages: &Passages) -> Self {
        let recorder = &passages.recorder;
        Self {
            granularity: passages.granularity.map(Count),
            ratio: [Count(passages.ratio.0), Count(passages.ratio.1)],
            level: LEVEL,
            pipes: passages.pipes.iter().map(PipeLine::from).collect(),
            recorder: RecorderLine {
                name: recorder.name.clone(),
                clock: recorder.clock.clone(),
                recorded: Count(recorder.recorded),
                discarded: Count(recorder.discarded),
                homeless: Count(recorder.homeless),
                lapped: Count(recorder.lapped),
                lost_packets: Count(recorder.lost_packets),
                unreadable: Count(recorder.unreadable),
                foreign: Count(recorder.foreign),
                programs: recorder.programs,
            },
            timeline: TimelineLine::from(&passages.timeline),
            slowest: passages
                .slowest
                .iter()
                .map(|passage| PassageLine {
                    pipe: passage.pipe,
                    n: Count(passage.n),
                    tx_ns: Count(passage.tx_ns),
                    rx_ns: Count(passage.rx_ns),
                })
                .collect(),
            events: passages.kept.as_ref().map(|kept| KeptEventsLine {
                directory: kept.directory.clone(),
                kept: Count(kept.events),
                left_out: Count(kept.left_out),
            }),
        }
    }
}

impl PassagesLine {
    /// What was seen again.
    ///
    /// # Errors
    /// If a histogram in it is broken.
    pub fn passages(&self) -> Result<Passages, HistogramError> {
        let recorder = &self.recorder;
        Ok(Passages {
            granularity: self.granularity.map(|count| count.0),
            ratio: (self.ratio[0].0, self.ratio[1].0),
            pipes: self.pipes.iter().map(PipeLine::pipe).collect::<Result<_, _>>()?,
            recorder: Recorder {
                name: recorder.name.clone(),
                clock: recorder.clock.clone(),
                recorded: recorder.recorded.0,
                discarded: recorder.discarded.0,
                homeless: recorder.homeless.0,
                lapped: recorder.lapped.0,
                lost_packets: recorder.lost_packets.0,
                unreadable: recorder.unreadable.0,
                foreign: recorder.foreign.0,
                programs: recorder.programs,
            },
            timeline: self.timeline.timeline(),
            slowest: self
                .slowest
                .iter()
                .map(|line| Passage {
                    pipe: line.pipe,
                    n: line.n.0,
                    tx_ns: line.tx_ns.0,
                    rx_ns: line.rx_ns.0,
                })
                .collect(),
            kept: self.events.as_ref().map(|line| KeptEvents {
                directory: line.directory.clone(),
                events: line.kept.0,
                left_out: line.left_out.0,
            }),
        })
    }
}

impl From<&Pipe> for PipeLine {
    fn from(pipe: &Pipe) -> Self {
        let span = pipe.span_ns;
        let granules = pipe.delay.histogram.as_ref().map_or(0, dropline_stats::Histogram::count);
        let rate = span
            .filter(|(first, last)| last > first && granules > 1)
            .map(|(first, last)| (granules - 1) as f64 * 1e9 / (last - first) as f64);
        Self {
            pipe: pipe.number,
            counts: PassageCountsLine::from(pipe.counts),
            delay_ns: DelayLine::of(&pipe.delay),
            negative: NegativeLine { count: Count(pipe.delay.negative), min: pipe.delay.negative_min_ns },
            percentiles: pipe.percentiles.clone(),
            mean_ns: pipe.mean_ns,
            first_ns: span.map(|(first, _)| Count(first)),
            last_ns: span.map(|(_, last)| Count(last)),
            granules_per_s: rate,
            sampled_in_flight: pipe.sampled_in_flight,
            warm_up_found: pipe.warm_up.found.map(Count),
            warm_up_cut: Count(pipe.warm_up.cut),
            silent_ns: pipe.silent_ns.map(Count),
        }
    }
}

impl PipeLine {
    fn pipe(&self) -> Result<Pipe, HistogramError> {
        Ok(Pipe {
            number: self.pipe,
            counts: self.counts.counts(),
            delay: Delay {
                histogram: self.delay_ns.as_ref().map(DelayLine::values).transpose()?,
                negative: self.negative.count.0,
                negative_min_ns: self.negative.min,
            },
            percentiles: self.percentiles.clone(),
            mean_ns: self.mean_ns,
            span_ns: self.first_ns.zip(self.last_ns).map(|(first, last)| (first.0, last.0)),
            sampled_in_flight: self.sampled_in_flight,
            warm_up: WarmUp { found: self.warm_up_found.map(|count| count.0), cut: self.warm_up_cut.0 },
            silent_ns: self.silent_ns.map(|count| count.0),
        })
    }
}

/// Both directions of structs with the same fields.
macro_rules! same_fields {
    ($($field:ident),*) => {
        impl From<PassageCounts> for PassageCountsLine {
            fn from(counts: PassageCounts) -> Self {
                Self { $($field: Count(counts.$field)),* }
            }
        }

        impl PassageCountsLine {
            fn counts(self) -> PassageCounts {
                PassageCounts { $($field: self.$field.0),* }
            }
        }
    };
}

same_fields!(
    tx,
    rx,
    passed,
    in_flight,
    without_rx,
    before_start,
    without_tx,
    crowded_tx,
    crowded_rx,
    between_tx,
    between_rx,
    duplicated_tx,
    duplicated_rx,
    clocks_disagree
);

impl From<&Timeline> for TimelineLine {
    fn from(timeline: &Timeline) -> Self {
        Self {
            origin_ns: Count(timeline.origin_ns),
            slice_ns: Count(timeline.slice_ns),
            cells: timeline
                .cells
                .iter()
                .map(|&(slice, low, high, count)| (slice, Count(low), Count(high), Count(count)))
                .collect(),
            lanes: timeline
                .lanes
                .iter()
                .map(|lane| LaneLine {
                    pipe: lane.pipe,
                    slices: lane
                        .slices
                        .iter()
                        .map(|slice| {
                            (slice.slice, Count(slice.count), slice.min_ns, slice.p50_ns, slice.max_ns)
                        })
                        .collect(),
                })
                .collect(),
        }
    }
}

impl TimelineLine {
    fn timeline(&self) -> Timeline {
        let lane = |line: &LaneLine| Lane {
            pipe: line.pipe,
            slices: line
                .slices
                .iter()
                .map(|&(slice, count, min_ns, p50_ns, max_ns)| LaneSlice {
                    slice,
                    count: count.0,
                    min_ns,
                    p50_ns,
                    max_ns,
                })
                .collect(),
        };
        Timeline {
            origin_ns: self.origin_ns.0,
            slice_ns: self.slice_ns.0,
            cells: self
                .cells
                .iter()
                .map(|&(slice, low, high, count)| (slice, low.0, high.0, count.0))
                .collect(),
            lanes: self.lanes.iter().map(lane).collect(),
        }
    }
}
