//! `dropline trial`.

use super::{INTERRUPTED, INVALID, conditions, conditions_to_fail, output, style, verdict};
use crate::args::TrialArgs;
use crate::progress::Progress;
use crate::{output as out, plan};
use dropline::background::Background;
use dropline::record::Record;
use dropline::{Failure, report};

pub(crate) fn run(args: &TrialArgs, words: Vec<String>) -> Result<u8, Failure> {
    let fail_if = conditions_to_fail(&args.keep)?;
    let plan = plan::trial(args)?;
    let conditions = conditions(&args.traffic, words)?;
    let mut progress = Progress::new(args.keep.quiet, false).counting(plan.target.load_unit());
    let mut background = Background::start(&args.background)?;
    let done = dropline::trial(&plan, &output(&args.keep, 0, 1), &conditions, &mut progress);
    progress.clear();
    if background.ended() > 0 {
        eprintln!("a --background command had ended before the trial did");
    }
    drop(background);
    let record = done?;
    if args.keep.json {
        out::print_json(&record.to_object())?;
    } else {
        out::print(&report::text(&record, style()))?;
    }
    match verdict(&fail_if, std::slice::from_ref(&record)) {
        _ if has(&record, &["interrupted"]) => Ok(INTERRUPTED),
        super::DONE if is_invalid(&record) => Ok(INVALID),
        code => Ok(code),
    }
}

/// Whether the trial says more about us than about the target.
fn is_invalid(record: &Record) -> bool {
    has(record, &["generator_limited", "generator_lost", "events_missing", "stamps_disagree"])
}

fn has(record: &Record, codes: &[&str]) -> bool {
    record.trials.iter().flat_map(|line| &line.caveats).any(|caveat| codes.contains(&caveat.code.as_str()))
}
