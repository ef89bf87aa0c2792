//! Reads a record that is on disk.

use crate::reading;
use dropline_failure::{Failure, quoted_path};
use dropline_record::{Header, ReadError, Record};
use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Reads a record from a file.
///
/// # Errors
/// If it cannot be read, or is no record.
pub fn read_record(path: &Path) -> Result<Record, Failure> {
    parse(&read_text(path)?, path)
}

/// The header of a record: nothing that follows it is read. `None` of what is no file, or begins otherwise.
pub fn read_header(path: &Path) -> Option<Header> {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut file = BufReader::new(is_file.then(|| File::open(path).ok())??);
    Some(Record::read(&reading::line(&mut file).ok()??).ok()?.header)
}

/// The text of a record, or of what may be one.
///
/// # Errors
/// If it cannot be read, is too long, or is no text.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    Ok(text_of(&read_bytes(path)?, path)?.into_owned())
}

pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    reading::bytes(path, reading::MOST_BYTES).map_err(|why| why.of(path))
}

/// The bytes as text; a last line that is torn may end within a character.
pub(crate) fn text_of<'a>(bytes: &'a [u8], path: &Path) -> Result<Cow<'a, str>, Failure> {
    match std::str::from_utf8(bytes) {
        Err(why) if bytes[why.valid_up_to()..].contains(&b'\n') => {
            let at = why.valid_up_to();
            Err(Failure::environment(format!("{} is not a record: byte {at} is not text", path.display())))
        }
        _ => Ok(String::from_utf8_lossy(bytes)),
    }
}

/// Reads a record from its text; the path is what an error names.
///
/// # Errors
/// If it is none.
pub fn parse(text: &str, path: &Path) -> Result<Record, Failure> {
    Record::read(text).map_err(|why| {
        let failure = Failure::environment(format!("{}: {why}", path.display()));
        match why {
            ReadError::Imported => failure.advice(format!(
                "dropline fit {0} --html {0}.html  says what they are, and  dropline compare {0} OTHER  whether two differ",
                quoted_path(path)
            )),
            // It says itself what to do.
            ReadError::UnknownSchema { .. } => failure,
            ReadError::Empty => failure.advice("nothing was measured: leave this file out, or measure again into another one"),
            ReadError::NoHeader(_) if !text.contains('\n') => failure.advice(
                "if it was cut off while its first line was written, nothing was measured: measure again, without this file",
            ),
            ReadError::NoHeader(_) => failure
                .advice("a record is what  dropline search, trial or watch  wrote; files of other tools are read by  dropline import"),
            ReadError::Contradiction { .. } => failure.advice(
                "the file was edited or damaged, and nobody can tell which of these numbers was measured: take a copy \
                 that was not, or measure again; the lines before that one are whole",
            ),
            ReadError::Broken { .. }
            | ReadError::Misplaced { .. }
            | ReadError::Misnumbered { .. }
            | ReadError::MisplacedLimits { .. }
            | ReadError::AfterResult { .. } => {
                failure.advice("the file was edited or damaged; the lines before that one are whole")
            }
        }
    })
}
