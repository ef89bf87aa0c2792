//! Reading what a user names: whole, and never more of it than a bound that the error says.
//!
//! A device and a pipe have no length, and a program may never end its line: what is read without a bound ends
//! with the machine's memory.

use crate::Failure;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// The longest record, imported file or recording: some thousand searches.
pub const MOST_BYTES: u64 = 256 << 20;
/// The longest file with the times of each packet.
pub const MOST_PACKETS: u64 = 1 << 30;
/// The longest file of settings.
pub const MOST_SETTINGS: u64 = 1 << 20;
/// The longest line of another program: a request, or an answer with a histogram.
pub const MOST_LINE: u64 = 16 << 20;

/// Why something could not be read whole.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The system says why.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It goes on beyond what is read.
    #[error("it has more than {} MiB, and so much is not read: a device or an endless pipe?", .0 >> 20)]
    Endless(u64),
    /// It is read as text.
    #[error("byte {0} is not text")]
    NotText(usize),
}

impl Unread {
    /// The same, with the name of what was read.
    pub fn of(self, path: &Path) -> Failure {
        Failure::environment(format!("cannot read {}: {self}", path.display()))
    }

    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(why) if why.kind() == io::ErrorKind::NotFound)
    }
}

/// Opens what a user names; `-` is the standard input.
///
/// # Errors
/// If it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    File::open(if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path })
}

/// A file's bytes.
///
/// # Errors
/// If it cannot be read, or has more than `most`.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    rest(Vec::new(), &mut open(path)?, most)
}

/// A file's text.
///
/// # Errors
/// As [`bytes`], and if it is not UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String, Unread> {
    as_text(bytes(path, most)?)
}

/// What was read already, and all that follows.
///
/// # Errors
/// As [`bytes`].
pub fn rest(mut head: Vec<u8>, source: &mut impl Read, most: u64) -> Result<Vec<u8>, Unread> {
    let room = (most + 1).saturating_sub(head.len() as u64);
    source.take(room).read_to_end(&mut head)?;
    if head.len() as u64 > most { Err(Unread::Endless(most)) } else { Ok(head) }
}

/// The bytes as text.
///
/// # Errors
/// If they are not UTF-8: at which byte.
pub fn as_text(bytes: Vec<u8>) -> Result<String, Unread> {
    String::from_utf8(bytes).map_err(|why| Unread::NotText(why.utf8_error().valid_up_to()))
}

/// The next line without its end; `None` where there is none any more.
///
/// # Errors
/// As [`text`]: the line is longer than [`MOST_LINE`], or not UTF-8.
pub fn line(source: &mut impl BufRead) -> Result<Option<String>, Unread> {
    let mut line = Vec::new();
    source.take(MOST_LINE + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() as u64 > MOST_LINE {
        return Err(Unread::Endless(MOST_LINE));
    }
    if line.ends_with(b"\n") {
        line.pop();
    }
    if line.ends_with(b"\r") {
        line.pop();
    }
    as_text(line).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_long_as_the_bound_is_read_and_one_byte_more_is_not() {
        let read = |head: &[u8], source: &[u8]| rest(head.to_vec(), &mut { source }, 5);
        assert_eq!(read(b"ab", b"cde").unwrap(), b"abcde");
        for (head, source) in [(&b"ab"[..], &b"cdef"[..]), (b"abcdef", b""), (b"", b"abcdefgh")] {
            assert!(matches!(read(head, source), Err(Unread::Endless(5))));
        }
    }

    #[test]
    fn lines_end_with_the_source_or_with_an_error_that_names_the_bound() {
        let mut source = &b"one\r\n\nthree"[..];
        let mut next = || line(&mut source).unwrap();
        assert_eq!([next(), next(), next()], ["one", "", "three"].map(|line| Some(line.to_owned())));
        assert_eq!(next(), None);
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        assert!(line(&mut endless).unwrap_err().to_string().contains("more than 16 MiB"));
        assert!(line(&mut &b"\xff\n"[..]).unwrap_err().to_string().contains("byte 0 is not text"));
    }
}
