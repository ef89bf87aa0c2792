//! A trial's arrivals in a record: what was asked, what left, what arrived.

use crate::Count;
use dropline_trial::{ArrivalFidelity, Fidelity, SampledLateness, Spaced, Stamp, Thought};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How well the arrivals of a trial were kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalsLine {
    /// The judgement: `as_asked`, `near` or `not_as_asked`; null where nothing was intended or measured.
    pub fidelity: Option<Fidelity>,
    /// Packets a second that left ÷ those the schedule had, − 1.
    pub rate_error: Option<f64>,
    /// The cheapest send measured in this session.
    pub send_cost_ns: Option<u64>,
    /// Kolmogorov's distance that the cost of a send leaves at best.
    pub ks_floor: Option<f64>,
    /// The schedule; null for closed loops.
    pub intended: Option<SpacedLine>,
    /// Departures.
    pub left: Option<SpacedLine>,
    /// Departures by the kernel's stamps, of a sample of neighbouring packets: their gaps alone.
    #[serde(default)]
    pub left_sampled: Option<SpacedLine>,
    /// How late that sample left.
    #[serde(default)]
    pub left_sampled_lateness: Option<SampledLatenessLine>,
    /// Arrivals at a receiver of ours.
    pub arrived: Option<SpacedLine>,
    /// How long the clients of a closed loop slept before their packets, where they were asked to.
    #[serde(default)]
    pub thought: Option<ThoughtLine>,
}

/// How clients slept before their packets: their gaps have no distribution that was asked for, their sleeps have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThoughtLine {
    /// How long, in the mean.
    pub asked_ns: f64,
    /// How long it was, as if sleeps were gaps; `ks` is to the distribution asked for.
    pub slept: SpacedLine,
}

/// How much later than due the packets of a sample left by the kernel's stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampledLatenessLine {
    /// Packets of the sample.
    pub packets: Count,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
}

/// Numbers about the gaps of a stream of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpacedLine {
    /// Packets whose times were looked at.
    pub packets: Count,
    /// Mean gap.
    pub mean_gap_ns: Option<f64>,
    /// Coefficient of variation of the gaps.
    pub variation: Option<f64>,
    /// Kolmogorov's distance to the gaps asked for; null where these are equal, or many of them.
    pub ks: Option<f64>,
    /// What 95 % of perfect samples of this size stay below.
    pub ks_ideal: Option<f64>,
    /// Share of gaps within a tenth of the one asked for; only where these are equal, or many of them.
    pub within_tenth: Option<f64>,
    /// Index of dispersion for counts in windows of 1 ms.
    pub dispersion_1ms: Option<f64>,
    /// The same in windows of 10 ms.
    pub dispersion_10ms: Option<f64>,
    /// The same in windows of 100 ms.
    pub dispersion_100ms: Option<f64>,
    /// Times that went backward.
    pub backward: Count,
    /// Where times were taken.
    #[schemars(with = "String")]
    pub stamp: Stamp,
}

impl ArrivalsLine {
    /// The same for computing.
    pub fn kept(&self) -> ArrivalFidelity {
        let spaced = |line: &Option<SpacedLine>| line.as_ref().map(SpacedLine::spaced);
        ArrivalFidelity {
            rate_error: self.rate_error,
            intended: spaced(&self.intended),
            left: spaced(&self.left),
            sampled: spaced(&self.left_sampled),
            sampled_lateness: self.left_sampled_lateness.map(|line| SampledLateness {
                packets: line.packets.0,
                p50_ns: line.p50_ns,
                p99_ns: line.p99_ns,
            }),
            arrived: spaced(&self.arrived),
            thought: self
                .thought
                .as_ref()
                .map(|line| Thought { asked_ns: line.asked_ns, slept: line.slept.spaced() }),
            send_cost_ns: self.send_cost_ns,
            ks_floor: self.ks_floor,
        }
    }
}

impl SpacedLine {
    fn spaced(&self) -> Spaced {
        Spaced {
            packets: self.packets.0,
            mean_gap_ns: self.mean_gap_ns,
            variation: self.variation,
            ks: self.ks,
            ks_ideal: self.ks_ideal,
            within_tenth: self.within_tenth,
            dispersion: [self.dispersion_1ms, self.dispersion_10ms, self.dispersion_100ms],
            backward: self.backward.0,
            stamp: self.stamp,
        }
    }
}

impl From<&ArrivalFidelity> for ArrivalsLine {
    fn from(kept: &ArrivalFidelity) -> Self {
        let line = |spaced: &Option<Spaced>| spaced.as_ref().map(SpacedLine::from);
        Self {
            fidelity: kept.fidelity(),
            rate_error: kept.rate_error,
            send_cost_ns: kept.send_cost_ns,
            ks_floor: kept.ks_floor,
            intended: line(&kept.intended),
            left: line(&kept.left),
            left_sampled: line(&kept.sampled),
            left_sampled_lateness: kept.sampled_lateness.map(|late| SampledLatenessLine {
                packets: Count(late.packets),
                p50_ns: late.p50_ns,
                p99_ns: late.p99_ns,
            }),
            arrived: line(&kept.arrived),
            thought: kept.thought.as_ref().map(|thought| ThoughtLine {
                asked_ns: thought.asked_ns,
                slept: SpacedLine::from(&thought.slept),
            }),
        }
    }
}

impl From<&Spaced> for SpacedLine {
    fn from(spaced: &Spaced) -> Self {
        let [fine, middle, coarse] = spaced.dispersion;
        Self {
            packets: Count(spaced.packets),
            mean_gap_ns: spaced.mean_gap_ns,
            variation: spaced.variation,
            ks: spaced.ks,
            ks_ideal: spaced.ks_ideal,
            within_tenth: spaced.within_tenth,
            dispersion_1ms: fine,
            dispersion_10ms: middle,
            dispersion_100ms: coarse,
            backward: Count(spaced.backward),
            stamp: spaced.stamp,
        }
    }
}
