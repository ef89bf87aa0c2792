//! Pipes of a trial of a pipeline on a terminal.

use super::layout::{Columns, Page, Row, Side};
use crate::passages;
use crate::style::Ink;
use dropline_record::PassagesLine;

/// Who recorded, a row a pipe with what became of its events, the slowest passage.
pub(super) fn write(page: &mut Page, found: &PassagesLine) {
    page.fact("recorder", &passages::recorder(&found.recorder));
    page.fact("granule", &passages::granule(found));
    if let Some(slowest) = found.slowest.first() {
        let [pipe, n, left, delay] = passages::slow(found, slowest);
        page.fact("slowest", &format!("granule {n} of pipe {pipe}, {left} after the first arrival: {delay}"));
    }
    page.gap();
    let rows = found.pipes.iter().map(|pipe| Row {
        cells: passages::row(found, pipe).into_iter().map(|cell| (cell, Ink::Plain)).collect(),
        note: None,
        said: None,
    });
    page.columns(&Columns {
        heads: passages::HEADS.iter().map(|head| ((*head).to_owned(), Side::Right)).collect(),
        rows: rows.collect(),
    });
    page.gap();
    for pipe in &found.pipes {
        let note = passages::note(found, pipe);
        if !note.is_empty() {
            page.hanging(&format!("pipe {:<6}", pipe.pipe), Ink::Faint, &note);
        }
    }
}
