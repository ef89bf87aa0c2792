//! Instructions per operation: callgrind's totals over several counts, and the line through them.

use super::harness::Operation;
use super::program::{ProgramError, run};
use serde::Serialize;
use std::path::Path;

/// How often an operation is done; the first two tell what the first call costs beyond the others.
const COUNTS: [u64; 5] = [0, 1, 100, 600, 1100];

/// What one operation costs in instructions of amd64.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Instructions {
    /// Which.
    pub operation: Operation,
    /// Each further one, the loop around it included: the slope.
    pub each: f64,
    /// The program with none at all.
    pub start: u64,
    /// What the first one costs beyond the others: binding of symbols, and the like.
    pub first_extra: f64,
    /// Largest distance of a total from the line.
    pub off_line: f64,
}

/// Counts `operation` in the program `bench` of directory `bench`.
///
/// # Errors
/// If callgrind is not there or says nothing.
pub fn count(bench: &Path, operation: Operation) -> Result<Instructions, ProgramError> {
    let mut totals = [(0, 0); COUNTS.len()];
    for (total, times) in totals.iter_mut().zip(COUNTS) {
        *total = (times, collected(bench, operation, times)?);
    }
    Ok(line(operation, totals))
}

/// The line through the totals of 100 and more; what is before it.
fn line(operation: Operation, totals: [(u64, u64); COUNTS.len()]) -> Instructions {
    let points = totals[2..].iter().map(|(times, total)| (*times as f64, *total as f64));
    let n = (COUNTS.len() - 2) as f64;
    let (sum_x, sum_y) = points.clone().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (over, under) = points.clone().fold((0.0, 0.0), |(over, under), (x, y)| {
        (over + (x - mean_x) * (y - mean_y), under + (x - mean_x).powi(2))
    });
    let each = over / under;
    let off = |(x, y): (f64, f64)| (y - mean_y - each * (x - mean_x)).abs();
    Instructions {
        operation,
        each,
        start: totals[0].1,
        first_extra: totals[1].1 as f64 - totals[0].1 as f64 - each,
        off_line: points.map(off).fold(0.0, f64::max),
    }
}

fn collected(bench: &Path, operation: Operation, times: u64) -> Result<u64, ProgramError> {
    // Always four digits: reading them costs the same.
    let (index, times) = (operation.index().to_string(), format!("{times:04}"));
    let words = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "./bench", &index, &times];
    let printed = run(bench, "valgrind", &words)?;
    let no_total = || ProgramError::Failed { program: "valgrind".into(), why: "it collected nothing".into() };
    printed
        .errors
        .lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
        .ok_or_else(no_total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notes_own_totals_give_128_a_heartbeat_and_947_for_the_first() {
        // 159931 + 947 once + 128 each: 161006 for one, as counted there.
        let total = |n: u64| if n == 0 { 159_931 } else { 160_878 + 128 * n };
        assert_eq!((total(1), total(100), total(1000)), (161_006, 173_678, 288_878));
        let found = line(Operation::Heartbeat, COUNTS.map(|n| (n, total(n))));
        assert_eq!(
            (found.each, found.start, found.first_extra, found.off_line),
            (128.0, 159_931, 947.0, 0.0)
        );
    }

    #[test]
    fn totals_off_the_line_are_told() {
        let found = line(Operation::Report, [(0, 0), (1, 10), (100, 1000), (600, 6030), (1100, 11_000)]);
        assert_eq!(format!("{:.1} {:.1}", found.each, found.off_line), "10.0 20.0");
    }
}
