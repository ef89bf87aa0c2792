//! A history as a table for other programs: a row a goal of each record.

use dropline_record::{IndexLine, IndexedGoal, Listed};
use serde_json::{Map, Value};

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFormat {
    /// Comma-separated values, names in the first row.
    Csv,
    /// An object a line.
    Jsonl,
}

impl HistoryFormat {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Csv, Self::Jsonl];

    /// As it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }

    /// What it is.
    pub fn about(self) -> &'static str {
        match self {
            Self::Csv => "comma-separated values, with names in the first row",
            Self::Jsonl => "one JSON object a line",
        }
    }
}

/// Names of columns, and what each holds of a record and a goal of it.
type Column = (&'static str, fn(&IndexLine, Option<&IndexedGoal>) -> Value);

const COLUMNS: [Column; 26] = [
    ("started", |line, _| line.started.clone().into()),
    ("kind", |line, _| line.kind.clone().into()),
    ("target", |line, _| line.target.clone().into()),
    ("finished", |line, _| line.finished.into()),
    ("goal", |_, goal| goal.map(|goal| goal.goal.clone()).into()),
    ("loss_ratio", |_, goal| goal.map(|goal| goal.asked.loss_ratio).into()),
    ("within_s", |_, goal| goal.and_then(|goal| goal.asked.within_s).into()),
    ("lower_pps", |_, goal| goal.and_then(|goal| goal.lower_pps).into()),
    ("median_pps", |_, goal| goal.and_then(|goal| goal.median_pps).into()),
    ("upper_pps", |_, goal| goal.and_then(|goal| goal.upper_pps).into()),
    ("limit_pps", |_, goal| goal.and_then(|goal| goal.limit_pps).into()),
    ("level", |_, goal| goal.and_then(|goal| goal.level).into()),
    ("result", |_, goal| {
        goal.map_or(Value::Null, |goal| serde_json::to_value(goal.result).unwrap_or_default())
    }),
    ("why_not", |_, goal| goal.and_then(|goal| goal.why_not.clone()).into()),
    ("answer", |line, _| line.trial.as_ref().map(|trial| trial.answer.clone()).into()),
    ("trial_load_pps", |line, _| line.trial.as_ref().and_then(|trial| trial.load_pps).into()),
    ("trial_loss_ratio", |line, _| line.trial.as_ref().and_then(|trial| trial.loss_ratio).into()),
    ("p50_ns", |line, _| line.trial.as_ref().and_then(|trial| trial.p50_ns).into()),
    ("p99_ns", |line, _| line.trial.as_ref().and_then(|trial| trial.p99_ns).into()),
    ("load_unit", |line, _| line.load_unit.word().into()),
    ("algorithm", |line, _| line.algorithm.clone().into()),
    ("machine", |line, _| line.machine.clone().into()),
    ("dropline", |line, _| line.dropline.clone().into()),
    ("labels", |line, _| serde_json::to_string(&line.labels).expect("labels are JSON").into()),
    ("file", |line, _| line.file.clone().into()),
    ("sha256", |line, _| line.sha256.clone().into()),
];

/// The table as text.
pub fn rows(listed: &Listed, format: HistoryFormat) -> String {
    let mut all = Vec::new();
    for line in &listed.records {
        match line.goals.as_slice() {
            [] => all.push(COLUMNS.map(|(_, of)| of(line, None))),
            goals => all.extend(goals.iter().map(|goal| COLUMNS.map(|(_, of)| of(line, Some(goal))))),
        }
    }
    match format {
        HistoryFormat::Jsonl => all.into_iter().map(object).collect(),
        HistoryFormat::Csv => {
            let names = COLUMNS.map(|(name, _)| name.to_owned()).to_vec();
            let rows = all.into_iter().map(|row| row.into_iter().map(cell).collect());
            dropline_report::csv_table(std::iter::once(names).chain(rows))
        }
    }
}

fn object(row: [Value; COLUMNS.len()]) -> String {
    let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let object: Map<String, Value> = names.zip(row).collect();
    format!("{}\n", Value::Object(object))
}

fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
