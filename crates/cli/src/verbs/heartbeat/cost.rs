//! `dropline heartbeat cost`.

use super::study::Findings;
use crate::plan;
use crate::signals::stop_on_signals;
use crate::verbs::DONE;
use clap::Args;
use dropline_experiments::heartbeat_cost::{CostPlan, default_source, measure};
use dropline_failure::Failure;
use std::path::PathBuf;

/// Measure what an aggregator's code costs: bytes, instructions, cycles and nanoseconds.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline heartbeat cost
  dropline heartbeat cost c/heartbeat/heartbeat.c \\
      --html cost.html
  cc -O2 -c c/heartbeat/heartbeat.c -o mine.o
  dropline heartbeat cost mine.o --rounds 0 --json
  dropline heartbeat serve --no-limits &
  dropline heartbeat cost --server 127.0.0.1:9060 --pid $!

Run it in a clone of Dropline, or name a C source. Sizes are measured of any C source; operations are counted of one that defines hb_handle or dumpulse_process_packet. \
Tools that are not on this machine (compilers, callgrind, simavr) are named and left out; cargo xtask setup embedded \
installs them. Start a running server with --no-limits: it must answer 100 reports within a few milliseconds each.")]
pub(super) struct HeartbeatCostArgs {
    /// C sources, or objects for this machine [default: c/heartbeat/heartbeat.c].
    sources: Vec<PathBuf>,
    /// Number of rounds in which the loops are timed; 0 measures no nanoseconds.
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: usize,
    /// Running aggregator to send heartbeats to, HOST:PORT.
    #[arg(long, value_name = "HOST:PORT", requires = "pid")]
    server: Option<String>,
    /// Process of that aggregator.
    #[arg(long, value_name = "PID", requires = "server")]
    pid: Option<u32>,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Show no progress on stderr.
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &HeartbeatCostArgs) -> Result<u8, Failure> {
    let server = args.server.as_deref().map(|word| plan::address("--server", word, "a HOST:PORT"));
    let server = server.transpose()?;
    let plan = CostPlan {
        sources: sources(args)?,
        rounds: args.rounds,
        server: server.zip(args.pid),
        stop: stop_on_signals()?,
    };
    let found = measure(&plan, &mut |at| {
        if !args.quiet {
            note!("{at}");
        }
    })?;
    let findings = Findings {
        data: &found,
        study: found.study(),
        sentences_table: found.sentences_table(),
        sentences: found.sentences_study(),
        curves: &[],
    };
    findings.tell(args.html.as_deref(), args.json)?;
    Ok(DONE)
}

fn sources(args: &HeartbeatCostArgs) -> Result<Vec<PathBuf>, Failure> {
    if !args.sources.is_empty() || args.server.is_some() {
        return Ok(args.sources.clone());
    }
    default_source().map(|source| vec![source]).ok_or_else(|| {
        Failure::usage("there is no c/heartbeat/heartbeat.c here or above").advice("name a C source")
    })
}
