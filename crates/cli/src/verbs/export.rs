//! `dropline export`.

use super::DONE;
use crate::output as out;
use clap::{Args, ValueEnum};
use dropline_archive::whole_file;
use dropline_distributions::export::ExportedFile;
use dropline_failure::Failure;
use dropline_targets::flowgraph::Events;
use std::io::BufWriter;
use std::path::PathBuf;

/// Write a record in another format.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:hard -o night.jsonl
  dropline export night.jsonl --to csv -o night.csv
  dropline export night.jsonl --to parquet -o night.parquet
  dropline export night.jsonl --to openmetrics -o night.om
  cc -O2 -pthread c/trace/copy.c -o graph
  dropline trial flowgraph:exec:./graph --duration 30s \\
      -o graph.jsonl
  dropline export graph.jsonl --to chrome -o graph.json
  dropline export graph.jsonl --to ctf -o graph.ctf

ui.perfetto.dev shows what --to chrome writes, babeltrace2 reads what --to ctf writes.")]
pub(crate) struct ExportArgs {
    /// Record to write in another format.
    pub(crate) record: PathBuf,
    /// Format to write.
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub(crate) to: ExportFormat,
    /// New file, or new directory of --to ctf [default: what is written goes to stdout].
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// With --to hlog, write one interval for each time slice, to two digits, instead of one for each trial.
    #[arg(long)]
    pub(crate) slices: bool,
    /// With --to hlog, write only this trial [default: those whose load was asked for, else the last].
    #[arg(long, value_name = "N")]
    pub(crate) trial: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A pipeline's events for Perfetto.
    Chrome,
    /// One row for each trial.
    Csv,
    /// A pipeline's events as a trace in a new directory.
    Ctf,
    /// Delays as a log of HdrHistogram.
    Hlog,
    /// Load, loss and delays as metrics.
    Openmetrics,
    /// One row for each trial, each column in its type.
    Parquet,
    /// JSON Schema of a record's lines.
    Schema,
}

pub(crate) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    if args.to != ExportFormat::Hlog {
        if args.slices {
            return Err(Failure::usage("--slices: only --to hlog has intervals in time"));
        }
        if args.trial.is_some() {
            return Err(Failure::usage("--trial: only --to hlog takes some of the trials"));
        }
    }
    let text = match args.to {
        ExportFormat::Chrome => return chrome(args),
        ExportFormat::Ctf => {
            let directory = args.output.as_deref().ok_or_else(|| {
                Failure::usage("--to ctf needs a new directory for the trace").advice("name it: -o DIRECTORY")
            })?;
            events(args)?.ctf(directory)?;
            return Ok(DONE);
        }
        ExportFormat::Csv => held(args)?.csv(),
        ExportFormat::Hlog => {
            let (log, notes) = held(args)?.hdr_log(args.slices, args.trial)?;
            notes.iter().for_each(|note| note!("! {note}"));
            log
        }
        ExportFormat::Openmetrics => held(args)?.openmetrics()?,
        ExportFormat::Parquet => {
            let file = held(args)?.parquet();
            match &args.output {
                Some(path) => whole_file::create_of(path, &file)?,
                None => out::print_bytes(&file)?,
            }
            return Ok(DONE);
        }
        ExportFormat::Schema => {
            ExportedFile::read(&args.record)?;
            dropline_record::schema::line_schema()
        }
    };
    match &args.output {
        Some(path) => whole_file::create_of(path, text.as_bytes())?,
        None => out::print_data(&text)?,
    }
    Ok(DONE)
}

/// The record, and a note of what of it is left out.
fn held(args: &ExportArgs) -> Result<ExportedFile, Failure> {
    let held = ExportedFile::read(&args.record)?;
    held.left_out().iter().for_each(|text| note!("! {text}"));
    Ok(held)
}

/// The events of its last trial, and a note where that may not be the last one.
fn events(args: &ExportArgs) -> Result<Events, Failure> {
    let events = Events::of(&args.record)?;
    events.left_out.iter().for_each(|text| note!("! {text}"));
    Ok(events)
}

fn chrome(args: &ExportArgs) -> Result<u8, Failure> {
    let events = events(args)?;
    match &args.output {
        Some(path) => whole_file::create(path, |file| events.chrome(&mut BufWriter::new(file)))?,
        None => events.chrome(&mut BufWriter::new(out::Heard(std::io::stdout().lock())))?,
    }
    Ok(DONE)
}
