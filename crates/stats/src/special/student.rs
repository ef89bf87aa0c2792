//! Student's t distribution: how far a mean of few normal values may lie from the truth.

use super::{beta_quantile, beta_ratio, normal_quantile, normal_tails};

/// Above so many degrees of freedom it is taken as normal: the quantiles differ by less than 1e-6.
const NORMAL_FROM: f64 = 2e6;

/// The t that a t variable of `freedom` degrees exceeds with probability `1 − p`.
///
/// # Panics
/// If `p` is not in (0, 1).
pub fn student_quantile(freedom: f64, p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a probability is between 0 and 1");
    if freedom > NORMAL_FROM {
        return normal_quantile(p);
    }
    let tail = p.min(1.0 - p);
    let x = beta_quantile(freedom / 2.0, 0.5, 2.0 * tail);
    let t = (freedom * (1.0 - x) / x).sqrt();
    if p < 0.5 { -t } else { t }
}

/// Probability that a t variable of `freedom` degrees is farther from 0 than `t`.
pub fn student_beyond(freedom: f64, t: f64) -> f64 {
    if freedom > NORMAL_FROM {
        return 2.0 * normal_tails(t.abs()).above.exp();
    }
    beta_ratio(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, p, t) in [
            (1.0, 0.975, 12.706_204_736),
            (4.0, 0.975, 2.776_445_105),
            (9.0, 0.975, 2.262_157_163),
            (19.0, 0.975, 2.093_024_054),
            (19.0, 0.025, -2.093_024_054),
            (1e9, 0.975, 1.959_963_985),
        ] {
            assert!((student_quantile(freedom, p) - t).abs() < 1e-7 * t.abs(), "{freedom} {p}");
        }
        assert!(student_quantile(7.0, 0.5).abs() < 1e-6);
    }

    #[test]
    fn what_lies_beyond_a_quantile_is_its_probability() {
        for freedom in [2.0, 19.0, 1e8] {
            for tail in [1e-9, 0.01, 0.4] {
                let t = student_quantile(freedom, 1.0 - tail / 2.0);
                assert!((student_beyond(freedom, t) / tail - 1.0).abs() < 1e-5, "{freedom} {tail}");
            }
        }
    }
}
