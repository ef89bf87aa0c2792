//! Flags of the verbs that look at many records.

use super::measuring::smallest_effect;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Find out when a limit moved in the searches of many nights, by how much, and whether that matters.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mkdir nights
  for night in 1 2 3 4 5 6 7 8 9 10; do \\
     dropline search sim:noisy --seed $night -q \\
     --max-trials 60 -o nights/$night.jsonl; \\
     done > nights.txt
  dropline trend nights
  dropline trend nights --fail-if regressed --html page.html

Searches of one target, goal, profile, machine and version of Dropline are a history. A change that comes with \
another kernel, governor, turbo or SMT is marked, and is not a regression.")]
pub(crate) struct TrendArgs {
    /// Records of searches, and directories of them.
    #[arg(required = true, value_name = "DIR|RECORD")]
    pub(crate) records: Vec<PathBuf>,
    #[arg(long, value_name = "RATIO", help = smallest_effect("the level before"))]
    pub(crate) smallest_effect: Option<String>,
    /// Exit with code 1 if a limit got worse, five nights confirm it, and it is not acknowledged.
    #[arg(long, value_name = "WHAT")]
    pub(crate) fail_if: Option<TrendCondition>,
    /// Note in acknowledged.json beside the records that the change with this id is known.
    #[arg(long, value_name = "ID")]
    pub(crate) acknowledge: Vec<String>,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrendCondition {
    /// A limit got worse.
    Regressed,
}
