//! A record to text, CSV, and one HTML page with plots.
//!
//! Owns how a measurement is shown: [`text()`], [`line()`], [`markdown()`], [`html()`], [`svgs`], [`csv()`]. It never measures, never reads a
//! file and never changes a number: what it shows is in the record, or computed from it here.
//! Start reading at `search_summary`, what a search says in words, and `traffic`, what moved; then `text`, `plot`, `html`.

mod agents;
mod answer;
mod arrivals;
mod back_to_back;
mod compared_searches;
mod csv;
mod denial;
mod directions;
mod doubt_words;
mod explained;
mod graph;
mod html;
mod loss_times;
mod markdown;
mod number;
mod object;
mod passages;
mod plot;
mod png;
mod prose;
mod search_groups;
mod search_summary;
mod style;
mod text;
mod traffic;
mod trends;
mod trial_columns;
mod verdict;
mod verdict_word;

/// What every page and every plot that stands alone begins with, after a page's doctype: by it a file is known that may
/// be drawn anew.
pub const MARK: &str = "<!-- drawn by dropline -->";

pub use answer::{line, said};
pub use csv::{csv, csv_columns, csv_table};
pub use denial::{Denied, denying, disputed, doubted, failed_and_passed};
pub use html::{
    AskedRecords, COMPARED, Graph, Here, ListPage, ListedRecord, PageHead, TRENDS, compared_html,
    compared_searches_html, explained_html, explained_svgs, fit_html, html, list_html, list_page,
    record_page, said_html, says_it_is_of, study_page, study_with_curves_html, svgs, trend_list_html,
    trend_page, trends_html, value_of, within,
};
pub use markdown::{markdown, markdown_of_turns};
pub use number::{nanoseconds, rounded, seconds};
pub use object::{give_way, object};
pub use plot::{Calibration, CalibrationLine, Curve, Curves};
pub use png::marked_png;
pub use style::{Color, Style};
pub use text::{
    added_text, compared_bursts_text, compared_line, compared_searches_text, compared_text, explain_text,
    fit_text, listed_text, pruned_text, reindexed_text, study_text, text, text_many, trends_text,
};
pub use trial_columns::trial_columns;
pub use verdict_word::{denied, standing};
