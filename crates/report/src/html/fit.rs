//! The page of distributions: the answer first, then plots and families.

use super::figure::figures;
use super::goals::caveats;
use super::shell::shell;
use crate::number::{count, fixed, percent, three};
use crate::plot;
use crate::text::{self, unit};
use dropline_record::Fit;
use maud::{Markup, html};

/// Distributions as one page.
pub fn fit_html(fits: &[Fit]) -> String {
    let content = html! { @for fit in fits { (section(fit)) } };
    let first = fits.first();
    let description = first.map_or_else(String::new, |fit| {
        format!("{}: {} events, in {}", fit.source, count(fit.count.0), unit(fit.unit_ns))
    });
    shell(&first.map_or_else(String::new, headline), &description, &content)
}

/// The verdict in a sentence.
fn headline(fit: &Fit) -> String {
    fit.verdict_text.as_deref().map_or_else(|| "Too few events for a law".into(), crate::prose::sentence_case)
}

/// What is said about one distribution, with its plots.
pub(super) fn section(fit: &Fit) -> Markup {
    let unit = unit(fit.unit_ns);
    html! {
        p.about { "dropline fit " b { (fit.source) } }
        h1 { (headline(fit)) }
        p.para { (count(fit.count.0)) " events in " (unit) "; each is known to " (three(fit.quantum_ns)) " ns (" (fit.rounding) ")" }
        (caveats(&fit.caveats, None))
        @let course = text::course(fit);
        @if !course.is_empty() { p.para { @for words in course { (crate::prose::sentence_case(&words)) ". " } } }
        (figures(&plot::distribution(fit, unit), true))
        (figures(&plot::fit_over_time(fit).into_iter().collect::<Vec<_>>(), false))
        @if !fit.families.is_empty() {
            section {
                h2 { "Families, the nearest first" }
                div.scroll {
                    table.study {
                        thead { tr { @for (index, head) in ["family", "elsewhere", "BIC", "ln L", "parameters"].iter().enumerate() {
                            th scope="col" class=[(index == 0).then_some("l")] { (head) }
                        } } }
                        tbody {
                            @for line in &fit.families {
                                tr {
                                    td.l.name { (line.name) }
                                    td { (percent(line.total_variation)) }
                                    td { (fixed(line.bic, 1)) }
                                    td { (fixed(line.log_likelihood, 1)) }
                                    td { @for (name, value) in &line.parameters { (name) " " (three(*value)) "  " } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
