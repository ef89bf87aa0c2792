//! Reading what others measured: exact ticks and counts, with what they mean.
//!
//! A parser is pure and sees text; it names the line that it cannot read and what it expected there, and a file
//! is imported whole or not at all.

pub mod tsv;

use crate::Failure;
use dropline_stats::{CountError, Counted};
use std::path::Path;

/// A distribution that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// What was counted.
    pub counted: Counted,
    /// Which part of the file it is: a thread, a tag.
    pub name: String,
    /// Where its meaning was guessed, or something was left out.
    pub notes: Vec<String>,
}

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// A line is not what the format has there.
    #[error("line {line}: {found:?} where {expected} was expected")]
    Line {
        /// From 1.
        line: usize,
        /// What stands there, cut to a readable length.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// The file ends too early.
    #[error("the file ends where {expected} was expected")]
    Ends {
        /// What should follow.
        expected: &'static str,
    },
    /// The counts are no distribution.
    #[error(transparent)]
    Count(#[from] CountError),
}

impl ImportError {
    fn line(line: usize, found: &str, expected: &'static str) -> Self {
        Self::Line { line, found: found.chars().take(40).collect(), expected }
    }
}

/// Reads every distribution of a file.
///
/// # Errors
/// If it cannot be read, or is not of the format.
pub fn read(path: &Path) -> Result<Vec<Imported>, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|why| Failure::environment(format!("cannot read {}: {why}", path.display())))?;
    let text = String::from_utf8_lossy(&bytes);
    let imported = tsv::parse(&text);
    Ok(vec![imported.map_err(|why| Failure::environment(format!("{}: {why}", path.display())))?])
}
