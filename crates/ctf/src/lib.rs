//! The Common Trace Format 1.8: reading what LTTng or anything else wrote, writing what babeltrace2 reads.
//!
//! Owns the metadata's language, packets and their bits, and what a damaged trace still says. It knows nothing of ours,
//! neither rings nor clocks: stamps are nanoseconds when they reach it.
//! Start reading at [`Trace`], then [`TraceWriter`].

mod bits;
mod metadata;
mod reader;
mod stream;
mod words;
mod writer;

pub use reader::{Passage, Trace, TraceCounts};
pub use writer::{TraceEntry, TraceWriter};

use std::path::PathBuf;
use std::{fmt, io};

/// Why a trace cannot be read.
#[derive(Debug)]
pub enum CtfError {
    /// There is no `metadata` in the directory, nor in one below it.
    NoMetadata(PathBuf),
    /// A file cannot be read.
    System(PathBuf, io::Error),
    /// The metadata's bytes are no metadata packet of CTF 1.8.
    NotMetadata,
    /// A word of the metadata is not what must stand there.
    Syntax {
        /// Line of the metadata, from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// The metadata ends in the middle.
    Ends,
    /// The metadata nests types deeper, or names more of them, than any trace does.
    TooDeep,
}

impl fmt::Display for CtfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMetadata(path) => {
                write!(
                    f,
                    "{} is not a trace: it has no file called metadata, nor has a directory in it",
                    path.display()
                )
            }
            Self::System(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NotMetadata => f.write_str("the file called metadata is not that of a CTF 1.8 trace"),
            Self::Syntax { line, found } => write!(f, "metadata, line {line}: {found:?} cannot stand there"),
            Self::Ends => f.write_str("the metadata ends in the middle"),
            Self::TooDeep => f.write_str("the metadata's types are nested deeper than any trace's"),
        }
    }
}

impl std::error::Error for CtfError {}
