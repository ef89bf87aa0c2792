//! Why packets were lost: a part of a trial's page.

use super::figure::figures;
use crate::doubt_words::{Weight, lack_words};
use crate::explained::{change_words, facts};
use crate::plot::{self, Plot, Room};
use crate::prose::sentence_case;
use dropline_record::explanation::Lack;
use dropline_record::{Explanation, Record};
use maud::{Markup, html};

pub(super) fn why(record: &Record, found: &Explanation) -> Markup {
    let remedies: Vec<Plot> = plot::remedies(found).into_iter().collect();
    let others: Vec<Plot> = plots(found).into_iter().filter(|plot| plot.name != "remedies").collect();
    html! {
        (lacks(record, found, Weight::Decides))
        (figures(&remedies, false))
        @if !remedies.is_empty() { (conditions(found)) }
        section {
            h2 { @if found.lost > 0 { "Why packets were lost" } @else { "How the target kept up" } }
            dl { @for (name, words) in facts(found) { dt { (name) } dd { (words) } } }
            (lacks(record, found, Weight::Beside))
        }
        (figures(&others, false))
    }
}

/// What it lacks: what decides the answer stands before all else, the rest beside the numbers.
fn lacks(record: &Record, found: &Explanation, weight: Weight) -> Markup {
    let lacks: Vec<Lack> =
        found.lacks.iter().copied().filter(|lack| Weight::of_lack(*lack) == weight).collect();
    html! {
        @if !lacks.is_empty() {
            div.caveats {
                @for lack in lacks { div.caveat { b { "!" } span { (sentence_case(lack_words(record, found, lack))) } } }
            }
        }
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
