//! The page of histories: what moved first, then each history with its plot and its changes.

use super::figure::figures;
use super::shell::{method, shell};
use crate::number::percent;
use crate::plot::trend;
use crate::prose::{date, sentence_case};
use crate::trends::{
    change, change_between, confirmation, drift, first_line, level, nights, reference, silent, span, spikes,
    too_few, verdict, weights,
};
use dropline_record::{SeriesLine, Trends, VerdictWord};
use maud::{Markup, html};

/// Histories as one self-contained page.
pub fn trends_html(trends: &Trends) -> String {
    let content = html! {
        p.about { "dropline trend" }
        h1 { (first_line(trends)) "." }
        @for series in &trends.series { (history(series)) }
        @if !trends.left_out.is_empty() {
            section {
                h2 { "Left out" }
                ul { @for left in &trends.left_out { li { (left.source) ": " (left.why) } } }
            }
        }
        p.about { "A change by less than " (percent(trends.smallest_effect)) " does not matter." }
        (method(&trends.estimator))
    };
    let answer = first_line(trends);
    shell(&answer, &format!("{answer}. A page of dropline trend."), &content)
}

fn history(series: &SeriesLine) -> Markup {
    html! {
        section {
            h2 { (series.target) ", " (series.goal) }
            p.about { (span(series)) " on " (series.machine) ", dropline " (series.dropline) }
            @if let Some(words) = reference(series) { p { (words) "." } }
            @if let Some(words) = level(series) { p { "Level " (words) "." } }
            @if !series.changes.is_empty() {
                div.scroll { table.study {
                    thead { tr {
                        th.l scope="col" { "change" } th scope="col" { "size" } th scope="col" { "95 % interval" }
                        th.l scope="col" { "verdict" } th.l scope="col" { "between" } th.l scope="col" { "id" }
                    } }
                    tbody { @for line in &series.changes {
                        tr data-verdict=(line.verdict) {
                            td.l.name { (date(&line.at)) } td { b { (change(line.size)) } }
                            td { (change_between(line.size_low, line.size_high)) }
                            td.l { @if line.verdict == VerdictWord::Regressed { span.unsettled { (verdict(line)) } } @else { (verdict(line)) } }
                            td.l {
                                (nights(line))
                                @if let Some(fresh) = &line.confirmation { br; (confirmation(fresh)) }
                            }
                            td.l { (line.id) }
                        }
                    } }
                } }
            }
            @if let Some(words) = silent(series) { p { (sentence_case(&words)) "." } }
            @if let Some(words) = too_few(series) { p { (sentence_case(words)) "." } }
            @if let Some(words) = weights(series) { p { "Counted: " (words) "." } }
            (figures(&trend(series).into_iter().collect::<Vec<_>>(), false))
            @for line in &series.drifts { p { @if line.behind { "Not back: " } @else { "Drifting " } (drift(line)) } }
            @for mark in &series.marks { p { "Changed on purpose at " (date(&mark.at)) ": " (mark.text) "." } }
            @if !series.spikes.is_empty() { p { "Single nights far from their level: " (spikes(series)) "." } }
        }
    }
}
