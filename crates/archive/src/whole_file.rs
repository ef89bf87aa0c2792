//! Files that are written whole: whoever reads one sees the old one or the new one, never half of either.

use dropline_failure::Failure;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Writes a file that the user named, in place of one that was there.
///
/// It is written beside that one and renamed, so that a full disk leaves the old one as it was. What is no regular file
/// (a terminal, a pipe) is written to as it is.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes))
        }
        // A name that points elsewhere goes on doing so.
        Ok(_) => std::fs::canonicalize(path).and_then(|path| replace(&path, bytes)),
        Err(_) => replace(path, bytes),
    };
    written.map_err(|why| Failure::environment(format!("cannot write {}: {why}", path.display())))
}

/// Writes a new file that the user named, all of it or nothing, and never in place of another. What is no regular
/// file is written to as it is.
///
/// # Errors
/// If the file exists, or cannot be written.
pub fn create(path: &Path, fill: impl FnOnce(&mut File) -> Result<(), Failure>) -> Result<(), Failure> {
    let cannot = |why: &io::Error| Failure::environment(format!("cannot write {}: {why}", path.display()));
    let is_other = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let mut file =
        OpenOptions::new().write(true).create_new(!is_other).open(path).map_err(|why| match why.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::usage(format!("{} exists already", path.display())).advice("name another: -o FILE")
            }
            _ => cannot(&why),
        })?;
    let filled = fill(&mut file);
    if is_other {
        return filled;
    }
    filled.and_then(|()| file.sync_all().map_err(|why| cannot(&why))).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

/// [`create`] with these bytes.
///
/// # Errors
/// As [`create`].
pub fn create_of(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let cannot = |why| Failure::environment(format!("cannot write {}: {why}", path.display()));
    create(path, |file| file.write_all(bytes).map_err(cannot))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let replaced = File::create_new(&beside)
        .and_then(|mut file| {
            if let Ok(old) = std::fs::metadata(path) {
                file.set_permissions(old.permissions())?;
            }
            file.write_all(bytes).and_then(|()| file.sync_all())
        })
        .and_then(|()| std::fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    replaced
}

/// A name in the same directory that no other process of this machine takes.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let all = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            all.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_page_that_cannot_be_written_leaves_the_old_one_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("page.html");
        write(&page, b"old").unwrap();
        // The place beside it is taken: as on a full disk, nothing can be written there.
        std::fs::create_dir(beside(&page)).unwrap();
        assert_eq!(write(&page, b"new").unwrap_err().exit_code(), 4);
        assert_eq!(std::fs::read(&page).unwrap(), b"old");
        std::fs::remove_dir(beside(&page)).unwrap();
        write(&page, b"new").unwrap();
        assert_eq!(
            (std::fs::read(&page).unwrap(), names(directory.path())),
            (b"new".to_vec(), vec!["page.html".into()])
        );
        assert!(write(&directory.path().join("nowhere/page.html"), b"x").is_err());
    }

    #[test]
    fn a_new_file_takes_the_place_of_none_and_is_whole_or_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new.csv");
        assert!(create(&path, |_| Err(Failure::environment("the disk is full"))).is_err());
        assert!(names(directory.path()).is_empty());
        create_of(&path, b"old").unwrap();
        let again = create_of(&path, b"new").unwrap_err();
        assert!(again.exit_code() == 2 && again.to_string().contains("exists already"), "{again}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(create_of(directory.path(), b"new").unwrap_err().exit_code(), 2);
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_file_is_not_replaced_by_one_and_a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (page, link) = (directory.path().join("page"), directory.path().join("link"));
        std::fs::write(&page, "old").unwrap();
        std::os::unix::fs::symlink(&page, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&page).unwrap(), b"new");
        write(Path::new("/dev/null"), b"x").unwrap();
        create_of(Path::new("/dev/null"), b"x").unwrap();
        let full = create_of(Path::new("/dev/full"), b"x").unwrap_err();
        assert!(full.exit_code() == 4 && full.to_string().contains("No space left"), "{full}");
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
