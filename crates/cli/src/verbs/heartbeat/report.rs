//! `dropline heartbeat report`.

use crate::verbs::DONE;
use crate::{output as out, plan};
use clap::{Args, ValueEnum};
use dropline_aggregator::age::short;
use dropline_aggregator::client::{allowed, ask, clock_is_shared};
use dropline_aggregator::report::Reading;
use dropline_failure::Failure;
use dropline_trial::quantities;

/// Ask an aggregator for its report.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline heartbeat serve &
  dropline heartbeat report 127.0.0.1:9060
  dropline heartbeat report 127.0.0.1:9060 \\
      --clock shared --json

A report does not hold the aggregator's time: ages are known only if it uses this machine's clock, and only up to \
multiples of 18 h 12 min 16 s. dropline heartbeat watch knows more, because it remembers.

Nothing is asked of a host that did not consent: run this on the host of the aggregator.")]
pub(crate) struct HeartbeatReportArgs {
    /// Address of the aggregator, HOST:PORT.
    target: String,
    /// Time to wait for each of three requests.
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    patience: String,
    /// Whose clock the aggregator uses [default: shared if it runs on this machine].
    #[arg(long, value_name = "WHICH")]
    clock: Option<Clock>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Whose clock the stamps are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clock {
    /// Another clock: an age is counted from when the value was seen to change.
    Apart,
    /// This machine's, or one that agrees with it to the second.
    Shared,
}

impl Clock {
    /// What was said, or what the target suggests.
    pub(crate) fn is_shared(said: Option<Self>, target: std::net::SocketAddr) -> bool {
        said.map_or_else(|| clock_is_shared(target), |clock| clock == Self::Shared)
    }
}

pub(crate) fn run(args: &HeartbeatReportArgs) -> Result<u8, Failure> {
    let target = allowed(&args.target)?;
    let patience = plan::read("--patience", quantities::positive_duration(&args.patience))?;
    let answer = ask(target, patience)?;
    let reading = Reading::new(target, &answer, Clock::is_shared(args.clock, target));
    if args.json {
        out::print_json(&reading)?;
    } else {
        out::print(&text(&reading))?;
    }
    Ok(DONE)
}

fn text(reading: &Reading) -> String {
    let count = reading.variables.len();
    let mut lines = vec![format!(
        "{count} of 64 variables are set at {}, answered in {} us, checksum {}",
        reading.target,
        reading.round_trip_ns.div_ceil(1000),
        if reading.checksum == "right" {
            "right"
        } else {
            "wrong as those of the original aggregator, Dumpulse, are"
        }
    )];
    if count > 0 {
        lines.push(String::new());
        lines.push(format!("{:>8}  {:>4}  {:>5}  {:>7}  age", "variable", "from", "value", "seconds"));
    }
    for variable in &reading.variables {
        let short = short(&variable.age);
        lines.push(format!(
            "{:>8}  {:>4}  {:>5}  {:>7}  {short}",
            variable.variable, variable.from, variable.value, variable.seconds
        ));
    }
    if !reading.caveats.is_empty() {
        lines.push(String::new());
    }
    lines.extend(reading.caveats.iter().map(|doubt| format!("! {}", doubt.text)));
    lines.join("\n")
}
