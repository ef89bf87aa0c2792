//! The records that are looked at: those that were named, and those below directories, each measurement once.

use crate::indexed::indexed;
use crate::measured::one;
use crate::series::measured;
use dropline_archive::history::{Files, History, line_of};
use dropline_archive::record_file::read_record;
use dropline_failure::Failure;
use dropline_record::{IndexLine, LeftOutLine, MeasuredLine, Quantity, Record};
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What is said of each record, by its name.
///
/// # Errors
/// If one that was named cannot be read. Others are left out.
pub(super) fn read(
    paths: &[PathBuf],
    wanted: &[Quantity],
    left_out: &mut Vec<LeftOutLine>,
) -> Result<Vec<(String, IndexLine)>, Failure> {
    let mut lines = Vec::new();
    for Source { path, is_named, line } in sources(paths, left_out)? {
        let source = path.display().to_string();
        match line.map_or_else(|| line_of(&path, indexed), Ok).and_then(|line| with(line, &path, wanted)) {
            Ok(line) => lines.push((source, line)),
            Err(why) if is_named => return Err(why),
            Err(why) => left_out.push(LeftOutLine { why: why.behind(&source), source }),
        }
    }
    Ok(lines)
}

/// The line of trials with the percentiles that are wanted and that no index keeps: these are read from the record.
fn with(mut line: IndexLine, path: &Path, wanted: &[Quantity]) -> Result<IndexLine, Failure> {
    let found = measured(&line);
    let is_missing = |quantity: &&Quantity| {
        matches!(quantity, Quantity::Percentile(_)) && !found.iter().any(|found| found.quantity == **quantity)
    };
    let missing: Vec<Quantity> = wanted.iter().filter(is_missing).copied().collect();
    if missing.is_empty() || found.is_empty() || line.kind != "trial" {
        return Ok(line);
    }
    let record = record_at(path)?;
    let more: Vec<MeasuredLine> = missing.into_iter().filter_map(|quantity| one(&record, quantity)).collect();
    line.trial.iter_mut().for_each(|trial| trial.measured.extend(&more));
    Ok(line)
}

/// A record, on this machine or in a store.
pub(super) fn record_at(path: &Path) -> Result<Record, Failure> {
    if !History::is_remote(path) {
        return read_record(path);
    }
    let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    History::open(parent, indexed)?.record(&name.to_string_lossy())
}

/// Each measurement once: of files that begin with the same line and go on alike, the one in which there is most. Searches that began in
/// one second with the same words begin alike too, and are others where their trials are.
pub(super) fn once(
    lines: Vec<(String, IndexLine)>,
    record: &dyn Fn(&str) -> Option<Record>,
    left_out: &mut Vec<LeftOutLine>,
) -> Vec<(String, IndexLine)> {
    let much = |at: usize| (lines[at].1.finished, lines[at].1.bytes, Reverse(at));
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, (_, line)) in lines.iter().enumerate() {
        alike.entry(&line.header_sha256).or_default().push(index);
    }
    let mut same_as: BTreeMap<usize, usize> = BTreeMap::new();
    for mut alike in alike.into_values().filter(|alike| alike.len() > 1) {
        alike.sort_by_key(|at| Reverse(much(*at)));
        // A record is read only to tell it from one of other content.
        let mut measured: Vec<(usize, OnceCell<Option<Record>>)> = Vec::new();
        for at in alike {
            let own = OnceCell::new();
            let is_it = |(other, its): &&(usize, OnceCell<Option<Record>>)| {
                lines[at].1.sha256 == lines[*other].1.sha256
                    || read_once(&own, &lines[at].0, record)
                        .zip(read_once(its, &lines[*other].0, record))
                        .is_none_or(|(one, other)| go_on_alike(one, other))
            };
            match measured.iter().find(is_it) {
                Some((other, _)) => {
                    same_as.insert(at, *other);
                }
                None => measured.push((at, own)),
            }
        }
    }
    let names: Vec<String> = lines.iter().map(|(source, _)| source.clone()).collect();
    let keeps = |(index, (source, line)): (usize, (String, IndexLine))| match same_as.get(&index) {
        None => Some((source, line)),
        Some(best) => {
            let why = format!("it is the same measurement as {}", names[*best]);
            left_out.push(LeftOutLine { source, why });
            None
        }
    };
    lines.into_iter().enumerate().filter_map(keeps).collect()
}

/// The record of this name, read when it is first asked for.
fn read_once<'a>(
    kept: &'a OnceCell<Option<Record>>,
    name: &str,
    record: &dyn Fn(&str) -> Option<Record>,
) -> Option<&'a Record> {
    kept.get_or_init(|| record(name)).as_ref()
}

/// Whether the trials of one are the first of the other's.
fn go_on_alike(one: &Record, other: &Record) -> bool {
    let both = one.trials.len().min(other.trials.len());
    one.trials[..both] == other.trials[..both]
}

/// A file that may be a record.
struct Source {
    path: PathBuf,
    /// Whether the user named it, and not a directory above it.
    is_named: bool,
    /// What the index of a history says of it.
    line: Option<IndexLine>,
}

/// The files that were named, and those in the directories that were: each once. Of a history its index is read.
fn sources(paths: &[PathBuf], left_out: &mut Vec<LeftOutLine>) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        if History::is_at(path) {
            let history = History::open(path, indexed)?;
            let contents = history.contents()?;
            left_out.extend(within(path, contents.left_out));
            sources.extend(contents.records.into_iter().map(|line| Source {
                path: history.path(&line.file),
                is_named: false,
                line: Some(line),
            }));
        } else if path.is_dir() {
            let Files { all, left_out: passed_over, .. } = Files::below(path)?;
            left_out.extend(within(path, passed_over));
            let files = all.into_keys().map(|file| path.join(file));
            sources.extend(files.map(|path| Source { path, is_named: false, line: None }));
        } else {
            sources.push(Source { path: path.clone(), is_named: true, line: None });
        }
    }
    let mut seen = BTreeSet::new();
    sources.retain(|source| std::fs::canonicalize(&source.path).map_or(true, |real| seen.insert(real)));
    Ok(sources)
}

/// What is left out of a directory, by its whole name.
fn within(directory: &Path, left_out: Vec<LeftOutLine>) -> impl Iterator<Item = LeftOutLine> {
    left_out
        .into_iter()
        .map(|line| LeftOutLine { source: directory.join(&line.source).display().to_string(), why: line.why })
}
