//! fio's histogram logs (`--write_hist_log`): time, direction, block size, then the count of each cell, nanoseconds.
//!
//! 29 groups of 64 cells: the first two are exact, each further one has cells twice as wide. With
//! `log_hist_coarseness=c` 2^c neighbours are one.

use super::sliced::Slicer;
use super::{ImportError, Imported, last_if_cut};
use dropline_stats::{Counted, Event, Meaning, Rounding};
use std::collections::BTreeMap;

const GROUPS: usize = 29;
const CELLS: usize = 64;
const LINE: &str = "time, direction, block size and 1856 >> c counts";

/// Whether a file of this beginning is one: more whole numbers than a table has columns.
pub(super) fn looks(head: &str) -> bool {
    let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let numbers = first.split(',').take(20).filter(|word| word.trim().parse::<u64>().is_ok());
    numbers.count() == 20
}

/// Reads all intervals, those of a direction as one distribution.
///
/// # Errors
/// If a line is no interval of such a log.
pub fn parse(text: &str) -> Result<Vec<Imported>, ImportError> {
    /// Counts of all cells of a direction, when its last interval ended, and its intervals.
    type Direction = (Vec<u64>, f64, Slicer);
    let mut directions: BTreeMap<u64, Direction> = BTreeMap::new();
    let mut stride = None;
    let cut = last_if_cut(text);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let wrong = || ImportError::line(index + 1, line, LINE);
        let numbers: Vec<u64> =
            line.split(',').map(|word| word.trim().parse().ok()).collect::<Option<_>>().ok_or_else(wrong)?;
        let [time, direction, _block, counts @ ..] = numbers.as_slice() else { return Err(wrong()) };
        let coarseness = (0..=6).find(|c| counts.len() == (GROUPS * CELLS) >> c).ok_or_else(wrong)?;
        if *stride.get_or_insert(coarseness) != coarseness || *direction > 2 {
            return Err(wrong());
        }
        if cut == Some(index + 1) {
            return Err(ImportError::Cut { line: index + 1 });
        }
        let (sums, until_s, slicer) =
            directions.entry(*direction).or_insert_with(|| (vec![0; counts.len()], 0.0, Slicer::default()));
        // A line is written when its interval ends; several block sizes end together.
        let end_s = *time as f64 / 1000.0;
        slicer.push(*until_s, end_s - *until_s, &cells(counts, coarseness));
        *until_s = end_s;
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = sum.checked_add(*count).ok_or(dropline_stats::CountError::TooMany)?;
        }
    }
    let Some(stride) = stride else { return Err(ImportError::Ends { expected: LINE }) };
    let meaning = Meaning { unit_ns: 1000, quantum_ns: 1.0, rounding: Rounding::Floor, event: Event::Each };
    directions
        .into_iter()
        .map(|(direction, (counts, _, slicer))| {
            let counted = Counted::ranges(meaning, cells(&counts, stride), None)?;
            let name = ["read", "write", "trim"][direction as usize].to_owned();
            Ok(Imported { slices: slicer.finish(meaning)?, ..Imported::whole(counted, name, Vec::new()) })
        })
        .collect()
}

/// The occupied cells of a line whose cells stand for 2^stride neighbours each.
fn cells(counts: &[u64], stride: usize) -> Vec<(i64, i64, u64)> {
    let occupied = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    occupied
        .map(|(cell, &count)| {
            let first = cell << stride;
            (bounds(first).0, bounds(first + (1 << stride) - 1).1, count)
        })
        .collect()
}

/// The cell that fio calls by the value in its middle.
pub(super) fn of_middle(value: u64) -> Option<(i64, i64)> {
    let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(CELLS.ilog2());
    let cell = usize::try_from(value >> shift).ok()? + shift as usize * CELLS;
    let (low, high) = (cell < GROUPS * CELLS).then(|| bounds(cell))?;
    let middle = if shift == 0 { low } else { low + (1 << (shift - 1)) };
    (u64::try_from(middle) == Ok(value)).then_some((low, high))
}

/// Lowest and highest nanosecond of a cell.
fn bounds(cell: usize) -> (i64, i64) {
    let shift = (cell / CELLS).saturating_sub(1);
    let low = ((cell - shift * CELLS) as i64) << shift;
    (low, low + (1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(direction: u64, counts: &[(usize, u64)], coarseness: u32) -> String {
        let mut cells = vec![0; (GROUPS * CELLS) >> coarseness];
        counts.iter().for_each(|&(cell, count)| cells[cell] = count);
        let cells: Vec<String> = cells.iter().map(u64::to_string).collect();
        format!("500, {direction}, 4096, {}\n", cells.join(", "))
    }

    #[test]
    fn cells_follow_one_another_without_a_gap() {
        assert_eq!(
            (bounds(0), bounds(127), bounds(128), bounds(191), bounds(192)),
            ((0, 0), (127, 127), (128, 129), (254, 255), (256, 259))
        );
        assert!((1..GROUPS * CELLS).all(|cell| bounds(cell).0 == bounds(cell - 1).1 + 1));
    }

    #[test]
    fn a_cell_is_known_by_its_middle() {
        assert_eq!(
            (of_middle(127), of_middle(129), of_middle(1416)),
            (Some((127, 127)), Some((128, 129)), Some((1408, 1423)))
        );
        assert_eq!((of_middle(128), of_middle(1417), of_middle(u64::MAX)), (None, None, None));
        for cell in 0..GROUPS * CELLS {
            let (low, high) = bounds(cell);
            assert_eq!(of_middle((low as u64 + high as u64).div_ceil(2)), Some((low, high)));
        }
    }

    #[test]
    fn directions_are_apart_and_intervals_add_up() {
        let text = [line(0, &[(3, 5)], 0), line(1, &[(128, 1)], 0), line(0, &[(3, 2), (130, 1)], 0)].concat();
        let read = parse(&text).unwrap();
        assert_eq!(read.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["read", "write"]);
        assert_eq!(read[0].counted.cells().collect::<Vec<_>>(), [(3, 3, 7), (132, 133, 1)]);
    }

    #[test]
    fn coarse_logs_have_wider_cells() {
        let read = parse(&line(0, &[(64, 9)], 1)).unwrap();
        assert_eq!(read[0].counted.cells().collect::<Vec<_>>(), [(128, 131, 9)]);
    }

    #[test]
    fn a_line_of_another_width_is_named() {
        let text = line(0, &[], 0) + "500, 0, 4096, 1, 2\n";
        assert!(parse(&text).unwrap_err().to_string().starts_with("line 2"));
        assert!(parse(&(line(0, &[], 0) + &line(0, &[], 1))).unwrap_err().to_string().starts_with("line 2"));
        assert!(parse(&line(7, &[], 0)).unwrap_err().to_string().starts_with("line 1"));
        let cut = line(0, &[(3, 5)], 0) + line(0, &[(1855, 12)], 0).trim_end().trim_end_matches('2');
        assert!(parse(&cut).unwrap_err().to_string().starts_with("line 2: the file ends within"));
    }
}
