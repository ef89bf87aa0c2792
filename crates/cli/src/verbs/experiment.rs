//! `dropline experiment`.

use super::{DONE, style};
use crate::help::one_of;
use crate::signals::stop_on_signals;
use crate::{output as out, plan};
use clap::Args;
use dropline_experiments::{EXPERIMENTS, Effort, Experiment};
use dropline_failure::Failure;
use dropline_trial::quantities;
use std::path::PathBuf;

/// Run one of the project's own experiments.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline experiment search-cost --html search-cost.html
  dropline experiment search-coverage --runs 200
  dropline experiment poisson-loss --keep runs.jsonl")]
pub(crate) struct ExperimentArgs {
    /// Experiment to run.
    #[arg(value_parser = one_of(EXPERIMENTS.iter(), |one| one.name, |one| one.about))]
    pub(crate) name: &'static Experiment,
    #[arg(long, value_name = "N", help = runs())]
    pub(crate) runs: Option<u32>,
    #[arg(long, value_name = "N", help = only_of("Seed of the first run; further runs use the next numbers [default: 1; of trend-power a new one each time]", "first-seed"))]
    pub(crate) first_seed: Option<u64>,
    #[arg(long, help = only_of("Make a quick run that shows that it works; its numbers mean nothing", "small"))]
    pub(crate) small: bool,
    #[arg(long, conflicts_with = "small", help = only_of("Run everything, which takes up to two hours", "full"))]
    pub(crate) full: bool,
    #[arg(long, value_name = "WORDS", help = only_of("Run only the rows or systems whose names hold this, such as 'one CPU' or 'noisy,dips'", "only"))]
    pub(crate) only: Option<String>,
    #[arg(long, value_name = "TIME", help = only_of(&budgets(), "budget"))]
    pub(crate) budget: Option<String>,
    #[arg(long, value_name = "FILE", help = only_of("Keep each run in this file as it ends, and do not repeat runs that are in it", "keep"))]
    pub(crate) keep: Option<PathBuf>,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

fn budgets() -> String {
    format!(
        "Trial time of each search [default: {:?}; of services {:?}]",
        dropline_experiments::search_real::BUDGET,
        dropline_experiments::services::BUDGET
    )
}

/// How often each experiment repeats everything.
fn runs() -> String {
    let known = EXPERIMENTS.iter().filter_map(|one| Some(format!("{} {}", one.name, one.runs?)));
    format!("Number of times that everything is repeated [default: {}]", known.collect::<Vec<_>>().join(", "))
}

/// A sentence about a flag, and the experiments that heed it.
fn only_of(sentence: &str, flag: &str) -> String {
    let heeding = EXPERIMENTS.iter().filter(|one| one.flags.contains(&flag)).map(|one| one.name);
    let heeding = heeding.collect::<Vec<_>>().join(", ");
    match sentence.split_once(" [default") {
        Some((what, default)) => format!("{what} ({heeding}) [default{default}"),
        None => format!("{sentence} ({heeding})"),
    }
}

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
