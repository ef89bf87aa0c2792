//! The records that are looked at: those that were named, and those below directories, each measurement once.

use crate::indexed::indexed;
use crate::measured::one;
use crate::series::measured;
use dropline_archive::history::{Files, History, line_of};
use dropline_archive::record_file::read_record;
use dropline_failure::Failure;
use dropline_record::{IndexLine, LeftOutLine, MeasuredLine, Quantity, Record};
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
fn record_at(path: &Path) -> Result<Record, Failure> {
    if !History::is_remote(path) {
        return read_record(path);
    }
    let (parent, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    History::open(parent, indexed)?.record(&name.to_string_lossy())
}

/// Each measurement once: of files that begin with the same line, the one in which there is most.
pub(super) fn once(
    lines: Vec<(String, IndexLine)>,
    left_out: &mut Vec<LeftOutLine>,
) -> Vec<(String, IndexLine)> {
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    let much = |line: &IndexLine| (line.finished, line.bytes);
    for (index, (_, line)) in lines.iter().enumerate() {
        let best = most.entry(line.header_sha256.clone()).or_insert(index);
        *best =
            [*best, index].into_iter().max_by_key(|at| (much(&lines[*at].1), Reverse(*at))).unwrap_or(index);
    }
    let names: Vec<String> = lines.iter().map(|(source, _)| source.clone()).collect();
    let keeps = |(index, (source, line)): (usize, (String, IndexLine))| {
        let best = most[&line.header_sha256];
        if best == index {
            return Some((source, line));
        }
        left_out.push(LeftOutLine { source, why: format!("it is the same measurement as {}", names[best]) });
        None
    };
    lines.into_iter().enumerate().filter_map(keeps).collect()
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
