//! `replay:` targets: stored trials answered again.

use super::{Kind, Scheme};
use dropline_archive::reading::STDIN;
use dropline_archive::record_file::read_record;
use dropline_failure::Failure;
use dropline_record::Record;
use dropline_trial::{LoadRange, Measurer, Rate, Trial, TrialInput};
use std::collections::VecDeque;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// Its row in the table of targets.
pub(super) const SCHEME: Scheme = Scheme {
    prefix: "replay:",
    forms: &[(
        "replay:RECORD",
        "stored trials answered again; what a search is not told, it takes from the record",
    )],
    parse: |rest| Ok(Kind::Replay { path: rest.into() }),
};

/// A record whose trials are answered again, in their order, each once.
pub struct Replay {
    trials: VecDeque<Trial>,
    /// Number of the next answer.
    next: u64,
}

impl Replay {
    /// Reads the record; the first answer is the trial of this number.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path, first: u64) -> Result<Self, Failure> {
        let record = read_record(path)?;
        let trials = record.trials.iter().map(|line| line.trial()).collect::<Result<_, _>>();
        let trials = trials.map_err(|why| Failure::environment(format!("{}: {why}", path.display())))?;
        Ok(Self { trials, next: first })
    }

    /// The record, to learn what was asked for. A pipe can be read but once, and is not read for it.
    pub(super) fn record(path: &Path) -> Option<Record> {
        let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
        is_file.then(|| read_record(path).ok()).flatten()
    }

    /// Why there is no such record; a pipe is not read to learn it.
    pub(super) fn unreadable(path: &Path) -> Option<Failure> {
        let is_pipe = path.as_os_str() == STDIN
            || std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
        if is_pipe { None } else { read_record(path).err() }
    }

    /// The loads that the record's search was to use.
    pub(super) fn range(path: &Path) -> Option<LoadRange> {
        let search = Self::record(path)?.header.search?;
        let [min, max] = [search.min_load_pps, search.max_load_pps].map(Rate::pps);
        LoadRange::new(min.ok()?, max.ok()?).ok()
    }
}

impl Measurer for Replay {
    type Error = Failure;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, Failure> {
        let found = self.trials.iter().position(|trial| trial.input == input);
        let trial = found.and_then(|index| self.trials.remove(index)).ok_or_else(|| {
            let seconds = input.duration.as_secs_f64();
            Failure::environment(format!("the record has no further trial of {seconds} s at {}", input.load))
                .advice("replay with the goals, algorithm and load range that the record was made with")
        })?;
        let number = self.next;
        self.next += 1;
        Ok(Trial { number, ..trial })
    }
}
