//! `dropline export`.

use super::DONE;
use crate::args::{ExportArgs, ExportFormat};
use crate::output as out;
use dropline::flowgraph::Events;
use dropline::import::{Format, Hints, Imported};
use dropline::keeper::read_record;
use dropline::{Failure, exporting, import, record, report};
use std::fs::File;
use std::io::BufWriter;

pub(crate) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    if args.output.is_some() && !matches!(args.to, ExportFormat::Chrome | ExportFormat::Ctf) {
        return Err(Failure::usage("--output: this format goes to stdout, as  dropline export … > FILE"));
    }
    match args.to {
        ExportFormat::Chrome => chrome(args)?,
        ExportFormat::Ctf => {
            let directory = args.output.as_deref().ok_or_else(|| {
                Failure::usage("--to ctf needs a new directory for the trace").advice("name it: -o DIRECTORY")
            })?;
            Events::of(&args.record)?.ctf(directory)?;
        }
        ExportFormat::Csv if holds_distributions(args)? => {
            out::print(&exporting::csv(&distributions(args)?))?
        }
        ExportFormat::Csv => out::print(&report::csv(&read_record(&args.record)?))?,
        ExportFormat::Hlog => {
            let (log, left_out) = exporting::hdr_log(&distributions(args)?);
            out::print(&log)?;
            if left_out > 0 {
                eprintln!("! {left_out} events below zero or of unknown length have no place in such a log");
            }
        }
        ExportFormat::Openmetrics => out::print(&exporting::openmetrics(&distributions(args)?))?,
        ExportFormat::Schema => {
            if !holds_distributions(args)? {
                read_record(&args.record)?;
            }
            out::print(&record::schema::line_schema())?;
        }
    }
    Ok(DONE)
}

fn chrome(args: &ExportArgs) -> Result<(), Failure> {
    let events = Events::of(&args.record)?;
    let Some(path) = &args.output else {
        return events.chrome(&mut BufWriter::new(std::io::stdout().lock()));
    };
    let file = File::create_new(path)
        .map_err(|why| Failure::environment(format!("{} cannot be written: {why}", path.display())))?;
    events.chrome(&mut BufWriter::new(file))
}

fn distributions(args: &ExportArgs) -> Result<Vec<Imported>, Failure> {
    let hints = Hints { format: Some(Format::Record), unit_ns: None };
    Ok(import::read(&args.record, hints, &mut |at| eprintln!("{at}"))?.1)
}

/// Whether a record is one of `import`.
fn holds_distributions(args: &ExportArgs) -> Result<bool, Failure> {
    import::is_import(&args.record)
}
