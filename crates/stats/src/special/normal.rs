//! The normal distribution.

use super::Tails;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Beyond this many deviations a tail is a continued fraction.
const FAR: f64 = 6.0;

/// Both tails of the standard normal distribution at `z`.
pub fn normal_tails(z: f64) -> Tails {
    let below = ln_above(-z);
    let above = ln_above(z);
    // The large tail is exact from the small one.
    if z < 0.0 {
        Tails { below, above: (-below.exp()).ln_1p() }
    } else {
        Tails { below: (-above.exp()).ln_1p(), above }
    }
}

/// ln (1 − Φ(z)).
fn ln_above(z: f64) -> f64 {
    if z < FAR {
        return (0.5 * libm::erfc(z * FRAC_1_SQRT_2)).ln();
    }
    // Mills' ratio: 1 / (z + 1 / (z + 2 / (z + 3 / …))), from its end.
    let fraction = (1..=40).rev().fold(z, |rest, term| z + f64::from(term) / rest);
    -0.5 * z * z - 0.5 * (2.0 * PI).ln() - fraction.ln()
}

/// The point with probability `p` below it: Acklam's rational approximation and two steps of Halley's method.
///
/// −∞ at 0 and ∞ at 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let mut z = approximate(p);
    for _ in 0..2 {
        let wrong = if z < 0.0 { ln_above(-z).exp() - p } else { (1.0 - p) - ln_above(z).exp() };
        let step = wrong * (2.0 * PI).sqrt() * (z * z / 2.0).exp();
        z -= step / (1.0 + z * step / 2.0);
    }
    z
}

fn approximate(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let polynomial = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    };
    match p {
        _ if p < 0.024_25 => tail(p),
        _ if p > 1.0 - 0.024_25 => -tail(1.0 - p),
        _ => {
            let q = p - 0.5;
            polynomial(&A, q * q) * q / polynomial(&B, q * q)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_keep_their_digits_far_out() {
        // Φ(−z) by 40-digit arithmetic.
        for (z, ln_tail) in [
            (1.0, -1.841_021_645_009_263_5),
            (5.0, -15.064_998_393_988_727),
            (10.0, -53.231_285_150_512_47),
            (37.0, -689.030_585_576_890_6),
        ] {
            let tails = normal_tails(-z);
            assert!((tails.below / ln_tail - 1.0).abs() < 1e-13, "{z}: {}", tails.below);
            assert_eq!(normal_tails(z).above, tails.below);
        }
    }

    #[test]
    fn quantiles_are_the_inverse() {
        for p in [1e-12, 1e-5, 0.02, 0.3, 0.5, 0.975, 1.0 - 1e-9] {
            assert!((normal_tails(normal_quantile(p)).probability() / p - 1.0).abs() < 1e-10, "{p}");
        }
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
    }
}
