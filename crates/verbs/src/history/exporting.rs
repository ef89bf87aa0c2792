//! A history for other programs.

use super::{WantedRecords, list, metrics, rows};
use crate::indexed::indexed;
use crate::trend::{Acknowledged, Followed, of_lines};
use dropline_archive::history::History;
use dropline_failure::Failure;
use dropline_record::LeftOutLine;
use std::path::Path;

/// How a history is written for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFormat {
    /// Comma-separated values, names in the first row.
    Csv,
    /// An object a line.
    Jsonl,
    /// Samples with their times.
    Openmetrics,
    /// Columns with their types.
    Parquet,
}

impl HistoryFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Jsonl, Self::Openmetrics, Self::Parquet];

    /// As it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Openmetrics => "openmetrics",
            Self::Parquet => "parquet",
        }
    }

    /// What it is.
    pub fn about(self) -> &'static str {
        match self {
            Self::Csv => "comma-separated values, with names in the first row",
            Self::Jsonl => "one JSON object a line",
            Self::Openmetrics => {
                "limits and their changes as OpenMetrics text with times, for Prometheus and Grafana"
            }
            Self::Parquet => "a Parquet file, with a type for each column",
        }
    }
}

/// What was written, and what of the history is not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// Files that are not records or are the same record as another, and why.
    pub left_out: Vec<LeftOutLine>,
}

/// The records that are wanted.
///
/// # Errors
/// If there is no such directory, or it cannot be read.
pub fn export(directory: &Path, wanted: &WantedRecords, format: HistoryFormat) -> Result<Exported, Failure> {
    let listed = list(directory, wanted)?;
    let records = &listed.records;
    let bytes = match format {
        HistoryFormat::Csv => rows::csv(records).into_bytes(),
        HistoryFormat::Jsonl => rows::jsonl(records).into_bytes(),
        HistoryFormat::Parquet => rows::parquet(records),
        HistoryFormat::Openmetrics => {
            let named = records.iter().map(|line| (line.file.clone(), line.clone())).collect();
            let known = || Acknowledged::beside(&[directory.to_owned()]);
            // Hardly ever needed: of records that began in the same second alone.
            let record = |file: &str| History::open(directory, indexed).ok()?.record(file).ok();
            let trends = of_lines(named, Vec::new(), &record, &Followed::default(), known)?;
            metrics::text(records, &trends).into_bytes()
        }
    };
    Ok(Exported { bytes, left_out: listed.left_out })
}
