//! An experiment on a terminal.

use super::layout::{Columns, Page, Row, Side};
use crate::prose;
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

/// The first column names the row, the others are numbers: they align at their right. Sentences stand below their rows.
fn columns(table: &Table) -> Columns {
    let numbers = prose::sentences(table).unwrap_or(table.columns.len());
    let heads = table.columns[..numbers]
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
                .take(numbers)
                .enumerate()
                .map(|(index, cell)| (cell.clone(), if index == 0 { Ink::Strong } else { Ink::Plain }))
                .collect(),
            note: None,
            said: row.get(numbers).filter(|said| !said.is_empty()).cloned(),
        })
        .collect();
    Columns { heads, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_stand_below_their_rows_however_narrow() {
        let why = "bursts of 128 at a tick, and K is 100, three quarters of it while draining";
        let row = |name: &str, why: &str| vec![name.into(), "21.8 %".into(), why.into()];
        let table = Table {
            title: "Why".into(),
            note: String::new(),
            columns: ["row", "lost", "why"].map(String::from).to_vec(),
            rows: vec![row("ticks", why), row("constant", "")],
        };
        let study = Study { tables: vec![table], ..Study::default() };
        let text = study_text(
            &study,
            Style { width: 120, color: crate::Color::None, unicode: true, verbose: false },
        );
        assert!(text.contains(&format!("21.8 %\n    {why}\n")), "{text}");
    }
}
