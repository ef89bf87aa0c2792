//! The page of distributions: the answer first, then plots and families.

use super::figure::figures;
use super::goals::caveats;
use super::shell::shell;
use crate::number::{JOIN, count, fixed, listed, percent, three};
use crate::plot::{self, Plot};
use crate::prose::sentence_case;
use crate::text::{self, FAMILY_HEADS, unit};
use dropline_record::{Fit, ShapeWord};
use maud::{Markup, html};

/// Peaks that a headline names.
const PEAKS: usize = 4;

/// Distributions as one page.
pub fn fit_html(fits: &[Fit]) -> String {
    let content = html! { @for fit in fits { (section(fit)) } };
    let first = fits.first();
    let description = first.map_or_else(String::new, |fit| {
        format!("{}: {} events, in {}", fit.source, count(fit.count.0), unit(fit.unit_ns))
    });
    shell(&first.map_or_else(String::new, headline), &description, &content)
}

/// Where the peaks are and whether a law of a textbook describes them, in plain words.
fn headline(fit: &Fit) -> String {
    let unit = unit(fit.unit_ns);
    let peaks: Vec<String> = fit.modes.iter().take(PEAKS).map(|mode| three(mode.peak)).collect();
    let more = if fit.modes.len() > PEAKS { " and more" } else { "" };
    let peaks = match fit.modes.len() {
        0 => "No peak that is sure".to_owned(),
        1 => format!("One peak, at {}{JOIN}{unit}", peaks[0]),
        number => format!("{number} peaks, at {}{more}{JOIN}{unit}", listed(&peaks)),
    };
    let family = || {
        let name = fit.best.as_deref().unwrap_or("one");
        name.strip_suffix("_shifted").map_or_else(|| name.replace('_', " "), |of| format!("shifted {of}"))
    };
    let law = match fit.verdict {
        Some(ShapeWord::OneFamily) => format!("the {} distribution fits", family()),
        Some(ShapeWord::Close) => format!("the {} distribution nearly fits", family()),
        Some(ShapeWord::NotOnePath) => "no textbook distribution fits".into(),
        Some(ShapeWord::Undecided) | None => "which distribution they follow is not decided".into(),
    };
    format!("{peaks}; {law}")
}

/// Percentiles that are known, in a sentence.
fn percentiles(fit: &Fit) -> Option<String> {
    let unit = unit(fit.unit_ns);
    let value = |p: f64| fit.percentiles.iter().find(|line| (line.p - p).abs() < 1e-9)?.value;
    let said: Vec<String> = [(0.5, "half"), (0.99, "99 of 100"), (0.999, "999 of 1000")]
        .into_iter()
        .filter_map(|(p, words)| Some(format!("{words} take {}{JOIN}{unit} or less", three(value(p)?))))
        .collect();
    let longest = fit.max.map(|max| format!("the longest took {}{JOIN}{unit}", three(max)));
    let said: Vec<String> = said.into_iter().chain(longest).collect();
    (!said.is_empty()).then(|| format!("{}.", sentence_case(&listed(&said))))
}

/// What is said about one distribution, with its plots.
pub(super) fn section(fit: &Fit) -> Markup {
    let unit = unit(fit.unit_ns);
    html! {
        p.about { "dropline fit " b { (fit.source) } }
        h1 { (headline(fit)) }
        @if let Some(words) = percentiles(fit) { p.lead { (words) } }
        p.lead { (count(fit.count.0)) " events, each known to " (three(fit.quantum_ns)) " ns (" (fit.rounding) ")." }
        (caveats(&fit.caveats, None))
        @let course = text::course(fit);
        @if !course.is_empty() { p.para { @for words in course { (sentence_case(&words)) ". " } } }
        @let (plain, statistician): (Vec<Plot>, Vec<Plot>) =
            plot::distribution(fit, unit).into_iter().partition(|plot| ["histogram", "percentiles"].contains(&plot.name));
        (figures(&plain, true))
        (figures(&plot::fit_over_time(fit).into_iter().collect::<Vec<_>>(), false))
        section {
            h2 { "For a statistician" }
            @if let Some(words) = &fit.verdict_text { p.about { (sentence_case(words)) "." } }
        }
        (figures(&statistician, true))
        @if !fit.families.is_empty() {
            section {
                h2 { "Families, the nearest first" }
                div.scroll {
                    table.study {
                        thead { tr { @for (index, head) in FAMILY_HEADS.iter().enumerate() {
                            th scope="col" class=[match index { 0 => Some("l"), 1 => None, _ => Some("w") }] { (head) }
                        } } }
                        tbody {
                            @for line in &fit.families {
                                tr {
                                    td.l.name { (line.name) }
                                    td { (percent(line.total_variation)) }
                                    td.w { (fixed(line.bic, 0)) }
                                    td.w { (fixed(line.log_likelihood, 0)) }
                                    td.w { @for (name, value) in &line.parameters { (name) " " (three(*value)) "  " } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
