//! Does an interval hold where packets are real? Searches of three real systems, twenty each.
//!
//! A token bucket behind a bridge, whose truth is arithmetic; a service whose service times scatter and an echo
//! service that shares its CPU with a busy neighbour, whose truth nobody knows: there a search four times as long is
//! made first, and the others are held against it.

mod observed;
mod scene;
mod tables;

use super::{Effort, Experiment, FoundStudy, run_log};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study};
use observed::Observed;
use scene::Scene;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Searches of each system when the user does not say how many.
const RUNS: u32 = 20;
/// Time for each search when the user says nothing.
pub const BUDGET: Duration = Duration::from_secs(36);
/// The same where everything is done only a little.
const SMALL_BUDGET: Duration = Duration::from_secs(4);
/// A reference has so many times the time.
const REFERENCE: u32 = 4;

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "search-real",
    about: "search-coverage on real systems: a token bucket in network namespaces (root), a service that sleeps, a busy neighbour; 40 minutes",
    runs: Some(RUNS),
    flags: &["small", "only", "budget", "keep"],
    run,
    distributions: Vec::new,
    of_kept: Some(of_kept),
};

/// Searches what is not yet in the file of runs, in turn: whatever disturbs this machine for a while meets all.
///
/// # Errors
/// If network namespaces cannot be built, a service does not start, or the file cannot be read or written. A user
/// who wants to stop gets what was measured until then.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let wanted = |scene: &Scene| effort.only.as_ref().is_none_or(|only| scene.name().contains(only));
    let scenes: Vec<Scene> = Scene::ALL.into_iter().filter(wanted).collect();
    if scenes.is_empty() {
        let names = Scene::ALL.map(Scene::name).join(", ");
        return Err(
            Failure::usage("--only: no system is named like that").advice(format!("there are {names}"))
        );
    }
    let runs = effort.runs.unwrap_or(if effort.small { 1 } else { RUNS }).max(1);
    let budget = effort.budget.unwrap_or(if effort.small { SMALL_BUDGET } else { BUDGET });
    let mut seen: Vec<Observed> = effort.keep.as_deref().map(run_log::read).transpose()?.unwrap_or_default();
    // Before the first of many minutes.
    scenes.iter().try_for_each(|scene| scene.start(budget).map(drop))?;
    let mut left: Vec<(Scene, u32)> = (0..=runs)
        .flat_map(|run| scenes.iter().map(move |scene| (*scene, run)))
        .filter(|(scene, run)| *run > 0 || scene.needs_reference())
        .filter(|(scene, run)| !seen.iter().any(|seen| seen.scene == scene.name() && seen.run == *run))
        .collect();
    left.reverse();
    while let Some((scene, run)) = left.pop()
        && !effort.stop.load(Ordering::Relaxed)
    {
        let time = if run == 0 { budget * REFERENCE } else { budget };
        let what = if run == 0 { "reference".to_owned() } else { format!("search {run} of {runs}") };
        progress(&format!("{}, {what}, up to {} s; {} more", scene.name(), time.as_secs(), left.len()));
        let found = scene.start(budget).and_then(|ready| ready.search(run, time, &effort.stop));
        if effort.stop.load(Ordering::Relaxed) {
            break;
        }
        let observed = found?;
        effort.keep.as_deref().map(|path| run_log::append(path, &observed)).transpose()?;
        seen.push(observed);
    }
    let mut caveats = Vec::new();
    if effort.stop.load(Ordering::Relaxed) {
        if seen.is_empty() {
            return Err(Failure::interrupted());
        }
        caveats.push(CaveatLine::said(
            "interrupted",
            "interrupted: searches that were not made are not in the tables",
        ));
    }
    let study = tables::study(&scenes, &seen, caveats);
    Ok(FoundStudy { study, graphs: Vec::new(), calibrations: Vec::new() })
}

/// What the searches say that were kept.
///
/// # Errors
/// If a line is none, or there is none.
fn of_kept(text: &str) -> Result<Study, Failure> {
    let seen: Vec<Observed> = run_log::some(text)?;
    Ok(tables::study(&Scene::ALL, &seen, Vec::new()))
}
