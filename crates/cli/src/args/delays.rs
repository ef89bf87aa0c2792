//! Flags of the verbs that read delays, or compare them.

use super::TrafficArgs;
use clap::Args;
use dropline_distributions::import::Format;
use std::path::PathBuf;

/// Keep what another program measured as a record: exact values and counts, with what they mean.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cyclictest -m -p 95 -a -i 1000 -l 100000 -h 400 -q > quiet.hist && dropline import quiet.hist -o quiet.jsonl
  dropline import service.hlog -o service.jsonl
  dropline import values.txt --from raw --unit us -o values.jsonl
  dropline import requests.csv --column latency_ms -o requests.jsonl

A malformed file is refused with its line; nothing of it is kept.")]
pub(crate) struct ImportArgs {
    /// What another program wrote; - reads the standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The record.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// What a file does not say about itself.
#[derive(Args, Debug)]
pub(crate) struct SourceArgs {
    #[arg(long, value_name = "FORMAT", help = formats())]
    pub(crate) from: Option<String>,
    /// The unit of its values, where it names none: ns, us, ms or s. Where it names another, that is an error.
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// Of csv and tsv: the column of values by its name or number; a second time, that of their counts.
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Vec<String>,
    /// Of a record: the trial whose delays are read [default: those at a load that was asked for, else the last].
    #[arg(long, value_name = "N")]
    pub(crate) trial: Option<u64>,
}

/// The formats, as the program's own table has them.
fn formats() -> String {
    let known: Vec<String> =
        Format::all().map(|format| format!("{} ({})", format.word(), format.what())).collect();
    format!("Its format [default: looked at]: {}", known.join(", "))
}

/// Say what a distribution of delays is: percentiles, modes, families, tail, and how sure each is.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline fit idle.tsv
  dropline fit idle.tsv --above 42us --modes
  dropline fit idle.tsv --json

A number is printed with an interval, or not at all.")]
pub(crate) struct FitArgs {
    /// A record, or a file that import reads.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// How often the intervals shall hold the truth.
    #[arg(long, value_name = "RATIO", default_value = "95%")]
    pub(crate) level: String,
    /// The slow tail begins above this [default: the highest percentile that the events bear].
    #[arg(long, value_name = "TIME")]
    pub(crate) above: Option<String>,
    /// Take the events apart into a mixture of code paths.
    #[arg(long)]
    pub(crate) modes: bool,
    /// Write the page with its plots to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Chance of the draws that intervals and tests are simulated with.
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say which code path a mode is: add a delay at a named place of the program, and see what moves.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline inject udp://127.0.0.1:7007 --start 'dropline serve' --probe request --delay 100us
  dropline inject udp://127.0.0.1:7007 --start 'dropline serve' --list
  dropline inject --stored before.tsv after.tsv --delay 3us --json

Rounds of no delay, X, 2X and no delay alternate. A probe is dropline_trace::probe!(\"name\") in Rust and
dropline_probe in C; it costs a load and a branch while nobody asks for a delay.")]
pub(crate) struct InjectArgs {
    /// What is measured: udp://HOST:PORT with --start, or exec:COMMAND.
    #[arg(required_unless_present = "stored")]
    pub(crate) target: Option<String>,
    /// The program that has the probe, started with the measurement and ended with it.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) start: Option<String>,
    /// Where the delay is added.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["stored", "list"])]
    pub(crate) probe: Option<String>,
    /// The delay X, longer than a mode is wide.
    #[arg(long, value_name = "TIME", required_unless_present = "list")]
    pub(crate) delay: Option<String>,
    /// Only list the program's probes.
    #[arg(long, conflicts_with_all = ["probe", "delay", "stored"])]
    pub(crate) list: bool,
    /// Two files that were measured without and with the delay, instead of a target.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["target", "probe", "start"])]
    pub(crate) stored: Vec<PathBuf>,
    /// Of all turns together.
    #[arg(long, value_name = "TIME", default_value = "40s")]
    pub(crate) duration: String,
    /// Load offered.
    #[arg(long, value_name = "RATE", default_value = "1kpps")]
    pub(crate) load: String,
    /// Load beside the measurement: commands that run while it runs.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) background: Vec<String>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say whether B is better or worse than A: in the limits of two searches, or in delays, typically, at a high
/// percentile, and in how many are long.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline compare before.jsonl after.jsonl --above 200us
  dropline compare iozone64.tsv iozone32.tsv --above 42us
  dropline compare idle.hlog loaded.hlog --smallest-effect 5% --json
  dropline compare --abba udp://127.0.0.1:7007 udp://127.0.0.1:7008 --load 20kpps --duration 10min
  dropline compare --abba wakeup: 'wakeup:?policy=other' --duration 5min -o turns.jsonl
  dropline compare turns.jsonl
  dropline compare search-of-main.jsonl search-of-branch.jsonl --smallest-effect 3%

Two searches are asked one question a goal: did the load move above which packets drop? Delays are asked three, and
a fourth where packets were lost: lost packets are longer than any other. Each is
improved, regressed, equivalent (smaller than the smallest effect that matters) or
no evidence. Exit code 1: something regressed, or was traded: faster, and more is lost. 3: what was measured says
more about the generator than about a side.")]
pub(crate) struct CompareArgs {
    /// A and B: records of two searches, or of trials, or files that fit reads; one record of turns; with --abba two
    /// targets.
    #[arg(required = true, num_args = 1..=2, value_names = ["A", "B"])]
    pub(crate) targets: Vec<String>,
    /// An event longer than this is long [default: A's 99th percentile].
    #[arg(long, value_name = "TIME")]
    pub(crate) above: Option<String>,
    /// Smallest change that matters, as a share of A [default: 2%, and no less than a tick].
    #[arg(long, value_name = "RATIO")]
    pub(crate) smallest_effect: Option<String>,
    /// Growth of the loss ratio that does not matter; any that is more than chance is a regression.
    #[arg(long, value_name = "RATIO", default_value = "0")]
    pub(crate) more_loss: String,
    /// The high percentile.
    #[arg(long, value_name = "RATIO", default_value = "99%")]
    pub(crate) percentile: String,
    /// A and B are targets: measure both, in turns A B B A or B A A B, drawn anew each time.
    #[arg(long)]
    pub(crate) abba: bool,
    /// Of all turns together.
    #[arg(long, value_name = "TIME", default_value = "10min", help_heading = "Turns")]
    pub(crate) duration: String,
    /// Load offered to either [default: wakeup: 1kHz].
    #[arg(long, value_name = "RATE", help_heading = "Turns")]
    pub(crate) load: Option<String>,
    /// The record of the turns [default: dropline-DATE.jsonl; - keeps none].
    #[arg(short, long, value_name = "FILE", help_heading = "Turns")]
    pub(crate) output: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(short, long, help_heading = "Turns")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
