//! Which graph ran, on a terminal.

use super::layout::{Columns, Page, Row, Side};
use crate::graph;
use crate::style::Ink;
use dropline_record::GraphLine;

/// The graph, its CPUs, its backlog, a row a block where that was asked for.
pub(super) fn write(page: &mut Page, found: &GraphLine, duration_s: f64) {
    for (name, words) in graph::facts(found, duration_s) {
        page.fact(name, &words);
    }
    if found.residence.is_empty() {
        return;
    }
    page.gap();
    let rows = found.residence.iter().map(|of| Row {
        cells: graph::row(of, found.stages).into_iter().map(|cell| (cell, Ink::Plain)).collect(),
        note: None,
        said: None,
    });
    let heads = graph::HEADS.iter().enumerate();
    page.columns(&Columns {
        heads: heads
            .map(|(index, head)| ((*head).to_owned(), if index == 0 { Side::Left } else { Side::Right }))
            .collect(),
        rows: rows.collect(),
    });
}
