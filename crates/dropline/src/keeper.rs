//! Keeps a record on disk: a line is written and synced before the next trial begins.

use crate::Failure;
use dropline_record::record::{header_line, result_line, trial_line};
use dropline_record::{Header, PacketFile, ReadError, Record, ResultLine, TrialLine};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often, and how far apart, a lock that is held is asked for again.
const LOCK_TRIES: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Where a record goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A new file of this name; an existing one is an error.
    File(PathBuf),
    /// Nowhere: `-o -`.
    Nowhere,
}

impl Output {
    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Nowhere => None,
        }
    }
}

/// A record that grows on disk.
#[derive(Debug)]
pub struct Keeper {
    file: Option<(File, PathBuf)>,
}

impl Keeper {
    /// Begins a record with its header.
    ///
    /// # Errors
    /// If the file exists, is being written by another search, or cannot be written.
    pub fn begin(output: &Output, header: &Header) -> Result<Self, Failure> {
        let Output::File(path) = output else { return Ok(Self { file: None }) };
        let file =
            OpenOptions::new().append(true).create_new(true).open(path).map_err(|why| match why.kind() {
                ErrorKind::AlreadyExists => Failure::usage(format!("{} exists already", path.display()))
                    .advice(format!(
                        "go on with it:  dropline search --resume {}   or name another: -o FILE",
                        path.display()
                    )),
                _ => cannot_write(path, &why),
            })?;
        lock(&file, path)?;
        let mut keeper = Self { file: Some((file, path.clone())) };
        keeper.append(&header_line(header))?;
        Ok(keeper)
    }

    /// Goes on with a record that was cut short: what is torn, and an early result, are taken off.
    ///
    /// # Errors
    /// If it is being written by another search, or cannot be read or written.
    pub fn resume(path: &Path) -> Result<(Self, Record), Failure> {
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(|why| cannot_read(path, &why))?;
        lock(&file, path)?;
        let text = read_text(path)?;
        let record = parse(&text, path)?;
        let kept: usize = text
            .split_inclusive('\n')
            .scan(record.trials.len() + 1, |lines, line| {
                *lines = lines.checked_sub(usize::from(!line.trim().is_empty()))?;
                Some(line.len())
            })
            .sum();
        let mut keeper = Self { file: Some((file, path.to_owned())) };
        keeper.cut_to(kept as u64, path)?;
        Ok((keeper, record))
    }

    /// Adds a trial.
    ///
    /// # Errors
    /// If it cannot be written: disk full, say. Trials written before stay.
    pub fn trial(&mut self, line: &TrialLine) -> Result<(), Failure> {
        self.append(&trial_line(line))
    }

    /// Adds the result.
    ///
    /// # Errors
    /// As [`trial`](Self::trial).
    pub fn result(&mut self, line: &ResultLine) -> Result<(), Failure> {
        self.append(&result_line(line))
    }

    /// Writes the times of each packet into a file beside the record, and says its name; `None` where no
    /// record is kept.
    ///
    /// # Errors
    /// If it exists, or cannot be written.
    pub fn packets(&mut self, bytes: &[u8]) -> Result<Option<String>, Failure> {
        let Some((_, record)) = &self.file else { return Ok(None) };
        let path = packets_beside(record);
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(|why| match why.kind() {
                ErrorKind::AlreadyExists => {
                    Failure::environment(format!("{} exists already", path.display()))
                        .advice("it is of another record: move it away, or name another record: -o FILE")
                }
                _ => cannot_write(&path, &why),
            })?;
        file.write_all(bytes).and_then(|()| file.sync_data()).map_err(|why| cannot_write(&path, &why))?;
        Ok(path.file_name().map(|name| name.to_string_lossy().into_owned()))
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(_, path)| path.as_path())
    }

    fn append(&mut self, text: &str) -> Result<(), Failure> {
        let Some((file, path)) = &mut self.file else { return Ok(()) };
        let length = file.metadata().map(|data| data.len());
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(|why| {
            // What was half written would be a torn line; take it off if that is still possible.
            if let Ok(length) = length {
                let _ = file.set_len(length);
            }
            cannot_write(path, &why)
        })
    }

    fn cut_to(&mut self, length: u64, path: &Path) -> Result<(), Failure> {
        let Some((file, _)) = &mut self.file else { return Ok(()) };
        file.set_len(length)
            .and_then(|()| file.seek(SeekFrom::End(0)).map(|_| ()))
            .map_err(|why| cannot_write(path, &why))
    }
}

/// Reads a record from a file.
///
/// # Errors
/// If it cannot be read, or is no record.
pub fn read_record(path: &Path) -> Result<Record, Failure> {
    parse(&read_text(path)?, path)
}

/// Where the times of each packet of a record are.
pub fn packets_beside(record: &Path) -> PathBuf {
    let mut name = record.as_os_str().to_owned();
    name.push(PacketFile::SUFFIX);
    name.into()
}

/// Where the events of a pipeline are: a CTF trace.
pub fn events_beside(record: &Path) -> PathBuf {
    let mut name = record.as_os_str().to_owned();
    name.push(".events");
    name.into()
}

pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|why| cannot_read(path, &why))?;
    String::from_utf8(bytes).map_err(|why| {
        let at = why.utf8_error().valid_up_to();
        Failure::environment(format!("{} is no record: byte {at} is not text", path.display()))
    })
}

pub(crate) fn parse(text: &str, path: &Path) -> Result<Record, Failure> {
    Record::read(text).map_err(|why| {
        let advice = match why {
            ReadError::Imported => format!(
                "dropline fit {0} --html {0}.html  says what they are, and  dropline compare {0} OTHER  whether two differ",
                path.display()
            ),
            _ => "the file was edited or damaged; the lines before that one are whole trials".into(),
        };
        Failure::environment(format!("{}: {why}", path.display())).advice(advice)
    })
}

/// Takes the file for this search alone. A program that is just being started shares our files until it
/// runs, so a lock that is held is asked for again for a moment.
fn lock(file: &File, path: &Path) -> Result<(), Failure> {
    let mut tries = 0;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                tries += 1;
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::environment(format!("another search is writing {}", path.display()))
                    .advice("wait for it to end, or name another file: -o FILE"));
            }
            Err(TryLockError::Error(why)) => return Err(cannot_write(path, &why)),
        }
    }
}

fn cannot_read(path: &Path, why: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot read {}: {why}", path.display()))
}

fn cannot_write(path: &Path, why: &std::io::Error) -> Failure {
    let failure = Failure::environment(format!("cannot write {}: {why}", path.display()));
    match why.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            failure.advice("finished trials are kept; free some space and go on with --resume")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            failure.advice("name a file elsewhere: -o FILE")
        }
        _ => failure,
    }
}
