//! Every flag, as typed. What they mean is decided in `plan.rs`.

mod delays;
mod filing;
mod history;
mod measuring;

pub(crate) use delays::{CompareArgs, FitArgs, ImportArgs, InjectArgs, SourceArgs};
pub(crate) use filing::{FilingArgs, VARIABLE};
pub(crate) use history::{
    HistoryAddArgs, HistoryArgs, HistoryExportArgs, HistoryIndexArgs, HistoryListArgs, HistoryPruneArgs,
    HistoryVerb, TrendArgs, WantedArgs,
};
pub(crate) use measuring::{KeepArgs, Requirement, SearchArgs, TrafficArgs, TrialArgs};

use crate::help::{self, one_of};
use clap::{Args, ValueEnum};
use dropline_experiments::{EXPERIMENTS, Experiment};
use dropline_traffic::ReceiveMeans;
use dropline_trial::arrival;
use std::path::PathBuf;

/// The units of quantities, as flags take them.
const UNITS: &str = "\
Units:
  load      100kpps 1.5Mpps 80Mbit/s 1kHz
  time      250ms 10s 5min
  size      64B 4KiB
  ratio     0.005 0.5%";

/// Every way to name a target.
fn targets() -> String {
    let forms = dropline_targets::KINDS.iter().flat_map(|kind| kind.forms.iter().copied());
    let systems = dropline_targets::Simulation::systems();
    let systems = format!("Simulated systems: {}.", systems.join(", "));
    format!("{}\n\n{systems}\n\n{UNITS}", help::table("Targets", forms))
}

/// Every arrival process.
fn arrivals() -> String {
    let kinds = arrival::KINDS.iter().map(|kind| (kind.written, kind.about));
    help::table("Arrival processes (--arrival)", kinds.chain([arrival::SUM]))
}

/// Run a UDP service to measure: it answers each packet after a service time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve --service-time 20us --queue 256
  dropline serve --listen 127.0.0.1:9000 --sleep \\
      --service-time 500us --queue 16 --workers 2
  dropline serve --service-time 40us --queue 0 \\
      --buffer 26624B

It prints `listening udp ADDR:PORT`, echoes each packet (never more than it got), and on Ctrl-C prints what it \
received, answered and dropped, and where.")]
pub(crate) struct ServeArgs {
    /// Address to listen on; with any other than loopback, other hosts can send to it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7007")]
    pub(crate) listen: String,
    /// Time that a worker takes for each packet, with all that a packet costs; 0 answers at once, without queue and
    /// workers.
    #[arg(long, value_name = "TIME", default_value = "0us")]
    pub(crate) service_time: String,
    /// Sleep through the service time instead of keeping the CPU busy.
    #[arg(long)]
    pub(crate) sleep: bool,
    /// Number of packets that can wait for a worker, and with 0 they wait in the socket's buffer instead.
    #[arg(long, value_name = "PACKETS", default_value_t = 256)]
    pub(crate) queue: usize,
    /// Size of the socket's receive buffer [default: the system's].
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// Number of workers that serve packets in parallel.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) workers: usize,
    /// Stop when the standard input ends too; for programs that start this one.
    #[arg(long)]
    pub(crate) until_eof: bool,
    /// Run on this CPU alone.
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Use real-time priority (SCHED_FIFO) at this level; needs root or CAP_SYS_NICE.
    #[arg(long, value_name = "PRIORITY")]
    pub(crate) fifo: Option<u8>,
    /// Write to this file when each packet was read and served, in ns of the monotonic clock (needs --queue 0).
    #[arg(long, value_name = "FILE")]
    pub(crate) times: Option<PathBuf>,
    /// How packets are taken from the socket.
    #[arg(long, value_name = "MEANS", default_value = "block",
          value_parser = one_of(ReceiveMeans::ALL, ReceiveMeans::name, ReceiveMeans::about))]
    pub(crate) receive: ReceiveMeans,
    /// Answer every packet, also of ports below 1024 and of other load generators, which are answered a few times
    /// otherwise (a forged packet can then start an endless exchange).
    #[arg(long)]
    pub(crate) answer_all: bool,
    /// Print the counts as one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Explain where the lost packets of a trial went, why, and what would help.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve --service-time 100us &
  dropline trial udp://127.0.0.1:7007 --load 20kpps \\
      --arrival poisson -o lossy.jsonl
  dropline explain lossy.jsonl

It needs the times of each packet, which trial keeps beside its record (lossy.jsonl.packets), and replays them \
against the target's buffer, service time and pauses.")]
pub(crate) struct ExplainArgs {
    /// Record of a trial, or of a search: its lowest load that lost packets is explained.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) told: ToldArgs,
    /// Also write the explanation as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Watch the traffic of a running service without sending anything: arrivals, drops, pauses.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve &
  dropline watch --port 7007 --duration 10s -o seen.jsonl
  dropline explain seen.jsonl

Packets are seen with CAP_NET_RAW (root); without it, only the socket and its process are.")]
pub(crate) struct WatchArgs {
    /// UDP port of the service, in this network namespace or in that of --pid.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Process of the service, which may be in another network namespace [default: the one that holds the socket].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// How long to watch [default: until Ctrl-C].
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Time between two looks at the socket.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub(crate) every: String,
    /// Keep the record in this file; - keeps none [default: dropline-DATE.jsonl].
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filing: FilingArgs,
    /// Print one JSON object instead of the report.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress on stderr.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) told: ToldArgs,
}

/// How much is told on a terminal.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ToldArgs {
    /// Also say how it was measured: traffic, generator, waits, goals with all their attributes.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

/// Show records as text, JSON, a web page or plots.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:soft -o before.jsonl
  dropline search 'sim:soft?seed=8' -o after.jsonl
  dropline report before.jsonl
  dropline report before.jsonl --line
  dropline report before.jsonl after.jsonl --markdown
  dropline report before.jsonl after.jsonl --html both.html
  dropline report before.jsonl --svg plots/")]
pub(crate) struct ReportArgs {
    /// Records; several are shown on common axes.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write one self-contained web page [default name: the record's with .html; of several A-and-B.html].
    #[arg(long, value_name = "OUT", num_args = 0..=1, help_heading = "Output")]
    pub(crate) html: Option<Option<PathBuf>>,
    /// Write each plot as an SVG file into this directory.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// Write each plot as a PNG picture into this directory, by the program rsvg-convert.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) png: Option<PathBuf>,
    /// Print one JSON object, or an array of several records.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print one line for each record, for a chat: the answer, how sure it is, the target, the date.
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub(crate) line: bool,
    /// Print Markdown for a pull request: the answer, its table, the caveats, the command that repeats it.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "line"])]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) told: ToldArgs,
}

/// Write a record in another format.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline search sim:hard -o night.jsonl
  dropline export night.jsonl --to csv -o night.csv
  dropline export night.jsonl --to openmetrics -o night.om
  cc -O2 -pthread c/trace/copy.c -o graph
  dropline trial flowgraph:exec:./graph --duration 30s \\
      -o graph.jsonl
  dropline export graph.jsonl --to chrome -o graph.json
  dropline export graph.jsonl --to ctf -o graph.ctf

ui.perfetto.dev shows what --to chrome writes, babeltrace2 reads what --to ctf writes.")]
pub(crate) struct ExportArgs {
    /// Record to write in another format.
    pub(crate) record: PathBuf,
    /// Format to write.
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub(crate) to: ExportFormat,
    /// New file, or new directory of --to ctf [default: text goes to stdout].
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// With --to hlog, write one interval for each time slice, to two digits, instead of one for each trial.
    #[arg(long)]
    pub(crate) slices: bool,
    /// With --to hlog, write only this trial [default: those whose load was asked for, else the last].
    #[arg(long, value_name = "N")]
    pub(crate) trial: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A pipeline's events for Perfetto.
    Chrome,
    /// One row for each trial.
    Csv,
    /// A pipeline's events as a trace in a new directory.
    Ctf,
    /// Delays as a log of HdrHistogram.
    Hlog,
    /// Load, loss and delays as metrics.
    Openmetrics,
    /// JSON Schema of a record's lines.
    Schema,
}

/// Perform trials for another program, over stdin and stdout.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  echo '{\"trial\":1,\"intended_load_pps\":1e6,' \\
      '\"duration_s\":1}' | dropline measure sim:hard

It answers the exec: protocol, so that another search, such as PyPI's MLRsearch, can measure with Dropline.")]
pub(crate) struct MeasureArgs {
    /// What to measure; dropline trial --help lists all targets.
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
}

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
    #[arg(long, value_name = "N", help = only_of("Seed of the first run; further runs use the next numbers [default: 1]", "first-seed"))]
    pub(crate) first_seed: Option<u64>,
    #[arg(long, help = only_of("Make a quick run that shows that it works; its numbers mean nothing", "small"))]
    pub(crate) small: bool,
    #[arg(long, conflicts_with = "small", help = only_of("Run everything, which takes up to two hours", "full"))]
    pub(crate) full: bool,
    #[arg(long, value_name = "WORDS", help = only_of("Run only the rows or systems whose names hold this, such as 'one CPU' or 'noisy,dips'", "only"))]
    pub(crate) only: Option<String>,
    #[arg(long, value_name = "TIME", help = only_of("Trial time of each search [default: 36s]", "budget"))]
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

/// How often each experiment repeats everything.
fn runs() -> String {
    let known = EXPERIMENTS.iter().filter_map(|one| Some(format!("{} {}", one.name, one.runs?)));
    format!("How often everything is repeated [default: {}]", known.collect::<Vec<_>>().join(", "))
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

/// List what on this machine disturbs a measurement, and check whether a target answers.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  dropline serve &\n  dropline doctor udp://127.0.0.1:7007")]
pub(crate) struct DoctorArgs {
    /// Target to check too.
    pub(crate) target: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Be one client of a closed loop; trials start it.
#[derive(Args, Debug)]
pub(crate) struct ClientArgs {
    /// Plan of the trial.
    pub(crate) words: Vec<String>,
}

/// Print a shell's completion script.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  dropline completions bash > \\
      ~/.local/share/bash-completion/completions/dropline")]
pub(crate) struct CompletionsArgs {
    #[arg(hide_possible_values = true, help = shells())]
    pub(crate) shell: clap_complete::Shell,
}

fn shells() -> String {
    let shells = clap_complete::Shell::value_variants().iter().map(ToString::to_string);
    format!("Shell to complete in, one of {}", shells.collect::<Vec<_>>().join(", "))
}

/// Print the man page of the program, or of one verb.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  dropline man | man -l -\n  dropline man heartbeat serve | man -l -")]
pub(crate) struct ManArgs {
    /// Verb to describe, such as search, or name of a page [default: the whole program].
    pub(crate) verb: Vec<String>,
}
