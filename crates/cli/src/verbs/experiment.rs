//! `dropline experiment`.

use super::{DONE, style};
use crate::args::ExperimentArgs;
use crate::signals::stop_on_signals;
use crate::{output as out, plan};
use dropline_experiments::Effort;
use dropline_failure::Failure;
use dropline_trial::quantities;

pub(crate) fn run(args: &ExperimentArgs) -> Result<u8, Failure> {
    let effort = Effort {
        runs: args.runs,
        first_seed: args.first_seed,
        small: args.small,
        full: args.full,
        only: args.only.clone(),
        budget: args
            .budget
            .as_deref()
            .map(|text| plan::read("--budget", quantities::positive_duration(text)))
            .transpose()?,
        keep: args.keep.clone(),
        stop: stop_on_signals()?,
    };
    let found = args.name.run(&effort, &mut |at| note!("{at}"))?;
    if let Some(path) = &args.html {
        let fits = args.name.distributions();
        out::draw(
            path,
            dropline_report::study_page(&found.study, &found.graphs, &fits, &found.calibrations),
        )?;
    }
    if args.json {
        out::print_json(&found.study)?
    } else {
        out::print_painted(&dropline_report::study_text(&found.study, style()))?
    }
    Ok(DONE)
}
