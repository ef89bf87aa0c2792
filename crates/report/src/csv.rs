//! Tables as comma-separated values.

use crate::trial_columns;
use dropline_printable::escaped;
use dropline_record::Record;
use dropline_table::{Column, Values};

/// The trials of a record as CSV: [`trial_columns`].
pub fn csv(record: &Record) -> String {
    csv_columns(&trial_columns(record))
}

/// A table as CSV (RFC 4180). A value that does not exist is empty, numbers are exact.
pub fn csv_columns(columns: &[Column]) -> String {
    let rows = columns.first().map_or(0, |column| column.values.rows());
    let head = columns.iter().map(|column| column.name.clone()).collect();
    let row = |at| columns.iter().map(|column| cell(&column.values, at)).collect();
    csv_table(std::iter::once(head).chain((0..rows).map(row)))
}

fn cell(values: &Values, row: usize) -> String {
    let written = match values {
        Values::Integers(all) | Values::Times(all) => all[row].map(|value| value.to_string()),
        Values::Numbers(all) => all[row].map(|value| value.to_string()),
        Values::Texts(all) => all[row].clone(),
        Values::Truths(all) => all[row].map(|value| value.to_string()),
    };
    written.unwrap_or_default()
}

/// Rows of cells as CSV (RFC 4180).
pub fn csv_table(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = String::new();
    rows.into_iter().for_each(|row| push_row(&mut text, &row));
    text
}

fn push_row(text: &mut String, cells: &[String]) {
    let quoted: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    text.push_str(&quoted.join(","));
    text.push_str("\r\n");
}

fn quoted(cell: &str) -> String {
    let cell = &*escaped(cell);
    // A spreadsheet runs what begins like a formula; numbers stay numbers.
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_break_its_row_nor_run_in_a_spreadsheet() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=cmd()"), "'=cmd()");
        assert_eq!(quoted("-1.5"), "-1.5");
        assert_eq!(quoted("\u{202e}\x1b[2J\r"), "\\u202e\\u001b[2J\\u000d");
    }
}
