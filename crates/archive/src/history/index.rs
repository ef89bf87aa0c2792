//! The index of a history as a file, and the files that it is of.

use super::Describe;
use super::named::sha256;
use crate::record_file::{parse, read_bytes, text_of};
use crate::{held, reading};
use dropline_failure::Failure;
use dropline_record::IndexLine;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The name of the file.
pub const INDEX: &str = "index.jsonl";

/// Whether what has the name of the index is one, by its first line; `None` where nothing has it.
pub(super) fn is_there(directory: &Path) -> Option<bool> {
    let path = directory.join(INDEX);
    let found = std::fs::metadata(&path).ok()?;
    let first = || {
        let mut file = BufReader::new(File::open(&path).ok().filter(|_| found.is_file())?);
        let line = reading::line(&mut file).ok()?.unwrap_or_default();
        let is_line = |line: &Value| line["file"].is_string() && line["header_sha256"].is_string();
        // That of a history without records is empty.
        Some(line.is_empty() || serde_json::from_str(&line).is_ok_and(|line| is_line(&line)))
    };
    Some(first().unwrap_or(false))
}

/// The lines of the index by their file. What is not such a line is left out: its record is read instead.
pub(super) fn read(directory: &Path) -> BTreeMap<String, IndexLine> {
    let text = reading::file_bytes(&directory.join(INDEX), reading::MOST_BYTES).and_then(reading::as_text);
    let lines = text.unwrap_or_default();
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<IndexLine>(line).ok());
    lines.map(|line| (line.file.clone(), line)).collect()
}

/// In order of time.
pub(super) fn in_order(records: impl IntoIterator<Item = IndexLine>) -> Vec<IndexLine> {
    let mut records: Vec<IndexLine> = records.into_iter().collect();
    records.sort_by(|one, other| (&one.started, &one.file).cmp(&(&other.started, &other.file)));
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

/// What the index says of a file.
pub(super) fn line_of(directory: &Path, file: &str, describe: Describe) -> Result<IndexLine, Failure> {
    let path = directory.join(file);
    let bytes = read_bytes(&path)?;
    let record = parse(&text_of(&bytes, &path)?, &path)?;
    Ok(line(describe(&record), file, &bytes))
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

/// The files of a history that may be records, by name, with their size.
#[derive(Default)]
pub(super) struct Files {
    pub(super) all: BTreeMap<String, u64>,
}

impl Files {
    /// Those of a directory and of all below it. A link to a directory is not followed: it may lead to one above.
    pub(super) fn below(directory: &Path) -> Result<Self, Failure> {
        let mut files = Self::default();
        let is_record = |name: &str| name.ends_with(".jsonl") && name != INDEX;
        walk(directory, "", &mut |name, found| {
            if is_record(name) {
                files.all.insert(name.to_owned(), found.len());
            }
        })?;
        Ok(files)
    }

    /// Removes what killed programs were writing when they were.
    pub(super) fn remove_left_behind(directory: &Path) {
        walk(directory, "", &mut |name, _| {
            let path = directory.join(name);
            let is_beside =
                name.rsplit('/').next().is_some_and(|own| own.starts_with('.') && own.ends_with(".new"));
            if is_beside && let Some(_lock) = held::left(&path) {
                let _ = std::fs::remove_file(&path);
            }
        })
        .unwrap_or_default();
    }
}

fn walk(
    directory: &Path,
    prefix: &str,
    each: &mut dyn FnMut(&str, &std::fs::Metadata),
) -> Result<(), Failure> {
    let cannot = |why| Failure::environment(format!("cannot read {}: {why}", directory.display()));
    for entry in directory.read_dir().map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{prefix}{name}");
        // What was removed meanwhile is not there.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            walk(&entry.path(), &format!("{name}/"), each)?;
        } else if let Ok(found) = std::fs::metadata(entry.path())
            && found.is_file()
        {
            each(&name, &found);
        }
    }
    Ok(())
}
