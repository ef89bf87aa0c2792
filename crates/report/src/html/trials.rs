//! Every trial as a table that can be sorted.

use crate::number::{self, Loads, fixed, nanoseconds};
use dropline_record::{Purpose, Record, TrialLine};
use maud::{Markup, html};

/// A column: its head in two lines, and whether narrow pages leave it out.
const COLUMNS: [(&str, &str, bool); 10] = [
    ("", "trial", false),
    ("at", "s", true),
    ("length", "s", true),
    ("load", "", false),
    ("", "offered", true),
    ("", "lost", false),
    ("loss ratio", "%", false),
    ("p99", "us", false),
    ("lost at, doubts", "", true),
    ("", "phase", true),
];

/// All trials of a record.
pub(super) fn trials(record: &Record, loads: Loads) -> Markup {
    let decimals = loss_decimals(&record.trials);
    html! {
        div.scroll {
            table.trials.sort {
                thead {
                    tr {
                        @for (index, (above, name, wide)) in COLUMNS.iter().enumerate() {
                            th scope="col" class={ @if *wide { "w" } @if index >= 8 { " l" } } {
                                button type="button" {
                                    @if !above.is_empty() && !(name.is_empty() && index != 3) { (above) br; }
                                    @if index == 3 { (loads.unit) } @else if name.is_empty() { (above) } @else { (name) }
                                }
                            }
                        }
                    }
                }
                tbody { @for trial in &record.trials { (row(trial, loads, decimals)) } }
            }
        }
    }
}

fn row(trial: &TrialLine, loads: Loads, decimals: usize) -> Markup {
    let ratio = trial.loss_ratio.map_or_else(String::new, |ratio| match ratio {
        0.0 => zero(decimals),
        ratio => fixed(ratio * 100.0, decimals),
    });
    let p99 = trial.delay_ns.as_ref().and_then(|delay| delay.p99);
    let doubts: Vec<String> = crate::finding::lost_at([trial])
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(place, count)| format!("{place} {}", number::count(count)))
        .chain(trial.caveats.iter().map(|caveat| format!("! {}", caveat.code.replace('_', " "))))
        .collect();
    let phase = trial.phase.as_deref().unwrap_or(match trial.purpose {
        Purpose::DelayAt => "delay",
        Purpose::WarmUp => "warm-up",
        Purpose::Search | Purpose::Trial => "",
    });
    html! {
        tr data-trial=(trial.number) data-load-pps=(trial.intended_load_pps) data-lost=(trial.lost.0)
            data-offered=(trial.offered.0) {
            td data-v=(trial.number) { (trial.number) }
            td.w data-v=(trial.at_s) { (fixed(trial.at_s, 2)) }
            td.w data-v=(trial.duration_s) { (number::three(trial.duration_s)) }
            td data-v=(trial.intended_load_pps) { (loads.bare(trial.intended_load_pps)) }
            td.w data-v=(trial.offered.0) { (number::count(trial.offered.0)) }
            td data-v=(trial.lost.0) { (number::count(trial.lost.0)) }
            td data-v=[trial.loss_ratio] { (ratio) }
            td data-v=[p99] title=[p99.map(nanoseconds)] {
                @if let Some(p99) = p99 { (number::three(p99 as f64 / 1e3)) }
            }
            td.l.w.wrap { (doubts.join(", ")) }
            td.l.w { (phase) }
        }
    }
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
