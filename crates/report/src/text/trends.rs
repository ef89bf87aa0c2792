//! Histories on a terminal: what moved first, then each history.

use super::layout::{Columns, Page, Row, Side};
use crate::prose::date;
use crate::style::{Ink, Style};
use crate::trends::{
    change, change_between, confirmation, drift, first_line, level, nights, reference, silent, span, spikes,
    too_few, verdict, weights,
};
use dropline_record::{SeriesLine, Trends, VerdictWord};

/// The answer of `trend` as text. Ends with a newline.
pub fn trends_text(trends: &Trends, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Ink::Strong, &first_line(trends));
    for series in &trends.series {
        page.gap();
        page.paragraph(Ink::Strong, &format!("{}, {}", series.target, series.goal));
        page.fact("nights", &span(series));
        page.fact("machine", &format!("{}; dropline {}", series.machine, series.dropline));
        if let Some(words) = reference(series) {
            page.fact("reference", &words);
        }
        if let Some(level) = level(series) {
            page.fact("level", &level);
        }
        if let Some(words) = weights(series) {
            page.fact("weights", words);
        }
        if !series.changes.is_empty() {
            page.gap();
            page.columns(&changes(series));
        }
        for line in &series.changes {
            if let Some(fresh) = &line.confirmation {
                page.fact(&date(&line.at), &confirmation(fresh));
            }
        }
        for line in &series.drifts {
            page.fact(if line.behind { "not back" } else { "drift" }, &drift(line));
        }
        for mark in &series.marks {
            page.fact("mark", &format!("{}: {}", date(&mark.at), mark.text));
        }
        if !series.spikes.is_empty() {
            page.fact("excursions", &spikes(series));
        }
        if let Some(words) = silent(series) {
            page.hanging("! ", Ink::Strong, &words);
        }
        if let Some(words) = too_few(series) {
            page.hanging("! ", Ink::Strong, words);
        }
    }
    if !trends.left_out.is_empty() {
        page.gap();
    }
    for left in &trends.left_out {
        page.fact("left out", &format!("{}: {}", left.source, left.why));
    }
    page.into_text()
}

fn changes(series: &SeriesLine) -> Columns {
    let left = |word: &str| (word.to_owned(), Side::Left);
    let rows = series.changes.iter().map(|line| {
        let ink = if line.verdict == VerdictWord::Regressed { Ink::Lost } else { Ink::Plain };
        Row {
            cells: vec![
                (date(&line.at), Ink::Strong),
                (change(line.size), Ink::Strong),
                (verdict(line), ink),
                (change_between(line.size_low, line.size_high), Ink::Plain),
                (line.id.clone(), Ink::Faint),
            ],
            note: None,
            said: Some(nights(line)),
        }
    });
    Columns {
        heads: vec![
            left("change"),
            ("size".into(), Side::Right),
            left("verdict"),
            left("95 % interval"),
            left("id"),
        ],
        rows: rows.collect(),
    }
}
