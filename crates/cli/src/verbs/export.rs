//! `dropline export`.

use super::DONE;
use crate::args::{ExportArgs, ExportFormat};
use crate::output as out;
use dropline::keeper::read_record;
use dropline::{Failure, record, report};

pub(crate) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    match args.to {
        ExportFormat::Csv => out::print(&report::csv(&read_record(&args.record)?))?,
        ExportFormat::Schema => {
            read_record(&args.record)?;
            out::print(&record::schema::line_schema())?;
        }
    }
    Ok(DONE)
}
