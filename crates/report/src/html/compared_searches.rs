//! The page of two searches: the verdict, a row a goal with both limits on one line, what differs otherwise.

use super::figure::figures;
use super::goals::caveats;
use super::shell::{method, shell};
use crate::compared_searches::{
    first_line, goal, interval, interval_words, limit, limit_heads, loads, longer, note, told,
};
use crate::number::{count, percent, seconds};
use crate::plot::canvas::Canvas;
use crate::plot::scale::Scale;
use crate::plot::together;
use crate::prose::date;
use crate::search_summary::SearchSummary;
use dropline_record::VerdictWord;
use dropline_record::{AnswerLine, ComparedSearches, MovedLine, OpenLine, Record, SearchedLine};
use maud::{Markup, html};

/// Two searches as one self-contained page, from their records.
pub fn compared_searches_html(compared: &ComparedSearches, records: [&Record; 2]) -> String {
    let loads = loads(compared);
    let findings = SearchSummary::all(records);
    let over_each_other = match &findings[..] {
        [a, b] => together([a, b], loads),
        _ => Vec::new(),
    };
    let content = html! {
        p.about { b { (compared.a.source) } " (A) against " b { (compared.b.source) } " (B)  ·  dropline compare" }
        h1 {  (first_line(compared)) "." }
        div.scroll { table.goals.comparison {
            thead { tr {
                th.l scope="col" { "goal" } th scope="col" { "B against A" } th scope="col" { (interval_words(compared)) }
                th.l scope="col" { "verdict" } @for head in limit_heads(compared) { th.w scope="col" { (head) } }
                th.l.w scope="col" { "A above, B below" }
            } }
            tbody { @for (index, line) in compared.goals.iter().enumerate() { (row(index, line, compared)) } }
        } }
        (caveats(&compared.caveats, None))
        @if let Some(longer) = longer(compared) { p.about { "To decide: " (longer) "." } }
        (figures(&over_each_other, over_each_other.len() > 1))
        section {
            h2 { "What was compared" }
            div.scroll { table.study {
                thead { tr { th.l scope="col" { "side" } th.l scope="col" { "target" } th.l.w scope="col" { "algorithm" } th scope="col" { "trials" } th scope="col" { "time" } th.l.w scope="col" { "begun" } } }
                tbody { (side("A", &compared.a)) (side("B", &compared.b)) }
            } }
            p.about { "A change by less than " (percent(compared.smallest_effect)) " does not matter." }
            (method(&compared.estimator))
        }
    };
    shell(&first_line(compared), &format!("{} against {}", compared.b.source, compared.a.source), &content)
}

fn row(index: usize, line: &MovedLine, compared: &ComparedSearches) -> Markup {
    html! {
        tr data-verdict=(line.verdict) {
            td.l.name { span class=(format!("t{}", index % 2)) { (goal(line)) } }
            td { b { (told(line)) } }
            td { (interval(line)) }
            td.l.wrap {
                @if line.verdict == VerdictWord::Regressed { span.unsettled { (line.verdict) } } @else { (line.verdict.words()) }
                @if let Some(note) = note(line, compared.smallest_effect) { ", " (note) }
            }
            td.w { (limit(&line.of_a, line.open_a, compared)) }
            td.w { (limit(&line.of_b, line.open_b, compared)) }
            td.l.w { (whiskers(line, index % 2)) }
        }
    }
}

/// Both intervals on one line of loads.
fn whiskers(line: &MovedLine, ink: usize) -> Markup {
    let ends = |answer: &AnswerLine, open: Option<OpenLine>| match open {
        Some(open) => open.low_pps.zip(open.high_pps),
        None => answer.lower_pps.zip(answer.upper_pps),
    };
    let (Some(of_a), Some(of_b)) = (ends(&line.of_a, line.open_a), ends(&line.of_b, line.open_b)) else {
        return html! {};
    };
    let (low, high) = (of_a.0.min(of_b.0), of_a.1.max(of_b.1));
    let pad = ((high - low) * 0.1).max(high * 0.002);
    let mut canvas = Canvas::new(180.0, 28.0);
    let x = Scale::linear(((low - pad).max(0.0), high + pad), (2.0, 178.0));
    for ((lower, upper), y) in [(of_a, 8.0), (of_b, 20.0)] {
        let (lower, upper) = (x.clamped(lower), x.clamped(upper));
        canvas.line("axis", (2.0, y), (178.0, y));
        canvas.line(&format!("whisker s{ink}"), (lower, y), (upper, y));
        for end in [lower, upper] {
            canvas.line(&format!("cap s{ink}"), (end, y - 4.0), (end, y + 4.0));
        }
    }
    let words = format!("{}: interval of A above, of B below", goal(line));
    html! { (canvas.finish(Vec::new()).svg("plot small", &words, &interval(line), None)) }
}

fn side(name: &str, side: &SearchedLine) -> Markup {
    html! {
        tr {
            td.l.name { (name) ", " (side.source) } td.l { (side.target) } td.l.w { (side.algorithm) }
            td { (count(side.trials)) } td { (seconds(side.elapsed_s)) } td.l.w { (date(&side.started)) }
        }
    }
}
