//! How long something took, where its times were taken, and what they are.

use dropline_stats::Histogram;

/// A set of delays. Values below zero (clocks that disagree) are kept apart, never clamped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delay {
    /// `None` when no delay was measured.
    pub histogram: Option<Histogram>,
    /// How many values were below zero.
    pub negative: u64,
    /// The most negative value, in ns.
    pub negative_min_ns: Option<i64>,
}

impl Delay {
    /// What was measured; `None` of nothing.
    pub fn of(histogram: Histogram) -> Self {
        let histogram = (histogram.count() > 0).then_some(histogram);
        Self { histogram, ..Self::default() }
    }

    /// Adds those of another set.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.histogram, &other.histogram) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(_), None) => {}
        }
        self.negative += other.negative;
        self.negative_min_ns = self.negative_min_ns.into_iter().chain(other.negative_min_ns).min();
    }
}

/// Where a time was taken (RFC 2330 §10.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// By the program, around its system calls.
    App,
    /// By the kernel.
    Kernel,
    /// By the network interface.
    Nic,
}

/// What a delay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayKind {
    /// Request to reply, one clock (RFC 2681).
    RoundTrip,
    /// Sender to receiver, two clocks (RFC 7679).
    OneWay,
    /// How late a timer or a cycle was served.
    Lateness,
    /// From source to sink of a pipeline.
    Passage,
}
