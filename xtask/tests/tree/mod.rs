//! The repository's files.

use std::path::{Path, PathBuf};

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All Rust files below a directory.
// Not every test file reads sources.
#[allow(dead_code)]
pub(crate) fn sources(directory: &Path) -> Vec<PathBuf> {
    files(directory, "rs")
}

/// All files below a directory whose names end so.
#[allow(dead_code)]
pub(crate) fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.extension().is_some_and(|extension| extension == end) {
            found.push(path);
        }
    }
    found
}
