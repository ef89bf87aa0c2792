//! Where records go: into a file that was named, into a history, into both, or nowhere. One that goes to a store is written here first,
//! and stays here.

use super::DONE;
use crate::args::{FilingArgs, VARIABLE};
use dropline_archive::clock;
use dropline_archive::history::{History, Offered};
use dropline_archive::record_file::Output;
use dropline_failure::{Failure, quoted_path};
use dropline_verbs::history;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Whether a record is not in the store that it shall be in.
static IS_UNFILED: AtomicBool = AtomicBool::new(false);
/// What says so, where nothing else is to be said.
const UNFILED: u8 = 4;

/// How a verb ends that ended with this code.
pub(crate) fn ended(code: u8) -> u8 {
    if code == DONE && IS_UNFILED.load(Ordering::Relaxed) { UNFILED } else { code }
}

/// Where the records of a command go.
pub(crate) struct Filing {
    named: Option<PathBuf>,
    /// The history's directory, or where it is in a store.
    directory: Option<PathBuf>,
    /// What was there before anything was measured.
    before: Option<Seen>,
}

/// A file's size and age, by which it is seen whether it was written to.
type Seen = (u64, SystemTime);

fn seen(path: &Path) -> Option<Seen> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()?))
}

impl Filing {
    /// From `--output`, `--history` and the environment.
    ///
    /// # Errors
    /// If none can be kept there.
    pub(crate) fn of(output: Option<&Path>, filing: &FilingArgs) -> Result<Self, Failure> {
        let keeps_none = output.is_some_and(|path| path.as_os_str() == "-");
        if keeps_none && filing.history.is_some() {
            return Err(Failure::usage(
                "--history files the record, and -o - keeps none: leave one of them out",
            ));
        }
        let directory = filing.history.clone().or_else(of_environment).filter(|_| !keeps_none);
        if let Some(directory) = &directory {
            tell_damage(directory);
        }
        Ok(Self { named: output.map(Path::to_owned), directory, before: None })
    }

    /// The history, made where there is none.
    fn history(&self) -> Result<Option<History>, Failure> {
        self.directory.as_deref().map(history::begun).transpose()
    }

    /// Where the record of measurement `index` of `count` goes. Asked before it is measured: then a history that cannot be
    /// written is told.
    ///
    /// # Errors
    /// If the history has no place for it.
    pub(crate) fn output(&mut self, target: &str, index: u32, count: u32) -> Result<Output, Failure> {
        let output = self.place(target, index, count)?;
        self.before = output.path().and_then(seen);
        Ok(output)
    }

    /// A search that is resumed is kept where it lies.
    pub(crate) fn resumed(&mut self, path: &Path) -> Output {
        self.before = seen(path);
        Output::File(path.to_owned())
    }

    fn place(&self, target: &str, index: u32, count: u32) -> Result<Output, Failure> {
        let path = match (&self.named, self.history()?) {
            (Some(path), _) if path.as_os_str() == "-" => return Ok(Output::Nowhere),
            (Some(path), history) => {
                if let Some(history) = history.filter(|_| !self.is_remote()) {
                    history.place(target)?;
                }
                path.clone()
            }
            (None, Some(history)) if !self.is_remote() => return history.place(target).map(Output::File),
            (None, _) => unnamed(),
        };
        if count == 1 {
            return Ok(Output::File(path));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let extension =
            path.extension().map_or("jsonl".into(), |extension| extension.to_string_lossy().into_owned());
        Ok(Output::File(path.with_file_name(format!("{stem}-{}.{extension}", index + 1))))
    }

    /// Takes what was written into the history, and into that in which it lies. What fails is said: the record is whole
    /// where it was written. Of what was refused (not `done`) nothing is filed unless something was written: what lies there
    /// is another's.
    pub(crate) fn file(&self, written: &Output, done: bool) {
        if let Some(path) = written.path().filter(|path| path.is_file())
            && (done || seen(path) != self.before)
            && let Err(why) = self.filed(path)
        {
            note!("! the record is kept in {}, and was not filed: {why}", path.display());
            if let Some(history) = self.directory.as_deref().filter(|_| self.is_remote()) {
                let [path, history] = [path, history].map(quoted_path);
                note!(
                    "  file it when the store takes it:  dropline history add {path} --unfinished --history {history}"
                );
                IS_UNFILED.store(true, Ordering::Relaxed);
            }
        }
    }

    fn is_remote(&self) -> bool {
        self.directory.as_deref().is_some_and(history::is_remote)
    }

    fn filed(&self, path: &Path) -> Result<(), Failure> {
        let around = history::around(path);
        if let Some(around) = &around {
            around.update()?;
        }
        let Some(history) = self.history()? else { return Ok(()) };
        let real = |history: &History| std::fs::canonicalize(history.named()).ok();
        if !self.is_remote() && around.as_ref().and_then(real) == real(&history) {
            return Ok(());
        }
        for line in history.add(&[Offered::of(path)], true)? {
            match (line.why, line.file) {
                (Some(why), _) => return Err(Failure::environment(why)),
                (None, Some(file)) if self.is_remote() => note!("filed as {}", history.path(&file).display()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The history that is meant: the one that was named, else that of the environment.
///
/// # Errors
/// If there is neither.
pub(crate) fn directory(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let found = named.map(Path::to_owned).or_else(of_environment).ok_or_else(|| {
        Failure::usage("no history is named")
            .advice(format!("name its directory or its address in a store, or set {VARIABLE} to it"))
    })?;
    tell_damage(&found);
    Ok(found)
}

/// Says that an index is damaged: nobody has to do anything.
pub(crate) fn tell_damage(directory: &Path) {
    if let Some(index) = History::damaged_index(directory) {
        note!(
            "! {} is damaged: the records are read instead, and it is made again when the history is next changed",
            index.display()
        );
    }
}

fn of_environment() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A record that nobody named: of this second, and numbered where that is taken.
fn unnamed() -> PathBuf {
    let second = clock::now_compact();
    let others = (2..).map(|number| format!("dropline-{second}-{number}.jsonl"));
    let mut names = std::iter::once(format!("dropline-{second}.jsonl")).chain(others).map(PathBuf::from);
    names.find(|name| !name.exists()).expect("numbers do not end")
}
