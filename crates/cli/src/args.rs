//! Every flag, as typed. What they mean is decided in `plan.rs`.

mod delays;
mod measuring;

pub(crate) use delays::{CompareArgs, FitArgs, ImportArgs, InjectArgs, SourceArgs};
pub(crate) use measuring::{KeepArgs, Requirement, SearchArgs, TrafficArgs, TrialArgs};

use crate::verbs::heartbeat::HeartbeatArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const TARGETS: &str = "\
Targets:
  udp://HOST:PORT              a UDP service that echoes each request
  udp://HOST:PORT?reply=any    the same, where only the first 16 bytes come back as they were sent
  udp://HOST:PORT?reply=none   a one-way service, counted at its socket
  heartbeat://HOST:PORT        a heartbeat aggregator; its report is the check of what it kept
  sim:NAME?capacity=9Mpps      a simulated system with known truth, in virtual time
                               (hard consistent soft noisy dips inconsistent lossless dead, and more)
  exec:COMMAND                 another program performs the trials, one JSON object a line
  wakeup:?threads=2            a timer: how late its threads wake up (priority, cpus, policy, slack, stop)
  jack:?period=32              an audio server's cycles (rate, realtime; server=NAME joins one that runs)
  flowgraph:futuresdr?stages=6 a graph of copies, as flowgraph:gnuradio too (pipes, scheduler, buffer, max-copy, samples,
                               backlog, cpus, probes, recording, residence, in-flight, granularity, warm-up)
  flowgraph:exec:COMMAND       a program with tracepoints: how long samples are on their way through it
  flowgraph:exec?granularity=32768&warm-up=auto:COMMAND   (ratio, rings, events, keep, recorder=ring|lttng|both)
  flowgraph:ctf:DIRECTORY      a trace of such a program, recorded before (provider, pipe, n)
  replay:RECORD                stored trials answered again (a search has what it is not told from the record)

Units: 100kpps 1.5Mpps 80Mbit/s   250ms 10s 5min   64B 4KiB   0.005 0.5%";

const ARRIVALS: &str = "\
Arrival processes (--arrival):
  constant                     equal times between departures
  poisson                      independent exponential times
  bursts:size=32[,idle=1ms]    bursts, evenly spread but for the idle time before the next
  onoff:on=10ms,off=90ms       on and off in turn [,inside=constant] [,periods=fixed]
  gamma:shape=0.5              gaps with variation 1 ÷ √shape
  pareto:shape=1.5             gaps with a heavy tail
  ramp:from=10%                from this share of the load in a straight line [,inside=poisson]
  sine:period=1s,depth=50%     a load that swings [,inside=poisson]
  replay:FILE                  recorded departures: ns one a line, or RECORD.packets
  poisson+constant  64*poisson sums: independent processes with equal shares of the load
With clocks of their own, without --load:
  ticks:n=128,period=20ms      clients woken by one tick [,groups=2|phase=out] [,jitter=100us]
  clients:n=64,think=exp(1ms)  processes that send, await the reply, think: 1ms exp(1ms) tick(20ms)
                               [,wait=none]
  yield:n=64                   processes that send and let the others run, as sleep(0) does";

/// Finds the line above which packets drop, and says how sure that is.
#[derive(Debug, Parser)]
#[command(name = "dropline", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Try it, no network and no root needed:
  dropline search sim:consistent
Measure a service of your own:
  dropline serve --service-time 20us &
  dropline search udp://127.0.0.1:7007

Exit codes: 0 done, 1 a --fail-if or --require, 2 usage, 3 measured but not valid,
            4 refused or broken by the environment, 130 interrupted (what was measured is kept)")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Cli {
    /// The definition as it is parsed by: a quantity may begin with a minus, and is refused as the quantity that
    /// it is. To clap `-1%` and `-5s` would be flags that nobody knows.
    pub(crate) fn as_typed() -> clap::Command {
        const QUANTITIES: [&str; 10] =
            ["CHANCE", "N", "N|SHARES", "PACKETS", "PRIORITY", "RATE", "RATIO", "SHARES", "SIZE", "TIME"];
        fn with_minus(verb: clap::Command) -> clap::Command {
            let is_quantity = |arg: &clap::Arg| {
                let name = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
                let name = name.and_then(|name| name.split('[').next()).unwrap_or_default();
                arg.get_long().is_some() && QUANTITIES.contains(&name)
            };
            verb.mut_args(|arg| if is_quantity(&arg) { arg.allow_hyphen_values(true) } else { arg })
                .mut_subcommands(with_minus)
        }
        with_minus(<Self as clap::CommandFactory>::command())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Search(Box<SearchArgs>),
    Trial(Box<TrialArgs>),
    Serve(ServeArgs),
    Fit(FitArgs),
    Explain(ExplainArgs),
    Watch(WatchArgs),
    Import(ImportArgs),
    Report(ReportArgs),
    Export(ExportArgs),
    Compare(Box<CompareArgs>),
    Inject(Box<InjectArgs>),
    Measure(Box<MeasureArgs>),
    Heartbeat(HeartbeatArgs),
    Experiment(ExperimentArgs),
    Doctor(DoctorArgs),
    #[command(hide = true)]
    Client(ClientArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Answer UDP packets like a service under test: a service time, a queue, workers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline serve --service-time 20us --queue 256
  dropline serve --listen 127.0.0.1:9000 --service-time 500us --sleep --queue 16 --workers 2
  dropline serve --service-time 40us --queue 0 --buffer 26624B

It prints `listening udp ADDR:PORT`, echoes each packet (never more than it got), and on Ctrl-C
prints what it received, answered and dropped, and where.")]
pub(crate) struct ServeArgs {
    /// Where to listen; another address than loopback lets others send to it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7007")]
    pub(crate) listen: String,
    /// Time a worker takes for each packet; 0 answers at once, without queue and workers.
    #[arg(long, value_name = "TIME", default_value = "0us")]
    pub(crate) service_time: String,
    /// Sleep through the service time instead of keeping the processor busy.
    #[arg(long)]
    pub(crate) sleep: bool,
    /// Packets that wait for a worker; further ones are dropped and counted. 0: workers read from the socket
    /// themselves, and packets wait in its buffer.
    #[arg(long, value_name = "PACKETS", default_value_t = 256)]
    pub(crate) queue: usize,
    /// Receive buffer of the socket [default: the system's].
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// Workers that take the service time in parallel.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) workers: usize,
    /// Stop when the standard input ends too: for programs that start it.
    #[arg(long)]
    pub(crate) until_eof: bool,
    /// Stay on this CPU.
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Go before normal processes, at this priority of SCHED_FIFO (root or CAP_SYS_NICE).
    #[arg(long, value_name = "PRIORITY")]
    pub(crate) fifo: Option<u8>,
    /// With --queue 0: write when each packet was read and served to this file at the end, in ns of the
    /// monotonic clock.
    #[arg(long, value_name = "FILE")]
    pub(crate) times: Option<PathBuf>,
    /// How packets are taken from the socket: block (sleep until some are there), spin (ask all the time, which
    /// spares the sender the wake-up and keeps a CPU busy) or gro (spin, and take trains whole).
    #[arg(long, value_name = "MEANS", default_value = "block")]
    pub(crate) receive: String,
    /// Answer whatever comes, and as often: ports below 1024 too, and the same bytes again and again. Without it
    /// what was answered is not answered again, and who sends other bytes again and again is soon left alone.
    #[arg(long)]
    pub(crate) answer_all: bool,
    /// Print the counts as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say where each lost packet went, why, and what would help.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline trial udp://127.0.0.1:7007 --load 20kpps --arrival poisson -o lossy.jsonl
  dropline explain lossy.jsonl

It needs the times of each packet, which trial keeps beside its record (lossy.jsonl.packets), and
replays them against the target's buffer, service time and stalls.")]
pub(crate) struct ExplainArgs {
    /// The record of a trial.
    pub(crate) file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Watch traffic that is not ours, as it runs: arrivals, the socket's fill, drops, the service's pauses.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline watch --port 5000 --duration 10s -o seen.jsonl
  dropline explain seen.jsonl

Arrivals are seen with CAP_NET_RAW (root); without it the socket and its process alone. Nothing is sent.")]
pub(crate) struct WatchArgs {
    /// UDP port of the service, in this network namespace or in that of --pid.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The process that is the service; it may be in another network namespace [default: the one that holds the socket].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// How long [default: until Ctrl-C].
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Time between two looks at the socket.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub(crate) every: String,
    /// The record [default: dropline-DATE.jsonl; - keeps none].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Show records again: as text, JSON, a page, or its plots.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline report dropline-20261121-093100.jsonl
  dropline report before.jsonl after.jsonl --html both.html
  dropline report night.jsonl --svg plots/")]
pub(crate) struct ReportArgs {
    /// Records; several are shown on common axes.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write one self-contained page [default name: the first record's with .html].
    #[arg(long, value_name = "OUT", num_args = 0..=1)]
    pub(crate) html: Option<Option<PathBuf>>,
    /// Write each plot as an SVG file into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// Print one JSON object (an array of several).
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a record in another format.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline export night.jsonl --to csv -o night.csv
  dropline export night.jsonl --to openmetrics -o night.om
  dropline export graph.jsonl --to chrome -o graph.json    # for ui.perfetto.dev
  dropline export graph.jsonl --to ctf -o graph.ctf        # for babeltrace2")]
pub(crate) struct ExportArgs {
    /// The record.
    pub(crate) record: PathBuf,
    /// What it becomes.
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub(crate) to: ExportFormat,
    /// The new file, or the directory of --to ctf [default: what is text goes to stdout].
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// With --to hlog: an interval each time slice, to two digits, instead of one each trial, to three.
    #[arg(long)]
    pub(crate) slices: bool,
    /// With --to hlog: only this trial [default: those at a load that was asked for, else the last].
    #[arg(long, value_name = "N")]
    pub(crate) trial: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A pipeline's passages as Chrome's trace events, as Perfetto reads them.
    Chrome,
    /// A row a trial, or a cell of what was imported.
    Csv,
    /// A pipeline's events as a trace in a new directory (-o), as babeltrace2 reads it.
    Ctf,
    /// Delays as HdrHistogram's log; tagged where they are of several trials.
    Hlog,
    /// Load, loss and delays of trials, bounds of goals; what was imported as histograms.
    Openmetrics,
    /// The JSON Schema of a record's lines.
    Schema,
}

/// Perform trials for another program: answers the exec: protocol on stdin and stdout.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  echo '{\"trial\":1,\"intended_load_pps\":1000000,\"duration_s\":1}' | dropline measure sim:hard

So that another search, such as PyPI's MLRsearch, can measure with Dropline.")]
pub(crate) struct MeasureArgs {
    /// What is measured.
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
}

/// Run one of the project's own experiments.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline experiment search-cost --html search-cost.html
  dropline experiment search-coverage --runs 200 --html search-coverage.html
  dropline experiment poisson-loss --keep runs.jsonl --html poisson-loss.html

Experiments:
  aa-compare         does compare cry wolf, and does it see what is there? beside Welch's t and Mann-Whitney
  audio-2004         the delays of a thread of 2004: normal, gamma, or several code paths?
  heartbeat-server   CPU, loss and round trip of heartbeat serve beside a server with the original's habits
  poisson-loss       why a server lost half as many packets: ticks, closed loops, true Poisson, and a replay
  flowgraph-latency  how long samples take through FutureSDR and GNU Radio graphs by scheduler, stages and buffers,
                     and what the tracepoints cost (cargo xtask setup flowgraph)
  search-cost        what MDR costs beside binary search and RFC 9971, as in the tables of 2018
  search-coverage    how often each search's answer holds the truth of simulated systems, how wide it is, what
                     it costs; CSIT's library beside it when experiments/mlrsearch-rival is installed
  search-real        the same of real systems: a token bucket in network namespaces (root), a service that sleeps, an
                     echo beside a busy neighbour; 40 minutes, or --small
  wakeup-cyclictest  is wakeup: what cyclictest measures? both in turns, two minutes (root; cargo xtask setup rivals)")]
pub(crate) struct ExperimentArgs {
    /// Which one.
    pub(crate) name: String,
    /// How often everything is repeated [default: aa-compare 2000, flowgraph-latency 3 and 15 pairs,
    /// heartbeat-server 5, poisson-loss 5, search-cost 40, search-coverage 10, search-real 20, wakeup-cyclictest 12].
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// Seed of the first run; further ones have the numbers behind it (search-coverage) [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) first_seed: Option<u64>,
    /// Do everything only a little: shows that it works, proves nothing (flowgraph-latency, heartbeat-server,
    /// poisson-loss, search-real, wakeup-cyclictest).
    #[arg(long)]
    pub(crate) small: bool,
    /// Do all there is, however long it takes (flowgraph-latency, poisson-loss: about two hours).
    #[arg(long, conflicts_with = "small")]
    pub(crate) full: bool,
    /// Only the rows or systems whose names hold this (flowgraph-latency, poisson-loss, search-real), such
    /// as 'one CPU', 'bucket' or 'overhead' (flowgraph-latency: several with | between); search-coverage:
    /// systems by their names, as in 'noisy,dips'.
    #[arg(long, value_name = "WORDS")]
    pub(crate) only: Option<String>,
    /// Time for each search (search-real) [default: 36s].
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Keep each run in this file as it ends, and do not repeat those that are in it
    /// (flowgraph-latency, poisson-loss, search-coverage, search-real, wakeup-cyclictest).
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what on this machine disturbs a measurement, and whether a target answers.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  dropline doctor udp://127.0.0.1:7007")]
pub(crate) struct DoctorArgs {
    /// A target to look at too.
    pub(crate) target: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Be one client of a closed loop; started by trials, with words that they write.
#[derive(Args, Debug)]
pub(crate) struct ClientArgs {
    /// The plan.
    pub(crate) words: Vec<String>,
}

/// Print a shell's completion script.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  dropline completions bash > ~/.local/share/bash-completion/completions/dropline"
)]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Print the man page of the program, or of one verb.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  dropline man | man -l -")]
pub(crate) struct ManArgs {
    /// Which verb.
    pub(crate) verb: Option<String>,
}
