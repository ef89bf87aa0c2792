//! The verb `history`: records by date in a directory or in a store, with an index.

mod exporting;
mod metrics;
mod pruning;
mod rows;
mod wanted;

pub use exporting::{Exported, HistoryFormat, export};
pub use pruning::{Keeping, prune};
pub use wanted::WantedRecords;

use crate::indexed::indexed;
use dropline_archive::history::{History, Offered};
use dropline_archive::reading;
use dropline_distributions::csit;
use dropline_failure::Failure;
use dropline_record::{AddedLine, AddedWord, Listed, Reindexed};
use std::path::{Path, PathBuf};

/// A history, made where there is none.
///
/// # Errors
/// If it cannot be made.
pub fn begun(directory: &Path) -> Result<History, Failure> {
    History::create(directory, indexed)
}

/// Whether a name is one of a history in a store.
pub fn is_remote(named: &Path) -> bool {
    History::is_remote(named)
}

/// The history that a file lies in, if it lies in one.
pub fn around(file: &Path) -> Option<History> {
    History::around(file, indexed)
}

/// Adds files, each once.
///
/// # Errors
/// If the history cannot be made or written. What was refused is said in its line.
pub fn add(directory: &Path, files: &[PathBuf], unfinished: bool) -> Result<Vec<AddedLine>, Failure> {
    let offered: Vec<Offered> = files.iter().map(|file| Offered::of(file)).collect();
    begun(directory)?.add(&offered, unfinished)
}

/// Adds the tests of FD.io CSIT's files whose results say where a limit is.
///
/// # Errors
/// If a file cannot be read, or the history cannot be made or written. What was refused is said in its line.
pub fn add_of_csit(directory: &Path, files: &[PathBuf]) -> Result<Vec<AddedLine>, Failure> {
    let mut offered = Vec::new();
    let mut refused = Vec::new();
    let mut refuse = |source: String, why: String| {
        refused.push(AddedLine { source, file: None, added: AddedWord::Refused, why: Some(why) });
    };
    for file in files {
        let bytes = reading::bytes(file, reading::MOST_BYTES).map_err(|why| why.of(file))?;
        let tests = match csit::tests(&bytes) {
            Ok(tests) => tests,
            Err(why) => {
                refuse(file.display().to_string(), why.to_string());
                continue;
            }
        };
        for test in tests {
            match test.record {
                Ok(text) => offered.push(Offered::made(file, &text)),
                Err(why) => refuse(format!("{}, {}", file.display(), test.name), why.to_string()),
            }
        }
    }
    let mut added = begun(directory)?.add(&offered, false)?;
    added.extend(refused);
    Ok(added)
}

/// Makes the index anew, or, to `check` it, only says what it does not say as it is.
///
/// # Errors
/// If there is no such directory, or the index cannot be written.
pub fn index(directory: &Path, check: bool) -> Result<Reindexed, Failure> {
    History::open(directory, indexed)?.index(!check)
}

/// The records that are wanted.
///
/// # Errors
/// If there is no such directory, or it cannot be read.
pub fn list(directory: &Path, wanted: &WantedRecords) -> Result<Listed, Failure> {
    let contents = History::open(directory, indexed)?.contents()?;
    let all = contents.records.len();
    let records: Vec<_> = contents.records.into_iter().filter_map(|line| wanted.of(line)).collect();
    let others = (all - records.len()) as u64;
    Ok(Listed { records, others, left_out: contents.left_out })
}
