//! The rivals: tests that take raw values as independent.

use dropline_stats::special::{normal_quantile, student_quantile};
use dropline_stats::{Binned, Cell};

/// Welch's t at 5 %.
pub(super) fn welch_differs(a: &[Binned], b: &[Binned]) -> bool {
    let moments = |blocks: &[Binned]| {
        let whole = Binned::together(blocks);
        let n = whole.count() as f64;
        let sum = |value: &dyn Fn(&Cell) -> f64| {
            whole.cells().iter().map(|cell| cell.count as f64 * value(cell)).sum::<f64>()
        };
        let mean = sum(&|cell| cell.value) / n;
        (mean, sum(&|cell| (cell.value - mean).powi(2)) / (n - 1.0) / n, n)
    };
    let ((a, a_error, a_n), (b, b_error, b_n)) = (moments(a), moments(b));
    let both = a_error + b_error;
    let freedom = both * both / (a_error * a_error / (a_n - 1.0) + b_error * b_error / (b_n - 1.0));
    ((b - a) / both.sqrt()).abs() > student_quantile(freedom, 0.975)
}

/// Mann and Whitney's U at 5 %, with its correction for ties.
pub(super) fn mann_whitney_differs(a: &[Binned], b: &[Binned]) -> bool {
    let (a, b) = (Binned::together(a), Binned::together(b));
    let all = Binned::together(&[a.clone(), b.clone()]);
    let (a_n, b_n) = (a.count() as f64, b.count() as f64);
    let n = a_n + b_n;
    let mut of_a = a.cells().iter().peekable();
    let (mut below, mut ranks, mut ties) = (0.0, 0.0, 0.0);
    for cell in all.cells() {
        let count = cell.count as f64;
        if let Some(mine) = of_a.next_if(|mine| mine.low == cell.low) {
            ranks += mine.count as f64 * (below + (count + 1.0) / 2.0);
        }
        ties += count * count * count - count;
        below += count;
    }
    let u = ranks - a_n * (a_n + 1.0) / 2.0;
    let variance = a_n * b_n / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    ((u - a_n * b_n / 2.0) / variance.sqrt()).abs() > normal_quantile(0.975)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_stats::{Counted, Meaning};

    #[test]
    fn rivals_tell_what_is_plain() {
        let of = |ticks: &[(i64, u64)]| {
            [Counted::ticks(Meaning::default(), ticks.iter().copied(), None).unwrap().binned()]
        };
        let (low, high) = (of(&[(6, 50), (7, 50), (8, 20)]), of(&[(7, 50), (8, 50), (9, 20)]));
        assert!(welch_differs(&low, &high) && mann_whitney_differs(&low, &high));
        assert!(!welch_differs(&low, &low) && !mann_whitney_differs(&low, &low));
    }
}
