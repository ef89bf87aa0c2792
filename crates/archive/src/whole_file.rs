//! Files that are written whole: whoever reads one sees the old one or the new one, never half of either.

use crate::reading::Waiting;
use crate::temporary;
use dropline_failure::Failure;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Whether a page or a plot may be drawn there: over one that was drawn before, which begins with `mark`, over a file
/// without content, and over nothing else that exists. Asked before anything is measured for it.
///
/// # Errors
/// If another file is there, or it is no place for one.
pub fn may_draw(path: &Path, mark: &str) -> Result<(), Failure> {
    let Ok(found) = std::fs::metadata(path) else { return has_place(path) };
    if found.is_dir() {
        return Err(Failure::usage(format!("{} is a directory", path.display())).advice("name a file in it"));
    }
    if !found.is_file() {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_MARK).read_to_end(&mut head));
    let begins = match head.starts_with(PICTURE) {
        // It stands in a comment behind the picture's size.
        true => head.windows(mark.len().max(1)).any(|part| part == mark.as_bytes()),
        false => head.strip_prefix(DOCTYPE).unwrap_or(&head).starts_with(mark.as_bytes()),
    };
    match read {
        Ok(_) if begins || found.len() == 0 => Ok(()),
        _ => Err(Failure::usage(format!(
            "{} exists already and is not a page or plot of dropline's: it is not written over",
            path.display()
        ))
        .advice("name another file, or move this one away")),
    }
}

/// Writes a page or a plot that the user named, where it [`may_draw`] one.
///
/// It is written beside the old one and renamed, so that a full disk leaves that as it was. What is no regular file
/// (a terminal, a pipe) is written to as it is.
///
/// # Errors
/// If another file is there, or it cannot be written.
pub fn draw(path: &Path, bytes: &[u8], mark: &str) -> Result<(), Failure> {
    may_draw(path, mark)?;
    let written = match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes))
        }
        // A name that points elsewhere goes on doing so.
        Ok(_) => std::fs::canonicalize(path).and_then(|path| replace(&path, bytes)),
        Err(_) => return create_of(path, bytes),
    };
    written.map_err(|why| Failure::environment(format!("cannot write {}: {why}", path.display())))
}

/// Whether a new file may be made there: asked before anything is measured for it.
///
/// # Errors
/// If there is one, or none can be made in its directory.
pub fn may_create(path: &Path) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() || found.is_dir() => Err(exists_already(path)),
        Ok(_) => Ok(()),
        Err(_) => has_place(path),
    }
}

/// What a page begins with, before its mark.
const DOCTYPE: &[u8] = b"<!DOCTYPE html>";
/// What a PNG begins with.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// No doctype and mark together are longer, and no picture's head with its comment.
const LONGEST_MARK: u64 = 128;

/// Whether a file can be made in its directory, by making one.
fn has_place(path: &Path) -> Result<(), Failure> {
    let made = beside(path).and_then(|(_held, tried)| std::fs::remove_file(&tried));
    made.map_err(|why| {
        let why = match (why.kind(), path.parent()) {
            (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Some(parent)) if !parent.is_dir() => {
                format!("there is no directory {}", parent.display())
            }
            _ => why.to_string(),
        };
        Failure::environment(format!("cannot write {}: {why}", path.display()))
    })
}

fn exists_already(path: &Path) -> Failure {
    Failure::usage(format!("{} exists already", path.display()))
        .advice("it is not written over: name another file, or move this one away")
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
            io::ErrorKind::AlreadyExists => exists_already(path),
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

/// Changes a file that is ours to what `change` makes of it, which reads it. Whoever else changes it waits meanwhile, and
/// whoever reads it sees one or the other.
///
/// # Errors
/// If it cannot be locked or written, or `change` refuses.
pub fn change(path: &Path, change: impl FnOnce() -> Result<Vec<u8>, Failure>) -> Result<(), Failure> {
    let cannot = |why: io::Error| Failure::environment(format!("cannot write {}: {why}", path.display()));
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(lock_beside(path))
        .map_err(cannot)?;
    wait_for(&lock, path)?;
    let bytes = change()?;
    // What is so already needs no room.
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    replace(path, &bytes).map_err(cannot)
}

/// So long it is waited for another program that changes the same file: one that was stopped would hold it for ever.
const WAITED: Duration = Duration::from_secs(60);

/// From then on it is told, and a signal ends the program: what it would change here can be made again.
const LONG: Duration = Duration::from_secs(2);

fn wait_for(lock: &File, path: &Path) -> Result<(), Failure> {
    let began = Instant::now();
    let mut waiting = None;
    loop {
        if began.elapsed() > LONG && waiting.is_none() {
            waiting = Some(Waiting::told(&format!(
                "{} is held by another program: waiting for it, a minute at most; Ctrl-C ends that, and what was measured is kept",
                path.display()
            )));
        }
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if began.elapsed() < WAITED => sleep(Duration::from_millis(20)),
            Err(TryLockError::WouldBlock) => {
                let said = format!("{} has been held by another program for a minute", path.display());
                return Err(Failure::environment(said).advice(
                    "it may have been stopped: let it go on or end it. The index of a history can be made again at any time:  dropline history \
                     index DIR",
                ));
            }
            Err(TryLockError::Error(why)) => {
                return Err(Failure::environment(format!("cannot write {}: {why}", path.display())));
            }
        }
    }
}

/// It stays: were it removed, one who waits for it would hold another than one who comes then.
pub(crate) fn lock_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lock"))
}

pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fill(path, |file| file.write_all(bytes))
}

/// Puts a file in place of another one, or where there was none, with what `fill` writes: it is there to stay before the
/// old one is gone.
pub(crate) fn fill(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (mut file, beside) = beside(path)?;
    let filled = match std::fs::metadata(path) {
        Ok(old) => file.set_permissions(old.permissions()),
        Err(_) => Ok(()),
    };
    let filled = filled.and_then(|()| fill(&mut file)).and_then(|()| file.sync_all());
    let replaced = filled.and_then(|()| std::fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    replaced.and_then(|()| sync_directory_of(path))
}

/// Makes a directory with those above it, each to stay.
///
/// # Errors
/// If one cannot be made.
pub fn create_directories(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(above) = directory.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_directories(above)?;
    }
    match std::fs::create_dir(directory) {
        // Another program made it meanwhile.
        Err(_) if directory.is_dir() => Ok(()),
        made => made.and_then(|()| sync_directory_of(directory)),
    }
}

/// A new file's name outlives a loss of power only with its directory.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// A new file in the same directory, held while it is open. One that a killed program left there is gone then.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    for number in 0..temporary::TRIES {
        let beside = name_beside(path, number);
        if let Some(file) = temporary::create(&beside)? {
            return Ok((file, beside));
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn name_beside(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{number}.new"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "<!-- ours -->";
    const OLD: &str = "<!DOCTYPE html><!-- ours --><p>old";

    #[test]
    fn changes_of_several_at_once_are_all_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list");
        let add = |number: u8| {
            change(&path, || {
                let mut bytes = std::fs::read(&path).unwrap_or_default();
                bytes.push(number);
                Ok(bytes)
            })
            .unwrap();
        };
        std::thread::scope(|scope| {
            for number in 0..8 {
                std::thread::Builder::new().spawn_scoped(scope, move || add(number)).unwrap();
            }
        });
        let mut kept = std::fs::read(&path).unwrap();
        kept.sort_unstable();
        assert_eq!(kept, [0, 1, 2, 3, 4, 5, 6, 7]);
        let refused = change(&path, || Err(Failure::usage("no")));
        assert!(refused.is_err() && std::fs::read(&path).unwrap().len() == 8);
    }

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
        draw(&page, OLD.as_bytes(), MARK).unwrap();
        // The place beside it is taken: as on a full disk, nothing can be written there.
        let taken: Vec<PathBuf> = (0..temporary::TRIES).map(|number| name_beside(&page, number)).collect();
        taken.iter().for_each(|place| std::fs::create_dir(place).unwrap());
        assert_eq!(draw(&page, b"new", MARK).unwrap_err().exit_code(), 4);
        assert_eq!(std::fs::read_to_string(&page).unwrap(), OLD);
        taken.iter().for_each(|place| std::fs::remove_dir(place).unwrap());
        draw(&page, b"new", MARK).unwrap();
        assert_eq!(
            (std::fs::read(&page).unwrap(), names(directory.path())),
            (b"new".to_vec(), vec!["page.html".into()])
        );
        let nowhere = directory.path().join("nowhere/page.html");
        assert!(draw(&nowhere, b"x", MARK).unwrap_err().to_string().contains("there is no directory"));
    }

    #[test]
    fn what_a_killed_program_left_beside_a_page_is_gone_with_the_next_and_what_a_living_one_writes_stays() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("page.html");
        std::fs::write(&page, OLD).unwrap();
        // Whatever its number was: in a container it is the same each time.
        std::fs::write(name_beside(&page, 0), "half of a pa").unwrap();
        std::fs::write(name_beside(&page, 1), "half of a pa").unwrap();
        may_create(&directory.path().join("other")).unwrap();
        let (living, theirs) = beside(&page).unwrap();
        draw(&page, b"new", MARK).unwrap();
        assert_eq!(names(directory.path()), [theirs.file_name().unwrap().to_str().unwrap(), "page.html"]);
        assert_eq!(std::fs::read(&page).unwrap(), b"new");
        drop(living);
    }

    #[test]
    fn what_is_drawn_takes_the_place_of_what_was_drawn_and_of_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        for there in ["{\"schema\":\"dropline-1\"}", "<!DOCTYPE html><p>mine <!-- ours -->", "#!/bin/sh\n"] {
            std::fs::write(&file, there).unwrap();
            let refused = draw(&file, b"new", MARK).unwrap_err();
            assert!(
                refused.exit_code() == 2 && refused.to_string().contains("not written over"),
                "{refused}"
            );
            assert_eq!(std::fs::read_to_string(&file).unwrap(), there);
        }
        for there in ["", OLD, "<!-- ours --><svg"] {
            std::fs::write(&file, there).unwrap();
            draw(&file, b"new", MARK).unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), b"new");
        }
        assert_eq!(draw(directory.path(), b"new", MARK).unwrap_err().exit_code(), 2);
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
        std::fs::write(&page, OLD).unwrap();
        std::os::unix::fs::symlink(&page, &link).unwrap();
        draw(&link, b"new", MARK).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&page).unwrap(), b"new");
        draw(Path::new("/dev/null"), b"x", MARK).unwrap();
        create_of(Path::new("/dev/null"), b"x").unwrap();
        let full = create_of(Path::new("/dev/full"), b"x").unwrap_err();
        assert!(full.exit_code() == 4 && full.to_string().contains("No space left"), "{full}");
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
