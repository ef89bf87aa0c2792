//! `dropline inject`.

use super::import::{hints, no_hints};
use super::{DONE, conditions, style};
use crate::args::{SourceArgs, TrafficArgs};
use crate::progress::Progress;
use crate::{output as out, plan};
use clap::Args;
use dropline_failure::Failure;
use dropline_targets::background::Background;
use dropline_verbs::inject;
use dropline_verbs::inject::study;
use std::path::PathBuf;

/// Find which delay peaks pass through a probe point, by injecting a known delay there.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline inject udp://127.0.0.1:7007 --delay 100us \\
      --start 'dropline serve' --probe request
  dropline inject udp://127.0.0.1:7007 \\
      --start 'dropline serve' --list
  seq 20 420 > before.txt; seq 23 423 > after.txt
  dropline inject --stored before.txt after.txt \\
      --from raw --unit us --delay 3us --json

Rounds with no delay, X, 2X and no delay alternate. A probe point is dropline_trace::probe!(\"name\") in Rust and \
dropline_probe in C; it costs a load and a branch while no delay is asked for.")]
pub(crate) struct InjectArgs {
    /// What to measure: udp://HOST:PORT with --start, or exec:COMMAND.
    #[arg(required_unless_present = "stored")]
    pub(crate) target: Option<String>,
    /// Program that has the probe point; it is started and stopped with the measurement.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) start: Option<String>,
    /// Name of the probe point at which the delay is injected.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["stored", "list"])]
    pub(crate) probe: Option<String>,
    /// Delay X to inject, longer than a peak is wide.
    #[arg(long, value_name = "TIME", required_unless_present = "list")]
    pub(crate) delay: Option<String>,
    /// Only list the program's probe points.
    #[arg(long, conflicts_with_all = ["probe", "delay", "stored"])]
    pub(crate) list: bool,
    /// Two files that were measured without and with the delay, instead of a target.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["target", "probe", "start"])]
    pub(crate) stored: Vec<PathBuf>,
    /// Duration of all rounds together.
    #[arg(long, value_name = "TIME", default_value = "40s", help_heading = "Load")]
    pub(crate) duration: String,
    /// Load to offer, such as 1kpps.
    #[arg(long, value_name = "RATE", default_value = "1kpps", help_heading = "Load")]
    pub(crate) load: String,
    /// Command to run during the measurement, without a shell; may be repeated.
    #[arg(long, value_name = "COMMAND", help_heading = "Target")]
    pub(crate) background: Vec<String>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten, next_help_heading = "Files")]
    pub(crate) source: SourceArgs,
    /// Also write the result as a web page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress on stderr.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &InjectArgs, words: Vec<String>) -> Result<u8, Failure> {
    let found = match args.stored.as_slice() {
        [before, after] => inject::stored(before, after, &hints(&args.source), plan::delay(args)?)?,
        _ => {
            no_hints(&args.source, "a target")?;
            let injection = plan::injection(args)?;
            let background = Background::start(&args.background)?;
            let mut progress = Progress::new(args.quiet, false);
            let found = inject::inject(&injection, &conditions(&args.traffic, words)?, &mut progress);
            progress.clear();
            drop(background);
            found?
        }
    };
    let study = study(&found);
    if let Some(path) = &args.html {
        out::draw(path, &dropline_report::study_page(&study, &[], &[], &[]))?;
        note!("page  {}", path.display());
    }
    if args.json {
        out::print_json(&found)?;
    } else {
        out::print_painted(&dropline_report::study_text(&study, style()))?;
    }
    Ok(DONE)
}
