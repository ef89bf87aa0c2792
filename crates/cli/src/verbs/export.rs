//! `dropline export`.

use super::DONE;
use crate::args::{ExportArgs, ExportFormat};
use crate::output as out;
use dropline::import::{Format, Hints, Imported};
use dropline::keeper::read_record;
use dropline::{Failure, exporting, import, record, report};

pub(crate) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    match args.to {
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

fn distributions(args: &ExportArgs) -> Result<Vec<Imported>, Failure> {
    let hints = Hints { format: Some(Format::Record), unit_ns: None };
    Ok(import::read(&args.record, hints, &mut |at| eprintln!("{at}"))?.1)
}

/// Whether a record is one of `import`.
fn holds_distributions(args: &ExportArgs) -> Result<bool, Failure> {
    import::is_import(&args.record)
}
