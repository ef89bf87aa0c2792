//! `dropline fit`.

use super::{DONE, import, style};
use crate::args::SourceArgs;
use crate::{output as out, plan};
use clap::Args;
use dropline_distributions::fit::{FitPlan, fit};
use dropline_failure::Failure;
use dropline_trial::quantities;
use std::path::PathBuf;

/// Describe a delay distribution: percentiles, modes, families and tail, each with its confidence interval.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dropline trial wakeup: --load 1kHz --duration 60s \\
      -o idle.jsonl
  dropline fit idle.jsonl
  dropline fit idle.jsonl --above 42us --modes
  dropline fit idle.jsonl --json

A number is printed with its interval, or not at all.")]
pub(crate) struct FitArgs {
    /// Record, or a file that dropline import reads.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Confidence level of the intervals.
    #[arg(long, value_name = "RATIO", default_value = "95%")]
    pub(crate) level: String,
    /// Delay above which the slow tail begins [default: the highest percentile that has enough events].
    #[arg(long, value_name = "TIME")]
    pub(crate) above: Option<String>,
    /// Also fit a mixture of code paths to the events.
    #[arg(long)]
    pub(crate) modes: bool,
    /// Also write a web page with plots.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Random seed of the simulations behind intervals and tests.
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub(crate) seed: u64,
    /// Print one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &FitArgs) -> Result<u8, Failure> {
    let above =
        args.above.as_deref().map(|text| plan::read("--above", quantities::duration(text))).transpose()?;
    let plan = FitPlan {
        level: plan::level(&args.level)?,
        above_ns: above.map(|above| above.as_nanos() as f64),
        mixtures: args.modes,
        seed: args.seed,
    };
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let fits: Vec<_> = import::read(&args.file, &args.source)?
        .1
        .iter()
        .map(|imported| fit(&name, imported, &plan))
        .collect();
    if let Some(path) = &args.html {
        out::draw(path, &dropline_report::fit_html(&fits))?;
    }
    match fits.as_slice() {
        [one] if args.json => out::print_json(one)?,
        several if args.json => out::print_json(&several)?,
        several => {
            for fit in several {
                if several.len() > 1 {
                    out::print(&format!("\n{}", fit.source))?;
                }
                out::print_painted(&dropline_report::fit_text(fit, style()))?;
            }
        }
    }
    Ok(DONE)
}
