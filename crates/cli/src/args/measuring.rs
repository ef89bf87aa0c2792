//! Flags of the verbs that offer load: what is measured, with which traffic, where the result goes.

use super::{ARRIVALS, TARGETS};
use clap::{Args, ValueEnum};
use dropline_record::ResultWord;
use std::path::PathBuf;

/// What a search that goes on has from its record.
const OF_THE_RECORD: [&str; 20] = [
    "min_load",
    "max_load",
    "algorithm",
    "preset",
    "goal",
    "level",
    "certify",
    "repeat",
    "delay_at",
    "warm_up",
    "mdr_version",
    "mdr_phases",
    "mdr_doublings",
    "arrival",
    "packet",
    "frame",
    "streams",
    "directions",
    "drain",
    "seed",
];

/// Find the loads at which a target starts to drop packets, for one or several loss ratios at once.
#[derive(Args, Debug)]
#[command(after_help = format!("\
Examples:
  dropline search sim:consistent
  dropline search udp://127.0.0.1:7007 --goal 0 --goal 0.5% --arrival poisson
  dropline search udp://127.0.0.1:7007 --budget 2min --level 99% --certify
  dropline search udp://127.0.0.1:7007 --algorithm mdr --goal 0,trial=10s --budget 5min
  dropline search exec:'./tester --port 1' --min-load 1kpps --max-load 10Mpps -o night.jsonl
  dropline search --resume night.jsonl exec:'./tester --port 1' --budget 5min
  dropline search udp://127.0.0.1:7007 --baseline main.jsonl --smallest-effect 3%
  dropline search udp://127.0.0.1:7007 --fail-if 'lower[0.5%]<90kpps' --require narrow
  dropline search udp://127.0.0.1:7007 --scenario scenarios/rfc2544-frame-sizes.toml

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
    #[arg(long, value_name = "N", help_heading = "Search", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_trials: Option<u64>,
    /// Search N times, always the same target, and show the spread.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search", value_parser = clap::value_parser!(u32).range(1..))]
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
    /// Go on with a record where it stood; all but --budget and --max-trials is taken from it. A program is started
    /// only if its target is typed again.
    #[arg(long, value_name = "FILE", help_heading = "Record", conflicts_with_all = OF_THE_RECORD)]
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
    /// Compare with this earlier search afterwards, and exit with 1 where a limit regressed.
    #[arg(long, value_name = "RECORD", help_heading = "Record")]
    pub(crate) baseline: Option<PathBuf>,
    /// Smallest change against --baseline that matters, as a share of it [default: 2%].
    #[arg(long, value_name = "RATIO", help_heading = "Record", requires = "baseline")]
    pub(crate) smallest_effect: Option<String>,
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
  dropline trial 'flowgraph:exec?granularity=32768:./graph'
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
    /// Chance of arrivals and simulations; each trial derives its own [default: 7].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
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
    /// Exit with 1 if this holds, or cannot be told: 'p99>200us', 'loss_ratio>=0.1%', 'lost>0', 'load<90kpps'; of a
    /// search's goals 'lower<90kpps', 'median[0.5%]<90kpps', 'upper', 'load'. May be repeated; an unknown name shows all.
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
