//! The pages of a history, each made when it is wanted: a server hands them out, a site has them as files.

use crate::compare::searches::compare as compare_searches;
use crate::compare::{self, Comparable, compare, side};
use crate::explain::explanation_of;
use crate::history::WantedRecords;
use crate::indexed::indexed;
use crate::series::Series;
use crate::trend::{Acknowledged, Followed, of_lines};
use dropline_archive::history::{Contents, History};
use dropline_archive::record_file::read_record;
use dropline_distributions::import::Hints;
use dropline_failure::{Failure, quoted_path};
use dropline_record::{IndexLine, Trends};
use dropline_report::{
    AskedRecords, COMPARED, Here, ListPage, ListedRecord, PageHead, TRENDS, compared_html,
    compared_searches_html, explained_html, html, list_html, record_page, said_html, trend_list_html,
    trend_page, trends_html, value_of, within,
};
use dropline_stats::compare::Questions;
use dropline_trial::number_of;
use std::path::Path;

/// Records on one page of the list.
pub(crate) const ON_A_PAGE: usize = 100;
/// A longer record is not drawn here: one page is in memory at a time, and everybody waits for it.
const LONGEST: u64 = 64 << 20;

/// A history as pages.
#[derive(Debug)]
pub(crate) struct Pages {
    history: History,
    contents: Contents,
    /// Whether who reads them can ask.
    is_served: bool,
}

/// The page of a record.
#[derive(Debug)]
pub(crate) struct RecordPage {
    pub(crate) text: String,
    /// Whether it will be another one soon.
    pub(crate) is_running: bool,
}

impl Pages {
    /// Those of a history.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn of(directory: &Path, is_served: bool) -> Result<Self, Failure> {
        let history = History::open(directory, indexed)?;
        let contents = history.contents()?;
        Ok(Self { history, contents, is_served })
    }

    /// Takes in what changed since.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub(crate) fn look_again(&mut self) -> Result<(), Failure> {
        self.contents = self.history.contents_since(std::mem::take(&mut self.contents))?;
        Ok(())
    }

    /// Its records.
    pub(crate) fn records(&self) -> &[IndexLine] {
        &self.contents.records
    }

    /// The size of a record with what lies beside it.
    pub(crate) fn size(&self, line: &IndexLine) -> u64 {
        self.history.size(line)
    }

    /// How many pages the list of all of them has.
    pub(crate) fn lists(&self) -> usize {
        pages_for(self.records().len())
    }

    /// A page of the list, the newest records first; `asked` is what somebody wants to see of them.
    pub(crate) fn list(&self, number: usize, asked: &AskedRecords) -> String {
        let (wanted, wrong) = match wanted(asked) {
            Ok(wanted) => (wanted, None),
            Err(why) => (WantedRecords::default(), Some(of_form(&why))),
        };
        let is_answered = wrong.is_none();
        let asked = AskedRecords { wrong, ..asked.clone() };
        let is_found = |line: &&IndexLine| is_answered && wanted.is(line);
        let found: Vec<&IndexLine> = self.records().iter().rev().filter(is_found).collect();
        let number = number.clamp(1, pages_for(found.len()));
        let shown = found.iter().skip((number - 1) * ON_A_PAGE).take(ON_A_PAGE);
        let lines: Vec<IndexLine> = shown.filter_map(|line| wanted.of((*line).clone())).collect();
        let records = lines.iter().map(|line| ListedRecord {
            line,
            is_running: self.is_running(line),
            series: line.goals.iter().map(|goal| Series::of(line, goal).id()).collect(),
        });
        list_html(&ListPage {
            name: &self.name(),
            records: records.collect(),
            number,
            pages: pages_for(found.len()),
            wanted: found.len(),
            all: self.records().len(),
            left_out: &self.contents.left_out,
            asked: self.is_served.then_some(&asked),
        })
    }

    /// The record whose page this is.
    pub(crate) fn record_at(&self, page: &str) -> Option<&IndexLine> {
        self.records().iter().find(|line| record_page(&line.file) == page)
    }

    /// The page of a record, as `report --html` has it; `still` is for one that shall not change while somebody reads it.
    ///
    /// # Errors
    /// If the record cannot be read, or is too long.
    pub(crate) fn record(&self, line: &IndexLine, of: &str, still: bool) -> Result<RecordPage, Failure> {
        let path = self.short_enough(line)?;
        let mut record = read_record(&path)?;
        let page = match explanation_of(&path, &mut record) {
            Some(found) => explained_html(&record, &found),
            None => html(std::slice::from_ref(&record)),
        };
        let own = record_page(&line.file);
        let here = Here { page: &own, is_served: self.is_served };
        let mut above = PageHead::of(here).drawn_of(of.to_owned());
        for (words, series) in Series::followed(line) {
            above = above.and(here, &trend_page(&series.id()), &[], &format!("{words} over time"));
        }
        if line.kind == "compare" && self.is_served {
            above = above.and(here, COMPARED, &[("a", &line.file)], "Whether both differ");
        }
        let is_running = self.is_running(line);
        if is_running && self.is_served {
            let trials = number_of(record.trials.len(), "trial");
            above = match still {
                false => above.saying(
                    here,
                    &format!("This is being measured: what is shown is of {trials} so far, and this page loads itself again."),
                    &[("still", "yes")],
                    "Hold it still",
                ),
                true => above.saying(
                    here,
                    &format!("This was being measured: what is shown is of {trials}."),
                    &[],
                    "Follow it",
                ),
            };
        }
        Ok(RecordPage { text: within(&page, &above), is_running })
    }

    /// The list of all limits over time.
    ///
    /// # Errors
    /// If what is acknowledged cannot be read.
    pub(crate) fn trend_list(&self) -> Result<String, Failure> {
        let here = Here { page: TRENDS, is_served: self.is_served };
        Ok(within(&trend_list_html(&self.trends(|_| true)?, here), &PageHead::of(here)))
    }

    /// The page of one limit over time, by its name; `None` where there is none of that name.
    ///
    /// # Errors
    /// If what is acknowledged cannot be read.
    pub(crate) fn trend(&self, id: &str) -> Result<Option<String>, Failure> {
        // What says no limit of it belongs to it too.
        let is_of = |line: &IndexLine| Series::all(line).iter().any(|(series, _)| series.id() == id);
        let mut trends = self.trends(is_of)?;
        trends.series.retain(|series| series.id == id);
        trends.left_out.clear();
        Ok((!trends.series.is_empty()).then(|| self.trend_page(&trends)))
    }

    /// The same of all, each with its name.
    ///
    /// # Errors
    /// If what is acknowledged cannot be read.
    pub(crate) fn all_trends(&self) -> Result<impl Iterator<Item = (String, String)> + '_, Failure> {
        let Trends { series, smallest_effect, estimator, .. } = self.trends(|_| true)?;
        Ok(series.into_iter().map(move |series| {
            let (id, estimator) = (series.id.clone(), estimator.clone());
            let one = Trends { series: vec![series], smallest_effect, estimator, left_out: Vec::new() };
            (id, self.trend_page(&one))
        }))
    }

    /// Two records beside each other, as `compare --html` has them; of one alone, both of its targets.
    ///
    /// # Errors
    /// If one is not there or cannot be read, or the two cannot be compared.
    pub(crate) fn beside(&self, a: &str, b: Option<&str>) -> Result<String, Failure> {
        let path = |file: &str| {
            let is_it = |line: &&IndexLine| line.file == file || value_of(&line.file) == file;
            let line = self.records().iter().find(is_it);
            let missing = || Failure::usage(format!("the history has no record {file}"));
            self.short_enough(line.ok_or_else(missing)?)
        };
        let found = match b {
            Some(b) => compare::read(&path(a)?, &path(b)?, &Hints::default())?,
            None => Comparable::Delays(Box::new(side::read_turns(&path(a)?)?)),
        };
        let page = match found {
            Comparable::Delays(pair) => compared_html(&compare(&pair, &Questions::default())),
            Comparable::Searches(searches) => {
                let [a, b] = &*searches;
                compared_searches_html(&compare_searches(a, b, None)?, [a.record(), b.record()])
            }
            Comparable::Bursts(bursts) => {
                html(&bursts.iter().map(|one| one.record().clone()).collect::<Vec<_>>())
            }
        };
        Ok(within(&page, &PageHead::of(self.here(COMPARED))))
    }

    /// A page that says why there is no other.
    pub(crate) fn said(&self, page: &str, why: &Failure) -> String {
        let text = why.to_string();
        let (headline, more) = text.split_once('\n').unwrap_or((&text, ""));
        within(&said_html(headline, more.trim()), &PageHead::of(self.here(page)))
    }

    fn here<'a>(&self, page: &'a str) -> Here<'a> {
        Here { page, is_served: self.is_served }
    }

    /// What the history is called.
    fn name(&self) -> String {
        let named = self.history.named();
        let real = std::fs::canonicalize(named);
        let name = real.as_deref().unwrap_or(named).file_name().unwrap_or(named.as_os_str());
        name.to_string_lossy().into_owned()
    }

    fn is_running(&self, line: &IndexLine) -> bool {
        !line.finished && self.history.is_being_written(&line.file)
    }

    fn short_enough(&self, line: &IndexLine) -> Result<std::path::PathBuf, Failure> {
        if line.bytes <= LONGEST {
            return self.history.local(line);
        }
        let path = self.history.path(&line.file);
        Err(Failure::usage(format!("{} is too long to be shown here: {} MiB", line.file, line.bytes >> 20))
            .advice(format!("draw its page by itself:  dropline report {} --html", quoted_path(&path))))
    }

    /// What is known of limits over time in some of the records.
    fn trends(&self, is_of: impl Fn(&IndexLine) -> bool) -> Result<Trends, Failure> {
        let lines = self.records().iter().filter(|line| is_of(line));
        let lines = lines.map(|line| (line.file.clone(), line.clone())).collect();
        let record = |file: &str| self.history.record(file).ok();
        of_lines(lines, Vec::new(), &record, &Followed::default(), || {
            Acknowledged::beside(&[self.history.named().to_owned()])
        })
    }

    fn trend_page(&self, trends: &Trends) -> String {
        let page = trend_page(&trends.series[0].id);
        within(&trends_html(trends), &PageHead::of(self.here(&page)))
    }
}

/// Pages that so many records fill; an empty list is one too.
fn pages_for(records: usize) -> usize {
    records.div_ceil(ON_A_PAGE).max(1)
}

/// What was typed, as what a record must have.
fn wanted(asked: &AskedRecords) -> Result<WantedRecords, Failure> {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let wanted = WantedRecords::default()
        .since(some(&asked.since).as_deref())?
        .until(some(&asked.until).as_deref())?;
    let labels: Vec<String> = some(&asked.label).into_iter().collect();
    let mut wanted = wanted.labelled(&labels)?.goal(some(&asked.goal).as_deref())?;
    (wanted.target, wanted.kind) = (some(&asked.target), some(&asked.kind));
    Ok(wanted)
}

/// The error of a flag, as that of the field of the same meaning.
fn of_form(why: &Failure) -> String {
    let text = why.to_string();
    let fields = [("--since", "from"), ("--until", "to"), ("--label", "label"), ("--goal", "goal")];
    fields.into_iter().fold(text, |text, (flag, field)| text.replace(flag, field))
}
