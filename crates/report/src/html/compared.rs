//! The page of a comparison: the verdict, its three answers, both distributions on the same axes.

use super::figure::figures;
use super::goals::caveats;
use super::shell::shell;
use crate::number::{apart, count, digits, percent, percent_of, three};
use crate::plot;
use crate::text::{self, unit};
use dropline_record::Compared;
use dropline_record::VerdictWord;
use dropline_record::compared::{QuestionLine, SideLine, WidthLine};
use maud::{Markup, html};

/// A comparison as one self-contained page.
pub fn compared_html(compared: &Compared) -> String {
    let plots = plot::compared(compared);
    let (pair, wide): (Vec<_>, Vec<_>) = plots.into_iter().partition(|plot| plot.name != "heat");
    let content = html! {
        p.about { b { (compared.b.source) } " against " b { (compared.a.source) } "  ·  dropline compare" }
        h1 {  (text::first_line(compared, ": ")) "." }
        (answers(compared))
        (caveats(&compared.caveats, None))
        (figures(&pair, true))
        (figures(&wide, false))
        section {
            h2 { "How wide each is" }
            (spread(compared))
        }
        section {
            h2 { "What was compared" }
            div.scroll { table.study {
                thead { tr { th.l scope="col" { "side" } th scope="col" { "events" } th scope="col" { "blocks" } th scope="col" { "seconds" } } }
                tbody { (side("A", &compared.a)) (side("B", &compared.b)) }
            } }
            p.about { "Intervals hold the true value at " (percent(compared.level)) "; they rest on " (compared.design) " samples. " (compared.estimator) "." }
        }
    };
    shell(
        &text::first_line(compared, ": "),
        &format!("{} against {}", compared.b.source, compared.a.source),
        &content,
    )
}

fn answers(compared: &Compared) -> Markup {
    let unit = unit(compared.unit_ns);
    let tail = &compared.tail_mass;
    let high = format!("p{}", (compared.percentile * 1e6).round() / 1e4);
    let above =
        tail.threshold.map_or_else(|| "tail".into(), |at| format!("share above {} {unit}", three(at)));
    html! {
        div.scroll { table.goals.comparison {
            thead { tr {
                th.l scope="col" { "question" } th scope="col" { "A" } th scope="col" { "B" } th scope="col" { "change" }
                th scope="col" { "95 % interval" } th.w scope="col" { "matters from" } th.l scope="col" { "verdict" }
            } }
            tbody {
                (row(&format!("median, {unit}"), &compared.core, digits, three))
                (row(&format!("{high}, {unit}"), &compared.high_percentile, digits, three))
                (row(&above, &tail.question, percent_of, |ratio| format!("x{}", three(ratio))))
                @if let Some(loss) = &compared.loss { (row("lost", &loss.question, percent_of, text::points)) }
            }
        } }
    }
}

fn row(name: &str, line: &QuestionLine, of: fn(f64, i32) -> String, change: fn(f64) -> String) -> Markup {
    let dash = || "\u{2013}".to_owned();
    let or_dash = |value: Option<f64>| value.map_or_else(dash, change);
    let [of_a, of_b] = match (line.of_a, line.of_b) {
        (Some(a), Some(b)) => apart([a, b], of),
        (a, b) => [a, b].map(|value| value.map_or_else(dash, |value| of(value, 3))),
    };
    html! {
        tr data-verdict=(line.verdict) {
            td.l.name { (name) }
            td { @if line.lost_of_a { "lost" } @else { (of_a) } }
            td { @if line.lost_of_b { "lost" } @else { (of_b) } }
            td { b { (or_dash(line.estimate)) } }
            td { "[" (or_dash(line.low)) ", " (or_dash(line.high)) "]" }
            td.w { (three(line.smallest_effect)) }
            td.l.wrap {
                @if line.verdict == VerdictWord::Regressed { span.unsettled { (line.verdict) } } @else { (line.verdict.words()) }
                @if let Some(why) = text::reason(line) { ", a difference if it were the only question: " (why) }
            }
        }
    }
}

fn spread(compared: &Compared) -> Markup {
    let unit = unit(compared.unit_ns);
    let row = |name: &str, width: &WidthLine| {
        let words = |value: Option<f64>| value.map_or_else(|| "\u{2013}".into(), three);
        html! {
            tr {
                td.l.name { (name) ", " (unit) }
                td { (words(width.of_a)) } td { (words(width.of_b)) }
                td { "x" (words(width.estimate)) } td { "[" (words(width.low)) ", " (words(width.high)) "]" }
            }
        }
    };
    html! {
        div.scroll { table.study {
            thead { tr { th.l scope="col" { "width" } th scope="col" { "A" } th scope="col" { "B" } th scope="col" { "B / A" } th scope="col" { "95 % interval" } } }
            tbody {
                (row("between quartiles", &compared.spread.quartiles))
                (row("standard deviation", &compared.spread.standard_deviation))
            }
        } }
    }
}

fn side(name: &str, side: &SideLine) -> Markup {
    html! {
        tr {
            td.l.name { (name) ", " (side.source) }
            td { (count(side.count.0)) }
            td { (side.blocks) }
            td { (side.duration_s.map_or_else(|| "\u{2013}".into(), three)) }
        }
    }
}
