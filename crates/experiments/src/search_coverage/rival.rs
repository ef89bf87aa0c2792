//! FD.io CSIT's own search, where its package is installed, on the same systems.

use super::searches::{Answer, Contender, Ended, Job, simulated};
use crate::{Effort, run_log};
use dropline_failure::Failure;
use dropline_search::{GoalOutcome, GoalResult, Irregular};
use dropline_sim::System;
use dropline_trial::Rate;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

const SCRIPT: &str = "experiments/mlrsearch-rival/rival.py";
/// Interpreters that may have the package.
const PYTHONS: [&str; 3] = ["target/rival/bin/python", ".venv/bin/python", "python3"];

/// Seeds that are searched between two looks at whether the user wants to stop.
const SEEDS_AT_ONCE: usize = 10;

/// Adds its searches with CSIT's goals to those that are there already; `false` where script or package is missing,
/// it failed, or the user stopped it before it was through.
///
/// # Errors
/// If the file of runs cannot be written.
pub(super) fn join(
    all: &mut Vec<Ended>,
    seeds: &[u64],
    systems: &[System],
    effort: &Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<bool, Failure> {
    let made: BTreeSet<_> =
        all.iter().filter(|one| one.contender == Contender::Rival).map(Ended::key).collect();
    let is_made = |seed: u64, system: &System| {
        made.contains(&Job { system: *system, contender: Contender::Rival, seed }.key())
    };
    let left: Vec<u64> =
        seeds.iter().copied().filter(|seed| !systems.iter().all(|system| is_made(*seed, system))).collect();
    if left.is_empty() {
        return Ok(true);
    }
    let python = PYTHONS.into_iter().find(|python| has_package(python));
    let Some(python) = python.filter(|_| Path::new(SCRIPT).exists()) else { return Ok(false) };
    all.retain(|one| one.contender != Contender::Rival || !left.contains(&one.seed));
    // Runs of seeds without a gap.
    let runs = left
        .chunk_by(|one, next| next.checked_sub(1) == Some(*one))
        .flat_map(|run| run.chunks(SEEDS_AT_ONCE));
    for run in runs {
        if effort.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        progress(&format!("CSIT's library on the same systems, seeds {} to {}", run[0], run[run.len() - 1]));
        let Some(ended) = search(python, run, systems) else { return Ok(false) };
        effort.keep.as_deref().map(|path| run_log::append_together(path, &ended)).transpose()?;
        all.extend(ended);
    }
    Ok(true)
}

fn search(python: &str, seeds: &[u64], systems: &[System]) -> Option<Vec<Ended>> {
    let names: Vec<&str> = systems.iter().map(|system| system.name()).collect();
    let output = Command::new(python)
        .args([SCRIPT, "--goals", "csit", "--from", &seeds[0].to_string()])
        .args(["--seeds", &seeds.len().to_string(), "--systems", &names.join(","), "--dropline"])
        .arg(std::env::current_exe().ok()?)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let ended: Vec<Ended> = text.lines().skip(1).filter_map(ended).collect();
    (output.status.success() && ended.len() == seeds.len() * systems.len()).then_some(ended)
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
    let seed = seed.parse().ok()?;
    let target = simulated(system, seed);
    let load = |cell: &str| cell.parse().ok().and_then(|pps| Rate::pps(pps).ok());
    let answers = Contender::Rival
        .goals()
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
            Answer::of(&outcome, truth)
        })
        .collect();
    Some(Ended {
        system: system.name().into(),
        contender: Contender::Rival,
        seed,
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
