//! Sentences: how they begin, and the columns of a study's tables that hold them and not numbers.

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

/// A title behind the name of what it is about, where that is needed.
pub(crate) fn labelled(label: &str, title: String) -> String {
    let mut letters = title.chars();
    match letters.next() {
        Some(first) if !label.is_empty() => {
            let rest: String = first.to_lowercase().chain(letters).collect();
            format!("{label}: {rest}")
        }
        _ => title,
    }
}

/// The first letter as at the start of a sentence.
pub(crate) fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
