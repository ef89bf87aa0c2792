//! Why packets were lost: a part of a trial's page.

use super::figure::figures;
use crate::explained::{change_words, facts};
use crate::lacks::lack_words;
use crate::plot::{self, Plot, Room};
use crate::prose::sentence_case;
use dropline_record::{Explanation, Record};
use maud::{Markup, html};

pub(super) fn why(record: &Record, found: &Explanation) -> Markup {
    let remedies: Vec<Plot> = plot::remedies(found).into_iter().collect();
    let others: Vec<Plot> = plots(found).into_iter().filter(|plot| plot.name != "remedies").collect();
    html! {
        @if !found.lacks.is_empty() {
            div.caveats {
                @for lack in &found.lacks { div.caveat { b { "!" } span { (sentence_case(lack_words(record, found, *lack))) } } }
            }
        }
        (figures(&remedies, false))
        @if !remedies.is_empty() { (conditions(found)) }
        section {
            h2 { "Why packets were lost" }
            dl { @for (name, words) in facts(found) { dt { (name) } dd { (words) } } }
        }
        (figures(&others, false))
    }
}

/// What each change would lose, backlog over time, the worst burst, arrivals against intent.
pub(super) fn plots(found: &Explanation) -> Vec<Plot> {
    [
        plot::remedies(found),
        plot::backlog(found, Room::Full),
        plot::burst(found, Room::Full),
        plot::gaps(found, Room::Full),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// On what a change hangs.
fn conditions(found: &Explanation) -> Markup {
    let rows: Vec<(String, &str)> = found
        .remedies
        .iter()
        .map(|remedy| change_words(found, remedy))
        .filter(|(_, condition)| !condition.is_empty())
        .collect();
    html! {
        @if !rows.is_empty() {
            dl.beside { @for (words, condition) in rows { dt { (words) } dd { (condition) } } }
        }
    }
}
