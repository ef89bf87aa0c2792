//! `dropline import`.

use super::DONE;
use crate::args::{ImportArgs, SourceArgs};
use crate::output as out;
use dropline_archive::record_file;
use dropline_distributions::import::{Format, Hints, Imported};
use dropline_distributions::{export, import};
use dropline_failure::{Failure, nearest};
use dropline_printable::printable;
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
        out::print(&format!("{what}{} events  {}", part.counted.count(), args.output.display()))?;
        part.notes.iter().for_each(|note| note!("! {}", printable(note)));
    }
    Ok(DONE)
}

/// Every distribution of a file, with progress on stderr.
pub(crate) fn read(path: &Path, source: &SourceArgs) -> Result<(Format, Vec<Imported>), Failure> {
    let format = source.from.as_deref().map(format).transpose()?;
    let unit_ns = source.unit.as_deref().map(unit).transpose()?;
    let hints = Hints { format, unit_ns, columns: source.column.clone(), trial: source.trial };
    import::read(path, &hints, &mut |at| note!("{at}"))
}

fn format(word: &str) -> Result<Format, Failure> {
    let words: Vec<&str> = Format::all().map(Format::word).collect();
    Format::named(word).ok_or_else(|| {
        Failure::usage(format!("--from: there is no format {word:?}{}", nearest(word, &words)))
            .advice(format!("there are {}", words.join(", ")))
    })
}

fn unit(word: &str) -> Result<u64, Failure> {
    let known = import::UNITS.iter().find(|(known, _)| *known == word).map(|(_, ns)| *ns);
    known.ok_or_else(|| Failure::usage(format!("--unit {word}: the units are ns, us, ms and s")))
}
