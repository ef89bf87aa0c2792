//! `dropline compare`.

use super::import::{hints, no_hints};
use super::{DONE, FAILED, conditions, not_valid, output_to, style};
use crate::args::{SourceArgs, TrafficArgs, smallest_effect};
use crate::progress::{Progress, at_work};
use crate::{output as out, plan};
use clap::Args;
use dropline_failure::Failure;
use dropline_verbs::compare;
use dropline_verbs::compare::searches::{Searched, compare};
use dropline_verbs::compare::turns::{OneSided, Taken};
use dropline_verbs::compare::{Both, side};
use std::path::PathBuf;

/// Compare two searches or two delay distributions: is B better or worse than A?
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve &
  dropline serve --listen 127.0.0.1:7008 &
  dropline trial udp://127.0.0.1:7007 --load 20kpps \\
      -o before.jsonl
  dropline trial udp://127.0.0.1:7008 --load 20kpps \\
      -o after.jsonl
  dropline compare before.jsonl after.jsonl --above 200us
  dropline compare before.jsonl after.jsonl --json \\
      --smallest-effect 5%
  dropline compare --abba udp://127.0.0.1:7007 \\
      udp://127.0.0.1:7008 --load 20kpps --duration 10min
  dropline compare --abba wakeup: 'wakeup:?policy=other' \\
      --duration 5min -o turns.jsonl
  dropline compare turns.jsonl
  dropline search sim:hard -o main.jsonl
  dropline search 'sim:hard?capacity=9Mpps' -o branch.jsonl
  dropline compare main.jsonl branch.jsonl \\
      --smallest-effect 3%

Two searches are compared goal by goal: did the load above which packets drop move? Delays are compared at the median, \
at a high percentile and by the share of slow events, and by loss where packets were lost.

Each answer is improved, regressed, equivalent (smaller than the smallest effect that matters) or no evidence. Exit \
code 1 says that something regressed, or that delays improved while loss grew; 3 that half or more of \
one side's trials, or an answer of a search, are about the generator and not about the target.")]
pub(crate) struct CompareArgs {
    /// Record, file that dropline fit reads, or record of turns; with --abba a target.
    pub(crate) a: String,
    /// The same, to hold against A; a record of turns has both.
    pub(crate) b: Option<String>,
    /// Delay above which an event counts as slow [default: A's 99th percentile].
    #[arg(long, value_name = "TIME")]
    pub(crate) above: Option<String>,
    #[arg(long, value_name = "RATIO", help = smallest_effect("A"))]
    pub(crate) smallest_effect: Option<String>,
    /// Growth of the loss ratio that does not matter; any larger growth that is significant is a regression.
    #[arg(long, value_name = "RATIO", default_value = "0")]
    pub(crate) more_loss: String,
    /// High percentile that is compared.
    #[arg(long, value_name = "RATIO", default_value = "99%")]
    pub(crate) percentile: String,
    /// Measure two targets in turns, A B B A or B A A B at random.
    #[arg(long)]
    pub(crate) abba: bool,
    /// Duration of all turns together.
    #[arg(long, value_name = "TIME", default_value = "10min", help_heading = "Load")]
    pub(crate) duration: String,
    /// Load to offer to each target [default: 1kHz for wakeup:].
    #[arg(long, value_name = "RATE", help_heading = "Load")]
    pub(crate) load: Option<String>,
    /// Keep the record of the turns in this file; - keeps none [default: dropline-DATE.jsonl].
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress on stderr.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten, next_help_heading = "Files")]
    pub(crate) source: SourceArgs,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &CompareArgs, words: Vec<String>) -> Result<u8, Failure> {
    if args.abba || args.b.is_none() {
        no_hints(&args.source, "what is measured in turns")?;
    }
    let (pair, failure) = match (args.abba, &args.a, &args.b) {
        (true, _, Some(_)) => match measured(args, words)?.pair() {
            Ok(measured) => measured,
            Err(one_sided) => return told(args, *one_sided),
        },
        (false, a, Some(b)) => match compare::read(a.as_ref(), b.as_ref(), &hints(&args.source))? {
            Both::Delays(pair) => (*pair, None),
            Both::Searches(searches) => return limits(args, &searches),
        },
        (false, turns, None) => (side::read_turns(turns.as_ref())?, None),
        (true, _, None) => {
            return Err(Failure::usage(
                "--abba needs two targets: compare --abba TARGET_A TARGET_B --duration 10min",
            ));
        }
    };
    let questions = plan::questions(args, pair.a.meaning.unit_ns)?;
    let compared = at_work(args.quiet, "comparing", || compare::compare(&pair, &questions));
    if let Some(path) = &args.html {
        out::draw(path, &dropline_report::compared_html(&compared))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&compared)?;
    } else {
        out::print_painted(&dropline_report::compared_text(&compared, style()))?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    Ok(match compared.is_worse() {
        _ if compared.not_valid.is_some() => not_valid(),
        true => FAILED,
        false => DONE,
    })
}

/// Two searches: did the limits move?
fn limits(args: &CompareArgs, [a, b]: &[Searched; 2]) -> Result<u8, Failure> {
    no_hints(&args.source, "a search")?;
    if args.above.is_some() {
        return Err(Failure::usage("--above is about delays, and these are two searches: leave it out"));
    }
    let compared = compare(a, b, plan::smallest_effect(args.smallest_effect.as_deref())?)?;
    if let Some(path) = &args.html {
        out::draw(path, &dropline_report::compared_searches_html(&compared))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&compared)?;
    } else {
        out::print_painted(&dropline_report::compared_searches_text(&compared, style()))?;
    }
    Ok(match compared.is_worse() {
        _ if compared.not_valid.is_some() => not_valid(),
        true => FAILED,
        false => DONE,
    })
}

/// Measures both in turns.
fn measured(args: &CompareArgs, words: Vec<String>) -> Result<Taken, Failure> {
    let turns = plan::turns(args)?;
    let output = output_to(args.output.as_deref(), 0, 1);
    let mut progress = Progress::new(args.quiet, false).counting(turns.targets[0].load_unit());
    let taken = turns.take(&output, &conditions(&args.traffic, words)?, &mut progress);
    progress.clear();
    taken
}

/// What was measured and cannot be compared.
fn told(args: &CompareArgs, OneSided { record, failure }: OneSided) -> Result<u8, Failure> {
    match &record.trials[..] {
        [] => {}
        _ if args.json => out::print_json(&dropline_report::object(&record))?,
        _ => out::print_painted(&dropline_report::text(&record, style()))?,
    }
    Err(failure)
}
