//! Every flag, as typed. What they mean is decided in `plan.rs`.

use crate::verbs::heartbeat::HeartbeatArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use dropline::record::ResultWord;
use std::path::PathBuf;

const TARGETS: &str = "\
Targets:
  udp://HOST:PORT              a UDP service that echoes each request
  udp://HOST:PORT?reply=none   a one-way service, counted at its socket
  heartbeat://HOST:PORT        a heartbeat aggregator; its report is the check of what it kept
  sim:NAME?capacity=9Mpps      a simulated system with known truth, in virtual time
                               (hard consistent soft noisy dips inconsistent lossless dead, and more)
  exec:COMMAND                 another program performs the trials, one JSON object a line
  wakeup:?threads=2            a timer: how late its threads wake up (priority, cpus, policy, slack, stop)
  flowgraph:exec:COMMAND       a program with tracepoints: how long samples are on their way through it
  flowgraph:exec?granularity=32768&warm-up=auto:COMMAND   (ratio, rings, events, keep, recorder=ring|lttng|both)
  flowgraph:ctf:DIRECTORY      a trace of such a program, recorded before (provider, pipe, n)
  replay:RECORD                stored trials answered again

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

/// Find the loads at which a target starts to drop packets, for one or several loss ratios at once.
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  dropline search sim:consistent
  dropline search udp://127.0.0.1:7007 --goal 0 --goal 0.5% --arrival poisson
  dropline search udp://127.0.0.1:7007 --budget 2min --level 99% --certify
  dropline search udp://127.0.0.1:7007 --algorithm mdr --goal 0,trial=10s --budget 5min
  dropline search exec:'./tester --port 1' --min-load 1kpps --max-load 10Mpps -o night.jsonl
  dropline search --resume night.jsonl
  dropline search --scenario scenarios/rfc2544-frame-sizes.toml

A goal is a loss ratio and any of its attributes (RFC 9971):
  --goal 0.5%,exceed=50%,trial=1s,initial=1s,sum=21s,width=0.5%
Without goals: no loss, and 0.5 % loss.

The answer of credible is an interval that holds the truth with --level probability; it is narrow when it is
within the goal's width, else wide: a larger --budget buys a narrower one. --certify goes on until RFC 9971
calls the same goals regular, and prints both.

{TARGETS}"))]
pub(crate) struct SearchArgs {
    /// What is measured.
    #[arg(required_unless_present_any = ["resume", "scenario"])]
    pub(crate) target: Option<String>,
    /// Lowest load the search may use [default: 1kpps; sim: 10kpps].
    #[arg(long, value_name = "RATE", help_heading = "Search")]
    pub(crate) min_load: Option<String>,
    /// Highest load the search may use [default: what this machine's generator was measured to offer].
    #[arg(long, value_name = "RATE", help_heading = "Search")]
    pub(crate) max_load: Option<String>,
    /// credible (intervals that hold the truth at a stated level), mlr (RFC 9971), mdr (multiple drop rate) or
    /// binary (RFC 2544 bisection) [default: credible].
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub(crate) algorithm: Option<String>,
    /// Goals of others: csit, rfc2544 or tst009; implies mlr.
    #[arg(long, value_name = "NAME", help_heading = "Search", conflicts_with = "goal")]
    pub(crate) preset: Option<String>,
    /// A loss ratio to find the load of, with attributes; may be repeated.
    #[arg(long, value_name = "RATIO[,…]", help_heading = "Search")]
    pub(crate) goal: Vec<String>,
    /// Bound on the time of all trials [default: credible 36s, mlr 1200s, mdr 600s, binary none].
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    pub(crate) budget: Option<String>,
    /// How often the intervals of credible shall hold the truth [default: 95%].
    #[arg(long, value_name = "RATIO", help_heading = "Search")]
    pub(crate) level: Option<String>,
    /// Go on until the same goals are regular by RFC 9971, for at most 20 min more, and state both (credible).
    #[arg(long, help_heading = "Search")]
    pub(crate) certify: bool,
    /// Bound on the number of trials.
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) max_trials: Option<u64>,
    /// Search N times and show the spread.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub(crate) repeat: u32,
    /// Measure delay percentiles afterwards, at these shares of each goal's load: 90%,50%,10%.
    #[arg(long, value_name = "SHARES", help_heading = "Search")]
    pub(crate) delay_at: Option<String>,
    /// Offer the highest load this long first, and drop that trial [default: binary 5s, else 0s].
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    pub(crate) warm_up: Option<String>,
    /// Rules of mdr: current, or first (the ones of 2018).
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub(crate) mdr_version: Option<String>,
    /// Phases of mdr between the initial and the final one [default: 2].
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) mdr_phases: Option<u8>,
    /// How often an external step of mdr doubles the width [default: 1].
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) mdr_doublings: Option<u8>,
    /// Go on with a record where it stood; everything else is taken from it.
    #[arg(long, value_name = "FILE", help_heading = "Record")]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Write the report page to this file too.
    #[arg(long, value_name = "FILE", help_heading = "Record")]
    pub(crate) html: Option<PathBuf>,
    /// Print a line of JSON a trial as it ends, instead of the report.
    #[arg(long, conflicts_with = "json", help_heading = "Record")]
    pub(crate) jsonl: bool,
    /// Exit with 1 unless every result is this.
    #[arg(long, value_name = "WHAT", help_heading = "Record")]
    pub(crate) require: Option<Requirement>,
}

/// Offer one load for one duration and count what comes back.
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  dropline trial udp://127.0.0.1:7007 --load 100kpps --duration 10s --arrival poisson
  dropline trial udp://127.0.0.1:7007 --load 80Mbit/s --frame 512B --json
  dropline trial udp://127.0.0.1:7007 --load 20kpps --arrival 64*onoff:on=10ms,off=90ms
  dropline trial udp://127.0.0.1:7007 --arrival ticks:n=128,period=20ms
  dropline trial sim:soft --load 9Mpps --fail-if 'loss_ratio>0.1%'
  dropline trial 'flowgraph:exec?granularity=32768:./graph --pipes 6'
  dropline trial wakeup: --load 1kHz --duration 60s --background 'find / -xdev' --stop-above 500us

{TARGETS}

{ARRIVALS}"))]
pub(crate) struct TrialArgs {
    /// What is measured.
    #[arg(required_unless_present = "scenario")]
    pub(crate) target: Option<String>,
    /// Intended load: 100kpps, 80Mbit/s. Processes with their own clocks take none.
    #[arg(long, value_name = "RATE")]
    pub(crate) load: Option<String>,
    /// How long packets are sent.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: String,
    /// Do not keep each packet's times beside the record; `explain` needs them.
    #[arg(long)]
    pub(crate) no_packets: bool,
    /// Run this command beside the trial, without a shell; may be repeated.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) background: Vec<String>,
    /// End the trial at the first wake-up that is later than this (wakeup:).
    #[arg(long, value_name = "TIME")]
    pub(crate) stop_above: Option<String>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// What the packets look like.
#[derive(Args, Debug)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct TrafficArgs {
    /// When packets leave: constant, poisson, or another process, see below.
    #[arg(long, value_name = "PROCESS", default_value = "constant")]
    pub(crate) arrival: String,
    /// UDP payload [default: 64B].
    #[arg(long, value_name = "SIZE", conflicts_with = "frame")]
    pub(crate) packet: Option<String>,
    /// Ethernet frame with FCS instead; several, as 64B,512B, make a search each.
    #[arg(long, value_name = "SIZE[,…]")]
    pub(crate) frame: Option<String>,
    /// Number of streams (source ports), or their shares of the load: voice=1,bulk=3.
    #[arg(long, value_name = "N|SHARES", default_value = "1")]
    pub(crate) streams: String,
    /// Directions that the load is the sum of, with their shares: west=2,east=1 (exec: and sim:).
    #[arg(long, value_name = "SHARES")]
    pub(crate) directions: Option<String>,
    /// Chance of arrivals and simulations; each trial derives its own.
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
    /// Longest wait for packets after the last departure [default: 2s].
    #[arg(long, value_name = "TIME")]
    pub(crate) drain: Option<String>,
    /// Time slices of each trial, none shorter than 10 ms [default: 40].
    #[arg(long, value_name = "N")]
    pub(crate) slices: Option<u32>,
    /// How long an exec: program may stay silent beyond a trial's duration.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) patience: String,
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
}

/// How packets of ours are moved.
#[derive(Args, Debug)]
#[command(next_help_heading = "Generator")]
pub(crate) struct MovingArgs {
    /// How packets leave: auto, send, sendmmsg, gso (those due together as one train, cut up by the kernel) or
    /// packet (frames of our own past the queueing discipline; needs CAP_NET_RAW).
    #[arg(long, value_name = "MEANS", default_value = "auto")]
    pub(crate) send: String,
    /// How replies are received: auto, block, spin or gro (spin, trains stay whole).
    #[arg(long, value_name = "MEANS", default_value = "auto")]
    pub(crate) receive: String,
    /// Threads that send; each has streams of its own.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) senders: usize,
    /// Threads that receive; each has streams of its own.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) receivers: usize,
    /// CPUs of senders and receivers, as 0/1 or 0,2/1,3; auto (the last one for the sender where it may go
    /// first), or free.
    #[arg(long, value_name = "CPUS", default_value = "auto")]
    pub(crate) cpus: String,
    /// Do not let the sender go first (SCHED_FIFO) where that is allowed.
    #[arg(long)]
    pub(crate) ordinary_priority: bool,
    /// Addresses of this machine that the streams have in turn: 127.0.0.1-127.0.0.8, or a list.
    #[arg(long, value_name = "ADDRESSES")]
    pub(crate) source_addresses: Option<String>,
    /// Source port of the first stream; each further one has the next.
    #[arg(long, value_name = "PORT")]
    pub(crate) source_port: Option<u16>,
    /// Addresses of the target that the streams have in turn, instead of the one named.
    #[arg(long, value_name = "ADDRESSES")]
    pub(crate) target_addresses: Option<String>,
    /// Ports of the target that the streams have in turn, from the one named: how many.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) target_ports: u16,
    /// The process that is the target, to be watched: its CPU time, its waiting [default: the one that holds the
    /// socket].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
}

/// Where the result goes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Record")]
pub(crate) struct KeepArgs {
    /// The record [default: dropline-DATE.jsonl; - keeps none].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 if this holds: 'p99>200us', 'loss_ratio>0.1%', 'load<90kpps'; may be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Take settings from a TOML file; its keys are the names of the flags, and flags win.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Requirement {
    /// Each interval is within its goal's width (credible).
    Narrow,
    /// Both relevant bounds stand and are close enough (mlr, mdr, binary).
    Regular,
}

impl Requirement {
    pub(crate) fn word(self) -> ResultWord {
        match self {
            Self::Narrow => ResultWord::Narrow,
            Self::Regular => ResultWord::Regular,
        }
    }
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
    /// Print the counts as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Keep what another program measured as a record: exact values and counts, with what they mean.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cyclictest -m -p 95 -a -i 1000 -l 100000 -h 400 -q > quiet.hist && dropline import quiet.hist -o quiet.jsonl
  dropline import service.hlog -o service.jsonl
  dropline import values.txt --from raw --unit us -o values.jsonl

A malformed file is refused with its line; nothing of it is kept.")]
pub(crate) struct ImportArgs {
    /// What another program wrote.
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
    /// Its format: tsv, cyclictest, cyclictest-json, hlog, fio, raw or record [default: looked at].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// The unit of its values, where it names none: ns, us, ms or s.
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
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

/// Say whether B is better or worse than A: typically, at a high percentile, and in how many are long.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline compare before.jsonl after.jsonl --above 200us
  dropline compare iozone64.tsv iozone32.tsv --above 42us
  dropline compare idle.hlog loaded.hlog --smallest-effect 5% --json
  dropline compare --abba udp://127.0.0.1:7007 udp://127.0.0.1:7008 --load 20kpps --duration 10min
  dropline compare --abba wakeup: 'wakeup:?policy=other' --duration 5min -o turns.jsonl
  dropline compare turns.jsonl

Each of the three is improved, regressed, equivalent (smaller than the smallest effect that matters) or
no evidence. Exit code 1: something regressed.")]
pub(crate) struct CompareArgs {
    /// A and B: records, or files that fit reads; one record of turns; with --abba two targets.
    #[arg(required = true, num_args = 1..=2, value_names = ["A", "B"])]
    pub(crate) targets: Vec<String>,
    /// An event longer than this is long [default: A's 99th percentile].
    #[arg(long, value_name = "TIME")]
    pub(crate) above: Option<String>,
    /// Smallest change that matters, as a share of A [default: 2%, and no less than a tick].
    #[arg(long, value_name = "RATIO")]
    pub(crate) smallest_effect: Option<String>,
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
    /// UDP port of the service, in this network namespace.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The process that is the service [default: the one that holds the socket].
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
  dropline export night.jsonl --to csv > night.csv
  dropline export graph.jsonl --to chrome -o graph.json      then open it in ui.perfetto.dev
  dropline export graph.jsonl --to ctf -o graph.ctf          then  babeltrace2 graph.ctf")]
pub(crate) struct ExportArgs {
    /// The record.
    pub(crate) record: PathBuf,
    /// csv: a row a trial, or a cell of what was imported. hlog: delays as HdrHistogram's log. openmetrics: delays as
    /// a histogram. schema: the JSON Schema of a record's lines. Of a pipeline's trial also ctf: its events as a trace in a
    /// new directory (-o), as babeltrace2 reads it; chrome: its passages as Chrome's trace events, as Perfetto reads them.
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub(crate) to: ExportFormat,
    /// The new file or directory [default: what is text goes to stdout].
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Chrome,
    Csv,
    Ctf,
    Hlog,
    Openmetrics,
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
                     echo beside a busy neighbour; 40 minutes, or --small")]
pub(crate) struct ExperimentArgs {
    /// Which one.
    pub(crate) name: String,
    /// How often everything is repeated [default: aa-compare 2000, flowgraph-latency 3 and 15 pairs,
    /// heartbeat-server 5, poisson-loss 5, search-cost 40, search-coverage 10, search-real 20].
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// Do everything only a little: shows that it works, proves nothing (flowgraph-latency, heartbeat-server,
    /// poisson-loss, search-real).
    #[arg(long)]
    pub(crate) small: bool,
    /// Do all there is, however long it takes (flowgraph-latency, poisson-loss: about two hours).
    #[arg(long, conflicts_with = "small")]
    pub(crate) full: bool,
    /// Only the rows or systems whose names hold this (flowgraph-latency, poisson-loss, search-real), such
    /// as 'one CPU', 'bucket' or 'overhead'.
    #[arg(long, value_name = "WORDS")]
    pub(crate) only: Option<String>,
    /// Time for each search (search-real) [default: 36s].
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Keep each run in this file as it ends, and do not repeat those that are in it
    /// (flowgraph-latency, poisson-loss, search-real).
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
