//! `dropline explain`.

use super::{DONE, style};
use crate::output as out;
use clap::Args;
use dropline_failure::Failure;
use dropline_record::ExplainedLine;
use dropline_verbs::explain::{Explained, explain};
use std::path::PathBuf;

/// Explain where the lost packets of a trial went, why, and what would help.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve --service-time 100us &
  dropline trial udp://127.0.0.1:7007 --load 20kpps \\
      --arrival poisson -o lossy.jsonl
  dropline explain lossy.jsonl

It needs the times of each packet, which trial keeps beside its record (lossy.jsonl.packets), and replays them \
against the target's buffer, service time and pauses.")]
pub(crate) struct ExplainArgs {
    /// Record of a trial.
    pub(crate) file: PathBuf,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let Explained { record, explanation } = explain(&args.file)?;
    if args.json {
        out::print_json(&ExplainedLine {
            explanation,
            target: record.header.target.clone(),
            caveats: record.caveats(),
        })?;
    } else {
        out::print_painted(&dropline_report::explain_text(&record, &explanation, style()))?;
    }
    Ok(DONE)
}
