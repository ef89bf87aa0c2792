//! A record as one self-contained page: no network, readable without a script.

mod compared;
mod compared_searches;
mod downloads;
mod explained;
mod facts;
mod figure;
mod fit;
mod goals;
mod graph;
mod history;
mod links;
mod passages;
mod several;
mod shell;
mod single;
mod study;
mod trends;
mod trials;

pub use compared::compared_html;
pub use compared_searches::compared_searches_html;
pub use fit::fit_html;
pub use history::{AskedRecords, ListPage, ListedRecord, list_html, said_html, trend_list_html};
pub use links::{
    COMPARED, Here, PageHead, TRENDS, list_page, record_page, says_it_is_of, trend_page, value_of, within,
};
pub use study::{Graph, study_page, study_with_curves_html};
pub use trends::trends_html;

use crate::plot::{self, Plot, Room};
use crate::search_summary::SearchSummary;
use dropline_record::{Explanation, Record};

/// Records as one page: a search or trial from answer to every trial, several searches side by side on a
/// common rate axis.
pub fn html(records: &[Record]) -> String {
    match records {
        [only] => single::page(only),
        many => several::page(many),
    }
}

/// A trial's record as a page, with the explanation of its loss.
pub fn explained_html(record: &Record, found: &Explanation) -> String {
    single::explained_page(record, found)
}

/// Each plot of an explanation as a file, as [`svgs`] has those of records.
pub fn explained_svgs(found: &Explanation) -> Vec<(String, String)> {
    explained::plots(found).into_iter().map(|plot| (format!("{}.svg", plot.name), plot.file())).collect()
}

/// Each plot of the records as a file: name and SVG that stands alone.
pub fn svgs(records: &[Record]) -> Vec<(String, String)> {
    let findings = SearchSummary::all(records);
    let loads = several::shared_loads(records, &findings);
    let axis = plot::common_view(&findings, loads, 0.0);
    let load_axis = plot::LoadAxis::around(axis, &findings);
    let mut searches = findings.iter();
    let mut files = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let number = if records.len() > 1 { format!("-{}", index + 1) } else { String::new() };
        let named = |plot: Plot| (format!("{}{number}.svg", plot.name), plot.file());
        match record.header.search.as_ref().and_then(|_| searches.next()) {
            Some(finding) => {
                let view = plot::View { until: plot::time_span(finding), ..axis };
                files.push(named(plot::search_time(finding, view, Room::Full, "")));
                files.extend(plot::loss(finding, load_axis, Room::Half, "").map(named));
                files.extend(single::whole_range(finding, loads, "").into_iter().map(named));
                files.extend(plot::places(finding, load_axis, Room::Full, "").map(named));
                files.extend(
                    plot::delays([(finding, String::new())], loads, Room::Half).into_iter().map(named),
                );
            }
            None => {
                let passages = record.trials.last().and_then(|trial| trial.passages.as_ref());
                files.extend(single::trial_plots(record).into_iter().map(named));
                files.extend(passages.map(passages::plots).into_iter().flatten().map(named));
            }
        }
    }
    files
}
