//! The files below a directory that may be records.

use super::INDEX;
use crate::temporary;
use dropline_failure::Failure;
use dropline_record::LeftOutLine;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::Path;

/// How the name of a record ends.
const ENDING: &str = ".jsonl";

/// The files below a directory that may be records, and what is passed over there.
#[derive(Debug, Default)]
pub struct Files {
    /// Their sizes by name, from the directory on.
    pub all: BTreeMap<String, u64>,
    /// What looks like records, and is not read.
    pub left_out: Vec<LeftOutLine>,
    /// Directories that cannot be read.
    pub closed: Vec<String>,
}

impl Files {
    /// Those of a directory and of all below it, each where it lies: a link to a directory that is itself below is passed over,
    /// and one that leads out is left out, as is one that cannot be read.
    ///
    /// # Errors
    /// If the directory itself cannot be read.
    pub fn below(directory: &Path) -> Result<Self, Failure> {
        let mut files = Self::default();
        walk(directory, &mut |name, found| match found {
            Found::File(found) => files.take(name, found.len()),
            Found::Unread(why) => files.leave_out(name, why),
            Found::Closed(why) => {
                files.leave_out(name, &format!("the directory cannot be read: {why}"));
                files.closed.push(name.to_owned());
            }
        })?;
        Ok(files)
    }

    /// Takes in a file of this size, if it may be a record. A store has names that no directory has: these are left out.
    pub(super) fn take(&mut self, name: &str, bytes: u64) {
        if name == INDEX || !is_like_record(name) {
            return;
        }
        if !name.ends_with(ENDING) {
            self.leave_out(name, "its name does not end in .jsonl");
        } else if name.split('/').any(|part| part.is_empty() || part == "." || part == "..")
            || name.contains('\0')
        {
            self.leave_out(name, "its name is not that of a file");
        } else {
            self.all.insert(name.to_owned(), bytes);
        }
    }

    /// Leaves those out that nobody would read.
    pub(super) fn leave_out_larger_than(&mut self, most: u64) {
        let is_larger = |(name, bytes): (&String, &u64)| (*bytes > most).then(|| name.clone());
        let larger: Vec<String> = self.all.iter().filter_map(is_larger).collect();
        for name in larger {
            self.all.remove(&name);
            self.leave_out(&name, "it is larger than a record can be");
        }
    }

    fn leave_out(&mut self, name: &str, why: &str) {
        self.left_out.push(LeftOutLine { source: name.to_owned(), why: why.to_owned() });
    }

    /// Removes what killed programs were writing when they were.
    pub(super) fn remove_left_behind(directory: &Path) {
        walk(directory, &mut |name, found| {
            let path = directory.join(name);
            let is_beside =
                name.rsplit('/').next().is_some_and(|own| own.starts_with('.') && own.ends_with(".new"));
            if matches!(found, Found::File(_))
                && is_beside
                && let Some(_lock) = temporary::left(&path)
            {
                let _ = std::fs::remove_file(&path);
            }
        })
        .unwrap_or_default();
    }
}

/// What has a name.
enum Found {
    /// A file, or a link to one.
    File(Metadata),
    /// Something else that looks as if there were records, and why it is not read.
    Unread(&'static str),
    /// A directory that cannot be read.
    Closed(io::Error),
}

fn is_like_record(name: &str) -> bool {
    name.len() > ENDING.len()
        && name.as_bytes()[name.len() - ENDING.len()..].eq_ignore_ascii_case(ENDING.as_bytes())
}

fn walk(directory: &Path, each: &mut dyn FnMut(&str, Found)) -> Result<(), Failure> {
    let root = std::fs::canonicalize(directory).map_err(|why| cannot(directory, &why))?;
    below(&root, directory, "", each).map_err(|why| cannot(directory, &why))
}

fn cannot(directory: &Path, why: &io::Error) -> Failure {
    Failure::environment(format!("cannot read {}: {why}", directory.display()))
}

/// Fails only where the directory itself cannot be read.
fn below(root: &Path, directory: &Path, prefix: &str, each: &mut dyn FnMut(&str, Found)) -> io::Result<()> {
    for entry in directory.read_dir()? {
        let entry = entry?;
        // What was removed meanwhile is not there.
        let Ok(kind) = entry.file_type() else { continue };
        let own = entry.file_name();
        let name = format!("{prefix}{}", own.to_string_lossy());
        let found = std::fs::metadata(entry.path());
        let is_directory = found.as_ref().is_ok_and(Metadata::is_dir);
        if own.to_str().is_none() {
            if is_directory || is_like_record(&name) {
                each(&name, Found::Unread("its name is not text in UTF-8"));
            }
        } else if kind.is_dir() {
            match below(root, &entry.path(), &format!("{name}/"), each) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => each(&name, Found::Closed(why)),
                _ => {}
            }
        } else if is_directory {
            if !std::fs::canonicalize(entry.path()).is_ok_and(|real| real.starts_with(root)) {
                each(
                    &name,
                    Found::Unread("it is a link to a directory elsewhere, and what lies there is not read"),
                );
            }
        } else {
            match found {
                Ok(found) if found.is_file() => each(&name, Found::File(found)),
                Ok(_) if is_like_record(&name) => each(&name, Found::Unread("it is not a file")),
                Err(_) if kind.is_symlink() && is_like_record(&name) => {
                    each(&name, Found::Unread("it is a link to what is not there"));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
