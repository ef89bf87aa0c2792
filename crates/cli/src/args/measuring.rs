//! Flags of the verbs that offer load: what is measured, with which traffic, where the result goes.

use super::{FilingArgs, FleetArgs, TARGETS, ToldArgs, UNITS, arrivals, shares};
use crate::help::one_of;
use clap::{Arg, Args, Command, Id, ValueEnum};
use dropline_record::ResultWord;
use dropline_search::{Preset, mdr};
use dropline_stats::SLICES;
use dropline_stats::compare::SMALLEST_EFFECT;
use dropline_targets::DEADLINE;
use dropline_traffic::{ReceiveMeans, SendMeans};
use dropline_trial::{Drain, TrafficProfile};
use dropline_verbs::back_to_back::BackToBackPlan;
use dropline_verbs::plan::{AlgorithmPlan, CERTIFY_BUDGET};
use dropline_verbs::search_arguments::GOALS;
use std::path::PathBuf;

const SEARCH_EXAMPLES: &str = "\
Examples:
  dropline search sim:consistent
  dropline serve &
  dropline search udp://127.0.0.1:7007 --arrival poisson \\
      --goal 0 --goal 0.5%
  dropline search udp://127.0.0.1:7007 --goal 'p99<5ms'
  dropline search udp://127.0.0.1:7007 --certify \\
      --budget 2min --level 99%
  dropline search udp://127.0.0.1:7007 --budget 5min \\
      --algorithm mdr --goal 0,trial=10s
  dropline search exec:'dropline measure sim:hard' \\
      --max-load 10Mpps -o night.jsonl
  dropline search --resume night.jsonl --budget 5min \\
      exec:'dropline measure sim:hard'
  dropline search udp://127.0.0.1:7007 -o main.jsonl
  dropline search udp://127.0.0.1:7007 \\
      --baseline main.jsonl --smallest-effect 3%
  dropline search udp://127.0.0.1:7007 --require narrow \\
      --fail-if 'lower[0.5%]<90kpps'
  dropline search udp://127.0.0.1:7007 \\
      --scenario scenarios/rfc2544-frame-sizes.toml";

fn search_help() -> String {
    format!("\
{SEARCH_EXAMPLES}

A goal is a loss ratio with optional attributes (RFC 9971):
  --goal 0.5%,exceed=50%,trial=1s,initial=1s,sum=21s
  --goal 0,width=1%

Or a bound on the delay; what comes back later counts as lost:
  --goal 'p99<200us'
  --goal 'late>50ms:0.1%'

The answer of credible is an interval that contains the true limit with probability --level. It is narrow when it is \
within the goal's width, else wide: give a larger --budget to make it narrower.

{TARGETS}

{UNITS}")
}

/// Find the load above which packets drop, for one or several loss ratios at once.
#[derive(Args, Debug)]
#[command(after_help = SEARCH_EXAMPLES, after_long_help = search_help())]
pub(crate) struct SearchArgs {
    /// What to measure, such as udp://HOST:PORT or sim:consistent.
    #[arg(required_unless_present_any = ["resume", "scenario"])]
    pub(crate) target: Option<String>,
    #[arg(long, value_name = "GOAL[,…]", help_heading = "Search", value_parser = shares::goal, help = goals())]
    pub(crate) goal: Vec<String>,
    #[arg(long, value_name = "TIME", help_heading = "Search", help = budgets())]
    pub(crate) budget: Option<String>,
    #[arg(long, value_name = "RATIO", help_heading = "Search", value_parser = shares::share, help = level())]
    pub(crate) level: Option<String>,
    #[arg(long, help_heading = "Search", help = certificate())]
    pub(crate) certify: bool,
    #[arg(long, value_name = "NAME", help_heading = "Search",
          help = format!("How the next load is chosen [default: {}]", AlgorithmPlan::all()[0].name()),
          value_parser = one_of(AlgorithmPlan::all(), AlgorithmPlan::name, AlgorithmPlan::about))]
    pub(crate) algorithm: Option<AlgorithmPlan>,
    /// Use the goals of another method; implies --algorithm mlr.
    #[arg(long, value_name = "NAME", help_heading = "Search", conflicts_with = "goal",
          value_parser = one_of(Preset::ALL, Preset::name, Preset::about))]
    pub(crate) preset: Option<Preset>,
    /// Lowest load to try [default: 1kpps, or what fits the target].
    #[arg(long, value_name = "RATE", help_heading = "Search")]
    pub(crate) min_load: Option<String>,
    /// Highest load to try [default: what fits the target, for udp:// what this machine can send, which is measured first].
    #[arg(long, value_name = "RATE", help_heading = "Search")]
    pub(crate) max_load: Option<String>,
    /// Stop after this many trials.
    #[arg(long, value_name = "N", help_heading = "Search", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_trials: Option<u64>,
    /// Repeat the search this often, and show how much the answers differ; -o r.jsonl keeps r-1.jsonl, r-2.jsonl and so on.
    // All of them are shown together, so all are held.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    #[arg(long, value_name = "TIMES", help = bursts(), num_args = 0..=1, require_equals = true, default_missing_value = BURSTS, help_heading = "Search",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) back_to_back: Option<u32>,
    /// Afterwards, measure delay percentiles at these shares of each goal's load, such as 90%,50%,10%.
    #[arg(long, value_name = "SHARES", help_heading = "Search", value_delimiter = ',', value_parser = shares::share)]
    pub(crate) delay_at: Vec<String>,
    #[arg(long, value_name = "TIME", help_heading = "Search", help = warm_ups())]
    pub(crate) warm_up: Option<String>,
    #[arg(long, value_name = "NAME", help_heading = "Search", hide = true, help = of_mdr("Rules of mdr", |rules, _, _| rules.name().into()),
          value_parser = one_of(mdr::Version::ALL, mdr::Version::name, mdr::Version::about))]
    pub(crate) mdr_version: Option<mdr::Version>,
    #[arg(long, value_name = "N", help_heading = "Search", hide = true,
          help = of_mdr("Number of phases of mdr between the first and the last one", |_, phases, _| phases.to_string()))]
    pub(crate) mdr_phases: Option<u8>,
    #[arg(long, value_name = "N", help_heading = "Search", hide = true,
          help = of_mdr("How often an external step of mdr doubles the width", |_, _, doublings| doublings.to_string()))]
    pub(crate) mdr_doublings: Option<u8>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Also write the report as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print one line of JSON for each trial as it ends, instead of the report.
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(crate) jsonl: bool,
    /// Exit with code 1 unless the result of every goal is this.
    #[arg(long, value_name = "WHAT", help_heading = "Output")]
    pub(crate) require: Option<Requirement>,
    /// Compare with this earlier search afterwards, and exit with code 1 if a limit got worse.
    #[arg(long, value_name = "RECORD", help_heading = "Output")]
    pub(crate) baseline: Option<PathBuf>,
    #[arg(long, value_name = "RATIO", help_heading = "Output", requires = "baseline", value_parser = shares::share, help = smallest_effect("--baseline"))]
    pub(crate) smallest_effect: Option<String>,
    /// Continue the search of this record with its settings; only --budget and --max-trials may be others (type the
    /// target again if it starts a program, asks for a name, or reads a file of another directory than the record's).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) resume: Option<PathBuf>,
}

impl SearchArgs {
    /// Which flags exclude one another, by where they stand in the help: a new flag has its place by its heading.
    pub(crate) fn excluding(search: Command) -> Command {
        let below = |headings: &[&str], but: &[&str], and: &[&'static str]| -> Vec<Id> {
            let is_below =
                |arg: &&Arg| arg.get_help_heading().is_some_and(|heading| headings.contains(&heading));
            let ids = search.get_arguments().filter(is_below).map(Arg::get_id);
            let ids = ids.filter(|id| !but.contains(&id.as_str())).cloned();
            ids.chain(and.iter().map(Id::from)).collect()
        };
        // What is searched for and with which packets is the record's; a search may only last longer.
        let of_the_record = below(&["Search", "Load"], &["budget", "max_trials", "back_to_back"], &["drain"]);
        // A burst is found, and nothing else of it is judged.
        let judged = ["fail_if", "require", "baseline", "html", "resume"];
        let of_loads = below(&["Search"], &["max_load", "back_to_back"], &judged);
        search
            .mut_arg("resume", |arg| arg.conflicts_with_all(of_the_record))
            .mut_arg("back_to_back", |arg| arg.conflicts_with_all(of_loads))
    }
}

fn goals() -> String {
    format!(
        "Find the highest load with at most this loss ratio, or within this bound on the delay (p99<200us); may be repeated \
         [default: {}]",
        GOALS.join(" and ")
    )
}

fn level() -> String {
    let levels = AlgorithmPlan::all().map(|algorithm| match algorithm {
        AlgorithmPlan::Credible { level, .. } => Some(100.0 * level.as_f64()),
        _ => None,
    });
    let usual = levels.into_iter().flatten().next().expect("an algorithm with a level");
    format!(
        "Confidence level of the intervals: the share of searches whose interval contains the true limit (credible) \
         [default: {usual}%]"
    )
}

/// The sentence of a setting of mdr, with its default.
fn of_mdr(what: &str, setting: fn(mdr::Version, u8, u8) -> String) -> String {
    let settings = AlgorithmPlan::all().map(|algorithm| match algorithm {
        AlgorithmPlan::Mdr { version, intermediate_phases, doublings } => {
            Some(setting(version, intermediate_phases, doublings))
        }
        _ => None,
    });
    format!("{what} [default: {}]", settings.into_iter().flatten().next().expect("mdr"))
}

/// How often a burst is sent of each length where nobody says how often.
const BURSTS: &str = "50";

fn bursts() -> String {
    format!(
        "Find the longest burst of back-to-back frames of which none is lost (RFC 9004), {BURSTS} times or this often, at --max-load [default: \
         {} Gbit/s] or as fast as the sender can; for link: targets",
        BackToBackPlan::LINE_BPS / 1_000_000_000
    )
}

fn budgets() -> String {
    let budget = |algorithm: AlgorithmPlan| match algorithm.default_budget() {
        Some(budget) => format!("{} {budget:?}", algorithm.name()),
        None => format!("{} no limit", algorithm.name()),
    };
    format!(
        "Stop when the trials, each with its waits, took this long together [default: {}]",
        AlgorithmPlan::all().map(budget).join(", ")
    )
}

fn warm_ups() -> String {
    let warm_up =
        |algorithm: &AlgorithmPlan| format!("{} {:?}", algorithm.name(), algorithm.default_warm_up());
    let all = AlgorithmPlan::all();
    let some: Vec<String> = all.iter().filter(|one| !one.default_warm_up().is_zero()).map(warm_up).collect();
    format!(
        "Offer the highest load this long first, and discard that trial [default: {}, others 0s]",
        some.join(", ")
    )
}

fn certificate() -> String {
    let more = CERTIFY_BUDGET.as_secs() / 60;
    format!(
        "Continue, for at most {more}min more, until each goal is regular by RFC 9971 too, and print both answers (credible)"
    )
}

/// The sentence of `--smallest-effect`, against what.
pub(in crate::args) fn smallest_effect(against: &str) -> String {
    format!(
        "Ignore a change that is a smaller share of {against} than this [default: {}%]",
        100.0 * SMALLEST_EFFECT
    )
}

const TRIAL_EXAMPLES: &str = "\
Examples:
  dropline serve &
  dropline trial udp://127.0.0.1:7007 --load 100kpps \\
      --duration 10s --arrival poisson
  dropline trial udp://127.0.0.1:7007 --load 80Mbit/s \\
      --frame 512B --json
  dropline trial udp://127.0.0.1:7007 --load 20kpps \\
      --arrival 64*onoff:on=10ms,off=90ms
  dropline trial udp://127.0.0.1:7007 \\
      --arrival ticks:n=128,period=20ms
  dropline trial sim:soft --load 9Mpps \\
      --fail-if 'loss_ratio>0.1%'
  cc -O2 -pthread c/trace/copy.c -o graph
  dropline trial 'flowgraph:exec?granularity=32768:./graph'
  dropline trial wakeup: --load 1kHz --duration 60s \\
      --background 'find / -xdev' --stop-above 500us";

/// Offer one load for one duration, and count what comes back.
#[derive(Args, Debug)]
#[command(after_help = TRIAL_EXAMPLES, after_long_help = format!("{TRIAL_EXAMPLES}\n\n{TARGETS}\n\n{}\n\n{UNITS}", arrivals()))]
pub(crate) struct TrialArgs {
    /// What to measure, such as udp://HOST:PORT or sim:consistent.
    #[arg(required_unless_present = "scenario")]
    pub(crate) target: Option<String>,
    /// Load to offer, such as 100kpps or 80Mbit/s; arrival processes with their own clocks take none [default: of wakeup: 1kHz, of
    /// jack: its periods].
    #[arg(long, value_name = "RATE", help_heading = "Load")]
    pub(crate) load: Option<String>,
    /// How long packets are sent.
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Load")]
    pub(crate) duration: String,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    /// Command to run during the trial, without a shell; may be repeated.
    #[arg(long, value_name = "COMMAND", help_heading = "Target")]
    pub(crate) background: Vec<String>,
    /// End the trial at the first wake-up that is later than this (wakeup: targets).
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    pub(crate) stop_above: Option<String>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Do not keep each packet's times beside the record; dropline explain needs them.
    #[arg(long, help_heading = "Output")]
    pub(crate) no_packets: bool,
}

/// When packets leave, where nobody says.
pub(crate) const ARRIVAL: &str = "constant";

/// What the packets look like.
#[derive(Args, Debug)]
#[command(next_help_heading = "Load")]
pub(crate) struct TrafficArgs {
    /// When packets leave: constant, poisson, or another process that dropline trial --help lists.
    #[arg(long, value_name = "PROCESS", default_value = ARRIVAL)]
    pub(crate) arrival: String,
    #[arg(long, value_name = "SIZE", conflicts_with = "frame", help = payload())]
    pub(crate) packet: Option<String>,
    /// Size of the Ethernet frame with its checksum, instead of --packet.
    #[arg(long, value_name = "SIZE")]
    pub(crate) frame: Option<String>,
    /// What is sent to a udp:// target: hex:c0de{tag:4}, text:PING\r\n, or a file (a capture, or bytes) [default: Dropline's own
    /// 16-byte header].
    #[arg(long, value_name = "PAYLOAD", conflicts_with_all = ["packet", "frame"])]
    pub(crate) payload: Option<String>,
    /// What comes back: echo, any, none, or by commas what is where in a reply, such as tag@2,refused@0=05 [default:
    /// echo, of a --payload any].
    #[arg(long, value_name = "REPLY")]
    pub(crate) reply: Option<String>,
    #[arg(long, value_name = "TIME", help_heading = "Target",
          help = format!("How long after it was due an answer of an http:// target counts [default: {DEADLINE}]"))]
    pub(crate) deadline: Option<String>,
    /// What sends requests to an http:// target: oha or vegeta [default: the first that is installed].
    #[arg(long, value_name = "TOOL", help_heading = "Target")]
    pub(crate) tool: Option<String>,
    /// Number of streams (source ports), or their shares of the load, such as voice=1,bulk=3 [default: 1; of a service that
    /// speaks a protocol of its own, as many as tell its replies apart].
    #[arg(long, value_name = "N|SHARES")]
    pub(crate) streams: Option<String>,
    /// Split the load over directions with these shares, such as west=2,east=1 (exec:, sim: and link:, there to the second interface first; any other target has one).
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
    #[arg(long, value_name = "N",
          help = format!("Split each trial into this many time slices, none shorter than 10 ms [default: {SLICES}]"))]
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
    #[command(flatten)]
    pub(crate) filing: FilingArgs,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with code 1 if this condition holds or its number does not exist, such as 'p99>200us', 'loss_ratio>=0.1%' or, of a search,
    /// 'lower[0.5%]<90kpps'; may be repeated; an unknown name prints all names.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Read flags from this TOML file, by their names; those on the command line win.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Show no progress on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) told: ToldArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Requirement {
    /// Each interval is within its goal's width (credible).
    Narrow,
    /// Both bounds are confirmed by RFC 9971, and close enough (the other algorithms).
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

#[cfg(test)]
mod tests {
    use crate::command::Cli;

    /// The flags that a flag of `search` excludes.
    fn excluded(flag: &str) -> Vec<String> {
        let all = Cli::as_typed();
        let search = all.find_subcommand("search").expect("a verb");
        let arg = search.get_arguments().find(|arg| arg.get_id() == flag).expect("a flag");
        search.get_arg_conflicts_with(arg).iter().map(|arg| arg.get_id().to_string()).collect()
    }

    #[test]
    fn what_the_record_keeps_is_not_asked_anew_and_a_search_for_bursts_judges_no_loads() {
        let (resume, bursts) = (excluded("resume"), excluded("back_to_back"));
        let has = |all: &[String], one: &str| all.iter().any(|id| id == one);
        for of_the_record in ["goal", "level", "max_load", "repeat", "mdr_phases", "arrival", "seed", "drain"]
        {
            assert!(has(&resume, of_the_record), "{of_the_record}: {resume:?}");
        }
        for free in ["target", "budget", "max_trials", "send", "slices", "patience", "html", "fail_if"] {
            assert!(!has(&resume, free), "{free}: {resume:?}");
        }
        for judges in
            ["goal", "budget", "max_trials", "warm_up", "fail_if", "require", "baseline", "html", "resume"]
        {
            assert!(has(&bursts, judges), "{judges}: {bursts:?}");
        }
        for of_a_burst in ["max_load", "seed", "frame", "output"] {
            assert!(!has(&bursts, of_a_burst), "{of_a_burst}: {bursts:?}");
        }
    }
}
