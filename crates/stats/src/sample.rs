//! Numbers about a small sample of floats: means, spreads, medians.

/// Arithmetic mean; `None` of an empty sample.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation with divisor n − 1; `None` below two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Standard error of the mean: [`deviation`] ÷ √n. MDR's report calls it "avgdev".
pub fn standard_error(values: &[f64]) -> Option<f64> {
    Some(deviation(values)? / (values.len() as f64).sqrt())
}

/// Nearest rank: the smallest value that at least `⌈q·n⌉` values do not exceed; `None` of an empty sample.
///
/// # Panics
/// If `q` is not in `[0, 1]`.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "a quantile is in [0, 1]");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// The value in the middle, of an even number the mean of the middle two; `None` of an empty sample.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let above = sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { *above } else { f64::midpoint(sorted[sorted.len() / 2 - 1], *above) })
}

/// Half the range from the 16 % to the 84 % quantile: a standard deviation for a normal sample, and
/// still a width for any other.
pub fn half_range_16_84(values: &[f64]) -> Option<f64> {
    Some((quantile(values, 0.84)? - quantile(values, 0.16)?) / 2.0)
}

/// Deviation of a ratio a/b from those of a and b by the simplified error propagation formula:
/// a/b · √((σa/a)² + (σb/b)²), for independent a and b.
pub fn ratio_deviation(a: f64, a_deviation: f64, b: f64, b_deviation: f64) -> f64 {
    (a / b).abs() * ((a_deviation / a).powi(2) + (b_deviation / b).powi(2)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_values_have_no_statistic() {
        assert_eq!((mean(&[]), deviation(&[1.0]), quantile(&[], 0.5)), (None, None, None));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!((median(&[3.0]), median(&[9.0, 1.0, 2.0]), median(&[])), (Some(3.0), Some(2.0), None));
        assert_eq!((median(&[9.0, 1.0]), median(&[4.0, 8.0, 1.0, 2.0])), (Some(5.0), Some(3.0)));
    }

    #[test]
    fn spreads_follow_their_definitions() {
        let sample = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&sample), Some(5.0));
        assert!((deviation(&sample).unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!((standard_error(&sample).unwrap() - (32.0f64 / 7.0 / 8.0).sqrt()).abs() < 1e-12);
        assert_eq!(quantile(&sample, 0.5), Some(4.0));
        assert_eq!(quantile(&sample, 1.0), Some(9.0));
        assert_eq!(half_range_16_84(&sample), Some(1.5));
    }

    #[test]
    fn the_seeds_table_2_follows_from_its_table_1() {
        // MDR 50.8 ± 1.2 s over NDR 98.9 ± 0.1 s is 51.4 ± 1.2 %.
        assert!((ratio_deviation(50.8, 1.2, 98.9, 0.1) - 0.0122).abs() < 2e-4);
    }
}
