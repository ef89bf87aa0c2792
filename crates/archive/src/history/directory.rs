//! A history in a directory of this machine.

use super::Files;
use super::storage::Storage;
use crate::record_file::{events_beside, packets_beside};
use crate::{clock, reading, whole_file};
use dropline_failure::Failure;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A directory.
#[derive(Debug)]
pub(super) struct Directory(pub(super) PathBuf);

impl Storage for Directory {
    fn named(&self) -> &Path {
        &self.0
    }

    fn files(&self) -> Result<Files, Failure> {
        Files::below(&self.0)
    }

    fn has(&self, file: &str) -> Result<bool, Failure> {
        Ok(self.0.join(file).exists())
    }

    fn read(&self, file: &str, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.0.join(file);
        match reading::file_bytes(&path, most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(why) if why.is_missing() => Ok(None),
            Err(why) => Err(why.of(&path)),
        }
    }

    fn fails_as_one(&self) -> bool {
        false
    }

    /// What it is called where no link is on the way to it, once its directory is made: so it is found when it is read.
    fn named_there(&self, file: &str) -> Result<String, Failure> {
        let path = self.0.join(file);
        let day = path.parent().unwrap_or(&self.0);
        let cannot =
            |why: std::io::Error| Failure::environment(format!("cannot make {}: {why}", day.display()));
        let root = std::fs::canonicalize(&self.0).map_err(cannot)?;
        let there = day.ancestors().find(|above| above.exists()).unwrap_or(&self.0);
        let real = std::fs::canonicalize(there).map_err(cannot)?;
        if !real.starts_with(&root) {
            return Err(leads_out(there, &real, &self.0));
        }
        whole_file::create_directories(day).map_err(cannot)?;
        let real = std::fs::canonicalize(day).map_err(cannot)?;
        let own = path.file_name().map(|own| real.join(own));
        let own = own.as_deref().and_then(|own| own.strip_prefix(&root).ok()).and_then(Path::to_str);
        own.map(str::to_owned).ok_or_else(|| leads_out(day, &real, &self.0))
    }

    fn put(&self, file: &str, bytes: &[u8], packets: &Path, old: Option<&[u8]>) -> Result<(), Failure> {
        let path = self.0.join(file);
        if old.is_some() && self.is_being_written(file) {
            return Err(Failure::environment(format!("another search is writing {}", path.display()))
                .advice("wait for it to end"));
        }
        let cannot = |path: &Path, why: std::io::Error| {
            Failure::environment(format!("cannot write {}: {why}", path.display())).advice(
                "nothing of it was added, and all that was there is as it was: make room, and add it again",
            )
        };
        if packets.is_file() {
            let place = packets_beside(&path);
            let copied = File::open(packets)
                .and_then(|mut from| whole_file::fill(&place, |to| std::io::copy(&mut from, to).map(|_| ())));
            copied.map_err(|why| cannot(&place, why))?;
        }
        whole_file::replace(&path, bytes).map_err(|why| cannot(&path, why))
    }

    fn change(
        &self,
        file: &str,
        change: &mut dyn FnMut() -> Result<Vec<u8>, Failure>,
    ) -> Result<(), Failure> {
        whole_file::change(&self.0.join(file), change)
    }

    fn remove(&self, file: &str) -> Result<bool, Failure> {
        let path = self.0.join(file);
        if self.is_being_written(file) {
            return Ok(false);
        }
        let gone = std::fs::remove_file(&path);
        gone.map_err(|why| Failure::environment(format!("cannot remove {}: {why}", path.display())))?;
        let _ = std::fs::remove_file(packets_beside(&path));
        let _ = std::fs::remove_dir_all(events_beside(&path));
        self.remove_empty(&path);
        Ok(true)
    }

    fn local(&self, file: &str, _bytes: u64) -> Result<PathBuf, Failure> {
        Ok(self.0.join(file))
    }

    fn is_being_written(&self, file: &str) -> bool {
        // Shared: two who ask at once do not take one another for the writer.
        File::open(self.0.join(file))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
    }

    fn size(&self, file: &str) -> Option<u64> {
        let path = self.0.join(file);
        let all = [packets_beside(&path), path];
        Some(all.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|found| found.len()).sum())
    }

    fn remove_left_behind(&self) {
        Files::remove_left_behind(&self.0);
    }
}

impl Directory {
    /// Removes the directories in which a file was the last, but for those of today: a record may just begin there.
    fn remove_empty(&self, file: &Path) {
        let today = clock::day_and_second(&clock::now_utc()).map(|[day, _]| self.0.join(&day));
        let above = file.ancestors().skip(1).take_while(|directory| *directory != self.0);
        for directory in above {
            let is_of_today = today.as_ref().is_none_or(|today| today.starts_with(directory));
            if is_of_today || std::fs::remove_dir(directory).is_err() {
                return;
            }
        }
    }
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
