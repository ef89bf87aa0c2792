//! The index of a history as a file.

use super::storage::Storage;
use super::{Describe, INDEX};
use crate::record_file::{parse, text_of};
use crate::{clock, reading, whole_file};
use dropline_failure::Failure;
use dropline_record::IndexLine;
use dropline_store::sha256;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

/// What an index is kept as in which nothing could be read.
const DAMAGED: &str = "index.jsonl.damaged";

/// What has the name of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// An index, however damaged: it has a line of one or nothing, or the lock beside it that only a history has.
    Ours,
    /// A file of somebody else's.
    Another,
}

pub(super) fn found(directory: &Path) -> Found {
    let path = directory.join(INDEX);
    let Ok(there) = std::fs::metadata(&path) else { return Found::Nothing };
    // A pipe would have to be waited for.
    let is_ours = there.is_file()
        && File::open(&path)
            .is_ok_and(|file| there.len() == 0 || whole_file::lock_beside(&path).exists() || has_line(file));
    if is_ours { Found::Ours } else { Found::Another }
}

/// Whether a line of it is one of an index.
fn has_line(file: impl Read) -> bool {
    let is_line = |line: &Value| line["file"].is_string() && line["header_sha256"].is_string();
    let mut lines = BufReader::new(file.take(reading::MOST_BYTES)).split(b'\n').map_while(Result::ok);
    lines.any(|line| serde_json::from_slice(&line).is_ok_and(|line| is_line(&line)))
}

/// Whether something in it is not a line of an index.
pub(super) fn is_damaged(place: &dyn Storage) -> bool {
    let bytes = bytes_at(place).unwrap_or_default();
    lines(&bytes).any(|line| serde_json::from_slice::<IndexLine>(line).is_err())
}

/// Of an index in which nothing can be read, what stands there is kept beside it before it is made anew.
pub(super) fn keep_unreadable(place: &dyn Storage) -> Result<(), Failure> {
    let bytes = bytes_at(place)?;
    if !bytes.is_empty() && !has_line(&*bytes) {
        let _ = place.put(DAMAGED, &bytes, Path::new(""), None);
    }
    Ok(())
}

/// The lines of the index by their file. What is not such a line is left out: its record is read instead.
pub(super) fn read(place: &dyn Storage) -> Result<BTreeMap<String, IndexLine>, Failure> {
    let bytes = bytes_at(place)?;
    let lines = lines(&bytes).filter_map(|line| serde_json::from_slice::<IndexLine>(line).ok());
    // What is not a search says what its trials found.
    let says = |line: &IndexLine| line.algorithm.is_some() || line.trial.is_some();
    let is_whole = |line: &IndexLine| !line.header_sha256.is_empty() && !line.sha256.is_empty() && says(line);
    Ok(lines.filter(is_whole).map(|line| (line.file.clone(), line)).collect())
}

fn bytes_at(place: &dyn Storage) -> Result<Vec<u8>, Failure> {
    match place.read(INDEX, reading::MOST_BYTES) {
        Err(why) if place.fails_as_one() => Err(why),
        found => Ok(found.ok().flatten().unwrap_or_default()),
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// In order of time.
pub(super) fn in_order(records: impl IntoIterator<Item = IndexLine>) -> Vec<IndexLine> {
    let mut records: Vec<IndexLine> = records.into_iter().collect();
    // What does not say when it began comes first: it is newer than none.
    records.sort_by_cached_key(|line| (clock::unix_s(&line.started), line.file.clone()));
    records
}

/// A line each.
pub(super) fn text(records: &[IndexLine]) -> Vec<u8> {
    let mut text = String::new();
    for record in records {
        text += &serde_json::to_string(record).expect("an index line is JSON");
        text.push('\n');
    }
    text.into_bytes()
}

/// What the index says of a file, and by which name.
pub(super) fn line_of(
    bytes: &[u8],
    path: &Path,
    file: &str,
    describe: Describe,
) -> Result<IndexLine, Failure> {
    let record = parse(&text_of(bytes, path)?, path)?;
    Ok(line(describe(&record), file, bytes))
}

/// The same of a record that was read.
pub(super) fn line(described: IndexLine, file: &str, bytes: &[u8]) -> IndexLine {
    IndexLine {
        file: file.to_owned(),
        bytes: bytes.len() as u64,
        header_sha256: sum_of_header(bytes),
        sha256: sha256(bytes),
        ..described
    }
}

/// The sum of the first line, by which a measurement is known however much of it there is.
pub(super) fn sum_of_header(bytes: &[u8]) -> String {
    sha256(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default())
}

/// Records of which several files hold the same bytes, each once, and the other files with that which holds it too: the first by
/// name, or one that lies by its date.
pub(super) fn each_once(records: Vec<IndexLine>) -> (Vec<IndexLine>, Vec<(IndexLine, String)>) {
    let is_elsewhere = |line: &IndexLine| {
        !clock::day_and_second(&line.started).is_some_and(|[day, _]| line.file.starts_with(&day))
    };
    let mut by_sum: BTreeMap<String, Vec<IndexLine>> = BTreeMap::new();
    for line in records {
        by_sum.entry(line.sha256.clone()).or_default().push(line);
    }
    let (mut all, mut copies) = (Vec::new(), Vec::new());
    for mut lines in by_sum.into_values() {
        if lines.len() > 1 {
            lines.sort_by_cached_key(|line| (is_elsewhere(line), line.file.clone()));
            let first = lines[0].file.clone();
            copies.extend(lines.drain(1..).map(|line| (line, first.clone())));
        }
        all.extend(lines);
    }
    (all, copies)
}
