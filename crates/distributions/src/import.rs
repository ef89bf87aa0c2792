//! Reading what others measured: exact ticks and counts, with what they mean.
//!
//! A parser is pure and sees text; it names the line that it cannot read and what it expected there, and a file
//! is imported whole or not at all.

mod array;
pub mod cyclictest;
pub mod cyclictest_json;
pub mod fio;
mod fio_json;
mod format;
mod hgrm;
pub mod hlog;
mod hyperfine;
mod order;
pub mod own_record;
pub mod raw;
mod sliced;
pub mod table;
mod values;

use dropline_archive::reading;
use dropline_archive::reading::{Source, Unread};
use dropline_failure::Failure;
use dropline_record::below_zero;
use dropline_stats::{CountError, Counted, HistogramError};
pub use format::Format;
pub use order::Order;
use raw::Extent;
pub use sliced::TimeSlice;
use std::io::{BufReader, Read as _};
use std::path::Path;

/// So much of a file tells its format.
const HEAD: u64 = 4096;
/// What some programs begin a text with; it is none of its words.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
    /// The events one after another, where the file has them in the order of time.
    pub order: Order,
}

impl Imported {
    /// Without time slices; values below zero are told.
    fn whole(counted: Counted, name: String, mut notes: Vec<String>) -> Self {
        let below = below_zero(&counted).filter(|note| !notes.contains(note));
        notes.extend(below);
        Self { counted, name, notes, slices: Vec::new(), order: Order::Unknown }
    }
}

/// What a file does not say about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// The format; `None` looks at the file.
    pub format: Option<Format>,
    /// The unit of its values, in nanoseconds; `None` takes the format's usual one, with a note.
    pub unit_ns: Option<u64>,
    /// Names or numbers of the column of values and of that of their counts; empty looks at the file.
    pub columns: Vec<String>,
    /// Of a record: the trial whose delays are read; `None` takes those that somebody asked for, else the last.
    pub trial: Option<u64>,
    /// Of a file of several distributions: the name or the number, from 1, of the one that is read.
    pub only: Option<String>,
}

impl Hints {
    /// Which of them says nothing about a format, and why.
    fn idle(&self, format: Format) -> Option<(&'static str, &'static str)> {
        let idle = [
            (!self.columns.is_empty() && !format.has_columns(), "--column", "only csv and tsv have columns"),
            (
                self.unit_ns.is_some() && format.says_its_unit(),
                "--unit",
                "its times have a unit already, and no other is taken: leave --unit out",
            ),
            (
                self.trial.is_some() && format != Format::Record,
                "--trial",
                "only a record of ours has numbered trials",
            ),
        ];
        idle.into_iter().find(|(idle, ..)| *idle).map(|(_, flag, why)| (flag, why))
    }
}

/// Why a file cannot be imported.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
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
    /// A number that no tick holds.
    #[error("line {line}: {found} is too large: a value may be 2^52 (4.5e+15) at most")]
    TooLarge {
        /// From 1.
        line: usize,
        /// The number, cut to a readable length.
        found: String,
    },
    /// The file ends too early.
    #[error("the file ends where {expected} was expected")]
    Ends {
        /// What should follow.
        expected: &'static str,
    },
    /// The file ends within a line of numbers, and its writer ends every line.
    #[error(
        "line {line}: the file ends within this line: it was cut off, and its last number may be a part of one"
    )]
    Cut {
        /// From 1.
        line: usize,
    },
    /// Two numbers of the file that must agree do not.
    #[error("line {line}: {what}")]
    Disagrees {
        /// From 1.
        line: usize,
        /// Which ones.
        what: String,
    },
    /// It is of the format and has not what is read.
    #[error("it holds no {what}")]
    Lacks {
        /// What is missing, and how to get it.
        what: &'static str,
    },
    /// The record has trials, and not that one.
    #[error("it has no trial {number} with delays; there are {there}")]
    NoTrial {
        /// Which one was wanted.
        number: u64,
        /// Those that measured delays.
        there: String,
    },
    /// The counts are no distribution.
    #[error(transparent)]
    Count(#[from] CountError),
    /// A stored histogram is broken.
    #[error(transparent)]
    Histogram(#[from] HistogramError),
}

impl ImportError {
    fn line(line: usize, found: &str, expected: &'static str) -> Self {
        Self::Line { line, found: found.chars().take(40).collect(), expected }
    }

    /// Where a text is not the JSON that it should be.
    fn json(text: &str, why: &serde_json::Error, expected: &'static str) -> Self {
        let found = text.lines().nth(why.line().saturating_sub(1)).unwrap_or_default();
        let at: String = found.chars().skip(why.column().saturating_sub(20)).collect();
        Self::line(why.line(), &at, expected)
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
    hints: &Hints,
    progress: &mut dyn FnMut(&str),
) -> Result<(Format, Vec<Imported>), Failure> {
    let cannot = |why: std::io::Error| Failure::environment(format!("cannot read {}: {why}", path.display()));
    let mut file = Source::open(path).map_err(|why| why.of(path))?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head).map_err(cannot)?;
    if head.is_empty() {
        return Err(Failure::environment(format!("{} is empty: there is nothing to read", path.display())));
    }
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    let looked_at = || Format::of(&String::from_utf8_lossy(&head));
    let format = hints.format.or_else(looked_at).ok_or_else(|| unknown(path))?;
    if let Some((flag, why)) = hints.idle(format) {
        return Err(Failure::usage(format!("{flag}: {} is {}", path.display(), format.what()))
            .advice(format!("{why}; a format is named with --from")));
    }
    let found = file.metadata().map_err(cannot)?;
    let extent =
        if found.is_file() { Extent::Known(found.len()) } else { Extent::AtMost(reading::MOST_BYTES) };
    let unread = |why: Unread| match why {
        Unread::Endless(_) => {
            why.of(path).advice("only a file of raw values, one a line, may be longer: write them to one")
        }
        _ => why.of(path),
    };
    let broken = |why: ImportError| {
        // A record of ours is no other program's file.
        if format == Format::Record {
            return Failure::environment(format!("{}: {why}", path.display())).advice(
                "a trial of a target that answers measures delays:  dropline trial udp://127.0.0.1:7007 --load 10kpps -o FILE",
            );
        }
        Failure::environment(format!("{} as {}: {why}", path.display(), format.word()))
            .advice("nothing of it was imported; another format is named with --from")
    };
    if format == Format::Raw {
        let source = BufReader::with_capacity(1 << 16, head.chain(file));
        let imported = raw::read(source, extent, hints.unit_ns, progress).map_err(|why| match why {
            raw::StreamError::Unread(why) => unread(why),
            raw::StreamError::Import(why) => broken(why),
        })?;
        return Ok((format, named(path, hints, vec![imported])?));
    }
    let bytes = reading::rest(head, &mut file, reading::MOST_BYTES).map_err(unread)?;
    let text = reading::as_text(bytes).map_err(unread)?;
    Ok((format, named(path, hints, format.parse(&text, hints).map_err(broken)?)?))
}

/// The one that is wanted of those that a file holds, or all of them.
fn named(path: &Path, hints: &Hints, mut all: Vec<Imported>) -> Result<Vec<Imported>, Failure> {
    let Some(wanted) = &hints.only else { return Ok(all) };
    let alike: Vec<usize> = (0..all.len()).filter(|&at| all[at].name == *wanted).collect();
    let by_number = || wanted.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < all.len());
    match (alike.as_slice(), by_number()) {
        (&[at], _) | ([], Some(at)) => Ok(vec![all.swap_remove(at)]),
        (several, _) => {
            let why = if several.is_empty() { "none" } else { "more than one" };
            Err(Failure::usage(format!("--only {wanted:?}: {} holds {why} of that name", path.display()))
                .advice(format!("name one, or its number:  {}", names(&all))))
        }
    }
}

/// The names of several distributions, with their numbers.
pub fn names(all: &[Imported]) -> String {
    let told = (1..).zip(all).map(|(number, one)| format!("{number} {:?}", one.name));
    told.collect::<Vec<_>>().join(", ")
}

/// JSON that is of no format, which would be no numbers as plain text either.
fn unknown(path: &Path) -> Failure {
    Failure::environment(format!("{} is JSON of a program that is not known here", path.display()))
        .advice("latencies are read of fio (json+), hyperfine, cyclictest, and of an array of numbers")
}

/// The number of a text's last line, where that has no end: of a writer that ends every line, a number there may be a
/// part of one.
fn last_if_cut(text: &str) -> Option<usize> {
    (!text.ends_with('\n')).then(|| text.lines().count())
}

/// The note of a unit that a file does not name.
fn guessed(unit: &str) -> String {
    format!("{GUESSED}{unit} were taken (--unit names another)")
}

const GUESSED: &str = "the file names no unit; ";

/// Whether a note says that the unit was guessed.
pub fn is_guess(note: &str) -> bool {
    note.starts_with(GUESSED)
}

/// The units that `--unit` knows, in nanoseconds.
pub const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// The word of such a unit.
pub fn unit_word(unit_ns: u64) -> &'static str {
    UNITS.iter().find(|(_, ns)| *ns == unit_ns).map_or("another unit", |(word, _)| word)
}
