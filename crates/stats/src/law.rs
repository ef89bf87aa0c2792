//! Distributions of one real value.

use crate::special::{Tails, gamma_quantile, gamma_tails, ln_one_minus_exp, normal_quantile, normal_tails};
use std::f64::consts::PI;

/// A distribution with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Law {
    Normal {
        mu: f64,
        sigma: f64,
    },
    /// Also Erlang, where the shape is whole.
    Gamma {
        shape: f64,
        scale: f64,
        loc: f64,
    },
    Lognormal {
        mu_log: f64,
        sigma_log: f64,
        loc: f64,
    },
    Weibull {
        shape: f64,
        scale: f64,
        loc: f64,
    },
    Exponential {
        scale: f64,
        loc: f64,
    },
    /// Generalised extreme values: of maxima. A tail is heavy where ξ is above 0, and ends where it is below.
    Gev {
        mu: f64,
        sigma: f64,
        xi: f64,
    },
    /// Generalised Pareto: of what is beyond a threshold. ξ = 0 is exponential, ξ = −1 uniform.
    Pareto {
        loc: f64,
        sigma: f64,
        xi: f64,
    },
    /// Tukey's λ family, by its quantiles: λ = 0 is logistic, 0.14 nearly normal, −1 nearly Cauchy.
    Tukey {
        lambda: f64,
    },
    Logistic,
    Gumbel,
    Uniform,
    Cauchy,
}

/// |ξ| below this is its limit at 0.
const FLAT: f64 = 1e-9;

impl Law {
    /// Both tails at `x`.
    ///
    /// # Panics
    /// For Tukey's λ family, which is known by its quantiles alone.
    pub fn tails(&self, x: f64) -> Tails {
        match *self {
            Self::Normal { mu, sigma } => normal_tails((x - mu) / sigma),
            Self::Gamma { shape, scale, loc } => gamma_tails(shape, (x - loc) / scale),
            Self::Lognormal { mu_log, sigma_log, loc } => match x - loc {
                beyond if beyond <= 0.0 => Tails::START,
                beyond => normal_tails((beyond.ln() - mu_log) / sigma_log),
            },
            Self::Weibull { shape, scale, loc } => match x - loc {
                beyond if beyond <= 0.0 => Tails::START,
                beyond => Tails::from_above(-(beyond / scale).powf(shape)),
            },
            Self::Exponential { scale, loc } => match x - loc {
                beyond if beyond <= 0.0 => Tails::START,
                beyond => Tails::from_above(-beyond / scale),
            },
            Self::Gev { mu, sigma, xi } => {
                let z = (x - mu) / sigma;
                if xi.abs() < FLAT {
                    return Tails::from_below(-(-z).exp());
                }
                match 1.0 + xi * z {
                    outside if outside <= 0.0 => {
                        if xi > 0.0 {
                            Tails::START
                        } else {
                            Tails::END
                        }
                    }
                    inside => Tails::from_below(-inside.powf(-1.0 / xi)),
                }
            }
            Self::Pareto { loc, sigma, xi } => {
                let z = (x - loc) / sigma;
                match 1.0 + xi * z {
                    _ if z <= 0.0 => Tails::START,
                    _ if xi.abs() < FLAT => Tails::from_above(-z),
                    outside if outside <= 0.0 => Tails::END,
                    inside => Tails::from_above(-inside.ln() / xi),
                }
            }
            Self::Logistic => Tails { below: -(-x).exp().ln_1p(), above: -x.exp().ln_1p() },
            Self::Gumbel => Tails::from_below(-(-x).exp()),
            Self::Uniform => Tails { below: x.clamp(0.0, 1.0).ln(), above: (1.0 - x.clamp(0.0, 1.0)).ln() },
            Self::Cauchy => {
                let above = (0.5 - x.atan() / PI).ln();
                Tails { below: ln_one_minus_exp(above), above }
            }
            Self::Tukey { .. } => panic!("Tukey's λ family has no closed distribution function"),
        }
    }

    /// The value with probability `p` below it, `p` in (0, 1).
    pub fn quantile(&self, p: f64) -> f64 {
        match *self {
            Self::Normal { mu, sigma } => mu + sigma * normal_quantile(p),
            Self::Gamma { shape, scale, loc } => loc + scale * gamma_quantile(shape, p),
            Self::Lognormal { mu_log, sigma_log, loc } => {
                loc + (mu_log + sigma_log * normal_quantile(p)).exp()
            }
            Self::Weibull { shape, scale, loc } => loc + scale * (-(-p).ln_1p()).powf(1.0 / shape),
            Self::Exponential { scale, loc } => loc - scale * (-p).ln_1p(),
            Self::Gev { mu, sigma, xi } => {
                let t = -p.ln();
                if xi.abs() < FLAT { mu - sigma * t.ln() } else { mu + sigma * (-xi * t.ln()).exp_m1() / xi }
            }
            Self::Pareto { loc, sigma, xi } => {
                let t = -(-p).ln_1p();
                if xi.abs() < FLAT { loc + sigma * t } else { loc + sigma * (xi * t).exp_m1() / xi }
            }
            Self::Tukey { lambda } => {
                let (below, above) = (p.ln(), (-p).ln_1p());
                if lambda.abs() < FLAT {
                    below - above
                } else {
                    ((lambda * below).exp() - (lambda * above).exp()) / lambda
                }
            }
            Self::Logistic => p.ln() - (-p).ln_1p(),
            Self::Gumbel => -(-p.ln()).ln(),
            Self::Uniform => p,
            Self::Cauchy => (PI * (p - 0.5)).tan(),
        }
    }

    /// The value beyond which nothing is; `None` where there is none.
    pub fn end(&self) -> Option<f64> {
        match *self {
            Self::Gev { mu, sigma, xi } if xi < -FLAT => Some(mu - sigma / xi),
            Self::Pareto { loc, sigma, xi } if xi < -FLAT => Some(loc - sigma / xi),
            Self::Uniform => Some(1.0),
            _ => None,
        }
    }

    /// Parameters by name.
    pub fn parameters(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::Normal { mu, sigma } => vec![("mu", mu), ("sigma", sigma)],
            Self::Gamma { shape, scale, loc } | Self::Weibull { shape, scale, loc } => {
                vec![("shape", shape), ("scale", scale), ("loc", loc)]
            }
            Self::Lognormal { mu_log, sigma_log, loc } => {
                vec![("mu_log", mu_log), ("sigma_log", sigma_log), ("loc", loc)]
            }
            Self::Exponential { scale, loc } => vec![("scale", scale), ("loc", loc)],
            Self::Gev { mu, sigma, xi } => vec![("mu", mu), ("sigma", sigma), ("xi", xi)],
            Self::Pareto { loc, sigma, xi } => vec![("loc", loc), ("sigma", sigma), ("xi", xi)],
            Self::Tukey { lambda } => vec![("lambda", lambda)],
            Self::Logistic | Self::Gumbel | Self::Uniform | Self::Cauchy => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_tails_are_inverse() {
        let laws = [
            Law::Normal { mu: 3.0, sigma: 2.0 },
            Law::Gamma { shape: 0.33, scale: 11.0, loc: 6.4 },
            Law::Lognormal { mu_log: 0.5, sigma_log: 1.4, loc: 6.0 },
            Law::Weibull { shape: 0.6, scale: 2.5, loc: 6.3 },
            Law::Exponential { scale: 4.5, loc: 5.5 },
            Law::Gev { mu: 7.0, sigma: 1.5, xi: 0.85 },
            Law::Gev { mu: 7.0, sigma: 1.5, xi: -0.3 },
            Law::Gev { mu: 7.0, sigma: 1.5, xi: 0.0 },
            Law::Pareto { loc: 42.0, sigma: 80.0, xi: -0.7 },
            Law::Pareto { loc: 42.0, sigma: 80.0, xi: 0.4 },
            Law::Logistic,
            Law::Gumbel,
            Law::Uniform,
            Law::Cauchy,
        ];
        for law in laws {
            for p in [0.001, 0.3, 0.5, 0.9, 0.9999] {
                let tails = law.tails(law.quantile(p));
                assert!((tails.probability() - p).abs() < 1e-9, "{law:?} {p} {tails:?}");
                assert!((tails.below.exp() + tails.above.exp() - 1.0).abs() < 1e-12, "{law:?} {p}");
            }
        }
    }

    #[test]
    fn a_bounded_tail_ends() {
        let pareto = Law::Pareto { loc: 42.5, sigma: 87.374907, xi: -0.714718 };
        assert!((pareto.end().unwrap() - 164.750948).abs() < 1e-3);
        assert_eq!(pareto.tails(165.0), Tails::END);
    }
}
