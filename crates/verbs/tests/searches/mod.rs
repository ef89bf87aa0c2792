//! Searches as tests ask for them: planned by words, kept in a file of their own.

// Each test file uses its part of this.
#![allow(dead_code)]

use dropline_archive::record_file::{Output, read_record};
use dropline_failure::Failure;
use dropline_record::Record;
use dropline_search::Limits;
use dropline_sim::default_range;
use dropline_targets::Target;
use dropline_verbs::goals::{WrittenGoal, within};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search::{Conditions, Finished};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn plan(target: &str, algorithm: &str, goals: &[&str]) -> SearchPlan {
    let algorithm = AlgorithmPlan::parse(algorithm).unwrap();
    let written: Vec<_> = goals.iter().map(|goal| WrittenGoal::parse(goal).unwrap()).collect();
    let goals = written.iter().map(|goal| goal.resolve(algorithm).unwrap()).collect();
    let plan = SearchPlan::of(Target::parse(target).unwrap(), algorithm, goals, default_range());
    SearchPlan { within: within(&written).unwrap(), ..plan }
}

pub(crate) fn conditions() -> Conditions {
    Conditions { command_line: vec!["dropline".into()], ..Conditions::default() }
}

pub(crate) fn search_into(plan: &SearchPlan, output: &Output) -> Finished {
    dropline_verbs::search::search(plan, output, &conditions(), &mut Unwatched).unwrap()
}

pub(crate) fn search(plan: &SearchPlan, path: &Path) -> Finished {
    search_into(plan, &Output::File(path.to_owned()))
}

/// Its record.
pub(crate) fn recorded(plan: &SearchPlan, path: &Path) -> Record {
    search(plan, path).record
}

pub(crate) fn resume(plan: &SearchPlan, path: &Path) -> Result<Finished, Failure> {
    dropline_verbs::search::resume(plan, path, &conditions(), &mut Unwatched)
}

/// As `--resume FILE` resumes it, perhaps with other limits.
pub(crate) fn resumed(path: &Path, limits: Option<Limits>) -> Record {
    let plan = SearchPlan::of_record(&read_record(path).unwrap(), path).unwrap();
    let finished = resume(&SearchPlan { limits: limits.unwrap_or(plan.limits), ..plan }, path).unwrap();
    assert!(finished.failure.is_none(), "{:?}", finished.failure);
    finished.record
}

pub(crate) fn seconds(budget: u64) -> Limits {
    Limits { budget: Some(Duration::from_secs(budget)), max_trials: None }
}

/// A directory, and a file in it that is not there yet.
pub(crate) fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("record.jsonl");
    (directory, path)
}
