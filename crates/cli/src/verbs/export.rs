//! `dropline export`.

use super::DONE;
use crate::args::{ExportArgs, ExportFormat};
use crate::output as out;
use dropline_archive::whole_file;
use dropline_distributions::export::Held;
use dropline_failure::Failure;
use dropline_targets::flowgraph::Events;
use std::io::BufWriter;

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
        ExportFormat::Schema => {
            Held::read(&args.record)?;
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
fn held(args: &ExportArgs) -> Result<Held, Failure> {
    let held = Held::read(&args.record)?;
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
