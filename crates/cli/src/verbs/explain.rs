//! `dropline explain`.

use super::{DONE, style};
use crate::args::ExplainArgs;
use crate::output as out;
use dropline_failure::Failure;
use dropline_verbs::explain::{Explained, explain};

pub(crate) fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let Explained { record, explanation } = explain(&args.file)?;
    if args.json {
        let mut object = serde_json::to_value(&explanation).expect("an explanation is JSON");
        object["target"] = record.header.target.as_str().into();
        object["caveats"] = serde_json::to_value(record.caveats()).expect("caveats are JSON");
        out::print_json(&object)?;
    } else {
        out::print_painted(&dropline_report::explain_text(&record, &explanation, style()))?;
    }
    Ok(DONE)
}
