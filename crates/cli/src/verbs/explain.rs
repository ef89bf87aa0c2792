//! `dropline explain`.

use super::{DONE, style_of};
use crate::args::ExplainArgs;
use crate::output as out;
use dropline_failure::Failure;
use dropline_verbs::explain::{Explained, explain};

pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let Explained { record, line } = explain(&args.file)?;
    if let Some(path) = &args.html {
        let mut shown = record.clone();
        shown.trials.retain(|trial| trial.number == line.trial);
        out::draw(path, dropline_report::explained_html(&shown, &line.explanation))?;
        if !args.json {
            note!("page  {}", path.display());
        }
    }
    if args.json {
        out::print_json(&line)?;
    } else {
        out::print_painted(&dropline_report::explain_text(&record, &line, style_of(args.told)))?;
    }
    Ok(DONE)
}
