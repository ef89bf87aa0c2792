//! Searches as tests ask for them: planned by words, kept in a file of their own.

// Each test file uses its part of this.
#![allow(dead_code)]

use dropline_archive::record_file::Output;
use dropline_failure::Failure;
use dropline_sim::default_range;
use dropline_targets::Target;
use dropline_verbs::goals::{WrittenGoal, within};
use dropline_verbs::observer::Unwatched;
use dropline_verbs::plan::{AlgorithmPlan, SearchPlan};
use dropline_verbs::search::{Conditions, Finished};
use std::path::{Path, PathBuf};

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

pub(crate) fn resume(plan: &SearchPlan, path: &Path) -> Result<Finished, Failure> {
    dropline_verbs::search::resume(plan, path, &conditions(), &mut Unwatched)
}

/// A directory, and a file in it that is not there yet.
pub(crate) fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("record.jsonl");
    (directory, path)
}
