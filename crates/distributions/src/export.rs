//! `import` and `export`: distributions to a record, and to the formats of others.

use crate::import::{Format, ImportError, Imported, Order, hlog, own_record};
use crate::openmetrics;
use dropline_archive::{clock, record_file};
use dropline_failure::Failure;
use dropline_printable::printable_json;
use dropline_record::schema::Line;
use dropline_record::{DistributionLine, Record, TrialLine};
use dropline_table::{Column, Values};
use dropline_trial::number_of;
use std::borrow::Cow;
use std::path::Path;

/// The record of imported distributions: a line each.
pub fn lines(source: &str, format: Format, imported: &[Imported]) -> String {
    let mut text = String::new();
    for part in imported {
        let mut line = DistributionLine::new(source, format.word(), &part.name, &part.counted, &part.notes);
        part.slices.iter().for_each(|slice| line.push_slice(slice.begin_s, slice.length_s, &slice.counted));
        match &part.order {
            Order::Unknown => {}
            Order::Events(events) => line.events.clone_from(events),
            Order::Stretches(stretches) => stretches.iter().for_each(|stretch| line.push_stretch(stretch)),
        }
        let line = serde_json::to_string(&Line::Distribution(Box::new(line))).expect("a line is JSON");
        text.push_str(&printable_json(&line));
        text.push('\n');
    }
    text
}

/// What a file holds that is exported.
#[derive(Debug)]
pub enum ExportedFile {
    /// A record of trials.
    Record(Box<Record>),
    /// Distributions that were imported.
    Imported(Vec<Imported>),
}

/// How a record of import begins.
const IMPORT: &str = "{\"line\":\"distribution\"";

impl ExportedFile {
    /// Reads a record, of trials or of import.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = record_file::read_text(path)?;
        if text.starts_with(IMPORT) {
            return Ok(Self::Imported(own_record::parse(&text, None).map_err(|why| broken(&why))?));
        }
        Ok(Self::Record(Box::new(record_file::parse(&text, path)?)))
    }

    /// What is left out of it because the file could not be read to its end, in words.
    pub fn left_out(&self) -> Vec<String> {
        match self {
            Self::Record(record) => record.reading.iter().map(|doubt| doubt.text.clone()).collect(),
            Self::Imported(_) => Vec::new(),
        }
    }

    /// A row a trial, or a cell of what was imported.
    fn columns(&self) -> Vec<Column> {
        match self {
            Self::Record(record) => dropline_report::trial_columns(record),
            Self::Imported(imported) => cells(imported),
        }
    }

    /// Its rows as comma-separated values.
    pub fn csv(&self) -> String {
        dropline_report::csv_columns(&self.columns())
    }

    /// Its rows as a Parquet file.
    pub fn parquet(&self) -> Vec<u8> {
        dropline_table::parquet::file(&self.columns())
    }

    /// Load, loss, bounds and delays as OpenMetrics.
    ///
    /// # Errors
    /// If a histogram of the record is broken.
    pub fn openmetrics(&self) -> Result<String, Failure> {
        match self {
            Self::Record(record) => openmetrics::of_record(record).map_err(|why| broken(&why)),
            Self::Imported(imported) => Ok(openmetrics::of_imported(imported)),
        }
    }

    /// HdrHistogram's log, and what is not in it, in words: an interval each distribution, or each of its time slices
    /// where there are some and they are wanted; of a record the trials that `import` reads, or that one. A single
    /// distribution has no tag.
    ///
    /// # Errors
    /// If no delays were measured, there is no such trial, or a histogram of the record is broken.
    pub fn hdr_log(&self, sliced: bool, trial: Option<u64>) -> Result<(String, Vec<String>), Failure> {
        let (start, parts) = match self {
            Self::Record(record) => (clock::unix_s(&record.header.started), of_trials(record, trial)?),
            Self::Imported(_) if trial.is_some() => {
                return Err(Failure::usage("--trial: what was imported has no numbered trials"));
            }
            Self::Imported(imported) => (None, imported.iter().map(of_import).collect()),
        };
        let several = parts.len() > 1;
        let mut intervals = Vec::new();
        for part in &parts {
            let tag = Some(part.imported.name.as_str()).filter(|tag| several && !tag.is_empty());
            if sliced && !part.imported.slices.is_empty() {
                intervals.extend(part.imported.slices.iter().map(|slice| hlog::Interval {
                    tag,
                    begin_s: part.slices_from_s + slice.begin_s,
                    length_s: slice.length_s,
                    counted: &slice.counted,
                }));
            } else {
                let Part { begin_s, length_s, .. } = *part;
                intervals.push(hlog::Interval { tag, begin_s, length_s, counted: &part.imported.counted });
            }
        }
        let mut notes: Vec<String> = Vec::new();
        for note in parts.iter().flat_map(|part| &part.imported.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let (log, left_out) = hlog::write(start.unwrap_or(0), &intervals);
        if left_out > 0 {
            notes.push(format!(
                "such a log has no place for {} below zero or of unknown length",
                number_of(left_out, "event")
            ));
        }
        Ok((log, notes))
    }
}

/// A distribution and when it was measured, in seconds from the start of its record or file.
struct Part<'a> {
    imported: Cow<'a, Imported>,
    begin_s: f64,
    length_s: f64,
    /// What the begin of its slices is counted from.
    slices_from_s: f64,
}

fn of_trials(record: &Record, number: Option<u64>) -> Result<Vec<Part<'static>>, Failure> {
    let chosen = own_record::chosen(&record.trials, number).map_err(|why| match why {
        ImportError::NoTrial { .. } => Failure::usage(format!("--trial: {why}")),
        _ => broken(&why),
    })?;
    if chosen.is_empty() {
        return Err(Failure::environment(
            "no trial of the record measured delays, and such a log holds nothing else",
        )
        .advice("its counts:  --to csv  or  --to openmetrics"));
    }
    let part = |(trial, imported): (&TrialLine, Imported)| Part {
        imported: Cow::Owned(imported),
        begin_s: trial.at_s,
        length_s: trial.duration_s,
        slices_from_s: trial.at_s,
    };
    Ok(chosen.into_iter().map(part).collect())
}

/// A file without slices does not say when its events were.
fn of_import(imported: &Imported) -> Part<'_> {
    let begin_s = imported.slices.first().map_or(0.0, |first| first.begin_s);
    let end_s = imported.slices.last().map_or(0.0, |last| last.begin_s + last.length_s);
    Part { imported: Cow::Borrowed(imported), begin_s, length_s: end_s - begin_s, slices_from_s: 0.0 }
}

fn broken(why: &ImportError) -> Failure {
    Failure::environment(format!("the record is damaged: {why}")).advice("export an intact copy of it")
}

/// A row a cell: part, lowest and highest value, count; values in nanoseconds. What is only known to be long has no highest one.
fn cells(imported: &[Imported]) -> Vec<Column> {
    let (mut parts, mut lows, mut highs, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for part in imported {
        let quantum = part.counted.meaning().quantum_ns;
        let above = part.counted.above().map(|above| (above.from, None, above.count));
        let known = part.counted.cells().map(|(low, high, count)| (low, Some(high), count));
        for (low, high, count) in known.chain(above) {
            parts.push(Some(part.name.clone()));
            lows.push(Some(low as f64 * quantum));
            highs.push(high.map(|high| high as f64 * quantum));
            counts.push(i64::try_from(count).ok());
        }
    }
    let columns = [
        ("part", Values::Texts(parts)),
        ("low_ns", Values::Numbers(lows)),
        ("high_ns", Values::Numbers(highs)),
        ("count", Values::Integers(counts)),
    ];
    columns.map(|(name, values)| Column { name: name.into(), values }).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Hints;
    use dropline_stats::{Above, Counted, Meaning};

    fn part() -> Imported {
        let above = Some(Above { from: 200, count: 2 });
        let counted = Counted::ticks(Meaning::default(), [(6, 3), (7, 1)], above).unwrap();
        Imported {
            counted,
            name: "thread \"0\"".into(),
            notes: vec!["a note".into()],
            slices: Vec::new(),
            order: Order::Unknown,
        }
    }

    #[test]
    fn a_record_of_import_is_read_as_it_was_written() {
        let text = lines("a.hist", Format::Cyclictest, &[part(), part()]);
        assert_eq!(Format::of(&text), Some(Format::Record));
        assert_eq!(Format::Record.parse(&text, &Hints::default()).unwrap(), [part(), part()]);
    }

    #[test]
    fn events_that_were_imported_are_still_in_their_order() {
        let long: String = (0..200_000).map(|at| format!("{}\n", 1000 + at % 977)).collect();
        for text in ["9\n7\n8.5\n7\n", &long] {
            let raw = Format::Raw.parse(text, &Hints::default()).unwrap();
            assert_ne!(raw[0].order, Order::Unknown);
            let record = lines("a.txt", Format::Raw, &raw);
            assert_eq!(Format::Record.parse(&record, &Hints::default()).unwrap()[0].order, raw[0].order);
        }
    }

    #[test]
    fn csv_keeps_what_is_known_only_to_be_long() {
        let held = ExportedFile::Imported(vec![part()]);
        assert_eq!(held.csv().lines().last(), Some(r#""thread ""0""",200000,,2"#));
        let (_, notes) = ExportedFile::Imported(vec![part()]).hdr_log(false, None).unwrap();
        assert!(
            notes.iter().any(|note| note.contains("no place for 2 events below zero or of unknown length"))
        );
    }
}
