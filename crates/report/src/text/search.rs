//! A search on a terminal.

use super::layout::{Columns, Page, Row, Side};
use crate::search_summary::{self, SearchSummary};
use crate::style::Ink;
use crate::verdict_word::recorded_words;
use crate::{directions, number, traffic};
use dropline_record::{Record, TrialLine};

pub(super) fn write(page: &mut Page, finding: &SearchSummary) {
    page.columns(&goals(finding));
    for (index, (name, answer)) in finding.names.iter().zip(&finding.answers).enumerate() {
        if let Some(outlook) = finding.outlook(index) {
            page.hanging(&format!("  with more time, {name}   "), Ink::Faint, &outlook);
        }
        if let Some(certificate) = finding.certificate(answer) {
            page.hanging(&format!("  by RFC 9971, {name}   "), Ink::Faint, &certificate);
        }
    }
    super::cycles::periods(page, finding);
    page.caveats_of(finding.record);
    page.gap();
    page.hanging("  ", Ink::Plain, &finding.cost_and_end());
    delays(page, finding);
    let lost_at = traffic::lost_at(&finding.record.trials);
    if !lost_at.is_empty() {
        page.fact("  lost at", &places(&lost_at));
    }
    for (name, words) in directions::of_search(finding.record) {
        page.hanging(&format!("  {name} alone   "), Ink::Plain, &words);
    }
    page.gap();
    head(page, finding.record);
    if page.style.verbose {
        measured(page, finding);
    }
}

/// The target; of a full account its traffic and the generator too.
pub(super) fn head(page: &mut Page, record: &Record) {
    let header = &record.header;
    let note = header.target_note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    page.fact("target", &format!("{}{note}", header.target));
    if !page.style.verbose {
        return;
    }
    page.fact("load", &traffic::traffic_words(record));
    if let Some(generator) = &header.generator {
        let limit = header.generator_limit_pps.map_or_else(String::new, |limit| {
            let loads = number::Loads::of(header.load_unit, [], limit);
            format!(", its own limit {}", loads.with_unit(limit))
        });
        page.fact("generator", &format!("{generator}{limit}"));
    }
}

/// A row a goal.
pub(crate) fn goals(finding: &SearchSummary) -> Columns {
    let left = |word: &str| (word.to_owned(), Side::Left);
    let right = |word: &str| (word.to_owned(), Side::Right);
    // Under the last of the goals of which it is said.
    let mut notes: Vec<Option<String>> = vec![None; finding.answers.len()];
    for (goals, words) in finding.unsettled().into_iter().filter(|(goals, _)| finding.has_why(goals[0])) {
        let of = match goals.len() {
            1 => String::new(),
            2 if finding.answers.len() == 2 => " (both goals)".into(),
            all if all == finding.answers.len() => " (all goals)".into(),
            _ => {
                let names: Vec<String> = goals.iter().map(|&goal| finding.names[goal].clone()).collect();
                format!(" ({})", number::listed(&names))
            }
        };
        notes[goals[goals.len() - 1]] = Some(words + &of);
    }
    let rows = finding
        .answers
        .iter()
        .enumerate()
        .map(|(index, answer)| {
            let standing = &finding.standings[index];
            let doubted = standing.denied().is_some();
            let headline = finding.headline(index, true).unwrap_or_else(|| "unknown".into());
            let bounds = if doubted { "none".into() } else { finding.interval(index) };
            let width = search_summary::width(answer)
                .filter(|_| !doubted)
                .map_or_else(String::new, |width| search_summary::width_words(width, answer.goal.width));
            Row {
                cells: vec![
                    (finding.names[index].clone(), Ink::Goal(index)),
                    (headline, Ink::Strong),
                    (standing.short().into_owned(), Ink::Plain),
                    (bounds, Ink::Plain),
                    (width, Ink::Plain),
                ],
                note: notes[index].take(),
                said: None,
            }
        })
        .collect();
    Columns {
        heads: vec![
            left("goal"),
            right(&finding.headline_words()),
            left("how sure"),
            left(&finding.bounds_words()),
            left("how wide"),
        ],
        rows,
    }
}

fn delays(page: &mut Page, finding: &SearchSummary) {
    let delays = finding.delays();
    if delays.is_empty() {
        return;
    }
    page.gap();
    for (goal, share, trial) in delays {
        let of = match finding.names.get(goal) {
            Some(name) => format!("of {name}"),
            None => "of a goal".into(),
        };
        let load = finding.loads.with_unit(trial.intended_load_pps);
        let name = format!("  delay at {} {of}, {load}   ", number::percent(share));
        let doubt =
            if crate::denial::are_delays_ours(trial) { "; doubted, our own lateness is in it" } else { "" };
        page.hanging(&name, Ink::Faint, &format!("{}{doubt}", percentiles(trial)));
    }
}

/// `p50 38 us  p99 74 us`; what the count cannot bear is left out.
pub(super) fn percentiles(trial: &TrialLine) -> String {
    trial.delay_ns.as_ref().map_or_else(|| "not measured".into(), traffic::delays)
}

/// `receive buffer 99.8 %   unexplained 0`.
pub(super) fn places(lost_at: &[(String, u64)]) -> String {
    let all: u64 = lost_at.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
    let words: Vec<String> = lost_at
        .iter()
        .map(|(place, count)| {
            if all == 0 || *count == 0 {
                format!("{place}\u{a0}{}", number::count(*count))
            } else {
                format!(
                    "{place}\u{a0}{} ({})",
                    number::count(*count),
                    number::percent(*count as f64 / all as f64)
                )
            }
        })
        .collect();
    words.join(", ")
}

/// What RFC 9971 wants said: every attribute, what a load is, what a trial's time counts as.
fn measured(page: &mut Page, finding: &SearchSummary) {
    let search = finding.search;
    let preset = search.preset.as_ref().map_or_else(String::new, |preset| format!(", preset {preset}"));
    for (name, answer) in finding.names.iter().zip(&finding.answers) {
        page.fact("in record", &format!("{name}: {}", recorded_words(answer)));
    }
    let unit = finding.record.header.load_unit;
    let load = |load: f64| number::Loads::of(unit, [], load).with_unit(load);
    page.fact(
        "search",
        &format!(
            "{}{preset}, from {} to {}",
            search.algorithm,
            load(search.min_load_pps),
            load(search.max_load_pps)
        ),
    );
    let mut attributes: Vec<(String, Vec<String>)> = Vec::new();
    for (name, answer) in finding.names.iter().zip(&finding.answers) {
        let words = search_summary::attributes(&answer.goal);
        match attributes.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(name.clone()),
            None => attributes.push((words, vec![name.clone()])),
        }
    }
    for (index, (words, names)) in attributes.iter().enumerate() {
        let name = if index == 0 { "goals" } else { "" };
        page.fact(name, &format!("{}: {words}", number::listed(names)));
    }
    if !finding.record.limits.is_empty() {
        page.fact("limits", &traffic::limits_words(finding.record));
    }
    page.fact("a load is", &finding.record.header.load_is);
    page.fact("time is", &search_summary::effective_words(search));
    if traffic::is_ours(finding.record) {
        page.fact("waits", &traffic::waits_words(finding.record));
    }
}
