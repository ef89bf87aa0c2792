//! A line of a record: one trial and what the search knew after it.

use crate::count::seconds;
use crate::count::{counts, plain};
use crate::{
    AgentLine, ArrivalsLine, CaveatLine, Count, CyclesLine, DelayLine, DirectionLine, DriftLine, GraphLine,
    NegativeLine, PassagesLine, SliceLine, WakeupsLine, WatchedLine,
};
use dropline_search::{Bound, Bounds};
use dropline_stats::{Histogram, HistogramError};
use dropline_trial::{
    AskedTurns, Caveat, CommonStart, Delay, DelayKind, Disturbance, Extra, Rate, Replied, Stamp, Trial,
    TrialInput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// One trial. Counts are integers; ratios are derived from them when the line is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialLine {
    /// From 1, within the record.
    pub number: u64,
    /// What the trial was for.
    pub purpose: Purpose,
    /// Phase of the search it belongs to.
    pub phase: Option<String>,
    /// When it began, in seconds of the sum of `elapsed_s` before it.
    pub at_s: f64,
    /// The target.
    pub target: String,
    /// Intended load.
    pub intended_load_pps: f64,
    /// Offered load: offered ÷ duration.
    pub offered_load_pps: f64,
    /// Forwarding rate: load × forwarded ÷ intended (RFC 9971 §4.5.7).
    pub forwarding_rate_pps: f64,
    /// Duration asked for.
    pub intended_duration_s: f64,
    /// How long packets were sent: the effective duration (RFC 9971 §4.5.8), but with `--preset csit`, which takes
    /// `elapsed_s`.
    pub duration_s: f64,
    /// Arrival process.
    pub arrival: String,
    /// Random seed of this trial.
    #[schemars(with = "Count")]
    #[serde(with = "seed")]
    pub seed: u64,
    /// Packets the load asked for; null for closed loops.
    pub intended: Option<Count>,
    /// Packets that left.
    pub offered: Count,
    /// The turns that requests had, where what a service is asked follows from them: `{}` of a name or a key, and `{counter:8}`, are
    /// the turn itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<TurnsLine>,
    /// Packets that came back in time, each counted once.
    pub forwarded: Count,
    /// max(0, offered − forwarded − generator_lost).
    pub lost: Count,
    /// Further copies.
    pub duplicated: Option<Count>,
    /// Packets that came back behind a later one.
    pub reordered: Option<Count>,
    /// Packets of earlier trials that came back during this one.
    pub late: Option<Count>,
    /// Packets that came back shorter than they were sent, part of `lost`; null where replies are not compared.
    #[serde(default)]
    pub reply_truncated: Option<Count>,
    /// Packets that came back longer than they were sent, part of `lost`; null where replies are not compared.
    #[serde(default)]
    pub reply_extended: Option<Count>,
    /// Packets that came back with other bytes, part of `lost`; null where replies are not compared.
    #[serde(default)]
    pub reply_changed: Option<Count>,
    /// Replies our own socket dropped.
    pub generator_lost: Count,
    /// Sends the system refused, by errno.
    #[serde(default)]
    pub refused: BTreeMap<String, Count>,
    /// lost ÷ offered; null when nothing was offered.
    pub loss_ratio: Option<f64>,
    /// 1 − forwarded ÷ intended (RFC 9971); null for closed loops.
    pub trial_loss_ratio: Option<f64>,
    /// What the trial cost, waits included.
    pub elapsed_s: f64,
    /// Where times were taken.
    #[schemars(with = "Option<String>")]
    pub stamp: Option<Stamp>,
    /// What the delays are.
    #[schemars(with = "Option<String>")]
    pub delay_kind: Option<DelayKind>,
    /// From when each packet was due.
    pub delay_ns: Option<DelayLine>,
    /// From when each packet left.
    pub service_delay_ns: Option<DelayLine>,
    /// How much later than due each packet left.
    pub lateness_ns: Option<DelayLine>,
    /// Delays below zero, kept apart.
    pub negative: NegativeLine,
    /// How well the arrivals were kept; null where that was not measured.
    #[serde(default)]
    pub arrivals: Option<ArrivalsLine>,
    /// What our own side did to the departures; absent where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<DisturbanceLine>,
    /// Parts of the trial in order.
    #[serde(default)]
    pub slices: Vec<SliceLine>,
    /// Whether delays stayed as they were, from the slices of a trial at one load, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<DriftLine>,
    /// Packets lost by place, where that was accounted for.
    pub lost_at: Option<BTreeMap<String, Count>>,
    /// What the target did meanwhile, where it is on this machine and could be looked at.
    #[serde(default)]
    pub watched: Option<WatchedLine>,
    /// Threads and conditions of a trial of wake-ups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken: Option<WakeupsLine>,
    /// Pipes of a trial of a pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<PassagesLine>,
    /// Windows and xruns of a trial of an audio server's cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<CyclesLine>,
    /// Each direction of a trial in which frames went both ways at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<DirectionLine>,
    /// Which graph ran, in a trial of one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphLine>,
    /// Replies of a service by class: each request that was answered, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<BTreeMap<String, Count>>,
    /// Payload bytes of these replies together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_bytes: Option<Count>,
    /// The file beside the record that keeps each packet's times, where one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketsLine>,
    /// Who performed it, where several agents did together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentLine>,
    /// How well they started together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommonStart>,
    /// Doubts about this trial.
    pub caveats: Vec<CaveatLine>,
    /// Whether the search made nothing of it and asked for it again: it says more about us than about the target, or
    /// the target died in it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub void: bool,
    /// What the search knew after this trial, one a goal.
    #[serde(default)]
    pub bounds: Vec<BoundsLine>,
}

/// What the phase of a trial begins with that is a burst of back-to-back frames; behind it is the number of its repetition.
pub const BURST: &str = "burst ";

/// What a trial was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The delay at a share of a goal's load, after the search.
    DelayAt,
    /// Evidence for a search.
    Search,
    /// Asked for by hand.
    Trial,
    /// Run and dropped.
    WarmUp,
}

/// How a trial's departures were disturbed by our own side: a loss no larger than that is not the target's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbanceLine {
    /// Packets that left in lumps behind a pause of the sender, later than ten gaps and 1 ms.
    pub displaced: Count,
    /// How long the sender waited for a CPU, in nanoseconds, where it fell behind by that; else 0.
    pub waited_ns: Count,
    /// Of the lost packets, how many at most may be lost by what was not the target.
    pub doubted: Count,
}

/// The times of each packet of a trial are in a file of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketsLine {
    /// Its name, in the record's directory.
    pub file: String,
    /// Packets in it.
    pub kept: Count,
    /// Packets after them, for which there was no room.
    pub left_out: Count,
    /// What tells the file from that of another trial.
    pub identity: String,
}

/// Which turns the requests of a trial had: from one trial to the next they ascend, until the search is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnsLine {
    /// Of the first request.
    pub first: Count,
    /// The highest. Of agents with random arrivals not every one between is somebody's.
    pub last: Count,
}

impl From<AskedTurns> for TurnsLine {
    fn from(AskedTurns { first, last }: AskedTurns) -> Self {
        Self { first: Count(first), last: Count(last) }
    }
}

impl TurnsLine {
    fn turns(self) -> AskedTurns {
        AskedTurns { first: self.first.0, last: self.last.0 }
    }
}

/// The bounds of one goal after a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundsLine {
    /// Lower bound; null when there is none yet.
    pub lower_pps: Option<f64>,
    /// Whether the trials bear the lower bound out.
    pub lower_valid: bool,
    /// Upper bound; null when there is none yet.
    pub upper_pps: Option<f64>,
    /// Whether the trials bear the upper bound out.
    pub upper_valid: bool,
    /// Middle of what is believed; absent where an end of the interval is not known, or the algorithm states bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_pps: Option<f64>,
}

impl TrialLine {
    /// The line of a trial. `at` is the sum of the times of the trials before it.
    pub fn new(trial: &Trial, target: &str, arrival: &str, purpose: Purpose, at: Duration) -> Self {
        let count = |value: Option<u64>| value.map(Count);
        let is_told = |found: &Caveat| trial.caveats.iter().any(|caveat| caveat.code() == found.code());
        let seen = [trial.silence(), trial.outage(), trial.waiting_grew()];
        let seen = seen.into_iter().flatten().filter(|found| !is_told(found));
        let negative = Delay::default();
        let negative = [&trial.delay, &trial.service_delay]
            .into_iter()
            .find(|delay| delay.negative > 0)
            .unwrap_or(&negative);
        Self {
            number: trial.number,
            purpose,
            phase: None,
            at_s: at.as_secs_f64(),
            target: target.into(),
            intended_load_pps: trial.input.load.as_pps(),
            offered_load_pps: trial.offered as f64 / trial.duration.as_secs_f64(),
            forwarding_rate_pps: trial.forwarding_rate_pps(),
            intended_duration_s: trial.input.duration.as_secs_f64(),
            duration_s: trial.duration.as_secs_f64(),
            arrival: arrival.into(),
            seed: trial.seed,
            intended: count(trial.intended),
            offered: Count(trial.offered),
            turns: trial.turns.map(TurnsLine::from),
            forwarded: Count(trial.forwarded),
            lost: Count(trial.lost()),
            duplicated: count(trial.duplicated),
            reordered: count(trial.reordered),
            late: count(trial.late),
            reply_truncated: count(trial.reply_truncated),
            reply_extended: count(trial.reply_extended),
            reply_changed: count(trial.reply_changed),
            generator_lost: Count(trial.generator_lost),
            refused: counts(&trial.refused),
            loss_ratio: trial.loss_ratio(),
            trial_loss_ratio: trial.trial_loss_ratio(),
            elapsed_s: trial.elapsed.as_secs_f64(),
            stamp: trial.stamp,
            delay_kind: trial.delay_kind,
            delay_ns: DelayLine::of(&trial.delay),
            service_delay_ns: DelayLine::of(&trial.service_delay),
            lateness_ns: DelayLine::of(&trial.lateness),
            negative: NegativeLine { count: Count(negative.negative), min: negative.negative_min_ns },
            arrivals: trial.kept.as_ref().map(ArrivalsLine::from),
            disturbance: trial.disturbance.map(|one| DisturbanceLine {
                displaced: Count(one.displaced),
                waited_ns: Count(u64::try_from(one.waited.as_nanos()).unwrap_or(u64::MAX)),
                doubted: Count(trial.lost_by_us()),
            }),
            slices: trial.slices.iter().map(SliceLine::from).collect(),
            course: Vec::new(),
            lost_at: trial.lost_at.as_ref().map(counts),
            watched: trial.watched.as_ref().map(WatchedLine::from),
            woken: trial.woken().map(WakeupsLine::from),
            passages: trial.passages().map(PassagesLine::from),
            cycles: trial.cycles().map(CyclesLine::from),
            directions: trial.directions().iter().map(DirectionLine::from).collect(),
            graph: trial.graph().map(GraphLine::from),
            replies: trial.replied().map(|replied| counts(&replied.classes)),
            reply_bytes: count(trial.replied().and_then(|replied| replied.bytes)),
            packets: None,
            agents: trial.agents.iter().map(AgentLine::from).collect(),
            start: trial.start.clone(),
            caveats: trial
                .caveats
                .iter()
                .cloned()
                .chain(seen)
                .map(|caveat| CaveatLine::from(&caveat))
                .collect(),
            void: false,
            bounds: Vec::new(),
        }
    }

    /// The line with what the search knew: the phase before the trial, the bounds after it.
    pub fn in_search(mut self, phase: String, bounds: &[Bounds]) -> Self {
        self.phase = Some(phase);
        self.bounds = bounds.iter().map(BoundsLine::from).collect();
        self
    }

    /// Whether the target died in it.
    pub fn target_went_away(&self) -> bool {
        self.caveats.iter().any(|caveat| caveat.code == "target_unreachable")
    }

    /// Of the lost packets, how many at least the target lost.
    pub fn lost_by_target(&self) -> u64 {
        if let Some(one) = &self.disturbance {
            return self.lost.0.saturating_sub(one.doubted.0);
        }
        Trial {
            intended: self.intended.map(|count| count.0),
            offered: self.offered.0,
            forwarded: self.forwarded.0,
            generator_lost: self.generator_lost.0,
            lost_at: self.lost_at.as_ref().map(plain),
            caveats: self.caveats.iter().map(CaveatLine::caveat).collect(),
            ..Trial::new(self.number, self.input(), self.seed)
        }
        .lost_by_target()
    }

    /// The trial again, for a search that is resumed or replayed.
    ///
    /// # Errors
    /// If a histogram in the line is broken.
    pub fn trial(&self) -> Result<Trial, HistogramError> {
        let delay = |line: &Option<DelayLine>, negative: NegativeLine| -> Result<Delay, HistogramError> {
            let histogram =
                line.as_ref().map(|line| Histogram::from_v2_deflate(&line.histogram)).transpose()?;
            Ok(Delay { histogram, negative: negative.count.0, negative_min_ns: negative.min })
        };
        // Each field by its name: one that is added and not read does not compile.
        Ok(Trial {
            number: self.number,
            input: self.input(),
            seed: self.seed,
            intended: self.intended.map(|count| count.0),
            offered: self.offered.0,
            turns: self.turns.map(TurnsLine::turns),
            forwarded: self.forwarded.0,
            duplicated: self.duplicated.map(|count| count.0),
            reordered: self.reordered.map(|count| count.0),
            late: self.late.map(|count| count.0),
            reply_truncated: self.reply_truncated.map(|count| count.0),
            reply_extended: self.reply_extended.map(|count| count.0),
            reply_changed: self.reply_changed.map(|count| count.0),
            generator_lost: self.generator_lost.0,
            refused: plain(&self.refused),
            duration: seconds(self.duration_s),
            elapsed: seconds(self.elapsed_s),
            stamp: self.stamp,
            delay_kind: self.delay_kind,
            delay: delay(&self.delay_ns, self.negative)?,
            service_delay: delay(&self.service_delay_ns, NegativeLine::default())?,
            lateness: delay(&self.lateness_ns, NegativeLine::default())?,
            kept: self.arrivals.as_ref().map(ArrivalsLine::kept),
            disturbance: self.disturbance.as_ref().map(DisturbanceLine::disturbance),
            slices: self.slices.iter().map(SliceLine::slice).collect::<Result<_, _>>()?,
            lost_at: self.lost_at.as_ref().map(plain),
            watched: self.watched.as_ref().map(WatchedLine::watched),
            extra: self.extra()?,
            agents: self.agents.iter().map(AgentLine::agent).collect(),
            start: self.start.clone(),
            caveats: self.caveats.iter().map(CaveatLine::caveat).collect(),
        })
    }

    /// What the kind of target added.
    fn extra(&self) -> Result<Option<Extra>, HistogramError> {
        if !self.directions.is_empty() {
            let directions = self.directions.iter().map(DirectionLine::direction);
            return Ok(Some(Extra::Directions(directions.collect::<Result<_, _>>()?)));
        }
        let passages = self.passages.as_ref().map(PassagesLine::passages).transpose()?;
        Ok(match (&self.woken, &self.cycles, &self.graph) {
            (Some(woken), ..) => Some(Extra::Wakeups(woken.woken()?)),
            (None, Some(cycles), _) => Some(Extra::Cycles(cycles.cycles())),
            (None, None, Some(graph)) => Some(Extra::Graph(Box::new(graph.graph()?), passages)),
            (None, None, None) => {
                let replied = || Replied {
                    classes: self.replies.as_ref().map(plain).unwrap_or_default(),
                    bytes: self.reply_bytes.map(|bytes| bytes.0),
                };
                passages
                    .map(Extra::Passages)
                    .or_else(|| self.replies.is_some().then(|| Extra::Replied(replied())))
            }
        })
    }

    /// Load and duration that were asked for.
    pub(crate) fn input(&self) -> TrialInput {
        TrialInput {
            load: Rate::from_millipps((self.intended_load_pps * 1000.0).round() as u64),
            duration: seconds(self.intended_duration_s),
        }
    }
}

impl DisturbanceLine {
    /// What was stored.
    pub(crate) fn disturbance(&self) -> Disturbance {
        Disturbance { displaced: self.displaced.0, waited: Duration::from_nanos(self.waited_ns.0) }
    }
}

impl From<&Bounds> for BoundsLine {
    fn from(bounds: &Bounds) -> Self {
        let pps = |bound: Option<Bound>| bound.map(|bound| bound.load.as_pps());
        let valid = |bound: Option<Bound>| bound.is_some_and(|bound| bound.valid);
        Self {
            lower_pps: pps(bounds.lower),
            lower_valid: valid(bounds.lower),
            upper_pps: pps(bounds.upper),
            upper_valid: valid(bounds.upper),
            median_pps: bounds.median.map(Rate::as_pps),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Seeds use all 64 bits, so they are written as counts are.
mod seed {
    use super::Count;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        Count(*seed).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Ok(Count::deserialize(deserializer)?.0)
    }
}
