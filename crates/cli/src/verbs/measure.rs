//! `dropline measure`: the exec: protocol, answered.

use super::DONE;
use crate::args::TrafficArgs;
use crate::signals::stop_on_signals;
use crate::{output as out, plan};
use clap::Args;
use dropline_archive::reading;
use dropline_failure::Failure;
use dropline_targets::exec::{Answer, Request};
use dropline_targets::{Opening, ProgramFile};
use dropline_trial::{Measurer as _, TrialInput};

/// Perform trials for another program, over stdin and stdout.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  echo '{\"trial\":1,\"intended_load_pps\":1e6,' \\
      '\"duration_s\":1}' | dropline measure sim:hard

It answers the exec: protocol, so that another search, such as PyPI's MLRsearch, can measure with Dropline.")]
pub(crate) struct MeasureArgs {
    /// What to measure; dropline help targets lists all.
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
}

pub(crate) fn run(args: &MeasureArgs) -> Result<u8, Failure> {
    let target = plan::target(&args.target, &args.traffic)?;
    let mut profiles = plan::profiles(&args.traffic, &target, None)?;
    let opening = Opening {
        first_trial: 1,
        asked_below: 0,
        stop: stop_on_signals()?,
        patience: plan::patience(&args.traffic)?,
        slices: args.traffic.measured.slices,
        keep_packets: 0,
        keep_events: None,
        moving: plan::moving(&args.traffic)?,
        live: None,
        together: None,
        program: ProgramFile::Own,
    };
    let mut opened = target.open(&profiles.remove(0), opening)?;
    let mut stdin = std::io::stdin().lock();
    let cannot = |why| Failure::environment(format!("cannot read a request: {why}"));
    let mut next = || {
        // Nobody may ask for anything more.
        let _waiting = reading::Waiting::begin();
        reading::line(&mut stdin).map_err(cannot)
    };
    while let Some(line) = next()? {
        if line.trim().is_empty() {
            continue;
        }
        let trial = opened.measurer.measure(input(&line)?)?;
        if trial.is_interrupted() {
            return Err(Failure::interrupted());
        }
        out::print_data(&serde_json::to_string(&Answer::from(&trial)).expect("an answer is JSON"))?;
    }
    Ok(DONE)
}

fn input(line: &str) -> Result<TrialInput, Failure> {
    Request::input(line).map_err(|why| {
        Failure::usage(format!("a request is wrong: {why}\n  it said: {line}"))
            .advice(r#"a request is one line: {"intended_load_pps":N,"duration_s":S}"#)
    })
}
