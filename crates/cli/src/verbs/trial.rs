//! `dropline trial`.

use super::filing::Filing;
use super::{
    DONE, FAILED, conditions, conditions_to_fail, is_interrupted, not_valid, object, print_where_it_is,
    say_kept, style_of,
};
use crate::args::TrialArgs;
use crate::fleet::Performers;
use crate::progress::Progress;
use crate::signals::INTERRUPTED;
use crate::{output as out, plan};
use dropline_failure::Failure;
use dropline_targets::background::Background;
use dropline_verbs::fail_if::CheckedCondition;
use dropline_verbs::search::Finished;
use dropline_verbs::validity;

pub(crate) fn run(args: &TrialArgs, words: Vec<String>) -> Result<u8, Failure> {
    let fail_if = conditions_to_fail(&args.keep, None)?;
    let performers = Performers::of(&args.fleet)?;
    let mut plan = plan::trial(args)?;
    let conditions = conditions(&args.traffic, words)?;
    let mut progress = Progress::new(args.keep.quiet, false).counting(plan.target.load_unit());
    plan.target = performers.measure(plan.target)?;
    let mut background = Background::start(&args.background)?;
    let mut filing = Filing::of(args.keep.output.as_deref(), &args.keep.filing)?;
    let output = filing.output(&plan.target.to_string(), 0, 1)?;
    let done = dropline_verbs::trial::trial(&plan, &output, &conditions, &mut progress);
    progress.clear();
    filing.file(&output, done.is_ok());
    say_kept(&conditions.stop, &output, args.keep.quiet);
    if background.ended() > 0 {
        note!("a --background command had ended before the trial did");
    }
    drop(background);
    let Finished { record, failure } = done?;
    let checked: Vec<CheckedCondition> = fail_if.iter().map(|condition| condition.hold(&record)).collect();
    if args.keep.json {
        out::print_json(&object(&record, &checked))?;
    } else {
        out::print_painted(&dropline_report::text(&record, style_of(args.keep.told)))?;
        print_where_it_is(&record, &output, style_of(args.keep.told).width)?;
    }
    let met: Vec<&CheckedCondition> = checked.iter().filter(|checked| checked.failed).collect();
    met.iter().for_each(|checked| note!("{}", checked.text));
    if let Some(failure) = failure {
        return Err(failure);
    }
    Ok(match met.is_empty() {
        _ if is_interrupted(&record) => INTERRUPTED,
        // What is not known of the target cannot fail it.
        _ if record.trials.iter().any(validity::is_invalid) => not_valid(),
        false => FAILED,
        true => DONE,
    })
}
