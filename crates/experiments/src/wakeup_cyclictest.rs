//! Does `wakeup:` measure what cyclictest measures? Both in turns: one CPU, clock, period and priority for both.

mod block;
mod tables;

use super::{Effort, Experiment, FoundStudy, run_log};
use block::{Block, By, Conditions};
use dropline_failure::Failure;
use dropline_record::{CaveatLine, Study};
use dropline_verbs::compare::turns::quartet;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Blocks of each.
const BLOCKS: u32 = 12;
/// A block's length, and that of one which only shows that it works.
const LENGTH: Duration = Duration::from_secs(5);
const SMALL: Duration = Duration::from_millis(500);
/// The order of the turns.
const SEED: u64 = 2026;

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "wakeup-cyclictest",
    about: "Do wakeup: targets measure what cyclictest measures? Both in turns, two minutes (root; needs cargo xtask setup rivals)",
    runs: Some(BLOCKS),
    flags: &["small", "keep"],
    run,
    distributions: Vec::new,
    of_kept: Some(of_kept),
};

/// Performs what is not yet in the file of blocks, and says what was found.
///
/// # Errors
/// If cyclictest is not here or may not have real-time priority, or the file cannot be read or written. A user who
/// wants to stop gets what was measured until then.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let conditions = Conditions::here(if effort.small { SMALL } else { LENGTH })?;
    let blocks = effort.runs.unwrap_or(if effort.small { 2 } else { BLOCKS }).max(2).next_multiple_of(2);
    let mut caveats = Vec::new();
    let mut seen: Vec<Block> = effort.keep.as_deref().map(run_log::read).transpose()?.unwrap_or_default();
    if let Some(other) = seen.iter().find(|block| !block.is_of(&conditions)) {
        return Err(Failure::usage(format!(
            "the kept blocks were measured on CPU {} in {} s each: name another file with --keep",
            other.cpu, other.length_s
        )));
    }
    'turns: for (quartet, turns) in (0..blocks / 2).map(|quartet| (quartet, order(quartet))) {
        if seen.iter().any(|block| block.quartet == quartet) {
            continue;
        }
        let mut together = Vec::new();
        for (turn, by) in (1..).zip(turns) {
            if effort.stop.load(Ordering::Relaxed) {
                break 'turns;
            }
            let number = 4 * quartet + turn;
            progress(&format!(
                "block {number} of {}, {}; about {:.0} s left",
                2 * blocks,
                by.name(),
                conditions.length.as_secs_f64() * f64::from(2 * blocks - number + 1)
            ));
            let found = Block::measure(by, &conditions, quartet, turn, &effort.stop, &mut caveats);
            match found {
                Ok(block) => together.push(block),
                Err(_) if effort.stop.load(Ordering::Relaxed) => break 'turns,
                Err(failure) => return Err(failure),
            }
        }
        effort.keep.as_deref().map(|path| run_log::append_together(path, &together)).transpose()?;
        seen.extend(together);
    }
    if effort.stop.load(Ordering::Relaxed) {
        caveats.push(CaveatLine::said(
            "interrupted",
            "interrupted: four turns that were not ended are not in the tables",
        ));
    }
    if seen.is_empty() {
        return Err(Failure::interrupted());
    }
    if effort.small {
        caveats.push(CaveatLine::said(
            "small",
            "two short blocks of each: they show that it works and prove nothing",
        ));
    }
    Ok(FoundStudy { study: tables::study(&seen, caveats)?, graphs: Vec::new(), calibrations: Vec::new() })
}

/// Whose turn it is: A B B A or B A A B by chance.
fn order(number: u32) -> [By; 4] {
    quartet(SEED, number.into()).map(|side| [By::Cyclictest, By::Dropline][side])
}

/// What the blocks say that were kept.
///
/// # Errors
/// If a line is none, or there is none.
fn of_kept(text: &str) -> Result<Study, Failure> {
    let seen: Vec<Block> = run_log::some(text)?;
    tables::study(&seen, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_two_turns_of_four_and_either_may_begin() {
        let quartets: Vec<[By; 4]> = (0..6).map(order).collect();
        for turns in &quartets {
            assert_eq!(turns.iter().filter(|by| **by == By::Dropline).count(), 2);
            assert!(turns[0] == turns[3] && turns[1] == turns[2]);
        }
        assert!(quartets.iter().any(|turns| turns[0] != quartets[0][0]), "one of them always begins");
    }
}
