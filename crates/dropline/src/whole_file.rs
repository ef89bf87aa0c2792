//! Files that are written whole: whoever reads one sees the old one or the new one, never half of either.

use crate::Failure;
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
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
