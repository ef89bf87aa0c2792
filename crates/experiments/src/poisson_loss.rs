//! Half the packets, and some of them lost: why? The experiment of a weblog of August 2012, with reasons.
//!
//! A server of 40 us a packet, clients as real processes: those that send and let the others run, those that
//! sleep for exponential times, those that a tick of the clock wakes together, and the true Poisson and
//! constant loads that they were taken for. What each run lost is held against a replay of its arrivals.

mod fitted;
mod observed;
mod row;
mod scene;
mod tables;

use super::{Effort, Experiment, FoundStudy, run_log};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study};
use observed::Observed;
use row::Row;
use std::sync::atomic::Ordering;

/// Runs of a row, as the weblog of 2012 had.
const RUNS: u32 = 5;

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "poisson-loss",
    about: "Why a server lost half as many packets: ticks, closed loops, true Poisson arrivals, and a replay",
    runs: Some(RUNS),
    flags: &["small", "full", "only", "keep"],
    run,
    distributions: Vec::new,
    of_kept: Some(of_kept),
};

/// Performs what is not yet in the file of runs, and says what was found.
///
/// # Errors
/// If processes cannot be started, or the file cannot be read or written. A user who wants to stop gets what
/// was measured until then.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let rows = match effort {
        Effort { small: true, .. } => Row::small(),
        Effort { full: true, .. } => Row::full(),
        _ => Row::usual(),
    };
    let rows: Vec<Row> = rows
        .into_iter()
        .filter(|row| effort.only.as_ref().is_none_or(|only| row.key().contains(only)))
        .collect();
    if rows.is_empty() {
        return Err(Failure::usage("--only: no row is named like that"));
    }
    let runs = if effort.small { 1 } else { effort.runs.unwrap_or(RUNS) };
    let mut seen: Vec<Observed> = effort.keep.as_deref().map(run_log::read).transpose()?.unwrap_or_default();
    let mut caveats = Vec::new();
    let fifo = scene::may_go_first();
    if !fifo {
        caveats.push(CaveatLine::said(
            "normal_priority",
            "server and clients ran at normal priority, for this user may not use SCHED_FIFO: whoever else runs \
             takes the server's CPU, and loss that is theirs is in these rows; run it as root",
        ));
    }
    let mut left: Vec<(Row, u32)> = (1..=runs)
        .flat_map(|run| rows.iter().map(move |row| (*row, run)))
        .filter(|(row, run)| !seen.iter().any(|seen| seen.row == row.key() && seen.run == *run))
        .collect();
    left.reverse();
    while let Some((row, run)) = left.pop() {
        if effort.stop.load(Ordering::Relaxed) {
            break;
        }
        let seconds: u32 = left.iter().map(|(row, _)| row.seconds + 2).sum::<u32>() + row.seconds + 2;
        progress(&format!("{}, run {run} of {runs}; about {seconds} s left", row.key()));
        match scene::perform(&row, run, fifo, &effort.stop) {
            Ok(observed) => {
                effort.keep.as_deref().map(|path| run_log::append(path, &observed)).transpose()?;
                seen.push(observed);
            }
            Err(_) if effort.stop.load(Ordering::Relaxed) => break,
            Err(failure) => {
                caveats.push(CaveatLine::said("run_failed", format!("{}, run {run}: {failure}", row.key())))
            }
        }
    }
    if effort.stop.load(Ordering::Relaxed) {
        caveats.push(CaveatLine::said(
            "interrupted",
            "interrupted: rows and runs that were not reached are not in the tables",
        ));
    }
    if seen.is_empty() {
        return Err(if effort.stop.load(Ordering::Relaxed) {
            Failure::interrupted()
        } else {
            Failure::environment(caveats.first().map_or("no run was performed", |caveat| &caveat.text))
        });
    }
    Ok(FoundStudy {
        study: tables::study(&rows, &seen, caveats),
        graphs: Vec::new(),
        calibrations: Vec::new(),
    })
}

/// What the runs say that were kept.
///
/// # Errors
/// If a line is none, or there is none.
fn of_kept(text: &str) -> Result<Study, Failure> {
    let seen: Vec<Observed> = run_log::some(text)?;
    Ok(tables::study(&Row::full(), &seen, Vec::new()))
}
