//! Reading what others measured: exact ticks and counts, with what they mean.
//!
//! A parser is pure and sees text; it names the line that it cannot read and what it expected there, and a file
//! is imported whole or not at all.

pub mod cyclictest;
pub mod cyclictest_json;
pub mod fio;
pub mod hlog;
pub mod raw;
mod sliced;
pub mod stored;
pub mod tsv;

use crate::Failure;
use dropline_stats::{CountError, Counted};
pub use sliced::TimeSlice;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

/// So much of a file tells its format.
const HEAD: u64 = 4096;
/// Files of other formats are read at once, up to this size.
const MOST_BYTES: u64 = 1 << 30;

/// A distribution that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// What was counted.
    pub counted: Counted,
    /// Which part of the file it is: a thread, a tag.
    pub name: String,
    /// Where its meaning was guessed, or something was left out.
    pub notes: Vec<String>,
    /// The same events by when they were, in order; empty where the file does not say.
    pub slices: Vec<TimeSlice>,
}

impl Imported {
    /// Without time slices.
    fn whole(counted: Counted, name: String, notes: Vec<String>) -> Self {
        Self { counted, name, notes, slices: Vec::new() }
    }
}

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Two columns, value and count.
    Tsv,
    /// `cyclictest -h`, or `-v`.
    Cyclictest,
    /// `cyclictest --json`.
    CyclictestJson,
    /// HdrHistogram's interval log.
    Hlog,
    /// `fio --write_hist_log`.
    Fio,
    /// One value a line.
    Raw,
    /// Our own.
    Record,
}

/// What a file does not say about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hints {
    /// The format; `None` looks at the file.
    pub format: Option<Format>,
    /// The unit of its values, in nanoseconds; `None` takes the format's usual one, with a note.
    pub unit_ns: Option<u64>,
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
    /// Two numbers of the file that must agree do not.
    #[error("line {line}: {what}")]
    Disagrees {
        /// From 1.
        line: usize,
        /// Which ones.
        what: String,
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

impl Format {
    /// Formats by the word of `--from`.
    pub const ALL: [(&'static str, Self); 7] = [
        ("tsv", Self::Tsv),
        ("cyclictest", Self::Cyclictest),
        ("cyclictest-json", Self::CyclictestJson),
        ("hlog", Self::Hlog),
        ("fio", Self::Fio),
        ("raw", Self::Raw),
        ("record", Self::Record),
    ];

    /// The word of `--from`.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(word, _)| word)
    }

    /// What a file of this beginning is; raw values if nothing else.
    pub fn of(head: &str) -> Self {
        let lines = || head.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(first) = lines().next() else { return Self::Raw };
        if first.starts_with('{') {
            return if first.contains("\"line\":") { Self::Record } else { Self::CyclictestJson };
        }
        if first.starts_with("#[") || head.contains("HISTFAAA") || first.starts_with("\"StartTimestamp\"") {
            return Self::Hlog;
        }
        let is_thread = |line: &str| line.starts_with("T:") && line.contains("Act:");
        if head.contains("# Histogram") || lines().any(is_thread) || lines().any(cyclictest::is_verbose) {
            return Self::Cyclictest;
        }
        let data = lines().find(|line| line.starts_with(|sign: char| sign.is_ascii_digit()));
        match data {
            Some(line) if line.split(',').count() > 20 => Self::Fio,
            Some(line) if line.split_ascii_whitespace().count() == 2 => Self::Tsv,
            Some(_) => Self::Raw,
            None if first.split_ascii_whitespace().count() == 2 => Self::Tsv,
            None => Self::Raw,
        }
    }

    /// Reads every distribution of a text of this format.
    ///
    /// # Errors
    /// If it is not of the format.
    pub fn parse(self, text: &str, hints: Hints) -> Result<Vec<Imported>, ImportError> {
        match self {
            Self::Tsv => tsv::parse(text, hints.unit_ns).map(|imported| vec![imported]),
            Self::Cyclictest => cyclictest::parse(text, hints.unit_ns),
            Self::CyclictestJson => cyclictest_json::parse(text, hints.unit_ns),
            Self::Hlog => hlog::parse(text, hints.unit_ns),
            Self::Fio => fio::parse(text),
            Self::Raw => raw::parse(text, hints.unit_ns).map(|imported| vec![imported]),
            Self::Record => stored::parse(text),
        }
    }
}

/// Reads every distribution of a file; `progress` is told how much of a long one has been read.
///
/// Raw values stream through constant memory, however many they are.
///
/// # Errors
/// If it cannot be read, or is not of the format.
pub fn read(
    path: &Path,
    hints: Hints,
    progress: &mut dyn FnMut(&str),
) -> Result<(Format, Vec<Imported>), Failure> {
    let cannot = |why: std::io::Error| Failure::environment(format!("cannot read {}: {why}", path.display()));
    let mut file = File::open(path).map_err(cannot)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head).map_err(cannot)?;
    let format = hints.format.unwrap_or_else(|| Format::of(&String::from_utf8_lossy(&head)));
    let size = file.metadata().map_err(cannot)?.len();
    let broken = |why: ImportError| {
        Failure::environment(format!("{} as {}: {why}", path.display(), format.word()))
            .advice("nothing of it was imported; another format is named with --from")
    };
    if format == Format::Raw {
        let source = BufReader::with_capacity(1 << 16, head.chain(file));
        let imported = raw::read(source, size, hints.unit_ns, progress).map_err(|why| match why {
            raw::StreamError::Io(why) => cannot(why),
            raw::StreamError::Import(why) => broken(why),
        })?;
        return Ok((format, vec![imported]));
    }
    if size > MOST_BYTES {
        return Err(Failure::environment(format!("{} has more than 1 GiB", path.display()))
            .advice("only raw values, one a line, are streamed"));
    }
    let mut bytes = head;
    file.read_to_end(&mut bytes).map_err(cannot)?;
    let text = String::from_utf8(bytes).map_err(|why| {
        let at = why.utf8_error().valid_up_to();
        Failure::environment(format!("{} is not text: byte {at} is none", path.display()))
    })?;
    Ok((format, format.parse(&text, hints).map_err(broken)?))
}

/// Whether a file is a record of `import`: its first line is a distribution.
///
/// # Errors
/// If it cannot be read.
pub fn is_import(path: &Path) -> Result<bool, Failure> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(64).read_to_end(&mut head))
        .map_err(|why| Failure::environment(format!("cannot read {}: {why}", path.display())))?;
    Ok(head.starts_with(b"{\"line\":\"distribution\""))
}

/// The note of a unit that a file does not name.
fn guessed(unit: &str) -> String {
    format!("the file names no unit; {unit} were taken (--unit names another)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_its_format() {
        for (head, format) in [
            ("delay_usecs\tcount\n6\t2257\n", Format::Tsv),
            ("Delay   Count\n-----   -----\n6       2257\n", Format::Tsv),
            ("# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\n", Format::Cyclictest),
            ("       0:       6:     835\n", Format::Cyclictest),
            ("{\"file_version\":1,\"cmdline:\":\"x\"}", Format::CyclictestJson),
            ("{\"line\":\"header\",\"schema\":\"dropline/1\"}\n", Format::Record),
            ("#[Histogram log format version 1.3]\n", Format::Hlog),
            ("12.5\n13\n", Format::Raw),
            ("", Format::Raw),
        ] {
            assert_eq!(Format::of(head), format, "{head:?}");
        }
        let fio = format!("500, 0, 4096{}\n", ", 0".repeat(1856));
        assert_eq!(Format::of(&fio[..4096]), Format::Fio);
    }
}
