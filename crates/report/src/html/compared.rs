//! The page of a comparison: the verdict, its three answers, both distributions on the same axes.

use super::figure::figures;
use super::goals::caveats;
use super::shell::{method, shell};
use crate::number::{self, JOIN, apart, count, percent, percent_of, three};
use crate::plot;
use crate::prose::sentence_case;
use crate::text::{self, unit};
use dropline_record::Compared;
use dropline_record::VerdictWord;
use dropline_record::compared::{QuestionLine, SideLine, WidthLine};
use maud::{Markup, html};

/// A comparison as one self-contained page.
pub fn compared_html(compared: &Compared) -> String {
    let headline = headline(compared);
    let (first, others): (Vec<_>, Vec<_>) =
        plot::compared(compared).into_iter().partition(|plot| plot.name == "both");
    let (pair, wide): (Vec<_>, Vec<_>) = others.into_iter().partition(|plot| plot.name != "heat");
    let content = html! {
        p.about { b { (compared.a.source) } " (A) against " b { (compared.b.source) } " (B)  ·  dropline compare" }
        h1 { @for (words, class) in &headline { @match class { Some(class) => { span class=(class) { (words) } } None => { (words) } } } "." }
        (figures(&plot::questions(compared).into_iter().collect::<Vec<_>>(), false))
        (reasons(compared))
        (caveats(&compared.caveats, None))
        (figures(&first, false))
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
            p.about { "Intervals hold the true value at " (percent(compared.level)) "." }
            (method(&format!("{}; the samples that they rest on are {}", compared.estimator, compared.design)))
        }
    };
    shell(
        &headline.iter().map(|(words, _)| words.as_str()).collect::<String>(),
        &format!("{} (A) against {} (B)", compared.a.source, compared.b.source),
        &content,
    )
}

/// A part of the headline, and the class of its colour where it has one.
type Part = (String, Option<&'static str>);

/// The verdict with the numbers that it rests on; without any it is told in words alone.
fn headline(compared: &Compared) -> Vec<Part> {
    let unit = unit(compared.unit_ns);
    let said = |before: &str, number: String, line: &QuestionLine| {
        let class = match line.verdict {
            VerdictWord::Improved => Some("better"),
            VerdictWord::Regressed => Some("worse"),
            _ => None,
        };
        class.map(|class| (before.to_owned(), number, class))
    };
    let time = |line: &QuestionLine, more: &str, less: &str, lost: &str| match line.estimate {
        _ if line.lost_of_b => lost.to_owned(),
        Some(shift) if shift > 0.0 => format!("{}{JOIN}{unit} {more}", three(shift)),
        Some(shift) => format!("{}{JOIN}{unit} {less}", three(-shift)),
        None => if line.verdict == VerdictWord::Regressed { more } else { less }.to_owned(),
    };
    let tail = &compared.tail_mass;
    let often = match (tail.question.estimate, tail.question.verdict) {
        (Some(ratio), _) => format!("{} times as often", three(ratio)),
        (None, VerdictWord::Regressed) => "more often".into(),
        (None, _) => "less often".into(),
    };
    let above = tail
        .threshold
        .map_or_else(|| "takes long ".into(), |at| format!("takes longer than {}{JOIN}{unit} ", three(at)));
    let high = format!("has a p{} that is ", (compared.percentile * 1e6).round() / 1e4);
    let lost = compared.loss.as_ref().map(|loss| &loss.question).and_then(|line| {
        let [a, b] = apart([line.of_a?, line.of_b?], percent_of);
        said("loses ", format!("{b} instead of {a}"), line)
    });
    // Where many are lost, all else follows from that.
    let (first, last) = if text::is_mostly_of_loss(compared) { (lost, None) } else { (None, lost) };
    let found: Vec<(String, String, &'static str)> = [
        first,
        said("is typically ", time(&compared.core, "slower", "faster", "lost"), &compared.core),
        said(&high, time(&compared.high_percentile, "higher", "lower", "lost"), &compared.high_percentile),
        said(&above, often, &tail.question),
        last,
    ]
    .into_iter()
    .flatten()
    .collect();
    let same = compared.caveats.iter().any(|caveat| caveat.code == "same_data");
    if found.is_empty() || compared.not_valid.is_some() || same {
        return vec![(text::first_line(compared, ": "), None)];
    }
    let mut parts = vec![(format!("{}: B ", sentence_case(&compared.verdict.words())), None)];
    let mut before: Option<&str> = None;
    for (index, (words, number, class)) in found.iter().enumerate() {
        let join = match before {
            None => "",
            Some(other) if other != *class => ", but ",
            Some(_) if index + 1 == found.len() => ", and ",
            Some(_) => ", ",
        };
        parts.extend([(format!("{join}{words}"), None), (number.clone(), Some(*class))]);
        before = Some(class);
    }
    parts
}

/// Why a difference that was seen is no evidence.
fn reasons(compared: &Compared) -> Markup {
    let lines = [&compared.core, &compared.high_percentile, &compared.tail_mass.question];
    let reasons =
        lines.into_iter().chain(compared.loss.as_ref().map(|loss| &loss.question)).filter_map(text::reason);
    html! { @for why in reasons { p.about { "A difference if it were the only question: " (why) "." } } }
}

fn spread(compared: &Compared) -> Markup {
    let unit = unit(compared.unit_ns);
    let row = |name: &str, width: &WidthLine| {
        let end = |end: Option<f64>, words: fn(f64) -> String| end.map_or_else(|| "\u{2013}".into(), words);
        let words = |value: Option<f64>| end(value, three);
        html! {
            tr {
                td.l.name { (name) ", " (unit) }
                td { (words(width.of_a)) } td { (words(width.of_b)) }
                td { @match width.estimate { Some(ratio) => { "×" (three(ratio)) } None => "–" } } td { "[" (end(width.low, number::low)) ", " (end(width.high, number::high)) "]" }
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
