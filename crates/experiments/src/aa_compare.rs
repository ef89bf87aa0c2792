//! Does `compare` cry wolf, and does it see what is there? Two series of the same law, and two that differ.
//!
//! Delays have the distribution of the idle histogram of 2004 and follow one another as a Gaussian process does: an
//! autoregression, or a long memory as wake-ups were measured to have it. Beside it stand the two tests that
//! benchmark tools run on raw values.

mod oracle;
mod raw;
mod series;

use super::{Effort, Experiment, FoundStudy};
use dropline_failure::Failure;
use dropline_record::{Study, Table};
use dropline_stats::compare::{Comparison, Design, Overall, Questions, Verdict};
use dropline_stats::special::binomial_quantile;
use series::{Change, Memory, Pair};
use std::sync::atomic::Ordering;

/// Blocks of a side.
const BLOCKS: usize = 40;
/// Events of a side.
const EVENTS: usize = 10_400;
/// Pairs of a cell, and of one that only shows that it works.
const PAIRS: u32 = 2000;
const SMALL: u32 = 20;
/// What may be found where nothing is.
const FALSE_AT_MOST: f64 = 0.06;
/// How often what is there must be found.
const POWER: f64 = 0.8;

const MEMORIES: [Memory; 5] = [
    Memory::Autoregression(0.0),
    Memory::Autoregression(0.5),
    Memory::Autoregression(0.9),
    Memory::Long,
    Memory::Autoregression(0.99),
];

/// How often each way to compare found a difference.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cell {
    pairs: u32,
    /// Any of the three questions, after Holm, of measurements in turns.
    turns: u32,
    /// Of measurements one after the other.
    apart: u32,
    welch: u32,
    mann_whitney: u32,
    /// The median, and the tail, of measurements in turns.
    core: u32,
    tail: u32,
    /// The estimates themselves: of the median's difference, and of the logarithm of the tail's ratio.
    core_estimates: Vec<f64>,
    tail_estimates: Vec<f64>,
}

/// Its row in the table of experiments.
pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "aa-compare",
    about: "Does compare see changes that are there, and none that are not, beside Welch and Mann-Whitney?",
    runs: Some(PAIRS),
    flags: &["small"],
    run,
    distributions: Vec::new,
    of_kept: None,
};

/// Runs pairs of each cell: 2 000 where nobody says.
///
/// # Errors
/// If the user wants to stop.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(&str)) -> Result<FoundStudy, Failure> {
    let pairs = effort.runs.unwrap_or(if effort.small { SMALL } else { PAIRS });
    let mut of = |memory: Memory, change: Change| {
        progress(&format!("{}, {}", memory.name(), change.name()));
        cell(memory, change, pairs, &mut || effort.stop.load(Ordering::Relaxed))
    };
    let mut same = Vec::new();
    for memory in MEMORIES {
        same.push((memory, of(memory, Change::None)?));
    }
    let mut different = Vec::new();
    for memory in
        [Memory::Autoregression(0.0), Memory::Autoregression(0.5), Memory::Long, Memory::Autoregression(0.9)]
    {
        different.push((memory, of(memory, Change::Median)?, of(memory, Change::Tail)?));
    }
    Ok(FoundStudy { study: study(&same, &different, pairs), graphs: Vec::new(), calibrations: Vec::new() })
}

/// Compares this many pairs.
fn cell(memory: Memory, change: Change, pairs: u32, stop: &mut dyn FnMut() -> bool) -> Result<Cell, Failure> {
    let questions = Questions { percentile: 0.99, above: None, smallest_effect: Some(0.0), more_loss: 0.0 };
    let mut cell = Cell { pairs, ..Cell::default() };
    for number in 0..pairs {
        if stop() {
            return Err(Failure::interrupted());
        }
        let turns = Pair::in_turns(memory, change, BLOCKS, EVENTS, u64::from(number));
        let found = Comparison::of(&turns.a, &turns.b, Design::Interleaved, &questions);
        let apart = Pair::apart(memory, change, BLOCKS, EVENTS, u64::from(number));
        let of_apart = Comparison::of(&apart.a, &apart.b, Design::Apart, &questions);
        let differs = |verdict: Overall| {
            u32::from(matches!(verdict, Overall::Improved | Overall::Regressed | Overall::Mixed))
        };
        cell.turns += differs(found.verdict);
        cell.apart += differs(of_apart.verdict);
        cell.core_estimates.extend(found.core.estimate);
        cell.tail_estimates.extend(found.tail_mass.estimate.filter(|ratio| *ratio > 0.0).map(f64::ln));
        cell.core += u32::from(found.core.verdict == Verdict::Regressed);
        cell.tail += u32::from(found.tail_mass.verdict == Verdict::Regressed);
        cell.welch += u32::from(raw::welch_differs(&apart.a, &apart.b));
        cell.mann_whitney += u32::from(raw::mann_whitney_differs(&apart.a, &apart.b));
    }
    Ok(cell)
}

fn study(same: &[(Memory, Cell)], different: &[(Memory, Cell, Cell)], pairs: u32) -> Study {
    let share = |count: u32| f64::from(count) / f64::from(pairs.max(1));
    let worst = same
        .iter()
        .filter(|(memory, _)| memory.is_gated())
        .map(|(_, cell)| share(cell.turns.max(cell.apart)))
        .fold(0.0, f64::max);
    let percent = |count: u32| {
        let interval = |tail: f64| {
            binomial_quantile(tail, u64::from(pairs.max(1)), share(count).clamp(1e-9, 1.0 - 1e-9))
        };
        let half = (interval(0.975) - interval(0.025)) as f64 / 2.0 / f64::from(pairs.max(1));
        format!("{:.1} ± {:.1} %", 100.0 * share(count), 100.0 * half)
    };
    let false_rows = same.iter().map(|(memory, cell)| {
        vec![
            memory.name(),
            percent(cell.turns),
            percent(cell.apart),
            percent(cell.welch),
            percent(cell.mann_whitney),
            match (memory.is_gated(), share(cell.turns.max(cell.apart)) <= FALSE_AT_MOST) {
                (true, true) => "at most 6 %: kept".into(),
                (true, false) => "at most 6 %: broken".into(),
                (false, _) => "shown".into(),
            },
        ]
    });
    let power_rows = different.iter().map(|(memory, median, tail)| {
        let same = same.iter().find(|(other, _)| other == memory).map(|(_, cell)| cell);
        let attainable = |of: fn(&Cell) -> &[f64], cell: &Cell| {
            same.and_then(|same| oracle::power(of(same), of(cell)))
                .map_or("?".into(), |power| format!("{:.1} %", 100.0 * power))
        };
        let kept = share(median.core) >= POWER && share(tail.tail) >= POWER;
        vec![
            memory.name(),
            percent(median.core),
            attainable(|cell| &cell.core_estimates, median),
            percent(tail.tail),
            attainable(|cell| &cell.tail_estimates, tail),
            if kept { "at least 80 %".into() } else { "below 80 %".into() },
        ]
    });
    Study {
        charts: Vec::new(),
        name: "aa-compare".into(),
        title: format!(
            "Two measurements of the same thing are called different in at most {:.1} % of {pairs} pairs",
            100.0 * worst
        ),
        paragraphs: vec![
            format!(
                "Each side has {EVENTS} delays in {BLOCKS} blocks, distributed as the idle histogram of 2004, with the \
                 smallest effect that matters set to 0. Measured in turns, blocks of A and B alternate in one series; \
                 apart, each side is a series of its own."
            ),
            "Long memory is a sum of three autoregressions with a correlation of 0.2 at lag 100, as 20 s of wake-ups \
             had it. Welch's t and the Mann-Whitney test get the raw values of the sides measured apart, as benchmark \
             tools do: they take them as independent."
                .into(),
        ],
        tables: vec![
            Table {
                title: "False differences".into(),
                note: "Any of the three questions, after Holm; ± is the scatter of so many pairs.".into(),
                columns: ["memory", "in turns", "apart", "Welch", "Mann-Whitney", "bar"].map(String::from).into(),
                rows: false_rows.collect(),
            },
            Table {
                title: "Differences found, measured in turns".into(),
                note: "B is 5 % slower; or has twice as many events beyond A's 99th percentile. The oracle sees the same \
                       difference and knows how such differences scatter where nothing differs, from the pairs above; \
                       it asks one question instead of three. It is not a bound: a comparison sees where the median is dense \
                       with events, and what neighbouring blocks have in common."
                    .into(),
                columns: ["memory", "median +5 %", "oracle", "tail mass x2", "oracle", "bar"].map(String::from).into(),
                rows: power_rows.collect(),
            },
        ],
        caveats: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_pairs_of_the_same_thing_are_seldom_called_different() {
        let same = cell(Memory::Autoregression(0.5), Change::None, 200, &mut || false).unwrap();
        // Of 200 pairs at 6 %, fewer than 21 in 99 of 100 experiments.
        assert!(same.turns <= 20 && same.apart <= 20, "{same:?}");
        let raw = cell(Memory::Autoregression(0.9), Change::None, 40, &mut || false).unwrap();
        assert!(raw.mann_whitney >= 20, "the rival cries wolf, and this one does not: {raw:?}");
        assert!(raw.turns <= 8, "{raw:?}");
    }

    #[test]
    fn what_is_there_is_found() {
        let slower = cell(Memory::Autoregression(0.0), Change::Median, 40, &mut || false).unwrap();
        let longer = cell(Memory::Autoregression(0.0), Change::Tail, 40, &mut || false).unwrap();
        assert!(slower.core >= 32 && longer.tail >= 32, "{slower:?} {longer:?}");
    }
}
