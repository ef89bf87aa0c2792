//! FD.io CSIT's own search, where its package is installed, on the same systems.

use super::{Contender, Ended, answer, goals, simulated};
use dropline_search::{GoalOutcome, GoalResult, Irregular};
use dropline_sim::System;
use dropline_trial::Rate;
use std::path::Path;
use std::process::{Command, Stdio};

const SCRIPT: &str = "experiments/mlrsearch-rival/rival.py";
/// Interpreters that may have the package.
const PYTHONS: [&str; 3] = ["target/rival/bin/python", ".venv/bin/python", "python3"];

/// Its searches with CSIT's goals; `None` where script or package is missing, or it failed.
pub(super) fn run(runs: u32, progress: &mut dyn FnMut(&str)) -> Option<Vec<Ended>> {
    let python =
        PYTHONS.into_iter().find(|python| has_package(python)).filter(|_| Path::new(SCRIPT).exists())?;
    let dropline = std::env::current_exe().ok()?;
    progress("CSIT's library on the same systems");
    let names = System::names().join(",");
    let output = Command::new(python)
        .args([SCRIPT, "--goals", "csit", "--seeds", &runs.to_string(), "--systems", &names, "--dropline"])
        .arg(dropline)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().skip(1).filter_map(ended).collect())
}

fn has_package(python: &str) -> bool {
    let imported = Command::new(python)
        .args(["-c", "import MLRsearch"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    imported.is_ok_and(|status| status.success())
}

/// A line `system,seed,seconds,trials,lower_0,upper_0,lower_1,upper_1`; a bound that is missing is empty.
fn ended(line: &str) -> Option<Ended> {
    let cells: Vec<&str> = line.split(',').collect();
    let [system, seed, seconds, _trials, bounds @ ..] = cells.as_slice() else { return None };
    let system = System::named(system).ok()?;
    let target = simulated(system, seed.parse().ok()?);
    let load = |cell: &str| cell.parse().ok().and_then(|pps| Rate::pps(pps).ok());
    let answers = goals(Contender::Rival)
        .iter()
        .zip(bounds.chunks(2))
        .map(|(goal, pair)| {
            let (lower, upper) = (load(pair[0]), pair.get(1).and_then(|cell| load(cell)));
            let result = match (lower, upper) {
                (Some(_), Some(_)) => GoalResult::Regular,
                (Some(_), None) => GoalResult::Irregular(Irregular::AtMaximum),
                _ => GoalResult::Irregular(Irregular::BelowMinimum),
            };
            let outcome = GoalOutcome { lower, upper, conditional_throughput_pps: None, result };
            let truth = target.truth(goal.loss_ratio, goal.trial_duration, goal.exceed_ratio);
            answer(&outcome, truth)
        })
        .collect();
    Some(Ended {
        system,
        contender: Contender::Rival,
        seconds: seconds.parse().ok()?,
        caveats: Vec::new(),
        answers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_rival_is_held_against_the_truth_of_its_system() {
        let truth = simulated(System::named("hard").unwrap(), 1).capacity().as_pps();
        let line =
            format!("hard,1,37.5,25,{},{},{},{}", truth * 0.999, truth * 1.001, truth * 1.2, truth * 1.3);
        let ended = ended(&line).unwrap();
        assert_eq!((ended.seconds, ended.answers.len()), (37.5, 2));
        assert!(ended.answers[0].holds && !ended.answers[1].holds);
        let lossless = super::ended("lossless,1,10.5,7,14880952.0,,14880952.0,").unwrap();
        assert!(lossless.answers.iter().all(|answer| answer.holds), "no truth, and none was claimed");
        assert!(super::ended("nonsense").is_none());
    }
}
