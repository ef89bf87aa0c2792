//! Every trial as a table that can be sorted.

use crate::number::{self, Loads, fixed};
use dropline_record::{Purpose, Record, TrialLine};
use maud::{Markup, html};

/// A column of the table.
struct Column {
    /// Upper and lower line of its head.
    head: (&'static str, &'static str),
    /// `w` leaves it out on narrow pages, `l` aligns it left.
    class: &'static str,
    cell: Box<dyn Fn(&TrialLine) -> Cell>,
}

/// What stands in a cell, and what it is sorted by.
struct Cell {
    text: String,
    value: Option<String>,
}

/// All trials of a record; columns in which nothing stands are left out.
pub(super) fn trials(record: &Record, loads: Loads) -> Markup {
    let mut columns = columns(record, loads);
    columns.retain(|column| record.trials.iter().any(|trial| !(column.cell)(trial).text.is_empty()));
    let shown = shown(&record.trials);
    html! {
        @if shown.len() < record.trials.len() {
            p.about {
                "Here are " (number::count(shown.len() as u64)) " of " (number::plural(record.trials.len() as u64, "trial"))
                ", evenly chosen. The record and the CSV below have all."
            }
        }
        div.scroll {
            table.trials.sort {
                thead {
                    tr {
                        @for column in &columns {
                            th scope="col" class=[Some(column.class).filter(|class| !class.is_empty())] {
                                button type="button" {
                                    (column.head.0)
                                    @if !column.head.0.is_empty() { br; }
                                    (column.head.1)
                                }
                            }
                        }
                    }
                }
                tbody {
                    @for trial in shown {
                        tr data-trial=(trial.number) data-load-pps=(trial.intended_load_pps)
                            data-lost=(trial.lost.0) data-offered=(trial.offered.0) {
                            @for column in &columns {
                                @let cell = (column.cell)(trial);
                                td class=[Some(column.class).filter(|class| !class.is_empty())] data-v=[cell.value] { (cell.text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Rows of a table at most.
const ROWS: usize = 1000;

/// The trials of the table: all, or of very many every so many, the last with them.
fn shown(trials: &[TrialLine]) -> Vec<&TrialLine> {
    let step = trials.len().div_ceil(ROWS).max(1);
    let last = trials.len().saturating_sub(1);
    trials
        .iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at == last)
        .map(|(_, trial)| trial)
        .collect()
}

fn columns(record: &Record, loads: Loads) -> Vec<Column> {
    let decimals = loss_decimals(&record.trials);
    // A load that met a goal and one that failed it do not look the same.
    let loads = loads.telling(record.trials.iter().map(|trial| trial.intended_load_pps));
    // One unit for all: a spreadsheet reads a column of them.
    let (delay_ns, delay_unit) = match record.trials.iter().filter_map(p99).max() {
        Some(1_000_000..) => (1e6, "ms"),
        _ => (1e3, "us"),
    };
    vec![
        column(("", "trial"), "", |trial| number(trial.number as f64, trial.number.to_string())),
        column(("at", "s"), "w", |trial| number(trial.at_s, fixed(trial.at_s, 2))),
        column(("length", "s"), "w", |trial| number(trial.duration_s, number::three(trial.duration_s))),
        column(("load", loads.unit), "", move |trial| {
            number(trial.intended_load_pps, loads.bare(trial.intended_load_pps))
        }),
        column(("", "offered"), "w", |trial| number(trial.offered.0 as f64, number::count(trial.offered.0))),
        column(("", "lost"), "", |trial| number(trial.lost.0 as f64, number::count(trial.lost.0))),
        column(("loss ratio", "%"), "", move |trial| match trial.loss_ratio {
            Some(0.0) => number(0.0, zero(decimals)),
            Some(ratio) => number(ratio, fixed(ratio * 100.0, decimals)),
            None => words(String::new()),
        }),
        column(("p99 delay", delay_unit), "", move |trial| match p99(trial) {
            Some(p99) => number(p99 as f64, number::three(p99 as f64 / delay_ns)),
            None => words(String::new()),
        }),
        column(("", "lost at"), "l w wrap", |trial| words(lost_at(trial))),
        column(("", "doubts"), "l w wrap", |trial| words(doubts(trial))),
        column(("", "phase"), "l w", |trial| words(phase(trial))),
    ]
}

fn column(
    head: (&'static str, &'static str),
    class: &'static str,
    cell: impl Fn(&TrialLine) -> Cell + 'static,
) -> Column {
    Column { head, class, cell: Box::new(cell) }
}

fn number(value: f64, text: String) -> Cell {
    // What sorts as it stands needs no second value.
    let value = value.to_string();
    Cell { value: (value != text).then_some(value), text }
}

fn words(text: String) -> Cell {
    Cell { text, value: None }
}

fn p99(trial: &TrialLine) -> Option<u64> {
    trial.delay_ns.as_ref()?.p99
}

fn lost_at(trial: &TrialLine) -> String {
    let places = crate::traffic::lost_at([trial]).into_iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> =
        places.map(|(place, count)| format!("{place} {}", number::count(count))).collect();
    words.join(", ")
}

fn doubts(trial: &TrialLine) -> String {
    let words: Vec<String> = trial.caveats.iter().map(|caveat| caveat.code.replace('_', " ")).collect();
    words.join(", ")
}

fn phase(trial: &TrialLine) -> String {
    trial.phase.clone().unwrap_or_else(|| {
        match trial.purpose {
            Purpose::DelayAt => "delay",
            Purpose::WarmUp => "warm-up",
            Purpose::Search | Purpose::Trial => "",
        }
        .into()
    })
}

/// So many decimals of a per cent that the smallest loss is seen.
fn loss_decimals(trials: &[TrialLine]) -> usize {
    let least = trials
        .iter()
        .filter_map(|trial| trial.loss_ratio)
        .filter(|ratio| *ratio > 0.0 && ratio.is_finite())
        .fold(0.01, f64::min);
    ((-(least * 100.0).log10()).ceil() + 1.0).clamp(1.0, 6.0) as usize
}

/// A lone 0 at the units' place of a column.
fn zero(decimals: usize) -> String {
    // A figure space is as wide as a digit, a punctuation space as a point.
    format!("0\u{2008}{}", "\u{2007}".repeat(decimals))
}
