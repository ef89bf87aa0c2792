//! A line of a history's index, and what was done with a history: the promised fields of `dropline history --json`.

use crate::{GoalLine, LeftOutLine, LoadUnit, ProfileLine, Quantity, ResultWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the index of a history says of a record. It is derived from the record, and can be made anew at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexLine {
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The verb that made the record.
    pub kind: String,
    /// The target as the user wrote it.
    pub target: String,
    /// Whether the record came to its end; one that did not can be resumed, or is being written.
    pub finished: bool,
    /// What loads count.
    pub load_unit: LoadUnit,
    /// The algorithm of a search; null of others.
    pub algorithm: Option<String>,
    /// How often the intervals of the search hold the true value; null where there are none.
    pub level: Option<f64>,
    /// What a search found, goal by goal; empty of others.
    pub goals: Vec<IndexedGoal>,
    /// What trials or a comparison found; null of a search.
    #[serde(default)]
    pub trial: Option<IndexedTrial>,
    /// The traffic profile.
    pub profile: ProfileLine,
    /// The machine, in words: only records of one machine are compared with one another.
    pub machine: String,
    /// Kernel name and release.
    pub kernel: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Turbo or boost, `on` or `off`.
    pub turbo: Option<String>,
    /// Simultaneous multithreading, `on` or `off`.
    pub smt: Option<String>,
    /// Version of Dropline.
    pub dropline: String,
    /// What the build service said that started it: `commit`, `branch`, `build`.
    pub labels: BTreeMap<String, String>,
    /// The file, from the directory of the history on.
    #[serde(default)]
    pub file: String,
    /// Its size.
    #[serde(default)]
    pub bytes: u64,
    /// SHA-256 of its first line: two files with the same one are the same measurement, or began in the same second with the same words.
    #[serde(default)]
    pub header_sha256: String,
    /// SHA-256 of the file.
    #[serde(default)]
    pub sha256: String,
}

/// What a search found for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexedGoal {
    /// The goal in words.
    pub goal: String,
    /// Lower bound; null when there is none.
    pub lower_pps: Option<f64>,
    /// Median of an interval; null where the algorithm states bounds.
    pub median_pps: Option<f64>,
    /// Upper bound; null when there is none.
    pub upper_pps: Option<f64>,
    /// Whether it is an answer.
    pub result: ResultWord,
    /// How sure it is, in the words of a report; left out by versions before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<String>,
    /// Probability that the interval holds the true value; null where the algorithm states bounds.
    pub level: Option<f64>,
    /// The limit that a history is made of; null where none stands.
    pub limit_pps: Option<f64>,
    /// Of an answer that stands and has one end: that end, above which or below which the limit is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_pps: Option<f64>,
    /// Why no limit stands.
    pub why_not: Option<String>,
    /// The goal with all its attributes.
    pub asked: GoalLine,
}

impl IndexedGoal {
    /// What a history follows: the limit, or the one end that is known of it.
    pub fn followed_pps(&self) -> Option<f64> {
        self.limit_pps.or(self.bound_pps)
    }
}

/// What a record says that is not a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexedTrial {
    /// In a sentence; of a comparison its verdict.
    pub answer: String,
    /// How many trials it has.
    pub trials: u64,
    /// The load that the last one was to offer; null where there is none.
    pub load_pps: Option<f64>,
    /// The loss ratio of the last one; null where nothing was offered.
    pub loss_ratio: Option<f64>,
    /// Its trial loss ratio, 1 − forwarded ÷ intended; null where the load intends no number of packets.
    #[serde(default)]
    pub trial_loss_ratio: Option<f64>,
    /// The median of its delays; null where none were measured.
    pub p50_ns: Option<u64>,
    /// Their 99th percentile; null where there were too few.
    pub p99_ns: Option<u64>,
    /// What a history follows of it.
    pub measured: Vec<MeasuredLine>,
    /// Why nothing of it is followed.
    pub why_not: Option<String>,
}

/// A number of trials or of a comparison that is followed over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredLine {
    /// Which: `delivered`, a percentile of the delays as `p99`, `core`, `high_percentile`.
    #[schemars(with = "String")]
    pub quantity: Quantity,
    /// What was found; delays in nanoseconds.
    pub value: f64,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// What a history holds: `history list`, and what `history export` writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Its records, in order of time.
    pub records: Vec<IndexLine>,
    /// How many other records it has, that were not asked for.
    pub others: u64,
    /// Files in it that are not records or are the same record as another, and why.
    pub left_out: Vec<LeftOutLine>,
}

/// What became of a file that was added: `history add`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedLine {
    /// What was added.
    pub source: String,
    /// Where it is now, from the directory of the history on; null of what was refused.
    pub file: Option<String>,
    /// What became of it.
    pub added: AddedWord,
    /// Why it was refused.
    pub why: Option<String>,
}

/// What became of a file that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddedWord {
    /// It is a new record of the history.
    New,
    /// It was there already, or more of it.
    Known,
    /// It took the place of its own beginning.
    Completed,
    /// It was not added.
    Refused,
}

/// What differed between an index and its records: `history index`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reindexed {
    /// How many records the history has.
    pub records: u64,
    /// Records that the index did not have.
    pub added: Vec<String>,
    /// Records of which the index had another content.
    pub changed: Vec<String>,
    /// Records that the index had, and that are not there any more.
    pub gone: Vec<String>,
    /// Files that are not records, and why.
    pub left_out: Vec<LeftOutLine>,
}

impl Reindexed {
    /// Whether the index said what the records say.
    pub fn is_as_it_was(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.gone.is_empty()
    }
}

/// What is removed, or would be: `history prune`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pruned {
    /// Whether it was done, and not only said.
    pub done: bool,
    /// Records that go.
    pub removed: Vec<PrunedLine>,
    /// Records that were old enough, and stay.
    pub kept: Vec<PrunedLine>,
    /// How many records are left.
    pub left: u64,
}

/// A record that goes or stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrunedLine {
    /// The file, from the directory of the history on.
    pub file: String,
    /// When it began.
    pub started: String,
    /// The target.
    pub target: String,
    /// Its size, with what lies beside it.
    pub bytes: u64,
    /// Why it stays.
    pub why: Option<String>,
    /// Whether it is a copy of another record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
}
