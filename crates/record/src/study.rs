//! What an experiment leaves: tables in words and numbers, beside its records.

use crate::CaveatLine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// The name typed after `dropline experiment`, or two words typed after `dropline`, as `heartbeat cost`.
    pub name: String,
    /// What was found, in a sentence.
    pub title: String,
    /// What was asked and how it was measured, a paragraph each.
    pub paragraphs: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Pictures of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<Chart>,
    /// Doubts.
    pub caveats: Vec<CaveatLine>,
}

/// Bars over an axis, and a line across where there is a limit to show; or spans of several series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The axis along, with its unit.
    pub x: String,
    /// The axis up, with its unit.
    pub y: String,
    /// From, to, and height of each bar.
    pub bars: Vec<[f64; 3]>,
    /// Height of the limit.
    pub line: Option<f64>,
    /// Spans instead of bars, a colour each; the axis up is logarithmic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
}

/// Spans over an axis: where the middle is, and how far it goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Place, low end, middle, high end; ascending.
    pub points: Vec<[f64; 4]>,
}

/// A table of an experiment. The first column names the row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows of cells, each as wide as the heads.
    pub rows: Vec<Vec<String>>,
}
