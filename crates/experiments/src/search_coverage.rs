//! How often does an answer hold the true value? All algorithms on all simulated systems, whose truth is known.
//!
//! Time is virtual, a trial costs half a second beyond its duration. Each search is asked for no loss and for
//! 0.5 % loss; of each goal the truth is the load up to which one more of its trials exceeds its loss ratio with
//! a probability of at most one half.

mod rival;
mod searches;
mod tables;

use super::{Effort, Experiment, FoundStudy, batches, run_log};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study};
use dropline_report::{Calibration, CalibrationLine};
use dropline_sim::System;
use searches::{Contender, Ended, Job};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Searches a system and algorithm when nothing is said.
const RUNS: u32 = 10;
/// Levels that are stated for the calibration plot, beside the 95 % of all other searches, and with one seed in how
/// many.
const LEVELS: [(u64, u64); 4] = [(500_000_000, 4), (800_000_000, 1), (900_000_000, 4), (990_000_000, 4)];
const LEVEL: u64 = 950_000_000;
/// Systems whose trials are not alike, or that lose packets below their knee: a caveat is an answer too.
const TREACHEROUS: [&str; 5] = ["two-state", "drift", "floor", "band", "cold-start"];
/// Systems on which any level is reached, or that have no truth.
const EASY: [&str; 4] = ["hard", "lossless", "dead", "bucket"];

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "search-coverage",
    about: "How often each search's answer contains the true limit of simulated systems, how wide it is, and what it costs",
    runs: Some(RUNS),
    flags: &["first-seed", "only", "keep"],
    run,
    distributions: Vec::new,
    of_kept: Some(of_kept),
};

/// Runs the whole matrix on all cores, but what is in the file of runs.
///
/// # Errors
/// If the user wants to stop before every search was made with the first seed, or the file cannot be read or written.
/// Later the seeds that are complete are what was found.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let runs = effort.runs.unwrap_or(RUNS).max(1);
    let first = effort.first_seed.unwrap_or(1);
    let seeds: Vec<u64> = (0..u64::from(runs)).map(|index| first.saturating_add(index)).collect();
    let systems: Vec<System> = System::all().filter(|system| is_wanted(*system, effort)).collect();
    if systems.is_empty() {
        return Err(Failure::usage("--only: no system is named like that")
            .advice(format!("there are {}", System::names().join(", "))));
    }
    let jobs = jobs(&seeds, &systems);
    let before: Vec<Ended> = effort.keep.as_deref().map(run_log::read).transpose()?.unwrap_or_default();
    let done: Mutex<Vec<Ended>> = Mutex::new(before);
    on_all_cores(&jobs, &done, effort, progress)?;
    let mut ended = done.into_inner().expect("no search panics");
    // An interrupted study is one of fewer seeds.
    let made: BTreeSet<_> = ended.iter().map(Ended::key).collect();
    let missing: BTreeSet<u64> =
        jobs.iter().filter(|job| !made.contains(&job.key())).map(|job| job.seed).collect();
    let complete: Vec<u64> = seeds.iter().copied().filter(|seed| !missing.contains(seed)).collect();
    if complete.is_empty() {
        return Err(Failure::interrupted());
    }
    ended.retain(|one| complete.contains(&one.seed));
    let installed = rival::join(&mut ended, &complete, &systems, effort, progress)?;
    let ended = of_systems(ended, &systems);
    let count = u32::try_from(complete.len()).unwrap_or(runs);
    let mut study = tables::study(&ended, &systems, count, installed);
    if count < runs {
        study.caveats.push(CaveatLine::said(
            "interrupted",
            format!("interrupted: {count} searches each, and not {runs}"),
        ));
    }
    Ok(FoundStudy { study, graphs: Vec::new(), calibrations: vec![calibration(&ended)] })
}

fn is_wanted(system: System, effort: &Effort) -> bool {
    effort.only.as_ref().is_none_or(|only| only.split(',').any(|name| system.name() == name.trim()))
}

/// Seed after seed; of each the slow searches first, so that no core waits at the end.
fn jobs(seeds: &[u64], systems: &[System]) -> Vec<Job> {
    let usual = [Contender::Credible { level: LEVEL }, Contender::Mlr, Contender::Mdr, Contender::Binary];
    let of_seed = |seed: u64| {
        let searches = move |contender, system| Job { system, contender, seed };
        let all = usual
            .into_iter()
            .flat_map(move |contender| systems.iter().map(move |&system| searches(contender, system)));
        let levels = LEVELS.into_iter().filter(move |(_, one_in)| seed.is_multiple_of(*one_in));
        let calibrating = levels.flat_map(move |(level, _)| {
            let alike = systems.iter().filter(|system| counts_for_calibration(system.name()));
            alike.map(move |&system| searches(Contender::Credible { level }, system))
        });
        all.chain(calibrating)
    };
    seeds.iter().copied().flat_map(of_seed).collect()
}

fn counts_for_calibration(system: &str) -> bool {
    !EASY.contains(&system) && !TREACHEROUS.contains(&system)
}

/// Makes the searches that are not done.
fn on_all_cores(
    jobs: &[Job],
    done: &Mutex<Vec<Ended>>,
    effort: &Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let made: BTreeSet<_> = done.lock().expect("no search panics").iter().map(Ended::key).collect();
    let left: Vec<Job> = jobs.iter().copied().filter(|job| !made.contains(&job.key())).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    progress(&format!(
        "{} searches on {cores} cores, {} were made before",
        left.len(),
        jobs.len() - left.len()
    ));
    let perform = |job: &Job| {
        let one = job.perform();
        let mut done = done.lock().expect("no search panics");
        effort.keep.as_deref().map(|path| run_log::append(path, &one)).transpose()?;
        done.push(one);
        Ok(())
    };
    let tell = &mut |begun| progress(&format!("{begun} of {} searches", left.len()));
    batches::on_all_cores(&left, &effort.stop, perform, tell)
}

/// Stated level against achieved, on the systems whose trials are alike.
fn calibration(ended: &[Ended]) -> Calibration {
    let mut levels: Vec<u64> = LEVELS.into_iter().map(|(level, _)| level).chain([LEVEL]).collect();
    levels.sort_unstable();
    let line = |name: &str, goals: &[usize]| CalibrationLine {
        name: name.into(),
        points: levels
            .iter()
            .map(|&level| {
                let (held, of) = pooled(ended, level, goals);
                (level as f64 / 1e9, held, of)
            })
            .collect(),
    };
    let (held, of) = pooled(ended, LEVEL, &[0, 1]);
    Calibration {
        title: format!(
            "Of intervals that state 95 %, {:.1} % hold the true value where trials are alike and the knee is not hard",
            100.0 * held as f64 / of.max(1) as f64
        ),
        caption: "Searches of the algorithm credible on systems whose trials are alike, hard knees left out; on the \
                  diagonal an interval holds the true value exactly as often as it says, above it more often."
            .into(),
        lines: vec![line("no loss", &[0]), line("0.5 % loss", &[1])],
    }
}

/// How many intervals hold the true value, and of how many.
fn pooled(ended: &[Ended], level: u64, goals: &[usize]) -> (u64, u64) {
    let searches = ended
        .iter()
        .filter(|one| one.contender == Contender::Credible { level } && counts_for_calibration(&one.system));
    let answers: Vec<bool> =
        searches.flat_map(|one| goals.iter().map(|&goal| one.answers[goal].holds)).collect();
    (answers.iter().filter(|holds| **holds).count() as u64, answers.len() as u64)
}

/// What the searches say that were kept.
///
/// # Errors
/// If a line is none, or there is none.
fn of_kept(text: &str) -> Result<Study, Failure> {
    let systems: Vec<System> = System::all().collect();
    let ended = of_systems(run_log::some(text)?, &systems);
    let seeds: BTreeSet<u64> = ended.iter().map(|one| one.seed).collect();
    let rival = ended.iter().any(|one| one.contender == Contender::Rival);
    Ok(tables::study(&ended, &systems, u32::try_from(seeds.len()).unwrap_or(u32::MAX), rival))
}

/// Each search of these systems once: two files of runs that were joined may hold one twice.
fn of_systems(mut ended: Vec<Ended>, systems: &[System]) -> Vec<Ended> {
    ended.retain(|one| systems.iter().any(|system| system.name() == one.system));
    ended.sort_by_key(Ended::key);
    ended.dedup_by_key(|one| one.key());
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn effort(stopped: bool) -> Effort {
        Effort {
            runs: Some(1),
            first_seed: Some(8),
            small: false,
            full: false,
            only: Some("hard,dead".into()),
            budget: None,
            keep: None,
            stop: Arc::new(AtomicBool::new(stopped)),
        }
    }

    #[test]
    fn a_stopped_experiment_says_so() {
        assert_eq!(run(&effort(true), &mut |_| {}).unwrap_err().exit_code(), 130);
    }

    #[test]
    fn what_was_kept_is_not_searched_again() {
        let systems = [System::named("hard").unwrap(), System::named("dead").unwrap()];
        let jobs = jobs(&[8], &systems);
        assert_eq!(jobs.len(), 8, "four contenders, no levels where any is reached");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        let effort = Effort { keep: Some(path.clone()), ..effort(false) };
        let done = Mutex::new(Vec::new());
        on_all_cores(&jobs, &done, &effort, &mut |_| {}).unwrap();
        let kept: Vec<Ended> = run_log::read(&path).unwrap();
        assert_eq!(kept.len(), 8);
        let done = Mutex::new(kept);
        on_all_cores(&jobs, &done, &effort, &mut |_| {}).unwrap();
        assert_eq!(done.into_inner().unwrap().len(), 8);
        assert_eq!(run_log::read::<Ended>(&path).unwrap().len(), 8);
    }
}
