//! Flags that several verbs have; those of one verb stand in its file. What they mean is decided in `plan.rs`.

use crate::help::{self, one_of};
use clap::Args;
use dropline_distributions::import::{self, Format};
use dropline_stats::compare::SMALLEST_EFFECT;
use dropline_traffic::{ReceiveMeans, SendMeans};
use dropline_trial::{Drain, TrafficProfile, arrival};
use std::path::PathBuf;

/// The units of quantities, as flags take them.
const UNITS: &str = "\
Units:
  load      100kpps 1.5Mpps 80Mbit/s 1kHz
  time      250ms 10s 5min
  size      64B 4KiB
  ratio     0.005 0.5%";

/// Every way to name a target.
pub(crate) fn targets() -> String {
    let forms = dropline_targets::KINDS.iter().flat_map(|kind| kind.forms.iter().copied());
    let systems = dropline_targets::Simulation::systems();
    let systems = format!("Simulated systems: {}.", systems.join(", "));
    format!("{}\n\n{systems}\n\n{UNITS}", help::table("Targets", forms))
}

/// Every arrival process.
pub(crate) fn arrivals() -> String {
    let kinds = arrival::KINDS.iter().map(|kind| (kind.written, kind.about));
    help::table("Arrival processes (--arrival)", kinds.chain([arrival::SUM]))
}

/// The sentence of `--smallest-effect`, against what.
pub(crate) fn smallest_effect(against: &str) -> String {
    format!(
        "Ignore a change that is a smaller share of {against} than this [default: {}%]",
        100.0 * SMALLEST_EFFECT
    )
}

/// What the packets look like.
#[derive(Args, Debug)]
#[command(next_help_heading = "Load")]
pub(crate) struct TrafficArgs {
    /// When packets leave: constant, poisson, or another process that dropline trial --help lists.
    #[arg(long, value_name = "PROCESS", default_value = "constant")]
    pub(crate) arrival: String,
    #[arg(long, value_name = "SIZE", conflicts_with = "frame", help = payload())]
    pub(crate) packet: Option<String>,
    /// Size of the Ethernet frame with its checksum, instead of --packet.
    #[arg(long, value_name = "SIZE")]
    pub(crate) frame: Option<String>,
    /// Number of streams (source ports), or their shares of the load, such as voice=1,bulk=3.
    #[arg(long, value_name = "N|SHARES", default_value = "1")]
    pub(crate) streams: String,
    /// Split the load over directions with these shares, such as west=2,east=1 (exec: and sim:).
    #[arg(long, value_name = "SHARES")]
    pub(crate) directions: Option<String>,
    #[arg(long, value_name = "N", help = seed())]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
}

fn payload() -> String {
    format!("Size of the UDP payload [default: {}B]", TrafficProfile::default().packet.payload_bytes())
}

fn seed() -> String {
    format!(
        "Random seed of arrivals and simulations, from which each trial's own is derived; the same seed repeats the \
         same random numbers [default: {}]",
        TrafficProfile::default().seed
    )
}

/// How the target is measured.
#[derive(Args, Debug)]
#[command(next_help_heading = "Target")]
pub(crate) struct MeasuredArgs {
    #[arg(long, value_name = "TIME", help = drain())]
    pub(crate) drain: Option<String>,
    /// Split each trial into this many time slices, none shorter than 10 ms [default: 40].
    #[arg(long, value_name = "N")]
    pub(crate) slices: Option<u32>,
    /// How long an exec: program may stay silent beyond a trial's duration.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) patience: String,
    /// Spread the streams over these addresses of the target, instead of the one named.
    #[arg(long, value_name = "ADDRESSES")]
    pub(crate) target_addresses: Option<String>,
    /// Spread the streams over this many consecutive ports of the target, from the one named.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) target_ports: u16,
    /// Process of the target, whose CPU time and waiting are watched [default: the one that holds the socket].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
}

fn drain() -> String {
    format!(
        "Wait at most this long for packets after the last departure [default: {:?}]",
        Drain::default().longest
    )
}

/// How packets of ours are moved.
#[derive(Args, Debug)]
#[command(next_help_heading = "Generator")]
pub(crate) struct MovingArgs {
    /// How packets are sent.
    #[arg(long, value_name = "MEANS", default_value = "auto",
          value_parser = one_of(SendMeans::ALL, SendMeans::name, SendMeans::about))]
    pub(crate) send: SendMeans,
    /// How replies are received.
    #[arg(long, value_name = "MEANS", default_value = "auto",
          value_parser = one_of(ReceiveMeans::ALL, ReceiveMeans::name, ReceiveMeans::about))]
    pub(crate) receive: ReceiveMeans,
    /// Number of threads that send; each has its own streams.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) senders: usize,
    /// Number of threads that receive; each has its own streams.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) receivers: usize,
    /// CPUs of senders and receivers, such as 0/1 or 0,2/1,3; auto pins the sender to the last CPU if real-time
    /// priority is allowed, free pins nothing.
    #[arg(long, value_name = "CPUS", default_value = "auto")]
    pub(crate) cpus: String,
    /// Do not use real-time priority (SCHED_FIFO) for the sender.
    #[arg(long)]
    pub(crate) ordinary_priority: bool,
    /// Spread the streams over these addresses of this machine, such as 127.0.0.1-127.0.0.8.
    #[arg(long, value_name = "ADDRESSES")]
    pub(crate) source_addresses: Option<String>,
    /// Source port of the first stream; each further stream uses the next one.
    #[arg(long, value_name = "PORT")]
    pub(crate) source_port: Option<u16>,
}

/// Where the result goes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct KeepArgs {
    /// Keep the record in this file; - keeps none [default: dropline-DATE.jsonl].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with code 1 if this holds or cannot be told, such as 'p99>200us', 'loss_ratio>=0.1%' or, of a search,
    /// 'lower[0.5%]<90kpps'; may be repeated, and an unknown name lists all.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Read flags from this TOML file, by their names; those on the command line win.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Show no progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What a file does not say about itself.
#[derive(Args, Debug)]
pub(crate) struct SourceArgs {
    /// Format of the file [default: recognized from its beginning].
    #[arg(long, value_name = "FORMAT", value_parser = one_of(Format::all(), Format::word, Format::what))]
    pub(crate) from: Option<Format>,
    /// Unit of the file's values, if the file names none.
    #[arg(long, value_name = "UNIT", value_parser = one_of(import::UNITS, |(word, _)| word, |(_, ns)| in_words(ns)))]
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
