//! Columns of a study's tables that hold sentences, not numbers.

use dropline_record::Table;

/// Cells longer than this are sentences.
const LONG: usize = 60;

/// The last column, if it holds sentences: it wraps, or stands below the rows.
pub(crate) fn sentences(table: &Table) -> Option<usize> {
    let last = table.columns.len().checked_sub(1).filter(|&last| last > 0)?;
    let mut cells = table.rows.iter().filter_map(|row| row.get(last));
    cells.any(|cell| is_sentence(cell)).then_some(last)
}

pub(crate) fn is_sentence(cell: &str) -> bool {
    cell.chars().count() > LONG
}
