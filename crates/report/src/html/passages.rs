//! Pipes of a trial of a pipeline on its page.

use super::figure::figures;
use crate::passages;
use crate::plot::{self, Plot, Room};
use dropline_record::PassagesLine;
use maud::{Markup, html};

/// Slowest passages that the page shows.
const SHOWN: usize = 10;

/// A row a pipe.
pub(super) fn pipes(found: &PassagesLine) -> Markup {
    html! {
        section {
            h2 { "Every pipe" }
            div.scroll {
                table {
                    thead { tr { @for head in passages::HEADS { th scope="col" { (head) } } th.l scope="col" { "note" } } }
                    tbody {
                        @for pipe in &found.pipes {
                            tr {
                                @for cell in passages::row(found, pipe) { td { (cell) } }
                                td.l.wrap { (passages::note(found, pipe)) }
                            }
                        }
                    }
                }
            }
            p.about { "Recorder: " (passages::recorder(&found.recorder)) ". Granule: " (passages::granule(found)) "." }
        }
    }
}

/// Delay over time and the map.
pub(super) fn plots(found: &PassagesLine) -> Vec<Plot> {
    [plot::lanes(found, Room::Full), plot::heat(found, Room::Full)].into_iter().flatten().collect()
}

/// Both, and the slowest passages.
pub(super) fn over_time(found: &PassagesLine) -> Markup {
    html! {
        (figures(&plots(found), false))
        @if !found.slowest.is_empty() {
            section {
                h2 { "The slowest passages" }
                div.scroll {
                    table {
                        thead {
                            tr {
                                @for head in ["pipe", "granule", "left, from the first arrival", "took"] {
                                    th scope="col" { (head) }
                                }
                            }
                        }
                        tbody {
                            @for passage in found.slowest.iter().take(SHOWN) {
                                tr { @for cell in passages::slow(found, passage) { td { (cell) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}
