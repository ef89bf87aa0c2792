//! `dropline explain`.

use super::{DONE, style_of};
use crate::args::ExplainArgs;
use crate::output as out;
use dropline_failure::Failure;
use dropline_record::ExplainedLine;
use dropline_verbs::explain::{Explained, explain};

pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let Explained { record, explanation } = explain(&args.file)?;
    if args.json {
        out::print_json(&ExplainedLine {
            explanation,
            target: record.header.target.clone(),
            caveats: record.caveats(),
        })?;
    } else {
        out::print_painted(&dropline_report::explain_text(&record, &explanation, style_of(args.told)))?;
    }
    Ok(DONE)
}
