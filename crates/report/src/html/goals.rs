//! The answers as a table, and the doubts about them.

use crate::number::{percent, percent_of};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::scale::Scale;
use crate::prose::{counts, sentence_case};
use crate::search_summary::{Piece, SearchSummary, width};
use crate::verdict_word::recorded_words;
use dropline_record::CaveatLine;
use maud::{Markup, html};

/// The answer as one sentence, its numbers in the goals' colours.
pub(super) fn sentence(pieces: &[Piece], finding: Option<&SearchSummary>) -> Markup {
    html! {
        h1 {
            @for piece in pieces {
                @match piece.goal {
                    Some(goal) => {
                        span class=(format!("t{}", finding.map_or(goal, |finding| finding.inks[goal]))) data-goal=(goal)
                            data-headline-pps=[finding.and_then(|finding| finding.answers.get(goal)?.headline_pps())]
                            { (piece.text) }
                    }
                    None => (piece.text),
                }
            }
        }
    }
}

/// A row a goal.
pub(super) fn goals(finding: &SearchSummary) -> Markup {
    let loads = finding.loads;
    let range = range(finding);
    let level = finding.answers.iter().find_map(|answer| answer.level);
    let (from, to) = match level {
        Some(level) => (format!("{} from", percent(level)), "to".to_owned()),
        None => ("lower bound".to_owned(), "upper bound".to_owned()),
    };
    html! {
        div.scroll {
            table.goals {
                thead {
                    tr {
                        th.l scope="col" { "goal" }
                        th scope="col" { (finding.headline_words()) br; (loads.unit) }
                        th scope="col" { (from) br; (loads.unit) }
                        th scope="col" { (to) br; (loads.unit) }
                        th.w scope="col" { "how wide" }
                        th.w scope="col" { "asked for" }
                        th.l scope="col" { "how sure" }
                        @if let Some((low, high)) = range {
                            th.l.w scope="col" { (loads.short(low)) " to " (loads.short(high)) " " (loads.unit) }
                        }
                    }
                }
                tbody {
                    @for (index, answer) in finding.answers.iter().enumerate() {
                        @let standing = &finding.standings[index];
                        @let stated = answer_stands(finding, index);
                        @let ends = finding.end_words(index, false).map(|end| stated.and(end).unwrap_or_else(|| "none".into()));
                        tr data-goal=(index) {
                            td.l.name {
                                span class=(format!("dot d{}", finding.inks[index])) {}
                                span class=(format!("t{}", finding.inks[index])) { (finding.names[index]) }
                            }
                            td data-headline-pps=[answer.headline_pps()] { b { (finding.headline(index, false).unwrap_or_else(|| "none".into())) } }
                            td data-lower-pps=[answer.lower_pps] { (ends[0]) }
                            td data-upper-pps=[answer.upper_pps] { (ends[1]) }
                            td.w { @if let Some(width) = stated.and(width(answer)) { (percent_of(width, 2)) } }
                            td.w { (percent(answer.goal.width)) }
                            td.l.wrap data-result=(recorded_words(answer)) {
                                @if standing.settled() { (standing.short()) }
                                @else { span.unsettled { (standing.short()) } }
                            }
                            @if let Some(range) = range { td.l.w { (whisker(finding, index, range)) } }
                        }
                    }
                }
            }
        }
    }
}

/// `Some` where the interval or the bounds of an answer are stated: a doubted one has none.
fn answer_stands(finding: &SearchSummary, goal: usize) -> Option<()> {
    finding.standings[goal].denied().is_none().then_some(())
}

/// What a longer search would buy.
pub(super) fn outlooks(finding: &SearchSummary) -> Markup {
    html! {
        @for index in 0..finding.answers.len() {
            @if let Some(outlook) = finding.outlook(index) {
                p.about data-outlook=(index) {
                    "With more time, " b class=(format!("t{}", finding.inks[index])) { (finding.names[index]) } ": " (outlook) "."
                }
            }
        }
    }
}

/// What RFC 9971 says of the same goals, where that was asked for.
pub(super) fn certificates(finding: &SearchSummary) -> Markup {
    html! {
        @for (index, answer) in finding.answers.iter().enumerate() {
            @if let Some(certificate) = finding.certificate(answer) {
                p.about data-certified=(index) {
                    "By RFC 9971, " b class=(format!("t{}", finding.inks[index])) { (finding.names[index]) } ": " (certificate) "."
                }
            }
        }
    }
}

/// What each answer that does not stand still says, once for goals of which the same is said.
fn unsettled(finding: &SearchSummary) -> Markup {
    html! {
        @for (goals, words) in finding.unsettled() {
            div.caveat data-code="unsettled" data-goal=(goals[0]) {
                b { "!" }
                span {
                    @for (place, &goal) in goals.iter().enumerate() {
                        @if place > 0 { (if place + 1 == goals.len() { " and " } else { ", " }) }
                        b class=(format!("t{}", finding.inks[goal])) { (finding.names[goal]) }
                    }
                    ": " (words) "."
                }
            }
        }
    }
}

/// Loads that hold every answer.
fn range(finding: &SearchSummary) -> Option<(f64, f64)> {
    let loads = || {
        let of = |goal: usize| [finding.point(goal), finding.ends(goal).0, finding.ends(goal).1];
        (0..finding.answers.len()).flat_map(of).flatten().filter(|load| load.is_finite() && *load >= 0.0)
    };
    let (low, high) = (loads().min_by(f64::total_cmp)?, loads().max_by(f64::total_cmp)?);
    let pad = ((high - low) * 0.15).max(high * 0.002);
    (high > 0.0).then(|| ((low - pad).max(0.0), high + pad))
}

fn whisker(finding: &SearchSummary, index: usize, range: (f64, f64)) -> Markup {
    let class = finding.inks[index];
    let mut canvas = Canvas::new(180.0, 16.0);
    let x = Scale::linear(range, (2.0, 178.0));
    canvas.line("axis", (2.0, 8.0), (178.0, 8.0));
    if let (Some(lower), Some(upper)) = finding.ends(index) {
        let (lower, upper) = (x.clamped(lower), x.clamped(upper));
        canvas.line(&format!("whisker s{class}"), (lower, 8.0), (upper, 8.0));
        for end in [lower, upper] {
            canvas.line(&format!("cap s{class}"), (end, 3.0), (end, 13.0));
        }
    }
    if let Some(headline) = finding.point(index) {
        let mut dot = Path::default();
        dot.disc(&canvas, x.clamped(headline), 8.0, 3.6);
        canvas.path(&format!("f{class}"), &dot);
    }
    let drawing = canvas.finish(Vec::new());
    let words = format!("{} on a line of loads", finding.names[index]);
    html! { (drawing.svg("plot small", &words, &finding.standing_words(index), None)) }
}

/// Each doubt in a box of its own, never below the fold.
pub(super) fn caveats(caveats: &[CaveatLine], finding: Option<&SearchSummary>) -> Markup {
    let unsettled = finding.map(unsettled);
    html! {
        @if !caveats.is_empty() || unsettled.is_some() {
            div.caveats {
                @if let Some(unsettled) = unsettled { (unsettled) }
                @for caveat in caveats {
                    div.caveat data-code=(caveat.code) { b { "!" } span { (sentence_case(&counts(&caveat.text))) } }
                }
            }
        }
    }
}
