//! How long does a sample take from source to sink, by scheduler, stages and buffers; and what do the tracepoints cost?
//! The experiment of a weblog of November 2021, with GNU Radio beside FutureSDR, and its overheads as intervals.

mod cell;
mod ran;
mod tables;
mod turns;

use super::{Effort, Experiment, FoundStudy, run_log};
use cell::{Cell, Variant, WEIGHED};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study};
use dropline_targets::ProgramFile;
use dropline_targets::flowgraph::graph::Framework;
use dropline_targets::flowgraph::lttng_is_here;
use ran::Ran;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Runs of each latency.
const RUNS: u32 = 3;
/// Pairs of each overhead; exactly so many are asked for where all there is is done.
const PAIRS: u32 = 15;
const ALL_PAIRS: u32 = 60;

/// Runs that belong together: of one cell, or of each variant, taking turns.
struct Block {
    run: u32,
    cells: Vec<Cell>,
}

impl Block {
    fn name(&self) -> String {
        let key = self.cells.first().map(Cell::key).unwrap_or_default();
        match self.cells.len() {
            1 => key,
            variants => {
                format!("{}, {variants} variants", key.rsplit_once(", ").map_or(&*key, |(name, _)| name))
            }
        }
    }
}

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "flowgraph-latency",
    about: "How long samples take through FutureSDR and GNU Radio graphs, and what tracepoints cost (needs cargo xtask setup flowgraph)",
    runs: Some(RUNS),
    flags: &["small", "full", "only", "keep"],
    run,
    distributions: Vec::new,
    of_kept: Some(of_kept),
};

/// Performs what is not yet in the file of runs, and says what was found.
///
/// # Errors
/// If no program of ours is here, or the file cannot be read or written. A user who wants to stop gets what was
/// measured until then.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let mut caveats = Vec::new();
    let here = Here::look(&mut caveats)?;
    let (latencies, overheads) = plan(effort, &here);
    if latencies.is_empty() && overheads.is_empty() {
        return Err(Failure::usage("--only: no run is named like that"));
    }
    let mut seen: Vec<Ran> = effort.keep.as_deref().map(run_log::read).transpose()?.unwrap_or_default();
    let is_seen = |seen: &[Ran], block: &Block| {
        block.cells.iter().all(|cell| seen.iter().any(|ran| ran.run == block.run && ran.cell == cell.key()))
    };
    let blocks: Vec<&Block> = latencies.iter().chain(&overheads).collect();
    let left: Vec<&&Block> = blocks.iter().filter(|block| !is_seen(&seen, block)).collect();
    let of: usize = left.iter().map(|block| block.cells.len()).sum();
    let (begun, mut done) = (Instant::now(), 0);
    for block in left {
        if effort.stop.load(Ordering::Relaxed) {
            break;
        }
        let about = match done {
            0 => String::new(),
            _ => format!(
                "; about {:.0} s left",
                begun.elapsed().as_secs_f64() / done as f64 * (of - done) as f64
            ),
        };
        progress(&format!("{}, run {}{about}", block.name(), block.run));
        let performed = match block.cells.as_slice() {
            [cell] => Ran::perform(cell, block.run, &effort.stop).map(|ran| vec![ran]),
            cells => turns::take(cells, block.run, &effort.stop),
        };
        done += block.cells.len();
        // A pair without its partner is none, and would be one too many when the block is made again.
        let together = match performed {
            Ok(together) => together,
            Err(_) if effort.stop.load(Ordering::Relaxed) => break,
            Err(failure) => {
                caveats.push(CaveatLine::said(
                    "run_failed",
                    format!("{}, run {}: {failure}", block.name(), block.run),
                ));
                continue;
            }
        };
        let faults = block.cells.iter().zip(&together).filter_map(|(cell, ran)| {
            Some(CaveatLine::said(
                "not_consistent",
                format!("{}, run {}: {}", cell.key(), ran.run, ran.fault(cell)?),
            ))
        });
        caveats.extend(faults);
        effort.keep.as_deref().map(|path| run_log::append_together(path, &together)).transpose()?;
        seen.extend(together);
    }
    if effort.stop.load(Ordering::Relaxed) {
        caveats.push(CaveatLine::said(
            "interrupted",
            "interrupted: runs that were not reached are not in the tables",
        ));
    }
    if seen.is_empty() {
        return Err(if effort.stop.load(Ordering::Relaxed) {
            Failure::interrupted()
        } else {
            Failure::environment(caveats.first().map_or("no run was performed", |caveat| &caveat.text))
        });
    }
    let cells: Vec<Cell> = blocks.iter().flat_map(|block| block.cells.iter().copied()).collect();
    Ok(FoundStudy {
        study: tables::study(&cells, &latest(seen), ran::event_ns(), caveats),
        graphs: Vec::new(),
        calibrations: Vec::new(),
    })
}

/// Of runs that were made again, because one beside them was missing, the last.
fn latest(seen: Vec<Ran>) -> Vec<Ran> {
    let by_name = seen.into_iter().map(|ran| ((ran.cell.clone(), ran.run), ran));
    by_name.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// What is installed.
struct Here {
    gnuradio: bool,
    lttng: bool,
}

impl Here {
    /// FutureSDR's program must be there; what else is missing is said.
    fn look(caveats: &mut Vec<CaveatLine>) -> Result<Self, Failure> {
        Framework::FutureSdr.find(&ProgramFile::Own)?;
        let gnuradio = Framework::GnuRadio
            .find(&ProgramFile::Own)
            .map_err(|why| caveats.push(CaveatLine::said("left_out", why.to_string())));
        let lttng =
            lttng_is_here().map_err(|why| caveats.push(CaveatLine::said("left_out", why.to_string())));
        Ok(Self { gnuradio: gnuradio.is_ok(), lttng: lttng.is_ok() })
    }

    fn has(&self, cell: &Cell) -> bool {
        (self.gnuradio || cell.system.framework != Framework::GnuRadio)
            && (self.lttng || cell.variant != Variant::Lttng)
    }
}

/// Latencies, run after run; then overheads, block after block.
fn plan(effort: &Effort, here: &Here) -> (Vec<Block>, Vec<Block>) {
    let wanted = |cell: &Cell| {
        let named = |only: &String| only.split('|').any(|part| cell.key().contains(part));
        here.has(cell) && effort.only.as_ref().is_none_or(named)
    };
    let (small, full) = (effort.small, effort.full);
    let runs = if small { 1 } else { effort.runs.unwrap_or(RUNS) };
    let cells: Vec<Cell> = Cell::latency(small, full).into_iter().filter(&wanted).collect();
    let latencies =
        (1..=runs).flat_map(|run| cells.iter().map(move |cell| Block { run, cells: vec![*cell] })).collect();
    let pairs = match (small, full) {
        (true, _) => 2,
        (_, true) => ALL_PAIRS,
        _ => effort.runs.map_or(PAIRS, |runs| runs.max(1)),
    };
    let mut overheads = Vec::new();
    for run in 1..=pairs {
        for system in WEIGHED {
            let cells: Vec<Cell> = Cell::weighed(system, small, full).into_iter().filter(&wanted).collect();
            // One alone has nothing to be held against.
            if cells.len() > 1 {
                overheads.push(Block { run, cells });
            }
        }
    }
    (latencies, overheads)
}

/// What the runs say that were kept.
///
/// # Errors
/// If a line is none, or there is none.
fn of_kept(text: &str) -> Result<Study, Failure> {
    let seen: Vec<Ran> = run_log::some(text)?;
    let weighed = WEIGHED.into_iter().flat_map(|system| Cell::weighed(system, false, true));
    let cells: Vec<Cell> = Cell::latency(false, true).into_iter().chain(weighed).collect();
    Ok(tables::study(&cells, &latest(seen), None, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_blocks_of_each_system_hold_each_variant_once() {
        let effort = Effort {
            runs: None,
            first_seed: None,
            small: false,
            full: true,
            only: None,
            budget: None,
            keep: None,
            stop: Default::default(),
        };
        let here = Here { gnuradio: true, lttng: true };
        let (_, overheads) = plan(&effort, &here);
        assert_eq!(overheads.len(), 2 * 60);
        for block in &overheads {
            let variants: Vec<Variant> = block.cells.iter().map(|cell| cell.variant).collect();
            assert_eq!(variants, cell::VARIANTS);
            assert!(block.cells.iter().all(|cell| cell.samples() * 100 == 200_000_000));
        }
        let pairs = Effort { only: Some("flow, 6|smol1, 6".into()), ..effort.clone() };
        assert_eq!(plan(&pairs, &here).1.len(), 2 * 60);
        let pairs = Effort { only: Some("no tracepoints|our ring".into()), ..effort.clone() };
        assert!(plan(&pairs, &here).1.iter().all(|block| block.cells.len() == 2));
        let without = Here { gnuradio: false, lttng: false };
        let (latencies, overheads) = plan(&effort, &without);
        assert!(latencies.iter().all(|block| block.cells[0].system.framework == Framework::FutureSdr));
        assert!(overheads.iter().all(|block| block.cells.len() == 3));
    }
}
