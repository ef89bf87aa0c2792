//! The page of several records, on common axes.

use super::downloads::downloads;
use super::facts;
use super::figure::figures;
use super::goals::{caveats, sentence};
use super::shell::shell;
use super::single::about;
use super::trials::trials;
use crate::answer;
use crate::number::{self, Loads};
use crate::plot::{self, Plot, Room};
use crate::search_groups::{Labels, Line, SearchGroups, change_words, labels, unsettled_words};
use crate::search_summary::SearchSummary;
use crate::text::{Columns, Side, singles};
use crate::{prose, traffic};
use dropline_record::{CaveatLine, Record};
use maud::{Markup, html};

/// Searches that get graphs of their own.
const DRAWN: usize = 24;
/// Up to so many, loss and delay are drawn too.
const ALL_PLOTS: usize = 6;
/// Searches whose lengths differ by no more share a time axis.
const SAME_TIME: f64 = 3.0;

pub(super) fn page(records: &[Record]) -> String {
    let findings = SearchSummary::all(records);
    let labels = labels(records);
    let groups = SearchGroups::of(records);
    let description = match labels.shared.as_str() {
        "" => number::plural(records.len() as u64, "record"),
        shared => format!("{}, all with {shared}", number::plural(records.len() as u64, "record")),
    };
    let content = html! {
        @if let Some(first) = records.first() { (about(first)) }
        (sentence(&answer::of_several(records, &groups), None))
        @if !labels.shared.is_empty() { p.lead { "All with " (labels.shared) "." } }
        @if !groups.lines.is_empty() { (table(&groups)) }
        (counted(records))
        @if groups.repeated() { p.about { "half 16–84: half the range of the middle two thirds of the searches" } }
        @if groups.lines.iter().any(|line| line.change.is_some()) {
            p.about { "Whether one load is really higher than another, or only at random, is said by  " code { "dropline compare A B" } }
        }
        @if let Some(words) = groups.left_out() { p.about { (words) } }
        (caveats(&doubts(records, &labels), None))
        @for plots in plots(records, &findings, &labels, groups.loads) { (figures(&plots, true)) }
        @if findings.len() > DRAWN { p.about { "Drawn: the first " (DRAWN) " of " (findings.len()) " searches." } }
        section {
            h2 { "How it was measured" }
            @for (index, record) in records.iter().enumerate() {
                details open[index == 0] {
                    summary { (name(&labels, index)) }
                    (facts::measured(record))
                }
            }
        }
        section {
            h2 { "Every trial" }
            @for (index, record) in records.iter().enumerate() {
                details data-record=(index) {
                    summary { (name(&labels, index)) ", " (number::plural(record.trials.len() as u64, "trial")) }
                    (trials(record, groups.loads))
                }
            }
        }
        (downloads(records))
    };
    shell(&answer::words(records), &description, &content)
}

/// One unit for all of them.
pub(super) fn shared_loads<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    findings: &[SearchSummary],
) -> Loads {
    let (mut unit, mut highest) = (None, 0.0f64);
    for record in records {
        unit = unit.or(Some(record.header.load_unit));
        highest = highest.max(traffic::highest_load(record));
    }
    Loads::of(unit.unwrap_or_default(), findings.iter().flat_map(|finding| &finding.answers), highest)
}

fn name(labels: &Labels, index: usize) -> String {
    match labels.each.get(index) {
        Some(label) if !label.is_empty() => prose::sentence_case(label),
        _ => format!("Search {}", index + 1),
    }
}

fn table(groups: &SearchGroups) -> Markup {
    let loads = groups.loads;
    let repeated = groups.repeated();
    let unknown = || "\u{2013}".to_owned();
    let load = |load: Option<f64>| load.map_or_else(unknown, |load| loads.bare(load));
    let time = |time: Option<f64>| time.map_or_else(unknown, number::three);
    let cell = |line: &Line, at: usize| line.stated.as_ref().and_then(|stated| stated.cells[at].clone());
    html! {
        div.scroll {
            table.goals.comparison {
                thead {
                    tr {
                        @if groups.labelled() { th.l scope="col" { "search" } }
                        th.l scope="col" { "goal" }
                        @if repeated {
                            th.w scope="col" { "searches" }
                            th scope="col" { "median" br; (loads.unit) }
                            th scope="col" { "min" br; (loads.unit) }
                            th scope="col" { "max" br; (loads.unit) }
                            th.w scope="col" { "half 16–84" br; (loads.unit) }
                            th.w scope="col" { "median time" br; "s" }
                            th.w scope="col" { "half 16–84" br; "s" }
                        } @else {
                            th scope="col" { "finds" br; (loads.unit) }
                            th.w scope="col" { "lower bound" br; (loads.unit) }
                            th.w scope="col" { "upper bound" br; (loads.unit) }
                            th scope="col" { "to the" br; "first" }
                            th.w scope="col" { "trials" }
                            th.w scope="col" { "time" br; "s" }
                        }
                        th.l.w scope="col" { "how sure" }
                    }
                }
                tbody {
                    @for line in &groups.lines {
                        tr data-goal=(line.goal) data-label=(line.label) {
                            @if groups.labelled() { td.l.wrap { (line.label) } }
                            td.l.name {
                                span class=(format!("t{}", line.ink)) { (line.goal) }
                            }
                            @if repeated {
                                td.w { (line.searches) }
                                td data-headline-pps=[line.headline.median] { b { (load(line.headline.median)) } }
                                td { (load(line.headline.min)) }
                                td { (load(line.headline.max)) }
                                td.w { (load(line.headline.half_range)) }
                                td.w { (time(line.elapsed.median)) }
                                td.w { (time(line.elapsed.half_range)) }
                            } @else {
                                td data-headline-pps=[line.headline.median] {
                                    b { (cell(line, 0).unwrap_or_else(|| load(line.headline.median))) }
                                }
                                td.w data-lower-pps=[line.lower_pps] { (cell(line, 1).unwrap_or_else(unknown)) }
                                td.w data-upper-pps=[line.upper_pps] { (cell(line, 2).unwrap_or_else(unknown)) }
                                td { @if let Some(change) = line.change { (change_words(change)) } }
                                td.w { (line.trials) }
                                td.w { (time(line.elapsed.median)) }
                            }
                            td.l.w.wrap {
                                @if line.unsettled.is_empty() { (line.result) }
                                @else { span.unsettled { (unsettled_words(line)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What each trial counted that no search offered.
fn counted(records: &[Record]) -> Markup {
    let Columns { heads, rows } = singles(records);
    // The least columns leave a narrow page.
    let side = |index: usize| match (heads[index].0.as_str(), heads[index].1) {
        ("offered" | "forwarded", _) => Some("w"),
        (_, Side::Left) => Some("l wrap"),
        _ => None,
    };
    html! {
        @if !rows.is_empty() {
            div.scroll {
                table.counted {
                    thead { tr { @for (index, (head, _)) in heads.iter().enumerate() { th class=[side(index)] scope="col" { (head) } } } }
                    tbody {
                        @for row in &rows {
                            tr { @for (index, (cell, _)) in row.cells.iter().enumerate() { td class=[side(index)] { (cell) } } }
                        }
                    }
                }
            }
        }
    }
}

/// The doubts of all records, each with the search it is about when not all share it.
fn doubts(records: &[Record], labels: &Labels) -> Vec<CaveatLine> {
    let mut doubts: Vec<(CaveatLine, Vec<usize>)> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        for caveat in record.caveats() {
            match doubts.iter_mut().find(|(known, _)| known.code == caveat.code && known.text == caveat.text)
            {
                Some((_, searches)) => searches.push(index),
                None => doubts.push((caveat, vec![index])),
            }
        }
    }
    doubts
        .into_iter()
        .map(|(caveat, searches)| match searches.as_slice() {
            [only] if records.len() > 1 => {
                CaveatLine { text: format!("{}: {}", name(labels, *only), caveat.text), ..caveat }
            }
            _ => caveat,
        })
        .collect()
}

/// Rows of plots, a kind at a time.
fn plots(records: &[Record], findings: &[SearchSummary], labels: &Labels, loads: Loads) -> Vec<Vec<Plot>> {
    let spans: Vec<f64> = findings.iter().map(plot::time_span).collect();
    let longest = spans.iter().copied().fold(0.0, f64::max);
    let shortest = spans.iter().copied().fold(f64::INFINITY, f64::min);
    let shared = longest <= shortest * SAME_TIME;
    let axis = plot::common_view(findings, loads, longest);
    let searches: Vec<(usize, &SearchSummary)> = records
        .iter()
        .enumerate()
        .filter(|(_, record)| record.header.search.is_some())
        .map(|(index, _)| index)
        .zip(findings)
        .take(DRAWN)
        .collect();
    let view = |finding: &SearchSummary| plot::View {
        until: if shared { longest } else { plot::time_span(finding) },
        ..axis
    };
    let mut plots: Vec<Vec<Plot>> = vec![
        searches
            .iter()
            .map(|(index, finding)| {
                plot::search_time(finding, view(finding), Room::Half, &name(labels, *index))
            })
            .collect(),
    ];
    if let [(_, a), (_, b)] = searches[..] {
        plots.push(plot::together([a, b], loads));
    }
    if findings.len() <= ALL_PLOTS {
        let axis = plot::LoadAxis::around(axis, findings);
        let losses = searches
            .iter()
            .filter_map(|(index, finding)| plot::loss(finding, axis, Room::Half, &name(labels, *index)));
        plots.push(losses.collect());
        let named = searches.iter().map(|(index, finding)| (*finding, name(labels, *index)));
        plots.push(plot::delays(named, loads, Room::Half));
    }
    plots
}
