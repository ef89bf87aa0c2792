//! The list of a history's records, and that of its limits over time.

use super::links::{COMPARED, Here, TRENDS, list_page, record_page, trend_page, value_of};
use super::shell::{Forms, history_shell};
use crate::number::{Loads, count, plural};
use crate::prose::date;
use crate::text::history::{bounds, how_sure, short, why_not};
use crate::trends::{first_line, loads, nights, span, verdict};
use dropline_record::{IndexLine, IndexedGoal, LeftOutLine, SeriesLine, Trends, VERBS};
use maud::{Markup, html};

/// Files left out that are named; of further ones their number is said.
const NAMED: usize = 50;
/// Limits over time that are listed on one page.
const LISTED: usize = 500;

/// A page of the list.
#[derive(Clone, Debug)]
pub struct ListPage<'a> {
    /// What the history is called.
    pub name: &'a str,
    /// The records of this page, the newest first.
    pub records: Vec<ListedRecord<'a>>,
    /// Which page it is, from 1 on.
    pub number: usize,
    /// How many pages there are.
    pub pages: usize,
    /// How many records are wanted.
    pub wanted: usize,
    /// How many there are.
    pub all: usize,
    /// What is not listed, and why.
    pub left_out: &'a [LeftOutLine],
    /// What a reader asked for, who can ask; `None` of files.
    pub asked: Option<&'a AskedRecords>,
}

/// A record on it.
#[derive(Clone, Debug)]
pub struct ListedRecord<'a> {
    /// What the index says of it.
    pub line: &'a IndexLine,
    /// Whether it is being written.
    pub is_running: bool,
    /// The history of each of its goals, by name.
    pub series: Vec<String>,
}

/// Which records a reader asked for, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedRecords {
    /// Part of the target.
    pub target: String,
    /// The goal.
    pub goal: String,
    /// The verb that made the record.
    pub kind: String,
    /// The first day.
    pub since: String,
    /// The last day.
    pub until: String,
    /// A label with its value.
    pub label: String,
    /// Why it cannot be answered.
    pub wrong: Option<String>,
}

impl AskedRecords {
    /// What was said, by name.
    fn said(&self) -> Vec<(&str, &str)> {
        let all = [
            ("target", self.target.as_str()),
            ("goal", &self.goal),
            ("kind", &self.kind),
            ("since", &self.since),
            ("until", &self.until),
            ("label", &self.label),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// A page of the list of records.
pub fn list_html(page: &ListPage<'_>) -> String {
    let own = list_page(page.number);
    let here = Here { page: &own, is_served: page.asked.is_some() };
    let answer = match (page.wanted, page.all) {
        (0, 0) => "The history has no record yet".to_owned(),
        (0, all) => format!("None of {} is what was asked for", plural(all as u64, "record")),
        (wanted, all) if wanted == all => plural(all as u64, "record"),
        (wanted, all) => format!("{} of {}", plural(wanted as u64, "record"), count(all as u64)),
    };
    let turned = turn(page, here);
    let content = html! {
        p.about { b { (page.name) } "  ·  dropline " @if page.asked.is_some() { "view" } @else { "report" } "  ·  " a href=(here.to(TRENDS, &[])) { "All limits over time" } }
        h1 { (answer) "." }
        @if let Some(asked) = page.asked { (form(asked, here)) }
        @if !page.records.is_empty() {
            @if page.asked.is_some() { form #beside action=(here.to(COMPARED, &[])) method="get" {} }
            div.scroll { table.list {
                thead { tr {
                    th.l scope="col" { "began" } th.l scope="col" { "target" } th.l scope="col" { "what was found" }
                    th.l.w scope="col" { "how sure" } th.l.w scope="col" { "labels" }
                    @if page.asked.is_some() { th scope="col" { "A" } th scope="col" { "B" } }
                } }
                tbody { @for record in &page.records { (row(record, here)) } }
            } }
            @if page.asked.is_some() {
                p.ask { button.do type="submit" form="beside" { "Set A and B beside each other" } }
            }
        }
        (turned)
        @if !page.left_out.is_empty() { (left_out(page.left_out)) }
    };
    let description = format!("{answer} in {}. A page of dropline.", page.name);
    history_shell(&format!("{}: {answer}", page.name), &description, &content, Forms::Own)
}

/// What a reader may ask for.
fn form(asked: &AskedRecords, here: Here<'_>) -> Markup {
    let field = |name: &str, words: &str, value: &str, kind: &str, example: &str| {
        html! { label { (words) input type=(kind) name=(name) value=(value) placeholder=(example) autocomplete="off"; } }
    };
    html! {
        form.ask action=(here.to(&list_page(1), &[])) method="get" role="search" {
            (field("target", "target has", &asked.target, "text", "127.0.0.1:7007"))
            (field("goal", "goal", &asked.goal, "text", "0.5%"))
            label { "made by" select name="kind" {
                option value="" { "any verb" }
                @for verb in VERBS { option value=(verb) selected[*verb == asked.kind] { (verb) } }
            } }
            (field("since", "from", &asked.since, kind_of(&asked.since), ""))
            (field("until", "to", &asked.until, kind_of(&asked.until), ""))
            (field("label", "label", &asked.label, "text", "commit=1a2b"))
            button.do type="submit" { "Show" }
            @if !asked.said().is_empty() { a href=(here.to(&list_page(1), &[])) { "Show all" } }
        }
        @if let Some(wrong) = &asked.wrong { p.live role="status" { (wrong) } }
    }
}

/// A day is chosen from a calendar; a time, or what is not a date, stays as it was typed.
fn kind_of(date: &str) -> &'static str {
    let is_day = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_day || date.is_empty() { "date" } else { "text" }
}

fn row(record: &ListedRecord<'_>, here: Here<'_>) -> Markup {
    let line = record.line;
    let state = match (line.finished, record.is_running) {
        (true, _) => None,
        (false, true) if here.is_served => Some("running now"),
        (false, true) => Some("was being measured when this was drawn"),
        (false, false) => Some("unfinished"),
    };
    let chosen = |side: &str| {
        let words = format!("{side}: {}, {}", line.target, date(&line.started));
        html! { td { input type="radio" form="beside" name=(side.to_lowercase()) value=(value_of(&line.file)) aria-label=(words); } }
    };
    html! {
        tr data-file=(line.file) {
            td.l { a href=(here.to(&record_page(&line.file), &[])) { (date(&line.started)) } }
            td.l.name { (line.target) @if line.kind != "search" { span.about { " " (line.kind) } } }
            td.l {
                @for (goal, series) in line.goals.iter().zip(record.series.iter().map(Some).chain(std::iter::repeat(None))) {
                    div { (found(line, goal)) " " @match series {
                        Some(id) if goal.limit_pps.is_some() => { a href=(here.to(&trend_page(id), &[])) title="this limit over time" { span.i { (goal.goal) } } }
                        _ => span.i { (goal.goal) }
                    } @if let Some(why) = why_not(goal).filter(|_| line.finished) { span.n { ": " (why) } } }
                }
                @if let Some(trial) = &line.trial { div { (trial.answer) } }
                @if let Some(state) = state { div { b { (state) } } }
            }
            td.l.w.sure { @for words in all_sure(line) { div { (words) } } }
            td.l.w.name { @for (name, value) in &line.labels { div { (name) "=" (short(value)) } } }
            @if here.is_served { (chosen("A")) (chosen("B")) }
        }
    }
}

/// The limit of a goal with its bounds.
fn found(line: &IndexLine, goal: &IndexedGoal) -> Markup {
    let stated = goal.limit_pps.or(goal.median_pps).or(goal.lower_pps).or(goal.upper_pps);
    let loads = Loads::of(line.load_unit, [], stated.unwrap_or(0.0)).apart(goal.lower_pps, goal.upper_pps);
    html! {
        @if let Some(limit) = goal.limit_pps { b { (loads.with_unit(limit)) } " " @if goal.level.is_none() { span.about { "bounds " } } span.i { (loads.interval(goal.lower_pps, goal.upper_pps)) } }
        @else if stated.is_some() { (bounds(loads, goal)) @if line.finished { " " b { (how_sure(goal)) } "," } }
        @else { "unknown" @if line.finished { ", " b { (how_sure(goal)) } "," } }
    }
}

/// How sure each limit is, once where all are alike.
fn all_sure(line: &IndexLine) -> Vec<String> {
    let mut all: Vec<String> = line.goals.iter().filter(|_| line.finished).map(how_sure).collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        all.truncate(1);
    }
    all
}

/// Links to the pages before and after.
fn turn(page: &ListPage<'_>, here: Here<'_>) -> Markup {
    let to = |number: usize| match page.asked {
        Some(asked) => {
            let number = number.to_string();
            let mut said = asked.said();
            said.push(("page", &number));
            here.to(&list_page(1), &said)
        }
        None => here.to(&list_page(number), &[]),
    };
    html! {
        @if page.pages > 1 {
            nav.about aria-label="Further records" {
                @if page.number > 1 { a href=(to(page.number - 1)) { "Newer" } "  ·  " }
                "page " (count(page.number as u64)) " of " (count(page.pages as u64))
                @if page.number < page.pages { "  ·  " a href=(to(page.number + 1)) { "Older" } "  ·  " a href=(to(page.pages)) { "Oldest" } }
            }
        }
    }
}

fn left_out(left_out: &[LeftOutLine]) -> Markup {
    html! {
        section {
            h2 { "Left out" }
            ul.about { @for left in left_out.iter().take(NAMED) { li { (left.source) ": " (left.why) } } }
            @if left_out.len() > NAMED { p.about { "And " (plural((left_out.len() - NAMED) as u64, "further file")) ": dropline history list names them all." } }
        }
    }
}

/// The list of all limits over time: what moved first.
pub fn trend_list_html(trends: &Trends, here: Here<'_>) -> String {
    let answer = match trends.series.is_empty() {
        true => "No record states a limit that could be followed".to_owned(),
        false => first_line(trends),
    };
    let mut series: Vec<&SeriesLine> = trends.series.iter().collect();
    // What has news, then what has most nights.
    series.sort_by_key(|series| (series.news().next().is_none(), std::cmp::Reverse(series.points.len())));
    let content = html! {
        p.about { "dropline trend" }
        h1 { (answer) "." }
        @if !series.is_empty() {
            div.scroll { table.list {
                thead { tr {
                    th.l scope="col" { "target" } th.l scope="col" { "goal" } th scope="col" { "last" }
                    th.l scope="col" { "what moved last" } th.l.w scope="col" { "nights" } th.l.w scope="col" { "on" }
                } }
                tbody { @for series in series.iter().take(LISTED) { (series_row(series, here)) } }
            } }
        }
        @if series.len() > LISTED { p.about { "Listed: " (LISTED) " of " (count(series.len() as u64)) " limits." } }
    };
    history_shell(&answer, &format!("{answer}. A page of dropline trend."), &content, Forms::None)
}

fn series_row(series: &SeriesLine, here: Here<'_>) -> Markup {
    let last = series.points.last();
    html! {
        tr {
            td.l.name { a href=(here.to(&trend_page(&series.id), &[])) { (series.target) } }
            td.l { span.i { (series.goal) } }
            td { @if let Some(last) = last { b { (loads(series).with_unit(last.value)) } } }
            td.l { @match series.changes.last() {
                Some(line) => { (crate::trends::change(line.size)) " " (verdict(line)) ", " (nights(line)) }
                None if !series.drifts.is_empty() => { "drifting" }
                None if series.scatter.is_none() => { "too few nights to tell" }
                None => { "nothing" }
            } }
            td.l.w { (span(series)) }
            td.l.w { div { (series.machine) ", dropline " (series.dropline) } }
        }
    }
}

/// A page that says why there is no other.
pub fn said_html(headline: &str, more: &str) -> String {
    let content = html! {
        h1 { (headline) }
        @for line in more.lines() { p.para { (line) } }
    };
    history_shell(headline, more, &content, Forms::None)
}
