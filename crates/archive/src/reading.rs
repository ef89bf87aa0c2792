//! Reading what a user names: whole, and never more of it than a bound that the error says.
//!
//! A device and a pipe have no length, and a program may never end its line: what is read without a bound ends
//! with the machine's memory. A pipe may have no writer either: whoever waits for one says so ([`is_waiting`]).

use crate::temporary::Scratch;
use dropline_failure::Failure;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What is named instead of a file to read standard input.
pub const STDIN: &str = "-";

/// The longest record, imported file or recording: some thousand searches.
pub const MOST_BYTES: u64 = 256 << 20;
/// The longest file with the times of each packet, which dropline wrote itself.
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
    /// It is read only as a file, so that nobody waits for what may never come.
    #[error("it is not a file")]
    NoFile,
    /// It is read as text.
    #[error("byte {0} is not text")]
    NotText(usize),
    /// Standard input is gone when it was read.
    #[error("standard input was read already: it can be named once")]
    Again,
}

/// How many read what has no end of its own.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// Whether standard input was opened by its name.
static STDIN_OPENED: AtomicBool = AtomicBool::new(false);

/// Whether something is waited for that may never come, so that nothing else goes on: a signal may end the program.
pub fn is_waiting() -> bool {
    WAITING.load(Ordering::SeqCst) > 0
}

/// Tells a user what is waited for.
static TELL: OnceLock<fn(&str)> = OnceLock::new();

/// From now on what is waited for is told by this.
pub fn tell_waiting_by(tell: fn(&str)) {
    let _ = TELL.set(tell);
}

/// As long as it lives, [`is_waiting`].
#[derive(Debug)]
pub struct Waiting(());

impl Waiting {
    /// From now on.
    pub fn begin() -> Self {
        WAITING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// The same, told.
    pub(crate) fn told(words: &str) -> Self {
        if let Some(tell) = TELL.get() {
            tell(words);
        }
        Self::begin()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a user named, opened to be read: a file, or standard input as `-`.
#[derive(Debug)]
pub struct Source {
    file: File,
    /// A regular file is there, or it is not.
    _waiting: Option<Waiting>,
}

impl Source {
    /// Opens it. Of what is no regular file, such as a pipe, opening and reading may take for ever.
    ///
    /// # Errors
    /// If it cannot be opened, or is standard input for the second time.
    pub fn open(path: &Path) -> Result<Self, Unread> {
        let is_stdin = path.as_os_str() == STDIN;
        if is_stdin && STDIN_OPENED.swap(true, Ordering::SeqCst) {
            return Err(Unread::Again);
        }
        let is_file = !is_stdin && std::fs::metadata(path).is_ok_and(|found| found.is_file());
        let waiting = (!is_file).then(Waiting::begin);
        let file =
            if is_stdin { File::from(io::stdin().as_fd().try_clone_to_owned()?) } else { File::open(path)? };
        Ok(Self { file, _waiting: waiting })
    }

    /// What the system says of it.
    ///
    /// # Errors
    /// If it does not.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.file.read(into)
    }
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

/// What a user named, as a file that can be read more than once: a pipe is read now, and kept as long as this lives.
#[derive(Debug)]
pub struct Rereadable {
    path: PathBuf,
    _kept: Option<Scratch>,
}

impl Rereadable {
    /// Reads it if it can be read but once.
    ///
    /// # Errors
    /// If that fails.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let is_stdin = path.as_os_str() == STDIN;
        let is_pipe = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
        if !is_stdin && !is_pipe {
            return Ok(Self { path: path.into(), _kept: None });
        }
        let read = bytes(path, MOST_BYTES).map_err(|why| why.of(path))?;
        let name = if is_stdin { OsStr::new("standard input") } else { path.file_name().unwrap_or_default() };
        Self::kept(name, &read)
            .map_err(|why| Failure::environment(format!("cannot keep {}: {why}", path.display())))
    }

    /// What was made here, under this name, as a file.
    ///
    /// # Errors
    /// If it cannot be kept.
    pub fn kept(name: &OsStr, bytes: &[u8]) -> std::io::Result<Self> {
        let directory = Scratch::new()?;
        let path = directory.path().join(name);
        std::fs::write(&path, bytes)?;
        Ok(Self { path, _kept: Some(directory) })
    }

    /// A file with what was named.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A file's bytes; those of standard input where `-` is named.
///
/// # Errors
/// If it cannot be read, or has more than `most`: a file is not begun then. What is no file is read up to [`MOST_BYTES`]
/// at most.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    let mut source = Source::open(path)?;
    let found = source.metadata()?;
    if found.is_file() && found.len() > most {
        return Err(Unread::Endless(most));
    }
    let most = if found.is_file() { most } else { most.min(MOST_BYTES) };
    rest(Vec::new(), &mut source, most)
}

/// The bytes of what nobody meant to be a pipe: a file that lies beside another, or that another names.
///
/// # Errors
/// As [`bytes`], and if it is no file: then it is not opened.
pub fn file_bytes(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    if std::fs::metadata(path)?.is_file() { bytes(path, most) } else { Err(Unread::NoFile) }
}

/// Whether a file is one of a directory or of those below it, wherever links lead, and no part of its name from there on is hidden:
/// programs read such files by themselves, shells among them.
pub fn lies_in(directory: &Path, file: &Path) -> bool {
    // Where the part of it leads that exists; a link may lead nowhere.
    let really =
        |path: PathBuf| path.ancestors().find(|part| part.symlink_metadata().is_ok())?.canonicalize().ok();
    let is_shown = |part: Component<'_>| !part.as_os_str().as_encoded_bytes().starts_with(b".");
    let Some((directory, file)) = directory.canonicalize().ok().zip(really(Path::new(".").join(file))) else {
        return false;
    };
    file.strip_prefix(directory).is_ok_and(|below| below.components().all(is_shown))
}

/// The same of a file that a record names, and of the directory in which that record is.
pub fn lies_beside(record: &Path, file: &Path) -> bool {
    lies_in(&Path::new(".").join(record.parent().unwrap_or(record)), file)
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
    fn what_is_no_file_is_read_up_to_the_bound_of_all_readers_and_a_longer_file_is_not_begun() {
        let why = bytes(Path::new("/dev/zero"), MOST_PACKETS).unwrap_err();
        assert!(matches!(why, Unread::Endless(MOST_BYTES)), "{why}");
        let directory = tempfile::tempdir().unwrap();
        let long = directory.path().join("long");
        File::create(&long).unwrap().set_len(MOST_PACKETS << 10).unwrap();
        assert!(matches!(bytes(&long, MOST_PACKETS), Err(Unread::Endless(MOST_PACKETS))));
    }

    #[test]
    fn what_nobody_meant_to_be_a_pipe_is_read_only_where_it_is_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for other in [pipe.as_path(), directory.path(), Path::new("/dev/zero")] {
            let why = file_bytes(other, 10).unwrap_err();
            assert!(matches!(why, Unread::NoFile), "{}: {why}", other.display());
        }
        let file = directory.path().join("file");
        assert!(file_bytes(&file, 10).unwrap_err().is_missing());
        std::fs::write(&file, "0123456789").unwrap();
        assert_eq!(file_bytes(&file, 10).unwrap(), b"0123456789");
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
