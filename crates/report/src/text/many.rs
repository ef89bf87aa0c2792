//! Several searches and trials side by side on a terminal.

use super::layout::{Columns, Page, Row, Side};
use crate::number::{self, Loads};
use crate::search_groups::{Line, SearchGroups, change_words, labels, unsettled_words};
use crate::style::{Ink, Style};
use crate::traffic;
use dropline_record::{CaveatLine, Record, TrialLine};

/// Several records as one table of goals: searches that were repeated with their spread, others beside one
/// another with what differs between them. Ends with a newline.
pub fn text_many(records: &[Record], style: Style) -> String {
    if let [only] = records {
        return super::text(only, style);
    }
    let groups = SearchGroups::of(records);
    let mut page = Page::new(style);
    if !groups.shared.is_empty() {
        page.fact("all with", &groups.shared);
        page.gap();
    }
    if !groups.lines.is_empty() {
        page.columns(&columns(&groups));
    }
    if let Some(words) = groups.left_out() {
        page.hanging("  ", Ink::Plain, &words);
    }
    if groups.repeated() {
        page.hanging(
            "  ",
            Ink::Faint,
            "half 16\u{2013}84: half the range from the 16 % to the 84 % quantile (nearest rank)",
        );
    }
    let singles = singles(records);
    if !singles.rows.is_empty() {
        if !groups.lines.is_empty() {
            page.gap();
        }
        page.columns(&singles);
    }
    let others = records.iter().filter(|record| record.header.search.is_none() && record.trials.is_empty());
    if records.is_empty() {
        page.paragraph(Ink::Plain, "There is no record to show.");
    }
    if let others @ 1.. = others.count() as u64 {
        let records = number::plural(others, "record");
        page.paragraph(
            Ink::Plain,
            &format!("{records} without a trial: show each with  dropline report FILE"),
        );
    }
    page.caveats(&doubts(records));
    page.into_text()
}

/// A row a goal of each group of searches.
pub(crate) fn several(records: &[Record]) -> Columns {
    columns(&SearchGroups::of(records))
}

fn columns(groups: &SearchGroups) -> Columns {
    let mut heads = vec![("goal".to_owned(), Side::Left)];
    if groups.labelled() {
        heads.insert(0, ("search".to_owned(), Side::Left));
    }
    let numbers: &[&str] = if groups.repeated() {
        &["searches", "median", "min", "max", "half 16\u{2013}84", "median time", "half 16\u{2013}84"]
    } else {
        &["finds", "bounds", "to the first", "trials", "time"]
    };
    heads.extend(numbers.iter().map(|head| ((*head).to_owned(), Side::Right)));
    let rows = groups.lines.iter().map(|line| row(groups, line)).collect();
    Columns { heads, rows }
}

/// The trials that no search offered.
pub(crate) fn singles(records: &[Record]) -> Columns {
    let labels = labels(records).each;
    let mut heads = vec!["trial", "load", "offered", "forwarded", "lost", "ratio"];
    let side = |head: &str| if ["trial", "replies"].contains(&head) { Side::Left } else { Side::Right };
    let of_services = records.iter().any(|record| record.trials.iter().any(|trial| trial.replies.is_some()));
    heads.extend(of_services.then_some("replies"));
    let rows = records.iter().zip(&labels).filter(|(record, _)| record.header.search.is_none());
    let rows = rows.enumerate().flat_map(|(at, (record, label))| {
        let loads = Loads::of(record.header.load_unit, [], traffic::highest_load(record));
        record.trials.iter().map(move |trial| {
            let ratio = trial.loss_ratio.map_or_else(|| "\u{2013}".into(), number::percent);
            let name = match record.trials.len() {
                2.. => one_of_many(trial, label),
                _ if label.is_empty() => format!("trial {}", at + 1),
                _ => label.clone(),
            };
            let mut cells = vec![
                name,
                loads.with_unit(trial.intended_load_pps),
                number::count(trial.offered.0),
                number::count(trial.forwarded.0),
                number::count(trial.lost.0),
                ratio,
            ];
            if of_services {
                cells.push(trial.replies.as_ref().map_or_else(String::new, traffic::replies_words));
            }
            let cells = cells.into_iter().map(|cell| (cell, Ink::Plain)).collect();
            Row { cells, note: None, said: None }
        })
    });
    let rows = rows.collect();
    let heads = heads.into_iter().map(|head| (head.to_owned(), side(head))).collect();
    Columns { heads, rows }
}

/// A trial of a record of several by its number, whose turn it was, and at what it was offered: `trial 3, A, wakeup:`.
fn one_of_many(trial: &TrialLine, label: &str) -> String {
    let of = [label, trial.phase.as_deref().unwrap_or(""), trial.target.as_str()];
    let of: String = of.iter().filter(|words| !words.is_empty()).map(|words| format!(", {words}")).collect();
    format!("trial {}{of}", trial.number)
}

fn row(groups: &SearchGroups, line: &Line) -> Row {
    let loads = line.loads;
    let unknown = || "\u{2013}".to_owned();
    let load = |load: Option<f64>| load.map_or_else(unknown, |load| loads.with_unit(load));
    let time = |time: Option<f64>| time.map_or_else(unknown, number::seconds);
    let mut cells = vec![(line.goal.clone(), Ink::Goal(line.ink))];
    if groups.labelled() {
        cells.insert(0, (line.label.clone(), Ink::Plain));
    }
    let numbers = if groups.repeated() {
        vec![
            number::count(line.searches as u64),
            load(line.headline.median),
            load(line.headline.min),
            load(line.headline.max),
            line.headline.half_range.map_or_else(unknown, |half| loads.with_unit(half)),
            time(line.elapsed.median),
            time(line.elapsed.half_range),
        ]
    } else {
        vec![
            line.stated.as_ref().map_or_else(|| load(line.headline.median), |stated| stated.finds.clone()),
            line.stated.as_ref().map_or_else(|| bounds(line), |stated| stated.bounds.clone()),
            line.change.map_or_else(String::new, change_words),
            number::count(line.trials),
            time(line.elapsed.median),
        ]
    };
    cells.extend(numbers.into_iter().enumerate().map(|(index, cell)| {
        (cell, if index == usize::from(groups.repeated()) { Ink::Strong } else { Ink::Plain })
    }));
    // Where a search has a row each goal, its name alone does not say of which this is.
    let note = (!line.unsettled.is_empty()).then(|| match groups.labelled() {
        true => format!("{}: {}", line.goal, unsettled_words(line)),
        false => unsettled_words(line),
    });
    Row { cells, note, said: None }
}

/// Of searches that were all cut off, those of the first.
fn bounds(line: &Line) -> String {
    format!("{} {}", line.loads.interval(line.lower_pps, line.upper_pps), line.loads.unit)
}

/// Each doubt once.
fn doubts(records: &[Record]) -> Vec<CaveatLine> {
    let mut doubts: Vec<CaveatLine> = Vec::new();
    for caveat in records.iter().flat_map(Record::caveats) {
        if !doubts.iter().any(|doubt| doubt.code == caveat.code && doubt.text == caveat.text) {
            doubts.push(caveat);
        }
    }
    doubts
}
