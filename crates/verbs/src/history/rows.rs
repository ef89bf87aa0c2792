//! A history as a table for other programs: a row a goal of each record.

use Kind::{Integer, Number, Text, Time, Truth};
use dropline_archive::clock;
use dropline_record::{IndexLine, IndexedGoal};
use dropline_table::{Column as TableColumn, Values, parquet};
use serde_json::{Map, Value};

/// Names of columns, what each holds, and that of a record and a goal of it.
type Column = (&'static str, Kind, fn(&IndexLine, Option<&IndexedGoal>) -> Value);

/// What a column holds, where a format has types.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// A date as it is written.
    Time,
    Truth,
    Number,
    Integer,
}

const COLUMNS: [Column; 27] = [
    ("started", Time, |line, _| line.started.clone().into()),
    ("kind", Text, |line, _| line.kind.clone().into()),
    ("target", Text, |line, _| line.target.clone().into()),
    ("finished", Truth, |line, _| line.finished.into()),
    ("goal", Text, |_, goal| goal.map(|goal| goal.goal.clone()).into()),
    ("loss_ratio", Number, |_, goal| goal.map(|goal| goal.asked.loss_ratio).into()),
    ("within_s", Number, |_, goal| goal.and_then(|goal| goal.asked.within_s).into()),
    ("lower_pps", Number, |_, goal| goal.and_then(|goal| goal.lower_pps).into()),
    ("median_pps", Number, |_, goal| goal.and_then(|goal| goal.median_pps).into()),
    ("upper_pps", Number, |_, goal| goal.and_then(|goal| goal.upper_pps).into()),
    ("limit_pps", Number, |_, goal| goal.and_then(|goal| goal.limit_pps).into()),
    ("level", Number, |_, goal| goal.and_then(|goal| goal.level).into()),
    ("result", Text, |_, goal| {
        goal.map_or(Value::Null, |goal| serde_json::to_value(goal.result).unwrap_or_default())
    }),
    ("why_not", Text, |_, goal| goal.and_then(|goal| goal.why_not.clone()).into()),
    ("answer", Text, |line, _| line.trial.as_ref().map(|trial| trial.answer.clone()).into()),
    ("trial_load_pps", Number, |line, _| line.trial.as_ref().and_then(|trial| trial.load_pps).into()),
    ("measured_loss_ratio", Number, |line, _| line.trial.as_ref().and_then(|trial| trial.loss_ratio).into()),
    ("trial_loss_ratio", Number, |line, _| {
        line.trial.as_ref().and_then(|trial| trial.trial_loss_ratio).into()
    }),
    ("p50_ns", Integer, |line, _| line.trial.as_ref().and_then(|trial| trial.p50_ns).into()),
    ("p99_ns", Integer, |line, _| line.trial.as_ref().and_then(|trial| trial.p99_ns).into()),
    ("load_unit", Text, |line, _| line.load_unit.word().into()),
    ("algorithm", Text, |line, _| line.algorithm.clone().into()),
    ("machine", Text, |line, _| line.machine.clone().into()),
    ("dropline", Text, |line, _| line.dropline.clone().into()),
    ("labels", Text, |line, _| serde_json::to_string(&line.labels).expect("labels are JSON").into()),
    ("file", Text, |line, _| line.file.clone().into()),
    ("sha256", Text, |line, _| line.sha256.clone().into()),
];

/// A row: what each column holds, null where there is nothing.
type Row = [Value; COLUMNS.len()];

fn rows(records: &[IndexLine]) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in records {
        match line.goals.as_slice() {
            [] => rows.push(COLUMNS.map(|(_, _, of)| of(line, None))),
            goals => rows.extend(goals.iter().map(|goal| COLUMNS.map(|(_, _, of)| of(line, Some(goal))))),
        }
    }
    rows
}

/// Comma-separated values, names in the first row.
pub(super) fn csv(records: &[IndexLine]) -> String {
    let names = COLUMNS.map(|(name, ..)| name.to_owned()).to_vec();
    let rows = rows(records).into_iter().map(|row| row.into_iter().map(cell).collect());
    dropline_report::csv_table(std::iter::once(names).chain(rows))
}

/// An object a line.
pub(super) fn jsonl(records: &[IndexLine]) -> String {
    let names = || COLUMNS.iter().map(|(name, ..)| (*name).to_owned());
    let object = |row: Row| names().zip(row).collect::<Map<String, Value>>();
    rows(records).into_iter().map(|row| format!("{}\n", Value::Object(object(row)))).collect()
}

/// A Parquet file.
pub(super) fn parquet(records: &[IndexLine]) -> Vec<u8> {
    let rows = rows(records);
    let columns = COLUMNS.iter().enumerate().map(|(at, (name, kind, _))| {
        let column = || rows.iter().map(move |row| &row[at]);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let values = match kind {
            Text => Values::Texts(column().map(text).collect()),
            Time => Values::Times(column().map(|value| clock::unix_us(value.as_str()?)).collect()),
            Truth => Values::Truths(column().map(Value::as_bool).collect()),
            Number => Values::Numbers(column().map(Value::as_f64).collect()),
            Integer => Values::Integers(column().map(Value::as_i64).collect()),
        };
        TableColumn { name: (*name).into(), values }
    });
    parquet::file(&columns.collect::<Vec<_>>())
}

fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
