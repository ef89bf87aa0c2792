//! `dropline export`.

use super::DONE;
use crate::args::{ExportArgs, ExportFormat};
use crate::output as out;
use dropline::exporting::{self, Held};
use dropline::flowgraph::Events;
use dropline::{Failure, record};
use std::fs::File;
use std::io::BufWriter;

pub(crate) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    if args.slices && args.to != ExportFormat::Hlog {
        return Err(Failure::usage("--slices: only --to hlog has intervals in time"));
    }
    let text = match args.to {
        ExportFormat::Chrome => return chrome(args),
        ExportFormat::Ctf => {
            let directory = args.output.as_deref().ok_or_else(|| {
                Failure::usage("--to ctf needs a new directory for the trace").advice("name it: -o DIRECTORY")
            })?;
            Events::of(&args.record)?.ctf(directory)?;
            return Ok(DONE);
        }
        ExportFormat::Csv => Held::read(&args.record)?.csv(),
        ExportFormat::Hlog => {
            let (log, left_out) = Held::read(&args.record)?.hdr_log(args.slices)?;
            if left_out > 0 {
                note!("! {left_out} events below zero or of unknown length have no place in such a log");
            }
            log
        }
        ExportFormat::Openmetrics => Held::read(&args.record)?.openmetrics()?,
        ExportFormat::Schema => {
            Held::read(&args.record)?;
            record::schema::line_schema()
        }
    };
    match &args.output {
        Some(path) => exporting::keep(path, &text)?,
        None => out::print_data(&text)?,
    }
    Ok(DONE)
}

fn chrome(args: &ExportArgs) -> Result<u8, Failure> {
    let events = Events::of(&args.record)?;
    match &args.output {
        Some(path) => {
            let file = File::create_new(path).map_err(|why| {
                Failure::environment(format!("{} cannot be written: {why}", path.display()))
            })?;
            events.chrome(&mut BufWriter::new(file))?;
        }
        None => events.chrome(&mut BufWriter::new(out::Heard(std::io::stdout().lock())))?,
    }
    Ok(DONE)
}
