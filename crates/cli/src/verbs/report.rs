//! `dropline report`.

use super::{DONE, style};
use crate::args::ReportArgs;
use crate::output as out;
use dropline::explaining::explanation_of;
use dropline::keeper::read_record;
use dropline::record::Record;
use dropline::{Failure, report};

pub(crate) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let records: Vec<Record> = args.files.iter().map(|path| read_record(path)).collect::<Result<_, _>>()?;
    let explanation = match records.as_slice() {
        [record] => explanation_of(&args.files[0], record),
        _ => None,
    };
    let mut written = false;
    if let Some(path) = &args.html {
        let path = path.clone().unwrap_or_else(|| args.files[0].with_extension("html"));
        let page = match &explanation {
            Some(found) => report::explained_html(&records[0], found),
            None => report::html(&records),
        };
        out::write(&path, &page)?;
        out::print(&format!("page  {}", path.display()))?;
        written = true;
    }
    if let Some(directory) = &args.svg {
        std::fs::create_dir_all(directory)
            .map_err(|why| Failure::environment(format!("cannot create {}: {why}", directory.display())))?;
        let explained = explanation.iter().flat_map(report::explained_svgs);
        for (name, svg) in report::svgs(&records).into_iter().chain(explained) {
            let path = directory.join(name);
            out::write(&path, &svg)?;
            out::print(&format!("plot  {}", path.display()))?;
        }
        written = true;
    }
    match records.as_slice() {
        [record] if args.json => out::print_json(&report::object(record))?,
        records if args.json => out::print_json(&records.iter().map(report::object).collect::<Vec<_>>())?,
        _ if written => {}
        [record] => out::print(&report::text(record, style()))?,
        records => out::print(&report::text_many(records, style()))?,
    }
    Ok(DONE)
}
