//! `dropline explain`.

use super::{DONE, style_of};
use crate::args::ToldArgs;
use crate::output as out;
use clap::Args;
use dropline_failure::Failure;
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
    /// Record of a trial, or of a search: its lowest load that lost packets is explained.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) told: ToldArgs,
    /// Also write the explanation as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let Explained { record, line } = explain(&args.file)?;
    if let Some(path) = &args.html {
        let mut shown = record.clone();
        shown.trials.retain(|trial| trial.number == line.trial);
        out::draw(path, dropline_report::explained_html(&shown, &line.explanation))?;
        if !args.json {
            note!("page  {}", path.display());
        }
    }
    if args.json {
        out::print_json(&line)?;
    } else {
        out::print_painted(&dropline_report::explain_text(&record, &line, style_of(args.told)))?;
    }
    Ok(DONE)
}
