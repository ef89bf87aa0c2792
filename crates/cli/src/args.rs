//! Flags as typed, of the verbs that measure or compare and those that several verbs share; other verbs have theirs beside what
//! they do. What they mean is decided in `plan.rs`.

mod delays;
mod filing;
mod fleet;
mod history;
mod measuring;
mod shares;

pub(crate) use delays::{CompareArgs, FitArgs, ImportArgs, InjectArgs, SourceArgs};
pub(crate) use filing::{FilingArgs, VARIABLE};
pub(crate) use fleet::FleetArgs;
#[cfg(feature = "fleet")]
pub(crate) use fleet::ServerArgs;
pub(crate) use history::{
    DirectoryArgs, HistoryAddArgs, HistoryArgs, HistoryExportArgs, HistoryIndexArgs, HistoryListArgs,
    HistoryPruneArgs, HistorySource, HistoryVerb, TrendArgs, WantedArgs,
};
pub(crate) use measuring::{ARRIVAL, KeepArgs, Requirement, SearchArgs, TrafficArgs, TrialArgs};

use crate::help;
use clap::Args;
use dropline_trial::arrival;
use std::path::PathBuf;

/// The units of quantities, as flags take them.
const UNITS: &str = "\
Units:
  load      100kpps 1.5Mpps 80Mbit/s 1kHz
  time      250ms 10s 5min
  size      64B 4KiB
  ratio     0.005 0.5%";

/// How targets are listed.
const TARGETS: &str = "All targets:  dropline help targets";

/// Every way to name a target.
pub(crate) fn targets() -> String {
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
    /// Wait so long for a socket that is not there yet.
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<String>,
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
    /// Also say how it was measured: traffic, generator and waits.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}
