//! `dropline trial`.

use super::{DONE, FAILED, conditions, conditions_to_fail, is_interrupted, not_valid, object, output, style};
use crate::args::{KeepArgs, TrafficArgs, arrivals, targets};
use crate::progress::Progress;
use crate::signals::INTERRUPTED;
use crate::{output as out, plan};
use clap::Args;
use dropline_failure::Failure;
use dropline_targets::background::Background;
use dropline_verbs::fail_if::Checked;
use dropline_verbs::search::Finished;
use dropline_verbs::validity;

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
#[command(after_help = TRIAL_EXAMPLES, after_long_help = format!("{TRIAL_EXAMPLES}\n\n{}\n\n{}", targets(), arrivals()))]
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

pub(crate) fn run(args: &TrialArgs, words: Vec<String>) -> Result<u8, Failure> {
    let fail_if = conditions_to_fail(&args.keep, None)?;
    let plan = plan::trial(args)?;
    let conditions = conditions(&args.traffic, words)?;
    let mut progress = Progress::new(args.keep.quiet, false).counting(plan.target.load_unit());
    let mut background = Background::start(&args.background)?;
    let done = dropline_verbs::trial::trial(&plan, &output(&args.keep, 0, 1), &conditions, &mut progress);
    progress.clear();
    if background.ended() > 0 {
        note!("a --background command had ended before the trial did");
    }
    drop(background);
    let Finished { record, failure } = done?;
    let checked: Vec<Checked> = fail_if.iter().map(|condition| condition.hold(&record)).collect();
    if args.keep.json {
        out::print_json(&object(&record, &checked))?;
    } else {
        out::print_painted(&dropline_report::text(&record, style()))?;
    }
    let met: Vec<&Checked> = checked.iter().filter(|checked| checked.failed).collect();
    met.iter().for_each(|checked| note!("{}", checked.text));
    if let Some(failure) = failure {
        return Err(failure);
    }
    Ok(match met.is_empty() {
        _ if is_interrupted(&record) => INTERRUPTED,
        // What is not known of the target cannot fail it.
        _ if record.trials.iter().any(validity::is_invalid) => not_valid(),
        false => FAILED,
        true => DONE,
    })
}
