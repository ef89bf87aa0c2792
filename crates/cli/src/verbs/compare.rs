//! `dropline compare`.

use super::{DONE, FAILED, style};
use crate::args::CompareArgs;
use crate::output as out;
use crate::plan;
use dropline::comparing::{self, side};
use dropline::{Failure, report};

pub(crate) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let pair = match args.targets.as_slice() {
        [a, b] => side::read(a.as_ref(), b.as_ref())?,
        [turns] => side::read_turns(turns.as_ref())?,
        _ => return Err(Failure::usage("compare takes two files, or a record of turns")),
    };
    let questions = plan::questions(args, pair.a.meaning.unit_ns)?;
    let compared = comparing::compare(&pair, &questions);
    if args.json {
        out::print_json(&compared)?;
    } else {
        out::print(&report::compared_text(&compared, style()))?;
    }
    let worse = matches!(compared.verdict.as_str(), "regressed" | "mixed");
    Ok(if worse { FAILED } else { DONE })
}
