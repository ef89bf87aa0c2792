//! The page of one record.

use super::downloads::downloads;
use super::explained::why;
use super::facts::measured;
use super::figure::figures;
use super::goals::{caveats, certificates, goals, outlooks, sentence};
use super::graph::ran;
use super::passages::{over_time, pipes};
use super::shell::shell;
use super::trials::trials;
use crate::answer;
use crate::denial::decisive_first;
use crate::explained::{below_headline, headline};
use crate::number::{self, Loads, percent};
use crate::plot::{self, Plot, Room};
use crate::prose;
use crate::search_summary::{Piece, SearchSummary};
use crate::traffic;
use dropline_record::LoadUnit;
use dropline_record::{DelayLine, Explanation, Record, TrialLine};
use maud::{Markup, html};

pub(super) fn page(record: &Record) -> String {
    match SearchSummary::of(record) {
        Some(finding) => whole(record, &finding.explanation(), &search(&finding)),
        None => whole(record, &told(record), &trial(record, None)),
    }
}

/// A trial with the explanation of its loss.
pub(super) fn explained_page(record: &Record, found: &Explanation) -> String {
    let description = format!("{}. {}", record.header.target, crate::explained::sentence(found));
    shell(&headline(found), &description, &trial(record, Some(found)))
}

/// A page whose title is the record's answer.
fn whole(record: &Record, told: &str, content: &Markup) -> String {
    let description = format!("{}. {told}", record.header.target);
    shell(&answer::words(std::slice::from_ref(record)), &description, content)
}

/// What was offered in a trial, in a sentence.
fn told(record: &Record) -> String {
    let loads = Loads::of(record.header.load_unit, [], traffic::highest_load(record));
    record.trials.last().map_or_else(String::new, |trial| explanation(trial, loads))
}

/// What was measured, when: the first line of a page.
pub(super) fn about(record: &Record) -> Markup {
    let header = &record.header;
    html! {
        p.about {
            b { (header.target) }
            @if let Some(note) = &header.target_note { ", " (note) }
            ", " (traffic::traffic_words(record))
            "  ·  dropline " (header.verb) ", " (prose::date(&header.started))
        }
    }
}

fn search(finding: &SearchSummary) -> Markup {
    let record = finding.record;
    let view = plot::common_view(std::slice::from_ref(finding), finding.loads, plot::time_span(finding));
    let delay = plot::delays([(finding, String::new())], finding.loads, Room::Half);
    let loss_room = if delay.is_empty() { Room::Full } else { Room::Half };
    let axis = plot::LoadAxis::around(view, std::slice::from_ref(finding));
    let pair: Vec<Plot> = plot::loss(finding, axis, loss_room, "").into_iter().chain(delay).collect();
    let whole = whole_range(finding, finding.loads, "");
    html! {
        (about(record))
        (sentence(&finding.sentence(), Some(finding)))
        p.lead { (finding.explanation()) }
        (goals(finding))
        (outlooks(finding))
        (certificates(finding))
        (caveats(&decisive_first(record, record.caveats()), Some(finding)))
        @if !record.trials.is_empty() {
            (figures(&[plot::search_time(finding, view, Room::Full, "")], false))
        }
        (figures(&pair, pair.len() > 1))
        (figures(&whole, whole.len() > 1))
        @if let Some(places) = plot::places(finding, axis, Room::Full, "") { (figures(&[places], false)) }
        section { h2 { "How it was measured" } (measured(record)) }
        section {
            h2 { "Every trial" }
            p.about.sorts { "Click a heading to sort." }
            (trials(record, finding.loads))
        }
        (downloads(std::slice::from_ref(record)))
    }
}

/// What was forwarded, and how long it took, from the lowest load to the highest.
pub(super) fn whole_range(finding: &SearchSummary, loads: Loads, label: &str) -> Vec<Plot> {
    let delays = plot::delay_by_load(finding, loads, Room::Half, label);
    let room = if delays.is_some() { Room::Half } else { Room::Full };
    plot::forwarded(finding, loads, room, label).into_iter().chain(delays).collect()
}

fn trial(record: &Record, found: Option<&Explanation>) -> Markup {
    let loads = Loads::of(record.header.load_unit, [], traffic::highest_load(record));
    let (wide, plots): (Vec<Plot>, Vec<Plot>) =
        trial_plots(record).into_iter().partition(|plot| plot.name == "over-time");
    html! {
        (about(record))
        @match record.trials.last() {
            Some(trial) => {
                @match found {
                    Some(found) => {
                        (sentence(&[said(headline(found))], None))
                        p.lead { (below_headline(found)) " " (explanation(trial, loads)) }
                    }
                    None => {
                        (sentence(&[said(answer::said(record))], None))
                        @for (name, words) in crate::back_to_back::of(record).unwrap_or_default() { p.lead { (name) ": " (words) } }
                        p.lead { @if record.trials.len() > 1 { "What follows is of the last trial: " } (explanation(trial, loads)) }
                    }
                }
                (caveats(&decisive_first(record, record.caveats()), None))
                @if let Some(found) = found { (why(record, found)) }
                div.beside {
                    section { h2 { "What was counted" } (counted(record, trial)) }
                    section { h2 { "Delays" } (delays(trial, delayed(record, trial))) }
                }
                (parts(record, trial))
                @if let Some(passages) = &trial.passages { (pipes(passages)) }
                @if let Some(cycles) = &trial.cycles {
                    section {
                        h2 { "The server's cycles" }
                        dl { @for (name, text) in crate::text::cycles::facts(cycles, trial) { dt { (name) } dd { (text) } } }
                    }
                }
                @if let Some(graph) = &trial.graph { (ran(graph, trial.duration_s)) }
                (figures(&plots, plots.len() == 2))
                (figures(&wide, false))
                @if let Some(passages) = &trial.passages { (over_time(passages)) }
            }
            None => { (sentence(&[said(answer::NO_TRIAL.into())], None)) (caveats(&decisive_first(record, record.caveats()), None)) }
        }
        section { h2 { "How it was measured" } (measured(record)) }
        @if record.trials.len() > 1 {
            section { h2 { "Every trial" } (trials(record, loads)) }
        }
        (downloads(std::slice::from_ref(record)))
    }
}

/// Delay percentiles and slices of a trial.
pub(super) fn trial_plots(record: &Record) -> Vec<Plot> {
    let Some(trial) = record.trials.last() else { return Vec::new() };
    let both = trial.slices.is_empty() || trial.delay_ns.is_none();
    let room = if both { Room::Full } else { Room::Half };
    [
        plot::trial_delay(trial, room, delayed(record, trial)),
        plot::slices(trial, room, record.header.load_unit.many()),
        plot::over_time(trial),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What took the delays of a trial: passages are of granules, whatever unit the load has.
fn delayed(record: &Record, trial: &TrialLine) -> LoadUnit {
    match trial.passages {
        Some(_) => LoadUnit::Granules,
        None => record.header.load_unit,
    }
}

/// A sentence without a goal.
fn said(text: String) -> Piece {
    Piece { text, goal: None }
}

fn explanation(trial: &TrialLine, loads: Loads) -> String {
    if trial.passages.is_some() && trial.intended.is_none() {
        let rate = loads.with_unit(trial.forwarding_rate_pps);
        return format!(
            "From source to sink; {rate} in {}, at the program's own pace.",
            number::seconds(trial.duration_s)
        );
    }
    let intended = match trial.intended {
        Some(intended) if intended == trial.offered => "as intended".into(),
        Some(intended) => format!("{} were intended", number::count(intended.0)),
        None if trial.arrival == "overheard" => "as others sent it".into(),
        None => "paced by the target".into(),
    };
    format!(
        "{} {}, {} arrivals, {intended}.{}",
        loads.with_unit(trial.intended_load_pps),
        crate::text::time_words(trial),
        traffic::arrival_words(&trial.arrival),
        took(trial)
    )
}

/// How long it took, where that is the target's doing.
fn took(trial: &TrialLine) -> String {
    let delay = trial.delay_ns.as_ref().filter(|_| !crate::denial::are_delays_ours(trial));
    let Some((delay, p50)) = delay.and_then(|delay| Some((delay, delay.p50?))) else { return String::new() };
    let slow = delay
        .p99
        .map_or_else(String::new, |p99| format!(", and 99 of 100 {} or less", number::nanoseconds(p99)));
    let which = if trial.lost.0 > 0 { "Of those that came back half" } else { "Half of them" };
    format!(" {which} took {} or less{slow}.", number::nanoseconds(p50))
}

/// What each direction or agent had of it: whole sentences, which a narrow column would cut.
fn parts(record: &Record, trial: &TrialLine) -> Markup {
    let directions = crate::directions::of_trial(record, trial).into_iter();
    let directions = directions.map(|(name, words)| (format!("direction {name}"), words));
    let parts: Vec<(String, String)> = directions.chain(crate::agents::facts(trial)).collect();
    html! {
        @if !parts.is_empty() {
            section {
                h2 { "What each part did" }
                dl { @for (name, words) in parts { dt { (name) } dd { (words) } } }
            }
        }
    }
}

fn counted(record: &Record, trial: &TrialLine) -> Markup {
    let counts = [
        ("intended", trial.intended),
        ("offered", Some(trial.offered)),
        ("forwarded", Some(trial.forwarded)),
        (record.header.load_unit.lost(), Some(trial.lost)),
        ("duplicated", trial.duplicated),
        ("reordered", trial.reordered),
        ("late, of earlier trials", trial.late),
    ];
    let counts = counts.into_iter().chain(traffic::otherwise(record, trial));
    html! {
        dl {
            @for (name, count) in counts {
                dt { (name) }
                dd data-count=(name.split(',').next().unwrap_or(name)) data-v=[count.map(|count| count.0)] {
                    @match count { Some(count) => (number::count(count.0)), None => "not known" }
                }
            }
            @for (class, count) in trial.replies.iter().flatten() { dt { "replies, " (class) } dd { (number::count(count.0)) } }
            @if let Some(words) = traffic::reply_sizes(record, trial) { dt { "size of a reply" } dd { (words) } }
            @for (errno, count) in &trial.refused { dt { "refused, " (errno) } dd { (number::count(count.0)) } }
            @for (place, count) in traffic::lost_at([trial]) { dt { "lost at " (place) } dd { (number::count(count)) } }
            dt { "loss ratio" }
            dd data-v=[trial.loss_ratio] { (trial.loss_ratio.map_or_else(|| "not defined".into(), percent)) }
            dt { "trial loss ratio" }
            dd data-v=[trial.trial_loss_ratio] {
                (trial.trial_loss_ratio.map_or_else(|| "not defined".into(), percent))
            }
        }
    }
}

fn delays(trial: &TrialLine, what: LoadUnit) -> Markup {
    let kinds = [
        (
            if trial.passages.is_some() && trial.intended.is_none() {
                "delay, source to sink"
            } else if crate::denial::are_delays_ours(trial) {
                "doubted: delay, from when due, our own lateness in it"
            } else {
                "delay, from when due"
            },
            &trial.delay_ns,
        ),
        ("delay, from when sent", &trial.service_delay_ns),
        ("lateness of sending", &trial.lateness_ns),
    ];
    let values = |delay: &DelayLine| [delay.min, delay.p50, delay.p90, delay.p99, delay.p99_9, delay.max];
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th.l scope="col" { "time" }
                        // The least columns leave a narrow page.
                        @for head in [what.many(), "min"] { th.w scope="col" { (head) } }
                        th scope="col" { "p50" } th.w scope="col" { "p90" }
                        @for head in ["p99", "p99.9", "max"] { th scope="col" { (head) } }
                    }
                }
                tbody {
                    @for (name, delay) in kinds {
                        tr {
                            td.l { (name) }
                            @match delay {
                                Some(delay) => {
                                    td.w { (number::count(delay.count.0)) }
                                    @for (index, value) in values(delay).into_iter().enumerate() {
                                        td class=[[0, 2].contains(&index).then_some("w")] data-v=[value] { (value.map_or_else(|| "\u{2013}".into(), number::nanoseconds)) }
                                    }
                                }
                                None => { td colspan="7" { "not measured" } }
                            }
                        }
                    }
                }
            }
        }
        @for words in crate::text::trial_course(trial) { p.about { "Over time: " (words) "." } }
        @if trial.negative.count.0 > 0 {
            p.about { (number::count(trial.negative.count.0)) " delays were below zero: the clocks disagree." }
        }
    }
}
