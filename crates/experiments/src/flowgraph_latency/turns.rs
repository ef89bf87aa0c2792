//! Programs that stand beside one another and take turns, so that a machine that is slower for a while is slower for all.

use super::cell::{Cell, WEIGHED};
use super::ran::{PATIENCE, Ran};
use dropline_failure::Failure;
use dropline_targets::flowgraph::Settings;
use dropline_targets::flowgraph::bench::{RunningProgram, Turn};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use std::sync::atomic::AtomicBool;

/// Performs all turns of a block's cells, each time in an order of chance; a run each, summed over its turns.
pub(super) fn take(cells: &[Cell], run: u32, stop: &AtomicBool) -> Result<Vec<Ran>, Failure> {
    let mut programs: Vec<(RunningProgram, Turn)> = Vec::new();
    for cell in cells {
        let target = cell.target();
        let settings = Settings::parse(target.strip_prefix("flowgraph:").unwrap_or(&target))?;
        programs.push((RunningProgram::start(settings)?, Turn::default()));
    }
    let system = WEIGHED.iter().position(|system| cells.iter().any(|cell| cell.system == *system));
    let seed = u64::from(run) << 8 | system.unwrap_or(0) as u64;
    let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..programs.len()).collect();
    for turn in 0..cells.first().map_or(0, |cell| cell.size.turns) {
        order.shuffle(&mut chance);
        for &at in &order {
            let (program, sum) = &mut programs[at];
            let performed = program.perform(seed << 8 | u64::from(turn), PATIENCE, stop)?;
            sum.samples += performed.samples;
            sum.duration += performed.duration;
            sum.cpu += performed.cpu;
            sum.framework = performed.framework;
        }
    }
    let ended = cells.iter().zip(programs).map(|(cell, (program, sum))| {
        let collected = program.finish()?;
        Ok(Ran::of_turns(cell, run, &sum, &collected))
    });
    ended.collect()
}
