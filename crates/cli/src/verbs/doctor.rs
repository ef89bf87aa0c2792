//! `dropline doctor`.

use super::{DONE, INVALID};
use crate::signals::stop_on_signals;
use crate::{lines, output as out};
use clap::Args;
use dropline_failure::Failure;
use dropline_targets::Target;
use dropline_traffic::Targets;
use dropline_trial::number_of;
use dropline_verbs::doctor::{Finding, Weight, examine_machine, examine_target};

/// List what on this machine disturbs a measurement, and check whether a target answers.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  dropline serve &\n  dropline doctor udp://127.0.0.1:7007")]
pub(crate) struct DoctorArgs {
    /// Target to check too.
    pub(crate) target: Option<String>,
    /// Print one JSON array.
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
        let lines = findings.iter().map(|finding| line(finding, out::columns()));
        let verdict = lines::told(&verdict(&findings), out::columns());
        out::print(&lines.chain([verdict]).collect::<Vec<_>>().join("\n"))?;
    }
    let broken = findings.iter().any(|finding| finding.weight == Weight::Broken);
    Ok(if broken { INVALID } else { DONE })
}

/// What all of it comes to.
fn verdict(findings: &[Finding]) -> String {
    let of = |weight| findings.iter().filter(|finding| finding.weight == weight).count();
    match (of(Weight::Broken), of(Weight::Disturbs)) {
        (0, 0) => "nothing that was looked at disturbs a measurement here".into(),
        (0, disturbs) => format!(
            "{} here {} a measurement (!): numbers scatter more, or are smaller than the target's",
            number_of(disturbs, "thing"),
            if disturbs == 1 { "disturbs" } else { "disturb" }
        ),
        (broken, _) => {
            format!("nothing can be measured so: {} (x) must be put right first", number_of(broken, "thing"))
        }
    }
}

fn line(finding: &Finding, width: usize) -> String {
    let sign = match finding.weight {
        Weight::Fine => " ",
        Weight::Disturbs => "!",
        Weight::Broken => "x",
    };
    let found = lines::hanging(&format!("{sign} {:<12} ", finding.subject), &finding.found, width);
    match &finding.advice {
        Some(advice) => format!("{found}\n{}", lines::hanging(&" ".repeat(15), advice, width)),
        None => found,
    }
}
