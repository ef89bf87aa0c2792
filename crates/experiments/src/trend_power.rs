//! Which detector finds a limit that moved, and how often does it tell a change where there was none? Histories with known
//! truth, Dropline's own detector beside Apache Otava, jumpavg and asv.
//!
//! The others see the values of the nights; Dropline's sees their widths, their dates and the marks of changed machines too,
//! as it does in a history of records.

mod detectors;
mod histories;
mod rivals;
mod tables;

use super::{Effort, Experiment, FoundStudy, batches, run_log};
use detectors::{Detector, Ended};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study};
use rivals::Rivals;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Histories of each kind when nothing is said.
const RUNS: u32 = 200;
/// The same where everything is done only a little.
const SMALL_RUNS: u32 = 1;
/// Seeds that a rival is asked for at once: it takes longer to start than to look.
const TOGETHER: usize = 5;

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "trend-power",
    about: "Which changes dropline trend finds in histories whose true changes are known, and how many it tells where there are none; beside \
            Apache Otava, jumpavg and asv, where they are installed",
    runs: Some(RUNS),
    flags: &["first-seed", "small", "keep"],
    run,
    distributions: Vec::new,
    of_kept: Some(of_kept),
};

/// Has all detectors look at the histories, on all cores, but for what is in the file of runs. Where no first seed is
/// named, the histories are new ones each time.
///
/// # Errors
/// If the user wants to stop before anything was found, or the file cannot be read or written. Later what was found
/// until then is what was found.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let runs = effort.runs.unwrap_or(if effort.small { SMALL_RUNS } else { RUNS }).max(1);
    let first = effort.first_seed.unwrap_or_else(fresh);
    let seeds: Vec<u64> = (0..u64::from(runs)).map(|index| first.saturating_add(index)).collect();
    let before: Vec<Ended> = effort.keep.as_deref().map(run_log::read).transpose()?.unwrap_or_default();
    let rivals = Rivals::installed();
    let jobs = jobs(&seeds, &rivals, &before);
    let done = Mutex::new(before);
    on_all_cores(&jobs, &rivals, &done, effort, progress)?;
    let mut ended = done.into_inner().expect("no detector panics");
    ended.retain(|one| seeds.contains(&one.seed));
    if ended.is_empty() {
        return Err(Failure::interrupted());
    }
    let mut study = tables::study(&once(ended), Some(&rivals), Some(own_time()));
    if effort.stop.load(Ordering::Relaxed) {
        study.caveats.push(CaveatLine::said("interrupted", "interrupted: not every history was looked at"));
    }
    Ok(FoundStudy { study, graphs: Vec::new(), calibrations: Vec::new() })
}

/// A first seed that nobody has seen.
fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // A thousand seeds a second: two studies have none in common.
    now.as_secs() * 1000
}

/// What one worker does at once.
#[derive(Clone, Debug, PartialEq)]
struct Job {
    detector: Detector,
    seeds: Vec<u64>,
}

/// What is left to do, in the order of the seeds.
fn jobs(seeds: &[u64], rivals: &Rivals, before: &[Ended]) -> Vec<Job> {
    let made: BTreeSet<(Detector, u64, detectors::Question)> = before.iter().map(Ended::key).collect();
    let is_made = |detector: Detector, seed: u64| {
        detector.questions().into_iter().all(|question| made.contains(&(detector, seed, question)))
    };
    let mut jobs = Vec::new();
    for detector in Detector::ALL {
        if detector != Detector::Dropline && !rivals.has(detector) {
            continue;
        }
        let with = (0u64..).zip(seeds).filter(|(index, _)| index.is_multiple_of(detector.one_in()));
        let left: Vec<u64> = with.map(|(_, seed)| *seed).filter(|seed| !is_made(detector, *seed)).collect();
        let together = if matches!(detector, Detector::Otava | Detector::Asv) { TOGETHER } else { 1 };
        jobs.extend(left.chunks(together).map(|seeds| Job { detector, seeds: seeds.to_vec() }));
    }
    jobs.sort_by_key(|job| job.seeds[0]);
    jobs
}

impl Job {
    fn perform(&self, rivals: &Rivals) -> Result<Vec<Ended>, Failure> {
        match self.detector {
            Detector::Dropline => Ok(detectors::own(&self.seeds)),
            rival => rivals.find(rival, &self.seeds),
        }
    }
}

fn on_all_cores(
    jobs: &[Job],
    rivals: &Rivals,
    done: &Mutex<Vec<Ended>>,
    effort: &Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let perform = |job: &Job| {
        let found = job.perform(rivals)?;
        let mut done = done.lock().expect("no detector panics");
        effort.keep.as_deref().map(|path| run_log::append_together(path, &found)).transpose()?;
        done.extend(found);
        Ok(())
    };
    let tell = &mut |begun| progress(&format!("{begun} of {} batches of histories", jobs.len()));
    batches::on_all_cores(jobs, &effort.stop, perform, tell)
}

/// Each answer once, of any file of runs.
fn once(mut ended: Vec<Ended>) -> Vec<Ended> {
    ended.sort_by_key(Ended::key);
    ended.dedup_by_key(|one| one.key());
    ended
}

/// The shortest of three times for 10 000 nights.
fn own_time() -> Duration {
    let nights = histories::long();
    let time = |_| {
        let start = Instant::now();
        std::hint::black_box(detectors::told(&nights));
        start.elapsed()
    };
    (0..3).map(time).min().expect("three times")
}

/// What the answers say that were kept.
///
/// # Errors
/// If a line is none, or there is none.
fn of_kept(text: &str) -> Result<Study, Failure> {
    Ok(tables::study(&once(run_log::some(text)?), None, None))
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
            only: None,
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
    fn what_was_kept_is_not_looked_at_again_and_says_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        let effort = Effort { keep: Some(path.clone()), ..effort(false) };
        let none = Rivals::default();
        let all = jobs(&[8], &none, &[]);
        assert_eq!(all, [Job { detector: Detector::Dropline, seeds: vec![8] }]);
        let done = Mutex::new(Vec::new());
        on_all_cores(&all, &none, &done, &effort, &mut |_| {}).unwrap();
        let kept: Vec<Ended> = run_log::read(&path).unwrap();
        assert_eq!(kept.len(), Detector::Dropline.questions().len());
        assert!(jobs(&[8], &none, &kept).is_empty());
        let study = of_kept(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(study.tables, tables::study(&once(done.into_inner().unwrap()), None, None).tables);
    }
}
