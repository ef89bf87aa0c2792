//! Which graph ran, on the page of its trial.

use crate::graph;
use dropline_record::GraphLine;
use maud::{Markup, html};

/// The graph and its CPUs; a row a block where that was asked for.
pub(super) fn ran(found: &GraphLine, duration_s: f64) -> Markup {
    html! {
        section {
            h2 { "The graph" }
            dl { @for (name, words) in graph::facts(found, duration_s) { dt { (name) } dd { (words) } } }
            @if !found.residence.is_empty() {
                div.scroll {
                    table {
                        thead {
                            tr {
                                @for (index, head) in graph::HEADS.iter().enumerate() {
                                    th.l[index == 0] scope="col" { (head) }
                                }
                            }
                        }
                        tbody {
                            @for of in &found.residence {
                                tr {
                                    @for (index, cell) in graph::row(of, found.stages).iter().enumerate() {
                                        td.l[index == 0] { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
                p.about { "From leaving the block before it to leaving it: the buffer in front of a block is part of it." }
            }
        }
    }
}
