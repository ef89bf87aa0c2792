//! Whether levels moved over many records: the promised fields of `dropline trend --json`.

use crate::{LoadUnit, Quantity, VerdictWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many searches without a limit, one after another, are not chance.
pub const SILENT: u64 = 3;

/// The answer of `dropline trend`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trends {
    /// A history for each target, goal or quantity, profile, machine and version.
    pub series: Vec<SeriesLine>,
    /// A change by a smaller share does not matter.
    pub smallest_effect: f64,
    /// How changes are found.
    pub estimator: String,
    /// Files that were left out, and why.
    pub left_out: Vec<LeftOutLine>,
}

impl Trends {
    /// Whether a level regressed by a change or a drift that nobody has acknowledged, and that is not young.
    pub fn has_regressed(&self) -> bool {
        self.news().any(|news| news.verdict == VerdictWord::Regressed && !news.suspected)
    }

    /// Whether the newest searches of a history say no limit, as many as are not chance.
    pub fn is_silent(&self) -> bool {
        self.series.iter().any(|series| series.silent >= SILENT)
    }

    /// Changes and drifts that nobody has acknowledged.
    pub fn news(&self) -> impl Iterator<Item = News<'_>> {
        self.series.iter().flat_map(SeriesLine::news)
    }
}

/// One history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesLine {
    /// Its name, the same each time.
    pub id: String,
    /// The target as the user wrote it.
    pub target: String,
    /// What is followed: `limit`, `delivered`, a percentile of the delays as `p99`, `core`, `high_percentile`.
    #[schemars(with = "String")]
    pub quantity: Quantity,
    /// The goal's loss ratio; null of what is no limit.
    pub loss_ratio: Option<f64>,
    /// The goal in words, or the quantity and at which load it was measured.
    pub goal: String,
    /// The target that was measured beside it and is taken out; absent where none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What loads count.
    pub load_unit: LoadUnit,
    /// The machine, in words.
    pub machine: String,
    /// Version of Dropline.
    pub dropline: String,
    /// Its nights, in order of time.
    pub points: Vec<PointLine>,
    /// Where the level changed.
    pub changes: Vec<ChangeLine>,
    /// Where it went one way over many nights.
    pub drifts: Vec<DriftingLine>,
    /// When single nights were far from their level.
    pub spikes: Vec<String>,
    /// When something was changed on purpose.
    pub marks: Vec<MarkLine>,
    /// Nights of one level.
    pub segments: Vec<SegmentLine>,
    /// How many searches that are newer than its last night say no limit, or were ended by their target or a signal.
    #[serde(default)]
    pub silent: u64,
    /// What was made of the nights' intervals: `used`, `alike`, `not_fitting` or `unknown`.
    pub widths: String,
    /// What a night scatters about its level, as a ratio; null of too few nights.
    pub scatter: Option<f64>,
    /// The correlation of a night with the next; null of too few nights.
    pub likeness: Option<f64>,
}

impl SeriesLine {
    /// Whether a level changed or drifted, whatever is known of it.
    pub fn has_changed(&self) -> bool {
        !self.changes.is_empty() || !self.drifts.is_empty()
    }

    /// Its changes and drifts that nobody has acknowledged.
    pub fn news(&self) -> impl Iterator<Item = News<'_>> {
        let changes = self.changes.iter().filter_map(ChangeLine::news);
        changes.chain(self.drifts.iter().filter_map(DriftingLine::news))
    }
}

/// One night.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointLine {
    /// When it began, RFC 3339 in UTC.
    pub at: String,
    /// The record.
    pub source: String,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// What was found: a load, a share, a ratio, or nanoseconds.
    pub value: f64,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// By what the reference of that night was above its own median: what was found is divided by it; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
    /// Commit, branch, build: what the record says of itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The level changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeLine {
    /// Its name: a change that is told again has the same.
    pub id: String,
    /// The first night of the new level.
    pub at: String,
    /// The first night that may have been it (95 %).
    pub at_low: String,
    /// The last.
    pub at_high: String,
    /// New level ÷ old level − 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub size_low: f64,
    /// Upper end.
    pub size_high: f64,
    /// What that says.
    pub verdict: VerdictWord,
    /// Whether the new level is so young that it should be measured again first.
    pub suspected: bool,
    /// Whether somebody has acknowledged it.
    pub acknowledged: bool,
    /// The probability of as clear a change where nothing changes.
    pub by_chance: f64,
    /// Commit of the last night before the interval that has one, and of the first that has one from its last night on.
    pub commits: [Option<String>; 2],
    /// What came of measuring again because of it; absent where nobody did. The verdict is that of the fresh searches then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<ConfirmationLine>,
}

/// A change that was measured again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmationLine {
    /// Records of the newest search, performed again.
    pub fresh: Vec<String>,
    /// Records of what was good, searched in turns with it; empty where the level before the change stands for it.
    pub good: Vec<String>,
    /// Nights of the new level since: five of them say more than fresh searches that found no change.
    #[serde(default)]
    pub nights_since: u64,
    /// Fresh level ÷ good level − 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub size_low: f64,
    /// Upper end.
    pub size_high: f64,
    /// What that says.
    pub verdict: VerdictWord,
}

impl ChangeLine {
    fn news(&self) -> Option<News<'_>> {
        let Self { at, size, verdict, suspected, .. } = self;
        let (size, verdict, suspected) = (*size, *verdict, *suspected);
        (!self.acknowledged).then_some(News { since: None, at, size, verdict, suspected })
    }
}

/// The level went one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftingLine {
    /// Its name.
    pub id: String,
    /// Whether it is changes together, none of which matters alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// Whether it is the level behind a fall and what came after it, held against the level before the fall.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub behind: bool,
    /// The last night of the old level.
    pub from: String,
    /// The first of the new one.
    pub to: String,
    /// New level ÷ old level − 1.
    pub size: f64,
    /// Lower end of its 95 % interval.
    pub size_low: f64,
    /// Upper end.
    pub size_high: f64,
    /// What that says.
    pub verdict: VerdictWord,
    /// Whether somebody has acknowledged it, as far as it has come.
    pub acknowledged: bool,
    /// How far it had come when somebody acknowledged it; left out where nobody did, or it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_size: Option<f64>,
}

impl DriftingLine {
    fn news(&self) -> Option<News<'_>> {
        let Self { from, to, size, verdict, .. } = self;
        let (size, verdict) = (*size, *verdict);
        (!self.acknowledged).then_some(News { since: Some(from), at: to, size, verdict, suspected: false })
    }
}

/// What nobody has acknowledged of a level that moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct News<'a> {
    /// Of what went one way over many nights, from when on.
    pub since: Option<&'a str>,
    /// From when on the level is another one.
    pub at: &'a str,
    /// New level ÷ old level − 1.
    pub size: f64,
    /// What that says.
    pub verdict: VerdictWord,
    /// Whether it should be measured again first.
    pub suspected: bool,
}

/// Something was changed on purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MarkLine {
    /// The first night with it.
    pub at: String,
    /// What: `kernel Linux 6.1 → Linux 6.6`.
    pub text: String,
}

/// Nights of one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentLine {
    /// Its first night.
    pub from: String,
    /// Its last night.
    pub to: String,
    /// The level.
    pub level: f64,
}

/// A file that is in no series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutLine {
    /// The file.
    pub source: String,
    /// Why.
    pub why: String,
}
