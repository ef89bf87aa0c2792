//! `dropline import`.

use super::DONE;
use crate::args::{ImportArgs, SourceArgs};
use crate::output as out;
use dropline_archive::record_file;
use dropline_distributions::import::{Format, Hints, Imported};
use dropline_distributions::{export, import};
use dropline_failure::Failure;
use dropline_printable::printable;
use dropline_trial::number_of;
use std::path::Path;

pub(crate) fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let (format, imported) = read(&args.file, &args.source)?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    record_file::write_new(&args.output, &export::lines(&name, format, &imported))?;
    for part in &imported {
        let what = if part.name.is_empty() {
            String::new()
        } else {
            format!("{}: ", printable(&part.name).replace('\n', " "))
        };
        out::print(&format!(
            "{what}{}  {}",
            number_of(part.counted.count(), "event"),
            args.output.display()
        ))?;
        part.notes.iter().for_each(|note| note!("! {note}"));
    }
    Ok(DONE)
}

/// Every distribution of a file, with progress on stderr.
pub(crate) fn read(path: &Path, source: &SourceArgs) -> Result<(Format, Vec<Imported>), Failure> {
    import::read(path, &hints(source), &mut |at| note!("{at}"))
}

/// Refuses what says how a file is read where none is: of measured turns, of searches.
pub(crate) fn no_hints(source: &SourceArgs, what: &str) -> Result<(), Failure> {
    if hints(source) == Hints::default() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--from, --unit, --column, --trial and --only say how two files of delays are read, and {what} is none: leave them out"
    )))
}

pub(crate) fn hints(source: &SourceArgs) -> Hints {
    Hints {
        format: source.from,
        unit_ns: source.unit.map(|(_, ns)| ns),
        columns: source.column.clone(),
        trial: source.trial,
        only: source.only.clone(),
    }
}
