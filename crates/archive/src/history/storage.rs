//! Where the files of a history lie: all that a history does with them.

use super::Files;
use dropline_failure::Failure;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// A place for the files of a history. A file has a name from there on, as `2026/11/21/….jsonl`.
pub(super) trait Storage: Debug + Send + Sync {
    /// As somebody named it.
    fn named(&self) -> &Path;

    /// The files that may be records.
    fn files(&self) -> Result<Files, Failure>;

    fn has(&self, file: &str) -> Result<bool, Failure>;

    /// A file of at most so many bytes; `None` where there is none.
    fn read(&self, file: &str, most: u64) -> Result<Option<Vec<u8>>, Failure>;

    /// Whether a file that cannot be read tells nothing of the file but of the place: then what is there is not known.
    fn fails_as_one(&self) -> bool;

    /// What a new file will be called there, once there is room for it.
    fn named_there(&self, file: &str) -> Result<String, Failure>;

    /// Puts a record there, and before it the times of its packets, which lie in `packets`: where there is none, or in place of
    /// `old`, which was read.
    fn put(&self, file: &str, bytes: &[u8], packets: &Path, old: Option<&[u8]>) -> Result<(), Failure>;

    /// Changes a file that is not a record to what `change` makes of it, which reads it. Where another came between, it is asked
    /// again.
    fn change(&self, file: &str, change: &mut dyn FnMut() -> Result<Vec<u8>, Failure>)
    -> Result<(), Failure>;

    /// Removes a record with what lies beside it; whether it was not being written.
    fn remove(&self, file: &str) -> Result<bool, Failure>;

    /// A record of this size as a file of this machine, with the times of packets beside it.
    fn local(&self, file: &str, bytes: u64) -> Result<PathBuf, Failure>;

    /// Whether a program holds the record, to add to it.
    fn is_being_written(&self, _file: &str) -> bool {
        false
    }

    /// The size of a record with what lies beside it, where that is known.
    fn size(&self, _file: &str) -> Option<u64> {
        None
    }

    /// Removes what killed programs were writing when they were.
    fn remove_left_behind(&self) {}
}
