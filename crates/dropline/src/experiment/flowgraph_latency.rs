//! How long does a sample take from source to sink, by scheduler, stages and buffers; and what do the tracepoints cost?
//! The experiment of a weblog of November 2021, with GNU Radio beside FutureSDR, and its overheads as intervals.

mod cell;
mod ran;
mod tables;

use super::{Effort, Found, kept};
use crate::Failure;
use crate::flowgraph::graph::Framework;
use crate::flowgraph::lttng_is_here;
use cell::{Cell, Variant, WEIGHED};
use dropline_record::CaveatLine;
use ran::Ran;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Runs of each latency.
const RUNS: u32 = 3;
/// Pairs of each overhead; exactly so many are asked for where all there is is done.
const PAIRS: u32 = 15;
const ALL_PAIRS: u32 = 60;

/// Runs that belong together: of one cell, or each turn of each variant, in an order of chance.
struct Block {
    run: u32,
    /// What is run, and its which turn.
    turns: Vec<(Cell, u32)>,
}

/// Performs what is not yet in the file of runs, and says what was found.
///
/// # Errors
/// If no program of ours is here, or the file cannot be read or written. A user who wants to stop gets what was
/// measured until then.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<Found, Failure> {
    let mut caveats = Vec::new();
    let here = Here::look(&mut caveats)?;
    let (latencies, overheads) = plan(effort, &here);
    if latencies.is_empty() && overheads.is_empty() {
        return Err(Failure::usage("--only: no run is named like that"));
    }
    let mut seen: Vec<Ran> = effort.keep.as_deref().map(kept::read).transpose()?.unwrap_or_default();
    let is_seen = |seen: &[Ran], block: &Block| {
        block.turns.iter().all(|(cell, turn)| {
            let key = cell.key();
            seen.iter().any(|ran| (ran.run, ran.turn) == (block.run, *turn) && ran.cell == key)
        })
    };
    let blocks: Vec<&Block> = latencies.iter().chain(&overheads).collect();
    let left: Vec<&&Block> = blocks.iter().filter(|block| !is_seen(&seen, block)).collect();
    let of: usize = left.iter().map(|block| block.turns.len()).sum();
    let (begun, mut done) = (Instant::now(), 0);
    'blocks: for block in left {
        let mut together = Vec::new();
        for (cell, number) in &block.turns {
            if effort.stop.load(Ordering::Relaxed) {
                break 'blocks;
            }
            let about = match done {
                0 => String::new(),
                _ => format!(
                    "; about {:.0} s left",
                    begun.elapsed().as_secs_f64() / done as f64 * (of - done) as f64
                ),
            };
            let turn = if cell.size.turns > 1 { format!(", turn {number}") } else { String::new() };
            progress(&format!("{}, run {}{turn}{about}", cell.key(), block.run));
            match Ran::perform(cell, block.run, *number, &effort.stop) {
                Ok(ran) => together.push(ran),
                Err(_) if effort.stop.load(Ordering::Relaxed) => break 'blocks,
                Err(failure) => {
                    caveats
                        .push(caveat("run_failed", &format!("{}, run {}: {failure}", cell.key(), block.run)));
                }
            }
            done += 1;
        }
        // A pair without its partner is none, and would be one too many when the block is made again.
        if together.len() < block.turns.len() {
            continue;
        }
        let faults = block.turns.iter().zip(&together).filter_map(|((cell, _), ran)| {
            Some(caveat("not_consistent", &format!("{}, run {}: {}", cell.key(), ran.run, ran.fault(cell)?)))
        });
        caveats.extend(faults);
        effort.keep.as_deref().map(|path| kept::append_together(path, &together)).transpose()?;
        seen.extend(together);
    }
    if effort.stop.load(Ordering::Relaxed) {
        caveats.push(caveat("interrupted", "interrupted: runs that were not reached are not in the tables"));
    }
    if seen.is_empty() {
        return Err(if effort.stop.load(Ordering::Relaxed) {
            Failure::interrupted()
        } else {
            Failure::environment(caveats.first().map_or("no run was performed", |caveat| &caveat.text))
        });
    }
    let cells: Vec<Cell> =
        blocks.iter().flat_map(|block| block.turns.iter().map(|(cell, _)| *cell)).collect();
    Ok(Found {
        study: tables::study(&cells, &seen, ran::event_ns(), caveats),
        graphs: Vec::new(),
        calibrations: Vec::new(),
    })
}

/// What is installed.
struct Here {
    gnuradio: bool,
    lttng: bool,
}

impl Here {
    /// FutureSDR's program must be there; what else is missing is said.
    fn look(caveats: &mut Vec<CaveatLine>) -> Result<Self, Failure> {
        Framework::FutureSdr.find()?;
        let gnuradio =
            Framework::GnuRadio.find().map_err(|why| caveats.push(caveat("left_out", &why.to_string())));
        let lttng = lttng_is_here().map_err(|why| caveats.push(caveat("left_out", &why.to_string())));
        Ok(Self { gnuradio: gnuradio.is_ok(), lttng: lttng.is_ok() })
    }

    fn has(&self, cell: &Cell) -> bool {
        (self.gnuradio || cell.system.framework != Framework::GnuRadio)
            && (self.lttng || cell.variant != Variant::Lttng)
    }
}

/// Latencies, run after run; then overheads, block after block, each in an order of its own.
fn plan(effort: &Effort, here: &Here) -> (Vec<Block>, Vec<Block>) {
    let wanted = |cell: &Cell| {
        here.has(cell) && effort.only.as_ref().is_none_or(|only| cell.key().contains(only.as_str()))
    };
    let (small, full) = (effort.small, effort.full);
    let runs = if small { 1 } else { effort.runs.unwrap_or(RUNS) };
    let cells: Vec<Cell> = Cell::latency(small, full).into_iter().filter(&wanted).collect();
    let latencies = (1..=runs)
        .flat_map(|run| cells.iter().map(move |cell| Block { run, turns: vec![(*cell, 1)] }))
        .collect();
    let pairs = match (small, full) {
        (true, _) => 2,
        (_, true) => ALL_PAIRS,
        _ => effort.runs.map_or(PAIRS, |runs| runs.max(1)),
    };
    let mut overheads = Vec::new();
    for run in 1..=pairs {
        for (number, system) in (0..).zip(WEIGHED) {
            let mut cells: Vec<Cell> =
                Cell::weighed(system, small, full).into_iter().filter(&wanted).collect();
            let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(u64::from(run) << 8 | number);
            let mut turns = Vec::new();
            for turn in 1..=cells.first().map_or(0, |cell| cell.size.turns) {
                cells.shuffle(&mut chance);
                turns.extend(cells.iter().map(|cell| (*cell, turn)));
            }
            // One alone has nothing to be held against.
            if cells.len() > 1 {
                overheads.push(Block { run, turns });
            }
        }
    }
    (latencies, overheads)
}

fn caveat(code: &str, text: &str) -> CaveatLine {
    CaveatLine { code: code.into(), text: text.into(), numbers: serde_json::Map::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_each_variant_once_a_turn_in_an_order_that_the_seed_repeats() {
        let effort = Effort {
            runs: None,
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
        // A turn's variants stand together: a pair is never far apart.
        let names = |blocks: &[Block]| -> Vec<Vec<&str>> {
            let of = |turn: &[(Cell, u32)]| turn.iter().map(|(cell, _)| cell.variant.name()).collect();
            blocks.iter().flat_map(|block| block.turns.chunks(4).map(of)).collect()
        };
        let orders = names(&overheads);
        assert_eq!(orders.len(), 2 * 60 * 5);
        assert_eq!(orders, names(&plan(&effort, &here).1));
        let mut sorted = orders.clone();
        sorted.iter_mut().for_each(|order| order.sort_unstable());
        assert!(sorted.windows(2).all(|pair| pair[0] == pair[1]) && sorted[0].len() == 4);
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]), "always the same order");
        let without = Here { gnuradio: false, lttng: false };
        let (latencies, overheads) = plan(&effort, &without);
        assert!(latencies.iter().all(|block| block.turns[0].0.system.framework == Framework::FutureSdr));
        assert!(overheads.iter().all(|block| block.turns.len() == 3 * 5));
    }
}
