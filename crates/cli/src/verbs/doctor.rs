//! `dropline doctor`.

use super::{DONE, INVALID};
use crate::output as out;
use crate::signals::stop_on_signals;
use clap::Args;
use dropline_failure::Failure;
use dropline_targets::Target;
use dropline_traffic::Targets;
use dropline_verbs::doctor::{Finding, Weight, examine_machine, examine_target};

/// List what on this machine disturbs a measurement, and check whether a target answers.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  dropline serve &\n  dropline doctor udp://127.0.0.1:7007")]
pub(crate) struct DoctorArgs {
    /// Target to check too.
    pub(crate) target: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let target = args.target.as_deref().map(Target::parse).transpose()?;
    if let Some(target) = &target {
        target.consent(&Targets::default())?;
    }
    let stop = stop_on_signals()?;
    let mut findings = examine_machine(&stop)?;
    if let Some(target) = &target {
        findings.extend(examine_target(target, &stop));
    }
    if args.json {
        out::print_json(&findings)?;
    } else {
        out::print(&findings.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    }
    let broken = findings.iter().any(|finding| finding.weight == Weight::Broken);
    Ok(if broken { INVALID } else { DONE })
}

fn line(finding: &Finding) -> String {
    let sign = match finding.weight {
        Weight::Fine => " ",
        Weight::Disturbs => "!",
        Weight::Broken => "x",
    };
    let advice =
        finding.advice.as_deref().map_or(String::new(), |advice| format!("\n               {advice}"));
    format!("{sign} {:<12} {}{advice}", finding.subject, finding.found)
}
