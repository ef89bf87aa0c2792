//! Why packets were lost: a part of a trial's page.

use super::figure::figures;
use crate::explained::{change_words, facts, interval, verdict_words};
use crate::lacks::lack_words;
use crate::number::count;
use crate::plot::{self, Plot, Room};
use dropline_record::Explanation;
use maud::{Markup, html};

pub(super) fn why(found: &Explanation) -> Markup {
    let plots = plots(found);
    html! {
        section {
            h2 { "Why packets were lost" }
            dl { @for (name, words) in facts(found) { dt { (name) } dd { (words) } } }
        }
        @if !found.remedies.is_empty() { (remedies(found)) }
        (figures(&plots, false))
        @if !found.lacks.is_empty() {
            section {
                h2 { "What this lacks" }
                ul { @for lack in &found.lacks { li { (lack_words(found, *lack)) } } }
            }
        }
    }
}

/// Backlog over time, the worst burst, arrivals against intent.
pub(super) fn plots(found: &Explanation) -> Vec<Plot> {
    [plot::backlog(found, Room::Full), plot::burst(found, Room::Full), plot::gaps(found, Room::Full)]
        .into_iter()
        .flatten()
        .collect()
}

/// What was measured, what the replay has, and what each change would lose.
fn remedies(found: &Explanation) -> Markup {
    let row = |words: &str, lost: u64, range: &str, verdict: &str| {
        html! { tr { td.l.wrap { (words) } td { (count(lost)) } td { (range) } td.l.wrap { (verdict) } } }
    };
    html! {
        section {
            h2 { "What would help, and what would not" }
            div.scroll {
                table {
                    thead {
                        tr {
                            th.l scope="col" { "change" }
                            th scope="col" { "lost" }
                            th scope="col" { "95 % of replays" }
                            th.l scope="col" {}
                        }
                    }
                    tbody {
                        @if let Some(model) = found.model {
                            (row("as it was, measured", model.measured, "", ""))
                            (row("as it was, replayed", model.replay.lost, &interval(model.replay), ""))
                        }
                        @for remedy in &found.remedies {
                            @let (words, condition) = change_words(found, remedy);
                            @let verdict = verdict_words(found.verdict(remedy)).1;
                            @let verdict = if condition.is_empty() { verdict.into() } else { format!("{verdict}, {condition}") };
                            (row(&words, remedy.lost.lost, &interval(remedy.lost), &verdict))
                        }
                    }
                }
            }
        }
    }
}
