//! `dropline report`.

use super::{DONE, style};
use crate::args::ReportArgs;
use crate::output as out;
use dropline_archive::record_file::read_record;
use dropline_failure::Failure;
use dropline_record::Record;
use dropline_verbs::explain::explanation_of;
use std::path::Path;

pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let mut records: Vec<Record> =
        args.files.iter().map(|path| read_record(path)).collect::<Result<_, _>>()?;
    let explanation = match records.as_mut_slice() {
        [record] => explanation_of(&args.files[0], record),
        _ => None,
    };
    let mut written = false;
    if let Some(path) = &args.html {
        let path = path.clone().unwrap_or_else(|| args.files[0].with_extension("html"));
        let page = match &explanation {
            Some(found) => dropline_report::explained_html(&records[0], found),
            None => dropline_report::html(&records),
        };
        out::draw(&path, &page)?;
        out::print(&format!("page  {}", path.display()))?;
        written = true;
    }
    if let Some(directory) = &args.svg {
        let explained = explanation.iter().flat_map(dropline_report::explained_svgs);
        draw_svgs(directory, dropline_report::svgs(&records).into_iter().chain(explained))?;
        written = true;
    }
    match records.as_slice() {
        [record] if args.json => out::print_json(&dropline_report::object(record))?,
        records if args.json => {
            out::print_json(&records.iter().map(dropline_report::object).collect::<Vec<_>>())?
        }
        records if args.line => {
            let lines: Vec<String> = records.iter().map(dropline_report::line).collect();
            out::print(&lines.join("\n"))?
        }
        records if args.markdown => out::print(&dropline_report::markdown(records))?,
        _ if written => {}
        [record] => out::print_painted(&dropline_report::text(record, style()))?,
        records => out::print_painted(&dropline_report::text_many(records, style()))?,
    }
    Ok(DONE)
}

/// Draws plots into a directory, which is made where it is missing, and is not left behind without one.
fn draw_svgs(directory: &Path, svgs: impl Iterator<Item = (String, String)>) -> Result<(), Failure> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    let made = std::fs::create_dir_all(directory)
        .map_err(|why| Failure::environment(format!("cannot create {}: {why}", directory.display())));
    let drawn = made.and_then(|()| {
        let mut svgs = svgs.peekable();
        if svgs.peek().is_none() {
            return Err(Failure::environment(
                "there is nothing to draw: the trials hold no packets, delays or losses",
            ));
        }
        for (name, svg) in svgs {
            let path = directory.join(name);
            out::draw(&path, &svg)?;
            out::print(&format!("plot  {}", path.display()))?;
        }
        Ok(())
    });
    drawn.inspect_err(|_| {
        // One in which a plot is stays.
        missing.iter().for_each(|path| drop(std::fs::remove_dir(path)));
    })
}
