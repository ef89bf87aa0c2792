//! What the thread supposed of normal values and of more events, tried out.

use dropline_stats::special::normal_quantile;
use dropline_stats::{Counted, Meaning, Modes, chance};

/// Skewness of the largest of `k` standard normal values, and how much of it is not where a normal law with the
/// same mean and deviation is.
pub(super) fn maxima_of_normals(k: u32) -> (f64, f64) {
    const POINTS: usize = 20_000;
    let at = |index: usize| normal_quantile(((index as f64 + 0.5) / POINTS as f64).powf(1.0 / f64::from(k)));
    let values: Vec<f64> = (0..POINTS).map(at).collect();
    let n = POINTS as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
    let deviation = moment(2).sqrt();
    // Total variation over the cells of a histogram, as fine as the points bear.
    let cells = 200;
    let mut counts = vec![0.0; cells];
    let place =
        |value: f64| ((value - mean) / deviation * 20.0 + cells as f64 / 2.0).clamp(0.0, cells as f64 - 1.0);
    values.iter().for_each(|value| counts[place(*value) as usize] += 1.0 / n);
    let below = |cell: usize| {
        dropline_stats::special::normal_tails((cell as f64 - cells as f64 / 2.0) / 20.0).probability()
    };
    let elsewhere =
        counts.iter().enumerate().map(|(cell, share)| (share - (below(cell + 1) - below(cell))).max(0.0));
    (moment(3) / deviation.powi(3), elsewhere.sum())
}

/// Modes found in a mixture of three code paths as more and more events are drawn from it.
pub(super) fn blending(most: u64) -> Vec<(u64, usize)> {
    let paths = [(0.6, 20.0, 3.0), (0.3, 40.0, 4.0), (0.1, 75.0, 6.0)];
    let chance_of = |tick: i64| {
        let inside = |&(weight, mean, deviation): &(f64, f64, f64)| {
            let at = |x: f64| dropline_stats::special::normal_tails((x - mean) / deviation);
            weight * at(tick as f64 - 0.5).ln_until(at(tick as f64 + 0.5)).exp()
        };
        paths.iter().map(inside).sum::<f64>()
    };
    let chances: Vec<f64> = (0..120).map(chance_of).collect();
    [most / 500, most / 50, most / 5, most]
        .into_iter()
        .map(|n| {
            let counts = chance::drawn(7, n, &chances);
            let counted = Counted::ticks(Meaning::default(), (0..).zip(counts), None);
            (n, counted.map_or(0, |counted| Modes::of(&counted.binned(), 7).modes.len()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_events_do_not_blend_modes() {
        let found = blending(100_000);
        assert_eq!(found.last(), Some(&(100_000, 3)));
        assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{found:?}");
    }

    #[test]
    fn maxima_of_normal_values_are_skewed() {
        let (skewness, elsewhere) = maxima_of_normals(48);
        assert!((0.5..0.8).contains(&skewness) && elsewhere > 0.03, "{skewness} {elsewhere}");
        assert!(maxima_of_normals(1).0.abs() < 1e-6);
    }
}
