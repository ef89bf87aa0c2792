//! What lasts no longer than the program: removed by it, or by the next one where it was killed.
//!
//! A killed program removes nothing, and its number says little: in each container numbers begin anew. So whoever makes
//! such a file or directory holds a lock on it, which the kernel takes back however its holder ends; one of ours without
//! a lock is nobody's.

use std::fs::{File, Metadata, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A directory for what nobody else needs, removed with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

/// First part of the names of directories that are removed when nobody holds them.
const OURS: &str = "dropline-scratch-";
/// Names that are tried until one is free.
pub(crate) const TRIES: u32 = 16;

impl Scratch {
    /// A new one, where the system has its temporary files, once these are rid of what was left there.
    ///
    /// # Errors
    /// If none can be made.
    pub fn new() -> io::Result<Self> {
        Self::among(&std::env::temp_dir(), OURS, |_| {})
    }

    /// The same in another directory, with names that begin otherwise. Before a directory that was left is removed, `undo`
    /// is told of it: what the dead program had elsewhere has the directory's name.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn among(directory: &Path, prefix: &str, undo: impl Fn(&Path)) -> io::Result<Self> {
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with(prefix)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Some(_lock) = left(&path)
            {
                undo(&path);
                let _ = std::fs::remove_dir_all(&path);
            }
        }
        for number in 0..TRIES {
            let path = directory.join(format!("{prefix}{:016x}", RandomState::new().hash_one(number)));
            match make(&path) {
                Ok(()) => {}
                Err(why) if why.kind() == ErrorKind::AlreadyExists => continue,
                Err(why) => return Err(why),
            }
            // Between its making and its lock another program may have swept it away.
            if let Some(lock) = File::open(&path).ok().and_then(|made| held(made, &path)) {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Its name, which no other has.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Makes a file that takes the place of none, but of one that a killed program left; `None` where another program
/// holds it.
pub(crate) fn create(path: &Path) -> io::Result<Option<File>> {
    let made = match File::create_new(path) {
        Err(why) if why.kind() == ErrorKind::AlreadyExists => {
            let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
            let Some(_lock) = is_file.then(|| left(path)).flatten() else { return Ok(None) };
            std::fs::remove_file(path)?;
            File::create_new(path)
        }
        made => made,
    };
    match made {
        Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(None),
        made => made.map(|made| held(made, path)),
    }
}

/// What was just made at `path`, locked; `None` where another program took it for left behind before it was.
fn held(made: File, path: &Path) -> Option<File> {
    // Where locks are not known, nobody takes it for left behind either.
    let is_ours = !matches!(made.try_lock(), Err(TryLockError::WouldBlock));
    (is_ours && is_at(&made, path)).then_some(made)
}

/// Holds what is at `path`, if this user's program left it that is no more.
pub(crate) fn left(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    (file.try_lock().is_ok() && is_at(&file, path) && is_own(&file)).then_some(file)
}

/// Whether what is open is what has that name.
fn is_at(file: &File, path: &Path) -> bool {
    let (open, named) = (file.metadata(), std::fs::symlink_metadata(path));
    open.is_ok_and(|open| named.is_ok_and(|named| is_one(&open, &named)))
}

#[cfg(unix)]
fn is_one(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_one(a: &Metadata, b: &Metadata) -> bool {
    a.created().ok() == b.created().ok()
}

#[cfg(unix)]
fn is_own(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let own = std::fs::metadata("/proc/self").map(|own| own.uid());
    file.metadata().is_ok_and(|file| own.is_ok_and(|own| own == file.uid()))
}

#[cfg(not(unix))]
fn is_own(_: &File) -> bool {
    true
}

/// Makes a directory that its owner alone may enter.
fn make(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_nobody_holds_is_removed_by_the_next_and_one_that_is_held_stays() {
        let place = tempfile::tempdir().unwrap();
        let scratch = || Scratch::among(place.path(), OURS, |_| {}).unwrap();
        let (living, file) = (scratch(), place.path().join(format!("{OURS}file")));
        // As a killed program leaves it, whatever its number was.
        let dead = place.path().join(format!("{OURS}0123"));
        std::fs::create_dir_all(dead.join("deep")).unwrap();
        std::fs::write(&file, "somebody's").unwrap();
        std::fs::create_dir(place.path().join("another")).unwrap();
        let told = std::cell::RefCell::new(Vec::new());
        let next = Scratch::among(place.path(), OURS, |path| {
            assert!(path.is_dir());
            told.borrow_mut().push(path.to_owned());
        })
        .unwrap();
        assert_eq!(told.into_inner(), std::slice::from_ref(&dead));
        assert!(!dead.exists() && living.path().is_dir() && next.path().is_dir());
        assert!(file.is_file() && place.path().join("another").is_dir());
        let gone = living.path().to_owned();
        drop(living);
        assert!(!gone.exists());
    }

    #[test]
    fn a_link_to_a_directory_of_others_is_not_followed() {
        let (place, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(others.path().join("theirs"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(others.path(), place.path().join(format!("{OURS}link"))).unwrap();
        drop(Scratch::among(place.path(), OURS, |_| {}).unwrap());
        assert!(others.path().join("theirs").exists());
    }
}
