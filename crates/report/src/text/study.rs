//! An experiment on a terminal.

use super::layout::{Columns, Page, Row, Side};
use crate::style::{Ink, Style};
use dropline_record::{Study, Table};

/// An experiment's result as text. Ends with a newline.
pub fn study_text(study: &Study, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Ink::Strong, &study.title);
    for paragraph in &study.paragraphs {
        page.gap();
        page.paragraph(Ink::Plain, paragraph);
    }
    for table in &study.tables {
        page.gap();
        page.paragraph(Ink::Strong, &table.title);
        page.columns(&columns(table));
        if !table.note.is_empty() {
            page.paragraph(Ink::Faint, &table.note);
        }
    }
    page.caveats(&study.caveats);
    page.into_text()
}

/// The first column names the row, the others are numbers: they align at their right.
fn columns(table: &Table) -> Columns {
    let heads = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, head)| (head.clone(), if index == 0 { Side::Left } else { Side::Right }))
        .collect();
    let rows = table
        .rows
        .iter()
        .map(|row| Row {
            cells: row
                .iter()
                .take(table.columns.len())
                .enumerate()
                .map(|(index, cell)| (cell.clone(), if index == 0 { Ink::Strong } else { Ink::Plain }))
                .collect(),
            note: None,
        })
        .collect();
    Columns { heads, rows, keep: 2 }
}
