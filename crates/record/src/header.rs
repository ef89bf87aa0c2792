//! The first line of a record: what is measured, with what, for which goals.

use crate::{Environment, LoadUnit, TargetKind};
use dropline_trial::{Packet, PacketError, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the format that this version writes.
pub const CURRENT: &str = "dropline/1";

/// The first line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Version of this format: `dropline/1`.
    pub schema: String,
    /// The verb that made the record, such as `search`, `trial`, `compare` or `watch`.
    pub verb: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The target as the user wrote it.
    pub target: String,
    /// In words, what the target is: `echo, answers in 34 us`.
    pub target_note: Option<String>,
    /// What stands for the bytes of the file that says what a service is asked: other bytes, another digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_digest: Option<String>,
    /// What one of a load is.
    pub load_unit: LoadUnit,
    /// What a load in this record is the sum of (RFC 9971 §4.5.2), in words.
    pub load_is: String,
    /// The traffic profile.
    pub profile: ProfileLine,
    /// Goals, algorithm and limits of a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchLine>,
    /// Of a search for the longest burst of back-to-back frames, what it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstsLine>,
    /// In words, how packets are sent and received.
    pub generator: Option<String>,
    /// The agents that perform the trials, as `--on` takes them: `local:2`, or names with shares; absent where this process does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// What the generator was measured to offer to our own reflector, in packets a second.
    pub generator_limit_pps: Option<f64>,
    /// The machine.
    pub environment: Environment,
}

impl Header {
    /// Who performs its trials, in words.
    pub fn measured_by(&self) -> String {
        measured_by(self.on.as_deref())
    }

    /// Whether the record is of one trial that nothing was concluded from: made by `trial` or `watch`.
    pub fn is_of_one_trial(&self) -> bool {
        matches!(self.verb.as_str(), "trial" | "watch")
    }

    /// Whether its requests may be shorter than Dropline's own packets.
    pub(crate) fn asks_in_few_bytes(&self) -> bool {
        let target = &self.target;
        TargetKind::of(target)
            .is_some_and(|kind| kind.asks_in_few_bytes || kind.takes_payload && target.contains("payload="))
    }
}

/// Who performs trials that were asked for by these words of `--on`.
pub fn measured_by(on: Option<&str>) -> String {
    on.map_or_else(|| "one process".to_owned(), |on| format!("agents {on}"))
}

/// What a search for the longest burst is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstsLine {
    /// How often the longest burst is looked for.
    pub repetitions: u32,
    /// The rate in a burst, in frames a second.
    pub rate_pps: f64,
}

/// The traffic profile (RFC 9971): everything about the traffic but load and duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileLine {
    /// Arrival process.
    pub arrival: String,
    /// UDP payload in bytes; of a watch that of the packet in the middle by size, which nobody saw where its trial has no
    /// `stamp`.
    pub packet_bytes: u32,
    /// Ethernet frame over IPv4 with FCS, in bytes.
    pub frame_bytes: u32,
    /// The mean payload in bytes, where requests have several lengths: `packet_bytes` and `frame_bytes` are then those of the longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_mean_bytes: Option<f64>,
    /// What the load is divided over.
    pub streams: Vec<Part>,
    /// What the load is the sum of.
    pub directions: Vec<Part>,
    /// Longest wait for packets after the last departure, in seconds.
    pub drain_s: f64,
    /// The wait ends after this time without a packet, in seconds; null waits in full.
    pub drain_quiet_s: Option<f64>,
    /// Rest before the next trial, in seconds.
    pub rest_s: f64,
    /// Chance of the whole measurement; each trial derives its own.
    pub seed: u64,
}

impl ProfileLine {
    /// The packets that it speaks of.
    ///
    /// # Errors
    /// If there are none like these.
    pub fn packet(&self) -> Result<Packet, PacketError> {
        Packet::of_requests(self.packet_bytes, self.packet_mean_bytes.unwrap_or(self.packet_bytes.into()))
    }
}

/// What is searched for, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchLine {
    /// `credible`, `mlr`, `mdr` or `binary`.
    pub algorithm: String,
    /// The preset that set the goals, if one did.
    pub preset: Option<String>,
    /// All attributes of each goal, defaults included (RFC 9971 R33).
    pub goals: Vec<GoalLine>,
    /// Lowest load the search may use.
    pub min_load_pps: f64,
    /// Highest load the search may use.
    pub max_load_pps: f64,
    /// Bound on the sum of the trials' `elapsed_s`; null is none.
    pub budget_s: Option<f64>,
    /// Bound on the number of trials; null is none.
    pub max_trials: Option<u64>,
    /// What a trial's time counts as (RFC 9971 §4.5.8): `duration_s` or `elapsed_s`.
    pub effective_duration: String,
    /// Warm-up before the search, in seconds; those trials are dropped.
    pub warm_up_s: f64,
    /// Shares of each goal's load at which the delay is measured after the search.
    pub delay_at: Vec<f64>,
    /// Which search of `--repeat N` this is, from 1, and N.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<[u32; 2]>,
    /// Confidence level of the intervals; null where the algorithm states bounds.
    #[serde(default)]
    pub level: Option<f64>,
    /// Whether it went on until RFC 9971 calls the same goals regular.
    #[serde(default)]
    pub certify: bool,
    /// MDR's own settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mdr: Option<MdrLine>,
}

impl SearchLine {
    /// Whether its bounds are an interval with a confidence level, and no loads that a trial was made at.
    pub fn has_level(&self) -> bool {
        self.algorithm == "credible"
    }
}

/// Other limits of a resumed search: they hold from here on, the header's until here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitsLine {
    /// Number of the last trial before; 0 where there was none.
    pub after_trial: u64,
    /// Bound on the sum of the trials' `elapsed_s`; null is none.
    pub budget_s: Option<f64>,
    /// Bound on the number of trials; null is none.
    pub max_trials: Option<u64>,
}

/// Settings that only MDR has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MdrLine {
    /// `current`, or `first` for the one of 2018.
    pub version: String,
    /// Phases between the initial and the final one.
    pub intermediate_phases: u32,
    /// How often an external step doubles the width.
    pub doublings: u32,
}

/// All attributes of a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalLine {
    /// A trial with more loss is bad.
    pub loss_ratio: f64,
    /// What comes back later counts as lost, in seconds; absent where any delay will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_s: Option<f64>,
    /// Share of the duration sum that may be bad.
    pub exceed_ratio: f64,
    /// Length of a full trial, in seconds.
    pub trial_duration_s: f64,
    /// Length of the first trials, in seconds.
    pub initial_trial_duration_s: f64,
    /// Sum of full trials that decides a load, in seconds.
    pub duration_sum_s: f64,
    /// Relative width (upper − lower) ÷ upper at which the bounds are close enough.
    pub width: f64,
}

impl GoalLine {
    /// The same, where what comes back later than this counts as lost.
    #[must_use]
    pub fn within(self, bound: Option<std::time::Duration>) -> Self {
        Self { within_s: bound.map(|bound| bound.as_secs_f64()), ..self }
    }

    /// The goal in words, as it is written: `no loss`, `0.5 % loss` or `p99 < 200 us`.
    pub fn words(&self) -> String {
        match self.bound_words() {
            Some((what, bound)) => format!("{what} < {bound}"),
            None if self.loss_ratio == 0.0 => "no loss".into(),
            None => format!("{} % loss", percent(self.loss_ratio)),
        }
    }

    /// Of a goal that bounds the delay, what is bounded and by what: `p99` and `200 us`.
    pub fn bound_words(&self) -> Option<(String, String)> {
        let bound = self.within_s.map(time_words)?;
        let what = match self.loss_ratio {
            0.0 => "max".into(),
            ratio => format!("p{}", percent(1.0 - ratio)),
        };
        Some((what, bound))
    }
}

/// A ratio is whole billionths: seven decimals of a per cent.
fn percent(ratio: f64) -> String {
    short(ratio * 100.0, 7)
}

/// `200 us`, `1.5 ms`, `2 s`.
fn time_words(seconds: f64) -> String {
    let (unit, times) = match seconds {
        1.0.. => ("s", 1.0),
        1e-3.. => ("ms", 1e3),
        1e-6.. => ("us", 1e6),
        _ => ("ns", 1e9),
    };
    format!("{} {unit}", short(seconds * times, 6))
}

/// With so many decimals at most, and none that is 0.
fn short(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl From<&dropline_search::Goal> for GoalLine {
    fn from(goal: &dropline_search::Goal) -> Self {
        Self {
            loss_ratio: goal.loss_ratio.as_f64(),
            within_s: None,
            exceed_ratio: goal.exceed_ratio.as_f64(),
            trial_duration_s: goal.trial_duration.as_secs_f64(),
            initial_trial_duration_s: goal.initial_trial_duration.as_secs_f64(),
            duration_sum_s: goal.duration_sum.as_secs_f64(),
            width: goal.width.as_f64(),
        }
    }
}

impl From<&dropline_trial::TrafficProfile> for ProfileLine {
    fn from(profile: &dropline_trial::TrafficProfile) -> Self {
        Self {
            arrival: profile.arrival.to_string(),
            packet_bytes: profile.packet.payload_bytes(),
            frame_bytes: profile.packet.frame_bytes(),
            packet_mean_bytes: profile.packet.mean_payload_bytes(),
            streams: profile.streams.clone(),
            directions: profile.directions.clone(),
            drain_s: profile.drain.longest.as_secs_f64(),
            drain_quiet_s: profile.drain.quiet.map(|quiet| quiet.as_secs_f64()),
            rest_s: profile.drain.rest.as_secs_f64(),
            seed: profile.seed,
        }
    }
}
