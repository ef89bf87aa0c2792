//! A history: a directory in which records lie by date, with an index of them.
//!
//! The records are the truth. The index, a line each, is derived from them: whoever reads it holds it against the files that
//! are there and reads those anew that it does not know, so that a program that was killed between a record and its index line
//! has lost nothing. Whoever writes holds a lock, and each file is written beside its place and renamed.

mod adding;
mod files;
mod index;
mod named;

pub use adding::Offered;
pub use files::Files;
pub use index::INDEX;

use crate::record_file::{events_beside, packets_beside};
use crate::{clock, whole_file};
use dropline_failure::{Failure, quoted_path};
use dropline_record::{IndexLine, LeftOutLine, Record, Reindexed};
use index::Found;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What the index says of a record, but for its file.
pub type Describe = fn(&Record) -> IndexLine;

/// A directory of records with an index.
#[derive(Clone, Debug)]
pub struct History {
    directory: PathBuf,
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
    /// Whether a directory is a history: it has an index that is ours.
    pub fn is_at(directory: &Path) -> bool {
        index::found(directory) == Found::Ours
    }

    /// The index of the history in a directory, if that is damaged: then the records are read instead.
    pub fn damaged_index(directory: &Path) -> Option<PathBuf> {
        (Self::is_at(directory) && index::is_damaged(directory)).then(|| directory.join(INDEX))
    }

    /// The history that a file lies in, if it lies in one.
    pub fn around(file: &Path, describe: Describe) -> Option<Self> {
        let file = std::fs::canonicalize(file).ok()?;
        let found = file.ancestors().skip(1).find(|directory| Self::is_at(directory))?;
        Some(Self { directory: found.to_owned(), describe })
    }

    /// One that is there.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn open(directory: &Path, describe: Describe) -> Result<Self, Failure> {
        if directory.is_dir() {
            return match index::found(directory) {
                Found::Another => Err(not_ours(directory)),
                Found::Ours | Found::Nothing => Ok(Self { directory: directory.to_owned(), describe }),
            };
        }
        let named = directory.display();
        Err(match directory.exists() {
            true => Failure::usage(format!("{named} is not a directory, and a history is one")),
            false => Failure::usage(format!("there is no history {named}")).advice(format!(
                "a history begins with its first record:  dropline search TARGET --history {}",
                quoted_path(directory)
            )),
        })
    }

    /// One that is made where there is none.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(directory: &Path, describe: Describe) -> Result<Self, Failure> {
        whole_file::create_directories(directory)
            .map_err(|why| Failure::environment(format!("cannot make {}: {why}", directory.display())))?;
        let history = Self::open(directory, describe)?;
        if !Self::is_at(directory) {
            // From here on it is known as a history.
            history.change(|_| Ok(()))?;
        }
        Ok(history)
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A file of it.
    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// What it holds. Records that the index does not know as they are now are read; nothing is written.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn contents(&self) -> Result<Contents, Failure> {
        self.against(index::read(&self.directory))
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
        is_being_written(&self.path(file))
    }

    /// Where a record goes that is measured now. Its directory is made.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn place(&self, target: &str) -> Result<PathBuf, Failure> {
        self.placed(&named::of_now(target)).map(|file| self.path(&file))
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
            let old = index::read(&self.directory);
            let mut found = self.against(BTreeMap::new())?;
            let unseen: Vec<IndexLine> = found.unseen(old.clone()).collect();
            found.records.extend(unseen);
            told.set(differences(&old, &found));
            Ok(index::in_order(found.records))
        };
        if write {
            whole_file::change(&self.directory.join(INDEX), || {
                index::keep_unreadable(&self.directory);
                Files::remove_left_behind(&self.directory);
                anew().map(|records| index::text(&records))
            })?;
        } else {
            anew()?;
        }
        Ok(told.take())
    }

    /// The size of a record, with the times of packets beside it.
    pub fn size(&self, file: &str) -> u64 {
        let path = self.path(file);
        [packets_beside(&path), path]
            .iter()
            .filter_map(|path| std::fs::metadata(path).ok())
            .map(|found| found.len())
            .sum()
    }

    /// Removes records with what lies beside them. What is being written stays; which were removed.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn remove(&self, files: &[String]) -> Result<Vec<String>, Failure> {
        let mut removed = Vec::new();
        self.change(|records| {
            for file in files {
                let path = self.path(file);
                if is_being_written(&path) {
                    continue;
                }
                let gone = std::fs::remove_file(&path);
                gone.map_err(|why| Failure::environment(format!("cannot remove {}: {why}", path.display())))?;
                let _ = std::fs::remove_file(packets_beside(&path));
                let _ = std::fs::remove_dir_all(events_beside(&path));
                self.remove_empty(&path);
                records.remove(file);
                removed.push(file.clone());
            }
            Ok(())
        })?;
        Ok(removed)
    }

    /// Removes the directories in which a file was the last, but for those of today: a record may just begin there.
    fn remove_empty(&self, file: &Path) {
        let today = clock::day_and_second(&clock::now_utc()).map(|[day, _]| self.path(&day));
        let above = file.ancestors().skip(1).take_while(|directory| *directory != self.directory);
        for directory in above {
            let is_of_today = today.as_ref().is_none_or(|today| today.starts_with(directory));
            if is_of_today || std::fs::remove_dir(directory).is_err() {
                return;
            }
        }
    }

    /// Changes the index to what its files are, and to what `change` makes of that. Others wait meanwhile.
    fn change(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, IndexLine>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_changed = Cell::new(false);
        let written = whole_file::change(&self.directory.join(INDEX), || {
            index::keep_unreadable(&self.directory);
            let known = index::read(&self.directory);
            let found = self.against(known.clone())?;
            let unseen: Vec<IndexLine> = found.unseen(known.clone()).collect();
            let mut records: BTreeMap<String, IndexLine> =
                found.records.into_iter().map(|line| (line.file.clone(), line)).collect();
            // What was done before it failed stands, and is read back from the files.
            change(&mut records)?;
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
                quoted_path(&self.directory)
            )),
            false => why,
        })
    }

    /// What is there, read anew where these lines do not say what it is.
    fn against(&self, mut known: BTreeMap<String, IndexLine>) -> Result<Contents, Failure> {
        let Files { all, mut left_out, closed } = Files::below(&self.directory)?;
        let mut records = Vec::new();
        for (file, bytes) in all {
            match known.remove(&file).filter(|line| line.bytes == bytes) {
                Some(line) => records.push(line),
                None => match index::line_of(&self.path(&file), &file, self.describe) {
                    Ok(line) => records.push(line),
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

    /// What a file is called where no link is on the way to it, once its directory is made: so it is found when it is read.
    fn placed(&self, file: &str) -> Result<String, Failure> {
        let path = self.path(file);
        let day = path.parent().unwrap_or(&self.directory);
        let cannot =
            |why: std::io::Error| Failure::environment(format!("cannot make {}: {why}", day.display()));
        let root = std::fs::canonicalize(&self.directory).map_err(cannot)?;
        let there = day.ancestors().find(|above| above.exists()).unwrap_or(&self.directory);
        let real = std::fs::canonicalize(there).map_err(cannot)?;
        if !real.starts_with(&root) {
            return Err(leads_out(there, &real, &self.directory));
        }
        whole_file::create_directories(day).map_err(cannot)?;
        let real = std::fs::canonicalize(day).map_err(cannot)?;
        let own = path.file_name().map(|own| real.join(own));
        let own = own.as_deref().and_then(|own| own.strip_prefix(&root).ok()).and_then(Path::to_str);
        own.map(str::to_owned).ok_or_else(|| leads_out(day, &real, &self.directory))
    }
}

/// What the index of a history says of a record that is not in one.
///
/// # Errors
/// If it cannot be read, or is not a record.
pub fn line_of(path: &Path, describe: Describe) -> Result<IndexLine, Failure> {
    index::line_of(path, "", describe)
}

/// What lies behind a link that leads out of a history is not read, so nothing is filed there.
fn leads_out(place: &Path, real: &Path, directory: &Path) -> Failure {
    Failure::environment(format!(
        "{} leads to {}, which is not in the history {}: nothing is filed there, as it would not be found again",
        place.display(),
        real.display(),
        directory.display()
    ))
    .advice("put a directory in place of the link; to keep a history on another disk, move all of it and name that")
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

/// Whether a program holds the record, to add to it.
fn is_being_written(path: &Path) -> bool {
    // Shared: two who ask at once do not take one another for the writer.
    File::open(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
}
