//! A file that goes with the program that made it: at once, or when the next one starts.
//!
//! A killed program removes nothing. So whoever has made a file holds a lock on it, which the kernel takes back
//! when the program ends, however it ends; a file of ours without a lock is nobody's. Numbers of processes would
//! not tell: in each container they begin anew.

use std::fs::{File, Metadata, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A locked file, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Owned {
    file: File,
    path: PathBuf,
}

/// First part of the names of files that are removed when nobody holds them.
const OURS: &str = "dropline-session-";
/// Names that are tried until one is free.
const TRIES: u32 = 16;

impl Owned {
    /// Makes the file, readable by its owner alone.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        // Where locks are not known, nobody takes it for left behind either.
        let _ = file.try_lock();
        Ok(Self { file, path: path.to_owned() })
    }

    /// The same in memory, where the system has a directory of it, once it is rid of what was left there.
    pub(crate) fn in_memory() -> io::Result<Self> {
        let shared = Path::new("/dev/shm");
        let directory = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        sweep(&directory);
        let mut last = io::ErrorKind::AlreadyExists.into();
        for number in 0..TRIES {
            let name = format!("{OURS}{:016x}", RandomState::new().hash_one(number));
            match Self::create(&directory.join(name)) {
                // Between its making and its lock another program may have swept it away.
                Ok(made) if is_at(&made.file, &made.path) => return Ok(made),
                Ok(_) => {}
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => last = why,
                Err(why) => return Err(why),
            }
        }
        Err(last)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Who has mapped it keeps it; a file that is gone already is no loss.
        if is_at(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Removes what this user's programs left that are no more.
fn sweep(directory: &Path) {
    let user = std::fs::metadata("/proc/self").map(|own| own.uid()).ok();
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(OURS)
            && entry.metadata().is_ok_and(|file| file.is_file() && Some(file.uid()) == user);
        if !ours {
            continue;
        }
        let path = entry.path();
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Whether the open file is the one of that name.
fn is_at(file: &File, path: &Path) -> bool {
    let number = |file: Metadata| (file.dev(), file.ino());
    let (open, named) = (file.metadata().map(number), std::fs::symlink_metadata(path).map(number));
    open.is_ok_and(|open| named.is_ok_and(|named| open == named))
}
