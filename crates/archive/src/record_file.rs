//! Keeps a record on disk: a line is written and synced before the next trial begins.

mod reader;
mod refused;

use crate::reading;
use crate::whole_file::{self, sync_directory_of};
use dropline_failure::Failure;
use dropline_record::record::{header_line, limits_line, result_line, trial_line};
use dropline_record::{Header, LimitsLine, PacketFile, Record, ResultLine, TrialLine};
pub use reader::{parse, read_header, read_record, read_text};
pub(crate) use reader::{read_bytes, text_of};
use refused::{
    cannot_begin, cannot_go_on, cannot_read, cannot_write, cannot_write_on, exists_already, full,
    of_another_record,
};
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often, and how far apart, a lock that is held is asked for again.
const LOCK_TRIES: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// A longer record is not read, and so none is written: what stands in it stays of use.
const MOST_BYTES: u64 = reading::MOST_BYTES;
/// Of that, no trial takes what the answer needs.
const ROOM_FOR_RESULT: u64 = MOST_BYTES / 64;

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
    kept: Option<Kept>,
}

/// What is on disk, and what becomes of it with the next line.
#[derive(Debug)]
struct Kept {
    file: File,
    path: PathBuf,
    /// Where the next line goes.
    end: u64,
    /// What stands there until then: a torn line, an early result.
    tail: Vec<u8>,
    /// What is written before it, in one piece with it.
    before: String,
    /// Whether it is of a search, which can be resumed.
    is_search: bool,
}

impl Keeper {
    /// Begins a record with its header.
    ///
    /// # Errors
    /// If the file exists, or beside it the times of another record's packets, or it cannot be written.
    pub fn begin(output: &Output, header: &Header) -> Result<Self, Failure> {
        let Output::File(path) = output else { return Ok(Self { kept: None }) };
        let packets = packets_beside(path);
        if !path.exists() && packets.exists() {
            return Err(of_another_record(&packets));
        }
        let file =
            OpenOptions::new().append(true).create_new(true).open(path).map_err(|why| match why.kind() {
                ErrorKind::AlreadyExists => {
                    let is_search = |there: Header| there.search.is_some() || there.bursts.is_some();
                    let resumable = header.verb == "search" && read_header(path).is_some_and(is_search);
                    exists_already(path, header, resumable)
                }
                _ => cannot_write(path, &why),
            })?;
        lock(&file, path)?;
        let is_search = header.verb == "search";
        let kept =
            Kept { file, path: path.clone(), end: 0, tail: Vec::new(), before: String::new(), is_search };
        let mut keeper = Self { kept: Some(kept) };
        keeper
            .append(&header_line(header))
            .and_then(|()| sync_directory_of(path).map_err(|why| cannot_write(path, &why)))
            .map_err(|why| {
                // What has no header is no record: nobody could go on with it, and it would keep its name from the next.
                let _ = std::fs::remove_file(path);
                cannot_begin(why)
            })?;
        Ok(keeper)
    }

    /// Takes a record that was cut short, to go on with it. Nothing of the file is changed before there is another
    /// line to write, which takes the place of what is torn and of an early result.
    ///
    /// # Errors
    /// If it is being written by another search, or cannot be read or written.
    pub fn resume(path: &Path) -> Result<(Self, Record), Failure> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|why| {
            if File::open(path).is_ok() { cannot_go_on(path, &why) } else { cannot_read(path, &why) }
        })?;
        lock(&file, path)?;
        let bytes = read_bytes(path)?;
        let text = text_of(&bytes, path)?;
        let record = parse(&text, path)?;
        let lines = 1 + record.trials.len() + record.limits.len();
        let end: usize = text
            .split_inclusive('\n')
            .scan(lines, |lines, line| {
                *lines = lines.checked_sub(usize::from(!line.trim().is_empty()))?;
                Some(line.len())
            })
            .sum();
        let whole = text[..end].ends_with('\n');
        let kept = Kept {
            file,
            path: path.to_owned(),
            end: end as u64,
            tail: bytes[end..].to_vec(),
            before: if whole { String::new() } else { "\n".into() },
            is_search: true,
        };
        Ok((Self { kept: Some(kept) }, record))
    }

    /// Other limits hold from the next line on, and are written with it.
    pub fn limits(&mut self, line: &LimitsLine) {
        if let Some(kept) = &mut self.kept {
            kept.before.push_str(&limits_line(line));
        }
    }

    /// Writes the record once more from its beginning, with what is known now; the next line takes the place of this
    /// trial. Whoever reads it sees the old one or the new one.
    ///
    /// # Errors
    /// If it cannot be written, or another file has its name by now.
    pub fn anew(&mut self, header: &Header, trial: &TrialLine) -> Result<(), Failure> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        kept.anew(&header_line(header), trial_line(trial)).map_err(|why| cannot_write(&kept.path, &why))
    }

    /// Adds a trial.
    ///
    /// # Errors
    /// If it cannot be written: disk full, say. Trials written before stay.
    pub fn trial(&mut self, line: &TrialLine) -> Result<(), Failure> {
        let line = trial_line(line);
        if let Some(kept) = &self.kept
            && !kept.has_room(&line, ROOM_FOR_RESULT)
        {
            return Err(full(&kept.path));
        }
        self.append(&line)
    }

    /// Adds the result.
    ///
    /// # Errors
    /// As [`trial`](Self::trial), or if the file is no longer there by that name.
    pub fn result(&mut self, line: &ResultLine) -> Result<(), Failure> {
        self.append(&result_line(line))?;
        self.kept.as_ref().map_or(Ok(()), Kept::is_there)
    }

    /// Begins a file beside the record for the times of each packet; `None` where no record is kept.
    ///
    /// # Errors
    /// If it exists, or cannot be written.
    pub fn packets(&self) -> Result<Option<Packets>, Failure> {
        let Some(kept) = &self.kept else { return Ok(None) };
        let path = packets_beside(&kept.path);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(Some(Packets { file, path })),
            Err(why) if why.kind() == ErrorKind::AlreadyExists => Err(of_another_record(&path)),
            Err(why) => Err(cannot_write(&path, &why)),
        }
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.path.as_path())
    }

    /// Takes away a record that holds its header alone, and cannot be resumed: nobody learns anything from it, and it would keep its
    /// name from the next one. Whether it did.
    pub fn remove_empty(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| {
            let is_empty = !kept.is_search && kept.has_header_alone() && kept.is_there().is_ok();
            is_empty && std::fs::remove_file(&kept.path).is_ok()
        })
    }

    fn append(&mut self, text: &str) -> Result<(), Failure> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        if !kept.has_room(text, 0) {
            return Err(full(&kept.path));
        }
        let cannot = if kept.is_search { cannot_write_on } else { cannot_write };
        kept.append(text).map_err(|why| cannot(&kept.path, &why))
    }
}

/// A file for the times of each packet, beside a record.
#[derive(Debug)]
pub struct Packets {
    file: File,
    path: PathBuf,
}

impl Packets {
    /// Its name, as the record has it.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Writes it whole.
    ///
    /// # Errors
    /// If it cannot be written: half of it is of no use, and nothing of it stays.
    pub fn write(mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        written.and_then(|()| sync_directory_of(&self.path)).map_err(|why| {
            self.discard();
            cannot_write(&self.path, &why)
        })
    }

    /// Nothing is to be written.
    pub fn discard(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Kept {
    /// Whether a reader still takes the record with this line, and so many bytes more.
    fn has_room(&self, line: &str, more: u64) -> bool {
        let lines = self.before.len() + line.len();
        self.end.saturating_add(lines as u64).saturating_add(more) <= MOST_BYTES
    }

    /// Whether no line follows the first one.
    fn has_header_alone(&self) -> bool {
        let text = read_bytes(&self.path).unwrap_or_default();
        self.tail.is_empty() && text.iter().filter(|byte| **byte == b'\n').count() == 1
    }

    /// Whether what was written is what has the file's name.
    fn is_there(&self) -> Result<(), Failure> {
        let of = |found: io::Result<Metadata>| found.map(|found| (found.dev(), found.ino())).ok();
        if of(self.file.metadata()) == of(std::fs::metadata(&self.path)) {
            return Ok(());
        }
        Err(Failure::environment(format!(
            "{} is gone: the record was removed, or has another name, since the search began",
            self.path.display()
        ))
        .advice(
            "the answer is printed; where the record was only renamed, it is whole in the file of that name",
        ))
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        let text = std::mem::take(&mut self.before) + line;
        match self.put(text.as_bytes()) {
            Ok(()) => {
                self.end += text.len() as u64;
                self.tail.clear();
                Ok(())
            }
            Err(why) => {
                // What was half written would be a torn line: as it was, if that is still possible.
                let tail = std::mem::take(&mut self.tail);
                let _ = self.put(&tail);
                self.tail = tail;
                self.before = text[..text.len() - line.len()].to_owned();
                Err(why)
            }
        }
    }

    fn anew(&mut self, header: &str, trial: String) -> io::Result<()> {
        let (ours, there) = (self.file.metadata()?, std::fs::metadata(&self.path)?);
        if (ours.len(), ours.modified()?) != (there.len(), there.modified()?) {
            return Err(io::Error::other("another file has its name by now"));
        }
        whole_file::replace(&self.path, (header.to_owned() + &trial).as_bytes())?;
        self.file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        (self.end, self.tail) = (header.len() as u64, trial.into_bytes());
        Ok(())
    }

    /// Writes at the end; what stood there is cut.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(bytes)?;
        self.file.sync_data()
    }
}

/// Writes a record that is whole already into a new file.
///
/// # Errors
/// If it is too long to be read again, the file exists, or cannot be written.
pub fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    if text.len() as u64 > MOST_BYTES {
        return Err(full(path));
    }
    whole_file::create_of(path, text.as_bytes())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A record that is kept, of so many bytes.
    fn kept(directory: &Path, end: u64) -> Kept {
        let path = directory.join("record.jsonl");
        let file = File::create(&path).unwrap();
        Kept { file, path, end, tail: Vec::new(), before: String::new(), is_search: false }
    }

    #[test]
    fn what_is_written_is_never_longer_than_what_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let mut keeper = Keeper { kept: Some(kept(directory.path(), MOST_BYTES - 10)) };
        let why = keeper.append("eleven byte").unwrap_err().to_string();
        assert!(why.contains("longer than 256 MiB") && why.contains("was not added"), "{why}");
        let path = keeper.path().unwrap();
        assert_eq!(std::fs::metadata(path).unwrap().len(), 0, "a line that is refused changes nothing");
        keeper.append("ten bytes\n").unwrap();
        assert_eq!(std::fs::metadata(keeper.path().unwrap()).unwrap().len(), MOST_BYTES);
        assert!(keeper.append("\n").is_err());
    }

    #[test]
    fn whether_a_search_is_there_to_be_resumed_is_known_by_its_header_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("search.jsonl");
        let text = include_str!("../../record/tests/records/dropline-1.jsonl");
        let header = Record::read(text.lines().next().unwrap()).unwrap().header;
        let begin = || Keeper::begin(&Output::File(path.clone()), &header).unwrap_err().to_string();
        std::fs::write(&path, header_line(&header)).unwrap();
        // More than a record may have: whoever reads on learns that, and not what this is.
        OpenOptions::new().write(true).open(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
        let why = begin();
        assert!(why.contains("exists already") && why.contains("--resume"), "{why}");
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(begin().contains("is not a file that a record can be kept in"), "a pipe is not waited for");
    }

    #[test]
    fn a_trial_leaves_room_for_the_answer() {
        let directory = tempfile::tempdir().unwrap();
        let text = include_str!("../../record/tests/records/dropline-1.jsonl");
        let (trials, _) = text.trim_end().rsplit_once('\n').unwrap();
        let trial = &Record::read(trials).unwrap().trials[0];
        let length = trial_line(trial).len() as u64;
        for (end, fits) in
            [(MOST_BYTES - ROOM_FOR_RESULT - length, true), (MOST_BYTES - ROOM_FOR_RESULT, false)]
        {
            let mut keeper = Keeper { kept: Some(kept(directory.path(), end)) };
            assert_eq!(keeper.trial(trial).is_ok(), fits);
        }
    }

    #[test]
    fn a_record_that_is_gone_when_its_search_ends_is_said_to_be() {
        let directory = tempfile::tempdir().unwrap();
        let result = ResultLine {
            goals: Vec::new(),
            trial_seconds: 0.0,
            elapsed_s: 0.0,
            interrupted: false,
            delay_at: Vec::new(),
            ended_by: dropline_record::EndWord::Done,
            back_to_back: None,
            loss_curve: Vec::new(),
            caveats: Vec::new(),
        };
        let mut keeper = Keeper { kept: Some(kept(directory.path(), 0)) };
        keeper.result(&result).unwrap();
        let path = keeper.path().unwrap().to_owned();
        std::fs::rename(&path, directory.path().join("other.jsonl")).unwrap();
        let why = keeper.result(&result).unwrap_err().to_string();
        assert!(why.contains("is gone") && why.contains("renamed"), "{why}");
        std::fs::write(&path, "another file").unwrap();
        assert!(keeper.result(&result).is_err(), "its name is not enough");
    }

    #[test]
    fn a_record_that_is_written_whole_has_the_same_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("imported.jsonl");
        let text = "x".repeat(MOST_BYTES as usize + 1);
        assert!(write_new(&path, &text).unwrap_err().to_string().contains("longer than 256 MiB"));
        assert!(!path.exists());
    }
}
