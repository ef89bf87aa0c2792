//! A plot on a page: title, caption, readout, both drawings, its numbers.

use crate::plot::{Numbers, Plot};
use maud::{Markup, html};

/// One plot.
pub(super) fn figure(plot: &Plot) -> Markup {
    html! {
        figure data-plot=(plot.name) {
            h2 { (plot.title) }
            figcaption { (plot.caption) }
            p.say aria-live="polite" {}
            div.drawings {
                (plot.wide.svg("plot wide", &plot.title, &plot.desc, None))
                (plot.narrow.svg("plot narrow", &plot.title, &plot.desc, None))
            }
            details { summary { "Numbers" } (numbers(&plot.numbers)) }
        }
    }
}

fn numbers(numbers: &Numbers) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { @for head in &numbers.heads { th scope="col" { (head) } } } }
                tbody {
                    @for row in &numbers.rows {
                        tr data-say=(row.words) { @for cell in &row.cells { td { (cell) } } }
                    }
                }
            }
        }
    }
}

/// Plots in a row of two, or one a row.
pub(super) fn figures(plots: &[Plot], pair: bool) -> Markup {
    html! {
        @if !plots.is_empty() {
            div class={ "figures" @if pair { " pair" } } { @for plot in plots { (figure(plot)) } }
        }
    }
}
