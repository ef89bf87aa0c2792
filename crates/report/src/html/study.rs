//! The page of an experiment: what was found, its tables, its searches side by side.

use super::figure::figures;
use super::goals::caveats;
use super::several::shared_loads;
use super::shell::shell;
use crate::plot::{self, Calibration, Curves, Plot, Room};
use crate::prose;
use crate::search_summary::SearchSummary;
use dropline_record::{Chart, Fit, Record, Study, Table};
use maud::{Markup, html};

/// A search-time graph on the page of an experiment. All graphs of a page share the rate axis.
#[derive(Clone, Debug)]
pub struct Graph {
    /// What it is, such as `MDR, 10 s trials, search 1`.
    pub caption: String,
    /// The search.
    pub record: Record,
    /// Graphs of one group share the time axis too.
    pub time_axis: u32,
}

/// An experiment as one page: title, paragraphs, plots of how often intervals held the true value, tables, caveats, graphs,
/// and distributions with their plots.
pub fn study_page(study: &Study, graphs: &[Graph], fits: &[Fit], calibrations: &[Calibration]) -> String {
    let calibrated: Vec<Plot> = calibrations.iter().filter_map(plot::calibration).collect();
    page(study, &calibrated, &plots(graphs), fits)
}

/// A study with curves: they come before its tables.
pub fn study_with_curves_html(study: &Study, curves: &[Curves]) -> String {
    let drawn: Vec<Plot> = curves.iter().filter_map(plot::curves).collect();
    page(study, &drawn, &[], &[])
}

fn page(study: &Study, first: &[Plot], last: &[Plot], fits: &[Fit]) -> String {
    let verb = if study.name.contains(' ') { "" } else { "experiment " };
    let content = html! {
        p.about { "dropline " (verb) b { (study.name) } }
        h1 { (study.title) }
        @for paragraph in &study.paragraphs { p.para { (paragraph) } }
        (caveats(&study.caveats, None))
        (figures(first, first.len() > 1))
        // Spans have many names at their ends: each takes the whole width, and says the most.
        (figures(&charts(study, |chart| !chart.series.is_empty(), Room::Full), false))
        @for table in &study.tables { (section(table)) }
        (figures(&charts(study, |chart| chart.series.is_empty(), Room::Half), true))
        (figures(last, true))
        @for fit in fits { (super::fit::section(fit)) }
    };
    shell(&study.title, &format!("dropline {verb}{}", study.name), &content)
}

fn section(table: &Table) -> Markup {
    let prose = prose::sentences(table);
    html! {
        section {
            h2 { (table.title) }
            div.scroll {
                table.study {
                    thead {
                        tr {
                            @for (index, head) in table.columns.iter().enumerate() {
                                th scope="col" class=[(index == 0 || Some(index) == prose).then_some("l")] { (head) }
                            }
                        }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (index, cell) in row.iter().enumerate() {
                                    td class=[class(index, cell, prose).or_else(|| tint(table, index, cell))] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(tinted) = Tinted::of(table) { p.about { (tinted.words()) } }
            @if !table.note.is_empty() { p.about { (table.note) } }
        }
    }
}

/// What is tinted in a table, so that one sees in many cells where that is.
#[derive(Clone, Copy)]
enum Tinted {
    /// Its cells are shares, in per cent, of what should hold or be found: too few.
    Few,
    /// Its cells count what should not be: too many.
    Many,
}

impl Tinted {
    fn of(table: &Table) -> Option<Self> {
        let says = |word| table.title.contains(word);
        let is_of_shares = (says("hold") || says("found")) && says("%");
        is_of_shares.then_some(Self::Few).or_else(|| says("where nothing changed").then_some(Self::Many))
    }

    fn words(self) -> &'static str {
        match self {
            Self::Few => "Tinted: below 90 %, the stronger the farther below.",
            Self::Many => "Tinted: above 3, the stronger the farther above.",
        }
    }
}

/// How far the worst number of a cell is from what it should be.
fn tint(table: &Table, index: usize, cell: &str) -> Option<&'static str> {
    let numbers = cell.split(['/', ' ']).filter_map(|part| part.trim().parse::<f64>().ok());
    if index == 0 {
        return None;
    }
    match Tinted::of(table)? {
        Tinted::Few => match numbers.fold(f64::INFINITY, f64::min) {
            least if least < 60.0 => Some("short3"),
            least if least < 80.0 => Some("short2"),
            least if least < 90.0 => Some("short1"),
            _ => None,
        },
        Tinted::Many => match numbers.fold(0.0, f64::max) {
            most if most > 30.0 => Some("short3"),
            most if most > 10.0 => Some("short2"),
            most if most > 3.0 => Some("short1"),
            _ => None,
        },
    }
}

/// The first cell names the row; sentences wrap, numbers do not.
fn class(index: usize, cell: &str, prose: Option<usize>) -> Option<&'static str> {
    let wraps = Some(index) == prose || prose::is_sentence(cell);
    if wraps { Some("l wrap") } else { (index == 0).then_some("l name") }
}

fn charts(study: &Study, which: fn(&Chart) -> bool, room: Room) -> Vec<Plot> {
    study.charts.iter().filter(|chart| which(chart)).filter_map(|chart| plot::chart(chart, room)).collect()
}

fn plots(graphs: &[Graph]) -> Vec<Plot> {
    let findings = SearchSummary::all(graphs.iter().map(|graph| &graph.record));
    let loads = shared_loads(graphs.iter().map(|graph| &graph.record), &findings);
    let axis = plot::common_view(&findings, loads, 0.0);
    let drawn = graphs.iter().filter(|graph| graph.record.header.search.is_some());
    let searches: Vec<(&Graph, &SearchSummary)> = drawn.zip(&findings).collect();
    searches
        .iter()
        .map(|(graph, finding)| {
            let group = searches.iter().filter(|(other, _)| other.time_axis == graph.time_axis);
            let until = group.map(|(_, finding)| plot::time_span(finding)).fold(0.0, f64::max);
            plot::search_time(finding, plot::View { until, ..axis }, Room::Half, &graph.caption)
        })
        .collect()
}
