//! Probabilities that truths are made of.

use dropline_trial::Rate;

/// The highest load whose probability of a bad trial is at most `probability`, where `exceeds` gives that
/// probability for multiples of the capacity, never falling; `None` if it is not below `most`.
pub(crate) fn highest_load(
    capacity: Rate,
    most: f64,
    probability: f64,
    exceeds: impl Fn(f64) -> f64,
) -> Option<Rate> {
    if exceeds(most) <= probability {
        return None;
    }
    Rate::pps(highest(most, probability, exceeds) * capacity.as_pps()).ok()
}

/// The highest x in (0, `most`) with `exceeds(x) <= probability`, by halving.
pub(crate) fn highest(most: f64, probability: f64, exceeds: impl Fn(f64) -> f64) -> f64 {
    let (mut good, mut bad) = (0.0, most);
    loop {
        let middle = 0.5 * (good + bad);
        if middle <= good || middle >= bad {
            return good;
        }
        if exceeds(middle) <= probability {
            good = middle;
        } else {
            bad = middle;
        }
    }
}

/// P(Z < z) for a standard normal Z.
pub(crate) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The z with P(Z < z) = `share`, 0 < `share` < 1.
pub(crate) fn normal_quantile(share: f64) -> f64 {
    const FAR: f64 = 12.0;
    highest(2.0 * FAR, share, |shifted| normal_below(shifted - FAR)) - FAR
}

/// P(X > `allowed`) for X binomial of `packets` trials with probability `p`; `packets` need not be whole.
///
/// It is the regularised incomplete beta function I_p(allowed + 1, packets − allowed).
pub(crate) fn binomial_above(packets: f64, p: f64, allowed: f64) -> f64 {
    let (a, b) = (allowed + 1.0, packets - allowed);
    if p <= 0.0 || b <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(p) + b * libm::log1p(-p);
    let front = libm::exp(log_front);
    // The continued fraction converges fast on the side of the mean that p is on.
    let value = if p < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(p, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - p, b, a) / b
    };
    value.clamp(0.0, 1.0)
}

/// Continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MOST: u32 = 1_000_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MOST {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: a sum of P(X = k).
    fn binomial_above_by_definition(packets: u32, p: f64, allowed: u32) -> f64 {
        let mut probability = (1.0 - p).powi(packets as i32);
        let mut at_most = probability;
        for k in 1..=allowed {
            probability *= p / (1.0 - p) * f64::from(packets - k + 1) / f64::from(k);
            at_most += probability;
        }
        1.0 - at_most
    }

    #[test]
    fn the_binomial_tail_is_the_sum_it_stands_for() {
        for (packets, p, allowed) in
            [(10, 0.3, 2), (10, 0.3, 0), (10, 0.3, 9), (500, 0.01, 5), (500, 0.02, 3), (700, 0.4, 300)]
        {
            let (fast, slow) = (
                binomial_above(f64::from(packets), p, f64::from(allowed)),
                binomial_above_by_definition(packets, p, allowed),
            );
            assert!((fast - slow).abs() < 1e-11, "{packets} {p} {allowed}: {fast} {slow}");
        }
    }

    #[test]
    fn the_binomial_tail_stands_a_billion_packets() {
        let none_lost = binomial_above(1e9, std::f64::consts::LN_2 * 1e-9, 0.0);
        assert!((none_lost - 0.5).abs() < 1e-6, "{none_lost}");
        let median = binomial_above(1e9, 0.005, 5e6);
        assert!((median - 0.5).abs() < 1e-3, "{median}");
    }

    #[test]
    fn the_normal_quantile_undoes_the_distribution() {
        assert!((normal_quantile(0.975) - 1.959_963_985).abs() < 1e-9);
        assert!((normal_below(normal_quantile(0.2)) - 0.2).abs() < 1e-12);
    }
}
