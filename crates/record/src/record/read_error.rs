//! Why a record cannot be read.

use crate::schema::CURRENT;

/// Why a text is no record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Nothing in it.
    #[error("the record is empty: nothing was written into it, not even a header line")]
    Empty,
    /// The first line is something else.
    #[error("line 1 is not the header of a record: {0}")]
    NoHeader(String),
    /// Delays that another program measured.
    #[error("it holds imported delays, and no trials")]
    Imported,
    /// Written by a version that this one does not know.
    #[error("the record has schema {found:?}, and this version reads {CURRENT:?}: use a newer dropline")]
    UnknownSchema {
        /// What it says.
        found: String,
    },
    /// A line in the middle is broken. The lines before it are intact.
    #[error("line {line} of the record is broken: {why}")]
    Broken {
        /// From 1.
        line: usize,
        /// What the parser says.
        why: String,
    },
    /// A line stands where it must not.
    #[error("line {line} of the record is a second {what}")]
    Misplaced {
        /// From 1.
        line: usize,
        /// What kind of line.
        what: &'static str,
    },
    /// A trial that stands there twice, in another place than it was made, or behind one that is missing.
    #[error("line {line} of the record is trial {number}, and trial {} is missing or is elsewhere", .before + 1)]
    Misnumbered {
        /// From 1.
        line: usize,
        /// Of the trial.
        number: u64,
        /// Of the one before it; 0 where there is none.
        before: u64,
    },
    /// Two numbers that cannot both be what was measured.
    #[error("line {line} of the record contradicts {what}")]
    Contradiction {
        /// From 1.
        line: usize,
        /// What it contradicts, and in which numbers.
        what: String,
    },
    /// A change of limits that stands behind another trial than it says.
    #[error("line {line} of the record sets limits after trial {after}, and trial {before} is before it")]
    MisplacedLimits {
        /// From 1.
        line: usize,
        /// Where it says that it stands.
        after: u64,
        /// The trial before it.
        before: u64,
    },
    /// Something after the result.
    #[error("line {line} of the record is behind its result, which is the last line")]
    AfterResult {
        /// From 1.
        line: usize,
    },
}
