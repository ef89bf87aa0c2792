//! What is written is read by pyarrow and by DuckDB, value by value.

use dropline_table::{Column, Values, parquet::file};
use std::fmt::Write as _;
use std::process::Command;

/// Python with the readers of others, which `cargo xtask setup test` installs.
fn python() -> Command {
    let program = std::env::current_exe().unwrap();
    let built = program.ancestors().find(|place| place.join("readers").is_dir());
    let built = built.expect("Python's readers are missing: cargo xtask setup test installs them");
    Command::new(built.join("readers/venv/bin/python"))
}

fn read(columns: &[Column], json: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let [table, rows] = ["table.parquet", "rows.jsonl"].map(|name| directory.path().join(name));
    std::fs::write(&table, file(columns)).unwrap();
    std::fs::write(&rows, json).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/readers/parquet.py");
    let read = python().arg(script).args([&table, &rows]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    String::from_utf8(read.stdout).unwrap()
}

/// A table of so many rows, and the same as JSON.
fn table(rows: i64) -> (Vec<Column>, String) {
    let integers = [Some(0), Some(i64::MIN), None, Some(i64::MAX), Some(-1)];
    let numbers = [Some(0.5), Some(-0.0), Some(f64::MIN_POSITIVE), None, None, Some(1e300), Some(0.1)];
    let texts = [Some(""), None, Some("ä \"quoted\"\n\u{1f427}"), Some("a"), Some("a"), Some("b")];
    let truths = [Some(true), Some(false), None];
    // Each has another period, so that runs of what is absent have many lengths and neighbours.
    let at = |row: i64, period: usize| (row * row / 3) as usize % period;
    let time = |row: i64| (row % 4 != 1).then_some(1_795_253_460_000_001 - row * 86_400_000_000);
    let mut json = String::new();
    for row in 0..rows {
        let line = serde_json::json!({
            "whole": integers[at(row, 5)],
            "number": numbers[at(row, 7)],
            "text": texts[at(row, 6)],
            "nothing": None::<i64>,
            "time": time(row),
            "truth": truths[at(row, 3)],
        });
        writeln!(json, "{line}").unwrap();
    }
    let text = |row| texts[at(row, 6)].map(str::to_owned);
    let columns = [
        ("whole", Values::Integers((0..rows).map(|row| integers[at(row, 5)]).collect())),
        ("number", Values::Numbers((0..rows).map(|row| numbers[at(row, 7)]).collect())),
        ("text", Values::Texts((0..rows).map(text).collect())),
        ("nothing", Values::Integers((0..rows).map(|_| None).collect())),
        ("time", Values::Times((0..rows).map(time).collect())),
        ("truth", Values::Truths((0..rows).map(|row| truths[at(row, 3)]).collect())),
    ];
    (columns.map(|(name, values)| Column { name: name.into(), values }).to_vec(), json)
}

#[test]
fn every_value_of_a_table_is_read_back_by_others_in_its_type_and_what_is_absent_is_null() {
    // None, one, and more than stand in one group.
    for rows in [0, 1, 70_000] {
        let (columns, json) = table(rows);
        assert_eq!(
            read(&columns, &json).lines().collect::<Vec<_>>(),
            [
                "whole int64 BIGINT",
                "number double DOUBLE",
                "text string VARCHAR",
                "nothing int64 BIGINT",
                "time timestamp[us, tz=UTC] TIMESTAMP WITH TIME ZONE",
                "truth bool BOOLEAN"
            ]
        );
    }
}
