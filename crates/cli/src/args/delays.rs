//! Flags of the verbs that read delays, or compare them.

use super::measuring::smallest_effect;
use super::shares;
use super::{FilingArgs, FleetArgs, ToldArgs, TrafficArgs};
use crate::help::one_of;
use clap::Args;
use dropline_distributions::import::{Format, UNITS};
use std::path::PathBuf;

/// Turn another program's measurements into a record: exact values and counts.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cyclictest -m -p 95 -a -i 1000 -l 100000 -h 400 -q \\
      > quiet.hist && dropline import quiet.hist \\
      -o quiet.jsonl
  dropline serve &
  dropline trial udp://127.0.0.1:7007 --load 10kpps \\
      -o delays.jsonl
  dropline export delays.jsonl --to hlog -o service.hlog
  dropline import service.hlog -o service.jsonl
  seq 20 420 > values.txt
  dropline import values.txt -o values.jsonl \\
      --from raw --unit us
  (echo latency_ms; seq 20 420) > requests.csv
  dropline import requests.csv -o requests.jsonl \\
      --column latency_ms
  hyperfine 'sleep 0.01' 'sleep 0.02' \\
      --export-json both.json && dropline import \\
      both.json --only 'sleep 0.01' -o short.jsonl

A malformed file is refused: the error names the line, and no record is written.")]
pub(crate) struct ImportArgs {
    /// File that another program wrote; - reads the standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// New record to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// What a file does not say about itself.
#[derive(Args, Debug)]
pub(crate) struct SourceArgs {
    /// Format of the file [default: recognized from its beginning].
    #[arg(long, value_name = "FORMAT", value_parser = one_of(Format::all(), Format::word, Format::what))]
    pub(crate) from: Option<Format>,
    /// Unit of the file's values, if the file names none.
    #[arg(long, value_name = "UNIT", value_parser = one_of(UNITS, |(word, _)| word, |(_, ns)| in_words(ns)))]
    pub(crate) unit: Option<(&'static str, u64)>,
    /// Column of values in a csv or tsv file, by name or number; a second --column is that of their counts.
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Vec<String>,
    /// Trial of a record whose delays are read [default: those whose load was asked for, else the last].
    #[arg(long, value_name = "N")]
    pub(crate) trial: Option<u64>,
    /// Distribution to read of a file that holds several, by name or number [default: all].
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
}

/// A unit of time.
fn in_words(ns: u64) -> &'static str {
    match ns {
        1 => "nanoseconds",
        1000 => "microseconds",
        1_000_000 => "milliseconds",
        _ => "seconds",
    }
}

/// Describe a delay distribution: percentiles, modes, families and tail, each with its confidence interval.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline trial wakeup: --load 1kHz --duration 60s \\
      -o idle.jsonl
  dropline fit idle.jsonl
  dropline fit idle.jsonl --above 42us --modes
  dropline fit idle.jsonl --json

A number is printed with its interval, or not at all.")]
pub(crate) struct FitArgs {
    /// Record, or a file that dropline import reads.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Confidence level of the intervals.
    #[arg(long, value_name = "RATIO", default_value = "95%")]
    pub(crate) level: String,
    /// Delay above which the slow tail begins [default: the highest percentile that has enough events].
    #[arg(long, value_name = "TIME")]
    pub(crate) above: Option<String>,
    /// Also fit a mixture of distributions, one for each code path.
    #[arg(long)]
    pub(crate) modes: bool,
    /// Also write a web page with plots.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Random seed of the simulations behind intervals and tests.
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
    /// Print one JSON object, or an array where a file holds several distributions.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Find which delay peaks pass through a probe point, by injecting a known delay there.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline inject udp://127.0.0.1:7007 --delay 100us \\
      --start 'dropline serve' --probe request
  dropline inject udp://127.0.0.1:7007 \\
      --start 'dropline serve' --list
  seq 20 420 > before.txt; seq 23 423 > after.txt
  dropline inject --stored before.txt after.txt \\
      --from raw --unit us --delay 3us --json

Rounds with no delay, X, 2X and no delay alternate. A probe point is dropline_trace::probe!(\"name\") in Rust and \
dropline_probe in C; it costs a load and a branch while no delay is asked for.")]
pub(crate) struct InjectArgs {
    /// What to measure: udp://HOST:PORT with --start, or exec:COMMAND.
    #[arg(required_unless_present = "stored")]
    pub(crate) target: Option<String>,
    /// Program that has the probe point; it is started and stopped with the measurement.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) start: Option<String>,
    /// Name of the probe point at which the delay is injected.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["stored", "list"])]
    pub(crate) probe: Option<String>,
    /// Delay to inject, called X; it must be longer than a peak is wide.
    #[arg(long, value_name = "TIME", required_unless_present = "list")]
    pub(crate) delay: Option<String>,
    /// Only list the program's probe points.
    #[arg(long, conflicts_with_all = ["probe", "delay", "stored"])]
    pub(crate) list: bool,
    /// Two files that were measured without and with the delay, instead of a target.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["target", "probe", "start"])]
    pub(crate) stored: Vec<PathBuf>,
    /// Duration of all rounds together.
    #[arg(long, value_name = "TIME", default_value = "40s", help_heading = "Load")]
    pub(crate) duration: String,
    /// Load to offer, such as 1kpps.
    #[arg(long, value_name = "RATE", default_value = "1kpps", help_heading = "Load")]
    pub(crate) load: String,
    /// Command to run during the measurement, without a shell; may be repeated.
    #[arg(long, value_name = "COMMAND", help_heading = "Target")]
    pub(crate) background: Vec<String>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten, next_help_heading = "Files")]
    pub(crate) source: SourceArgs,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress on stderr.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

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
    /// The same, to compare with A; a record of turns has both.
    pub(crate) b: Option<String>,
    /// Delay above which an event counts as slow [default: A's 99th percentile].
    #[arg(long, value_name = "TIME")]
    pub(crate) above: Option<String>,
    #[arg(long, value_name = "RATIO", value_parser = shares::share, help = smallest_effect("A"))]
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
    /// Load to offer to each target [default: 1kHz for wakeup:, the server's periods for jack:].
    #[arg(long, value_name = "RATE", help_heading = "Load")]
    pub(crate) load: Option<String>,
    /// Keep the record of the turns in this file; - keeps none [default: dropline-DATE.jsonl].
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) filing: FilingArgs,
    /// Show no progress on stderr.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) told: ToldArgs,
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
