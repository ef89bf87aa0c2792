//! A record as text for a terminal, the answer first.

mod compared;
mod compared_bursts;
mod compared_searches;
pub(crate) mod cycles;
mod drift;
mod explain;
mod fit;
mod graph;
pub(crate) mod history;
mod layout;
mod many;
mod passages;
mod search;
mod study;
mod trends;
mod trial;
mod wakeups;

pub use compared::{compared_line, compared_text};
pub(crate) use compared::{first_line, is_mostly_of_loss, points, questions_table, reason};
pub use compared_bursts::compared_bursts_text;
pub use compared_searches::compared_searches_text;
pub(crate) use drift::{fit as course, trial as trial_course};
pub use explain::explain_text;
pub(crate) use fit::FAMILY_HEADS;
pub use fit::fit_text;
pub use history::{added_text, listed_text, pruned_text, reindexed_text};
pub(crate) use layout::{Columns, Side, unit};
pub use many::text_many;
pub(crate) use many::{several, singles};
pub(crate) use search::goals;
pub use study::study_text;
pub use trends::trends_text;
pub(crate) use trial::time_words;

use crate::denial::decisive_first;
use crate::search_summary::SearchSummary;
use crate::style::{Ink, Style};
use dropline_record::{CaveatLine, Record};
use layout::Page;

/// A record as text: what was found and how sure it is, the caveats, then what else was seen; with
/// [`Style::verbose`] how it was measured. Ends with a newline.
pub fn text(record: &Record, style: Style) -> String {
    let mut page = Page::new(style);
    match SearchSummary::of(record) {
        Some(finding) => search::write(&mut page, &finding),
        None => trial::write(&mut page, record),
    }
    page.into_text()
}

impl Page {
    /// The doubts of a record, those that decide its answer first.
    fn caveats_of(&mut self, record: &Record) {
        self.caveats(&decisive_first(record, record.caveats()));
    }

    /// Each doubt on lines of its own, behind a `!`.
    fn caveats(&mut self, caveats: &[CaveatLine]) {
        if !caveats.is_empty() {
            self.gap();
        }
        for caveat in caveats {
            self.hanging("! ", Ink::Strong, &crate::prose::counts(&caveat.text));
        }
    }
}
