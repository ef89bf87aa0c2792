//! The gamma function and its incomplete ratios.

use super::{Tails, normal_quantile, normal_tails};
use std::f64::consts::PI;

const PRECISION: f64 = 1e-16;
/// From this shape on, Temme's uniform expansion is exact to 1e-12 and much faster than a sum.
const LARGE: f64 = 2e4;

/// ln Γ(x) of x > 0.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Both tails of the gamma distribution with this shape and scale 1, at `x`.
///
/// Small shapes: the series of P below shape + 1, the continued fraction of Q above it, both in logarithms.
pub fn gamma_tails(shape: f64, x: f64) -> Tails {
    if x <= 0.0 {
        return Tails::START;
    }
    if !x.is_finite() {
        return Tails::END;
    }
    gamma_tails_given(shape, ln_gamma(shape), x)
}

/// As [`gamma_tails`], for who asks many times for one shape and one x > 0.
pub(crate) fn gamma_tails_given(shape: f64, ln_gamma_of_shape: f64, x: f64) -> Tails {
    if shape > LARGE {
        return temme(shape, x);
    }
    let ln_factor = shape * x.ln() - x - ln_gamma_of_shape;
    if x < shape + 1.0 {
        Tails::from_below(ln_factor + series(shape, x).ln())
    } else {
        Tails::from_above(ln_factor + fraction(shape, x).ln())
    }
}

/// Σ xⁿ / (a (a+1) … (a+n)).
fn series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    let mut n = a;
    while term > sum * PRECISION {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    sum
}

/// Q's continued fraction by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..100_000 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = b + an / c;
        c = if c.abs() < TINY { TINY } else { c };
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 3e-16 {
            break;
        }
    }
    h
}

/// Temme's uniform asymptotic expansion, two terms.
fn temme(a: f64, x: f64) -> Tails {
    let mu = (x - a) / a;
    let half_eta_square = if mu.abs() < 1e-3 {
        // μ − ln(1 + μ) without cancellation.
        let term = |n: i32| mu.powi(n) / f64::from(n);
        (2..=7).map(|n| if n % 2 == 0 { term(n) } else { -term(n) }).sum()
    } else {
        mu - mu.ln_1p()
    };
    let eta = (2.0 * half_eta_square).sqrt().copysign(mu);
    let (c0, c1) = if eta.abs() < 0.02 {
        (
            -1.0 / 3.0 + eta / 12.0 - 2.0 * eta.powi(2) / 135.0 + eta.powi(3) / 864.0,
            -1.0 / 540.0 - eta / 288.0 + eta.powi(2) / 378.0,
        )
    } else {
        (1.0 / mu - 1.0 / eta, 1.0 / eta.powi(3) - 1.0 / mu.powi(3) - 1.0 / mu.powi(2) - 1.0 / (12.0 * mu))
    };
    let z = eta * a.sqrt();
    let normal = normal_tails(z);
    // R stands beside both tails: P = Φ − R, Q = (1 − Φ) + R.
    let ratio = |ln_tail: f64| (c0 + c1 / a) * (-0.5 * z * z - 0.5 * (2.0 * PI * a).ln() - ln_tail).exp();
    if z < 0.0 {
        Tails::from_below(normal.below + (-ratio(normal.below)).max(-0.999).ln_1p())
    } else {
        Tails::from_above(normal.above + ratio(normal.above).max(-0.999).ln_1p())
    }
}

/// The point of the gamma distribution with this shape and scale 1 that has probability `p` below it.
pub fn gamma_quantile(shape: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let given = ln_gamma(shape);
    let upper = p > 0.5;
    let goal = if upper { (-p).ln_1p() } else { p.ln() };
    // Newton's method for ln of the smaller tail as a function of ln x, within a bracket.
    let mut t = start(shape, p, given);
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for _ in 0..60 {
        let x = t.exp();
        let tails = gamma_tails_given(shape, given, x);
        let (tail, sign) = if upper { (tails.above, -1.0) } else { (tails.below, 1.0) };
        let wrong = tail - goal;
        if wrong * sign > 0.0 {
            high = t
        } else {
            low = t
        }
        let slope = sign * (shape * t - x - given - tail).exp();
        let mut next = t - wrong / slope;
        if !(next > low && next < high) {
            next = match (low.is_finite(), high.is_finite()) {
                (true, true) => (low + high) / 2.0,
                (true, false) => t + 1.0,
                _ => t - 2.0,
            };
        }
        if (next - t).abs() < 1e-13 * t.abs().max(1.0) {
            return next.exp();
        }
        t = next;
    }
    t.exp()
}

/// ln of a first guess: Wilson and Hilferty's, or the first term of the series.
fn start(shape: f64, p: f64, ln_gamma_of_shape: f64) -> f64 {
    let cube = 1.0 - 1.0 / (9.0 * shape) + normal_quantile(p) / (3.0 * shape.sqrt());
    if cube > 0.2 && shape > 0.3 {
        (shape * cube.powi(3)).ln()
    } else {
        (p.ln() + ln_gamma_of_shape + shape.ln()) / shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of 40-digit arithmetic.
    #[test]
    fn both_tails_keep_their_digits() {
        let above = [
            (0.33, 50.0, -53.630_032_242_569_5),
            (1.0, 30.0, -30.0),
            (7.5, 90.0, -68.211_547_053_487_37),
            (100.0, 200.0, -33.926_896_945_131_68),
            (1e4, 1.2e4, -180.702_090_488_001_47),
            (2.5, 700.0, -690.455_920_277_159_1),
        ];
        for (shape, x, ln_q) in above {
            let found = gamma_tails(shape, x).above;
            assert!((found / ln_q - 1.0).abs() < 1e-12, "{shape} {x}: {found}");
        }
        assert!((gamma_tails(100.0, 50.0).below / -21.862_679_706_410_286 - 1.0).abs() < 1e-13);
        // Erlang by its finite sum.
        let erlang = (-1.0f64).exp() * (1.0 + 1.0 + 0.5 + 1.0 / 6.0 + 1.0 / 24.0);
        assert!((gamma_tails(5.0, 1.0).above.exp() - erlang).abs() < 1e-14);
    }

    #[test]
    fn the_expansion_for_large_shapes_meets_the_sum() {
        for shift in [-6.0, -2.0, -0.01, 0.0, 0.5, 3.0, 8.0] {
            let a = 1.5e4f64;
            let x = a + shift * a.sqrt();
            let (sum, expansion) = (gamma_tails(a, x), temme(a, x));
            assert!(
                (sum.below - expansion.below).abs() < 1e-9 * sum.below.abs().max(1.0),
                "{shift} {sum:?} {expansion:?}"
            );
            assert!(
                (sum.above - expansion.above).abs() < 1e-9 * sum.above.abs().max(1.0),
                "{shift} {sum:?} {expansion:?}"
            );
        }
    }

    #[test]
    fn quantiles_are_the_inverse() {
        for shape in [0.05, 0.33, 1.0, 7.5, 400.0, 1e6] {
            for p in [1e-6, 0.01, 0.5, 0.9, 1.0 - 1e-7] {
                let back = gamma_tails(shape, gamma_quantile(shape, p));
                let wrong = if p < 0.5 { back.below - p.ln() } else { back.above - (-p).ln_1p() };
                assert!(wrong.abs() < 1e-8, "{shape} {p}: {wrong}");
            }
        }
    }
}
