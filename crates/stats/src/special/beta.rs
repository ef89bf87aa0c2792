//! The incomplete beta ratio, its inverse, and binomial quantiles from it.

use super::{ln_gamma, normal_quantile};

/// Above this many events a binomial quantile is Cornish and Fisher's expansion: off by less than one rank.
const MANY: u64 = 2_000_000;

/// Probability that a beta variable is below `x`: Lentz's continued fraction, in the tail that converges.
pub fn beta_ratio(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let ln_factor = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    if x < (a + 1.0) / (a + b + 2.0) {
        (ln_factor.exp() * fraction(a, b, x) / a).min(1.0)
    } else {
        (1.0 - ln_factor.exp() * fraction(b, a, 1.0 - x) / b).max(0.0)
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let whole = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / whole(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..200_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / whole(1.0 + even * d);
        c = whole(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / whole(1.0 + odd * d);
        c = whole(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 3e-16 {
            break;
        }
    }
    h
}

/// The point that a beta variable is below with probability `p`, by bisection.
pub fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    // On ln x, so that a small point keeps its digits.
    let (mut low, mut high) = (-700.0f64, 0.0f64);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if beta_ratio(a, b, middle.exp()) < p { low = middle } else { high = middle }
    }
    ((low + high) / 2.0).exp()
}

/// Smallest number of `n` events of probability `p` each that is not exceeded with probability `level`.
pub fn binomial_quantile(level: f64, n: u64, p: f64) -> u64 {
    let count = n as f64;
    let (mean, deviation) = (count * p, (count * p * (1.0 - p)).sqrt());
    if n > MANY && mean > 50.0 && count - mean > 50.0 {
        let z = normal_quantile(level);
        let rank = mean + z * deviation + (z * z - 1.0) * (1.0 - 2.0 * p) / 6.0 - 0.5;
        return rank.ceil().clamp(0.0, count) as u64;
    }
    let reach = 12.0 * deviation + 40.0;
    let (mut low, mut high) = ((mean - reach).max(0.0) as u64, ((mean + reach).ceil() as u64).min(n));
    while low < high {
        let middle = low + (high - low) / 2;
        let below =
            if middle >= n { 1.0 } else { 1.0 - beta_ratio(middle as f64 + 1.0, (n - middle) as f64, p) };
        if below >= level { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_quantiles_follow_their_sum() {
        let (n, p) = (37u64, 0.3f64);
        let mut below = 0.0;
        let mut chance = (1.0 - p).powi(37);
        let sums: Vec<f64> = (0..=n)
            .map(|k| {
                below += chance;
                chance *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
                below
            })
            .collect();
        for level in [0.025, 0.4, 0.5, 0.975, 0.9999] {
            let by_sum = sums.iter().position(|&sum| sum >= level).unwrap() as u64;
            assert_eq!(binomial_quantile(level, n, p), by_sum, "{level}");
        }
        let near = binomial_quantile(0.975, MANY, 0.99) * 10;
        let expanded = binomial_quantile(0.975, MANY * 10, 0.99);
        assert!(near.abs_diff(expanded) < 10_000, "{near} {expanded}");
    }

    #[test]
    fn the_expansion_is_within_a_rank_of_the_sum() {
        for p in [0.01, 0.5, 0.999] {
            for level in [0.025, 0.975] {
                let sum = binomial_quantile(level, MANY, p);
                let deviation = (MANY as f64 * p * (1.0 - p)).sqrt();
                let z = normal_quantile(level);
                let expanded =
                    (MANY as f64 * p + z * deviation + (z * z - 1.0) * (1.0 - 2.0 * p) / 6.0 - 0.5).ceil();
                assert!((sum as f64 - expanded).abs() <= 1.0, "{p} {level}: {sum} {expanded}");
            }
        }
    }

    #[test]
    fn the_inverse_is_one() {
        for (a, b, p) in [(9.0, 10392.0, 0.025), (10.0, 10391.0, 0.975), (0.5, 0.5, 0.1)] {
            assert!((beta_ratio(a, b, beta_quantile(a, b, p)) - p).abs() < 1e-11);
        }
    }
}
