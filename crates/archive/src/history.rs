//! A history: records that lie by date in a directory or in a store, with an index of them.
//!
//! The records are the truth. The index, a line each, is derived from them: whoever reads it holds it against the files that
//! are there and reads those anew that it does not know, so that a program that was killed between a record and its index line
//! has lost nothing. Where they lie is a [`Storage`]: a directory, where whoever writes holds a lock, and each file is written beside
//! its place and renamed; or a store, where nobody puts anything in place of what he did not read.

mod adding;
mod directory;
mod files;
mod index;
mod named;
mod remote;
mod storage;

pub use adding::Offered;
pub use dropline_store::sha256;
pub use files::Files;

use crate::record_file::{parse, read_bytes, text_of};
use crate::{reading, whole_file};
use directory::Directory;
use dropline_failure::{Failure, quoted_path};
use dropline_record::{IndexLine, LeftOutLine, Record, Reindexed};
use dropline_store::Bucket;
use index::Found;
use remote::Remote;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use storage::Storage;

/// The name of the index, in the directory of the history.
pub const INDEX: &str = "index.jsonl";
/// What the index says of a record, but for its file.
pub type Describe = fn(&Record) -> IndexLine;

/// Records with an index.
#[derive(Clone, Debug)]
pub struct History {
    place: Arc<dyn Storage>,
    describe: Describe,
}

/// What a history holds.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Its records, in order of time, each once.
    pub records: Vec<IndexLine>,
    /// Other files of the same content as one of them, with that one's file.
    pub copies: Vec<(IndexLine, String)>,
    /// Files that are not records or the same as another, and why.
    pub left_out: Vec<LeftOutLine>,
    /// Directories that cannot be read: what lies there is not known.
    pub closed: Vec<String>,
}

impl Contents {
    /// The lines of these that lie where it was not looked.
    fn unseen(&self, known: BTreeMap<String, IndexLine>) -> impl Iterator<Item = IndexLine> {
        let is_below = |file: &str, closed: &String| {
            file.strip_prefix(closed.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        known.into_values().filter(move |line| self.closed.iter().any(|closed| is_below(&line.file, closed)))
    }
}

impl History {
    /// Whether a name is one of a history in a store, and not of a directory.
    pub fn is_remote(named: &Path) -> bool {
        named.to_str().is_some_and(Bucket::is_named)
    }

    /// Whether there is a history: a directory with an index that is ours, or what is named in a store.
    pub fn is_at(named: &Path) -> bool {
        Self::is_remote(named) || index::found(named) == Found::Ours
    }

    /// The index of a history, if that is damaged: then the records are read instead.
    pub fn damaged_index(named: &Path) -> Option<PathBuf> {
        let is_damaged = match Self::is_remote(named) {
            true => index::is_damaged(&Remote::of(named).ok()?),
            false => Self::is_at(named) && index::is_damaged(&Directory(named.to_owned())),
        };
        is_damaged.then(|| named.join(INDEX))
    }

    /// The history that a file lies in, if it lies in one.
    pub fn around(file: &Path, describe: Describe) -> Option<Self> {
        let file = std::fs::canonicalize(file).ok()?;
        let found = file.ancestors().skip(1).find(|directory| Self::is_at(directory))?;
        Some(Self { place: Arc::new(Directory(found.to_owned())), describe })
    }

    /// One that is there; of one in a store, that is seen when it is read.
    ///
    /// # Errors
    /// If there is no such directory, or the store is not named as one.
    pub fn open(named: &Path, describe: Describe) -> Result<Self, Failure> {
        if Self::is_remote(named) {
            return Ok(Self { place: Arc::new(Remote::of(named)?), describe });
        }
        if named.is_dir() {
            return match index::found(named) {
                Found::Another => Err(not_ours(named)),
                Found::Ours | Found::Nothing => {
                    Ok(Self { place: Arc::new(Directory(named.to_owned())), describe })
                }
            };
        }
        let shown = named.display();
        Err(match named.exists() {
            true => Failure::usage(format!("{shown} is not a directory, and a history is one")),
            false => Failure::usage(format!("there is no history {shown}")).advice(format!(
                "a history begins with its first record:  dropline search TARGET --history {}",
                quoted_path(named)
            )),
        })
    }

    /// One that is made where there is none; in a store, with its first record.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(named: &Path, describe: Describe) -> Result<Self, Failure> {
        if Self::is_remote(named) {
            return Self::open(named, describe);
        }
        whole_file::create_directories(named)
            .map_err(|why| Failure::environment(format!("cannot make {}: {why}", named.display())))?;
        let history = Self::open(named, describe)?;
        if !Self::is_at(named) {
            // From here on it is known as a history.
            history.change(|_| Ok(()))?;
        }
        Ok(history)
    }

    /// Where it is, as it is named.
    pub fn named(&self) -> &Path {
        self.place.named()
    }

    /// What a file of it is called.
    pub fn path(&self, file: &str) -> PathBuf {
        self.named().join(file)
    }

    /// A record of it as a file of this machine, with the times of packets beside it: one that lies elsewhere is fetched, and
    /// removed with the history.
    ///
    /// # Errors
    /// If it cannot be fetched.
    pub fn local(&self, line: &IndexLine) -> Result<PathBuf, Failure> {
        self.place.local(&line.file, line.bytes)
    }

    /// A record of it.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn record(&self, file: &str) -> Result<Record, Failure> {
        let path = self.path(file);
        let bytes = self.place.read(file, reading::MOST_BYTES)?.ok_or_else(|| missing(&path))?;
        parse(&text_of(&bytes, &path)?, &path)
    }

    /// A small file beside the records; `None` where there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn beside(&self, file: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.place.read(file, reading::MOST_SETTINGS)
    }

    /// Changes such a file to what `change` makes of it, which reads it, perhaps more than once.
    ///
    /// # Errors
    /// If it cannot be written, or `change` refuses.
    pub fn change_beside(
        &self,
        file: &str,
        mut change: impl FnMut() -> Result<Vec<u8>, Failure>,
    ) -> Result<(), Failure> {
        self.place.change(file, &mut change)
    }

    /// What it holds. Records that the index does not know as they are now are read; nothing is written.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn contents(&self) -> Result<Contents, Failure> {
        self.against(index::read(&*self.place)?)
    }

    /// What it holds by now, where this is what it held before: only what changed since is read.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn contents_since(&self, before: Contents) -> Result<Contents, Failure> {
        if before.records.is_empty() {
            return self.contents();
        }
        let copies = before.copies.into_iter().map(|(line, _)| line);
        let known = before.records.into_iter().chain(copies).map(|line| (line.file.clone(), line));
        self.against(known.collect())
    }

    /// Whether a program holds the record, to add to it.
    pub fn is_being_written(&self, file: &str) -> bool {
        self.place.is_being_written(file)
    }

    /// Where a record goes that is measured now. Its directory is made.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn place(&self, target: &str) -> Result<PathBuf, Failure> {
        self.place.named_there(&named::of_now(target)).map(|file| self.path(&file))
    }

    /// Takes what became of its files since into the index.
    ///
    /// # Errors
    /// If the index cannot be written; the records are whole then.
    pub fn update(&self) -> Result<(), Failure> {
        self.change(|_| Ok(()))
    }

    /// Makes the index anew from all records, and says what it did not say as it is; what killed programs left beside
    /// records is removed. Without `write`, nothing is changed.
    ///
    /// # Errors
    /// If the directory cannot be read, or the index not written.
    pub fn index(&self, write: bool) -> Result<Reindexed, Failure> {
        let told = Cell::new(Reindexed::default());
        let anew = || {
            let old = index::read(&*self.place)?;
            let mut found = self.against(BTreeMap::new())?;
            let unseen: Vec<IndexLine> = found.unseen(old.clone()).collect();
            found.records.extend(unseen);
            told.set(differences(&old, &found));
            Ok(index::in_order(found.records))
        };
        if write {
            self.place.change(INDEX, &mut || {
                index::keep_unreadable(&*self.place)?;
                self.place.remove_left_behind();
                anew().map(|records| index::text(&records))
            })?;
        } else {
            anew()?;
        }
        Ok(told.take())
    }

    /// The size of a record, with the times of packets beside it where they are known.
    pub fn size(&self, line: &IndexLine) -> u64 {
        self.place.size(&line.file).unwrap_or(line.bytes)
    }

    /// Removes records with what lies beside them. What is being written stays; which were removed.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn remove(&self, files: &[String]) -> Result<Vec<String>, Failure> {
        let mut removed = Vec::new();
        self.change(|records| {
            for file in files {
                if self.place.remove(file)? {
                    records.remove(file);
                    removed.push(file.clone());
                }
            }
            Ok(())
        })?;
        Ok(removed)
    }

    /// Changes the index to what its files are, and to what `change` makes of that. Others wait meanwhile.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, IndexLine>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_changed = Cell::new(false);
        let mut change = Some(change);
        let written = self.place.change(INDEX, &mut || {
            index::keep_unreadable(&*self.place)?;
            let known = index::read(&*self.place)?;
            let found = self.against(known.clone())?;
            let unseen: Vec<IndexLine> = found.unseen(known.clone()).collect();
            let mut records: BTreeMap<String, IndexLine> =
                found.records.into_iter().map(|line| (line.file.clone(), line)).collect();
            // What was done before it failed stands, and is read back from the files; so is all where another index came between.
            if let Some(change) = change.take() {
                change(&mut records)?;
            }
            // A record only grows: of one that lost something, the index goes on saying what was filed.
            for (file, filed) in known {
                if let Some(line) = records.get_mut(&file)
                    && filed.finished
                    && line.bytes < filed.bytes
                {
                    *line = filed;
                }
            }
            is_changed.set(true);
            Ok(index::text(&index::in_order(records.into_values().chain(unseen))))
        });
        written.map_err(|why| match is_changed.get() {
            true => why.advice(format!(
                "the records themselves are whole and are listed; make room, and make the index again:  dropline history index {}",
                quoted_path(self.named())
            )),
            false => why,
        })
    }

    /// What is there, read anew where these lines do not say what it is.
    fn against(&self, mut known: BTreeMap<String, IndexLine>) -> Result<Contents, Failure> {
        let Files { all, mut left_out, closed } = self.place.files()?;
        let mut records = Vec::new();
        let is_other =
            |(file, line): &(&String, &IndexLine)| all.get(*file).is_some_and(|bytes| *bytes < line.bytes);
        let filed: BTreeMap<String, IndexLine> =
            known.iter().filter(is_other).map(|(file, line)| (file.clone(), line.clone())).collect();
        for (file, bytes) in all {
            match known.remove(&file).filter(|line| line.bytes == bytes) {
                Some(line) => records.push(line),
                None => match self.line_of(&file)? {
                    Ok(line) => {
                        let was = filed.get(&file).filter(|was| was.finished && !line.finished);
                        left_out.extend(was.map(|was| LeftOutLine { source: file, why: cut(was, &line) }));
                        records.push(line);
                    }
                    Err(why) => {
                        let why = why.behind(&self.path(&file).display().to_string());
                        left_out.push(LeftOutLine { source: file, why });
                    }
                },
            }
        }
        let (records, copies) = index::each_once(records);
        left_out.extend(copies.iter().map(|(copy, of)| LeftOutLine {
            source: copy.file.clone(),
            why: format!("it is the same record as {of}"),
        }));
        left_out.sort_by(|one, other| one.source.cmp(&other.source));
        Ok(Contents { records: index::in_order(records), copies, left_out, closed })
    }

    /// What the index says of a record that is read, or why the file is left out. Fails where nothing can be known of the others
    /// either: a store that was away for a moment has lost no record.
    fn line_of(&self, file: &str) -> Result<Result<IndexLine, Failure>, Failure> {
        let path = self.path(file);
        match self.place.read(file, reading::MOST_BYTES) {
            Ok(Some(bytes)) => Ok(index::line_of(&bytes, &path, file, self.describe)),
            Ok(None) => Ok(Err(missing(&path))),
            Err(why) if self.place.fails_as_one() => Err(why),
            Err(why) => Ok(Err(why)),
        }
    }
}

/// What the index of a history says of a record that is not in one.
///
/// # Errors
/// If it cannot be read, or is not a record.
pub fn line_of(path: &Path, describe: Describe) -> Result<IndexLine, Failure> {
    index::line_of(&read_bytes(path)?, path, "", describe)
}

/// What is said of a record that lost its end.
fn cut(was: &IndexLine, line: &IndexLine) -> String {
    format!(
        "it had come to its end and lost that since: {} of {} bytes are there; add it again from where it is whole",
        line.bytes, was.bytes
    )
}

fn missing(path: &Path) -> Failure {
    Failure::environment(format!("there is no {}", path.display()))
}

/// A file of somebody else's has the name of the index.
fn not_ours(directory: &Path) -> Failure {
    Failure::usage(format!(
        "{} is not the index of a history, and is not written over",
        directory.join(INDEX).display()
    ))
    .advice(
        "name another directory; if it was a damaged index, move it away: it is made again from the records",
    )
}

/// What the index said otherwise.
fn differences(old: &BTreeMap<String, IndexLine>, found: &Contents) -> Reindexed {
    let mut told = Reindexed {
        records: found.records.len() as u64,
        left_out: found.left_out.clone(),
        ..Reindexed::default()
    };
    let mut gone = old.clone();
    for line in &found.records {
        match gone.remove(&line.file) {
            None => told.added.push(line.file.clone()),
            Some(old) if old != *line => told.changed.push(line.file.clone()),
            Some(_) => {}
        }
    }
    told.gone = gone.into_keys().collect();
    told
}
