//! Functions of probability theory, each with both of its tails, in logarithms where a tail may be small.
//!
//! A likelihood multiplies probabilities down to 1e-40 and less; a difference of two of them keeps its digits
//! only when it is taken in the smaller tail. So a distribution function is always a pair ([`Tails`]).

mod beta;
mod gamma;
mod normal;
mod student;

pub use beta::{beta_quantile, beta_ratio, binomial_quantile};
pub use gamma::{gamma_quantile, gamma_tails, ln_gamma};
pub use normal::{normal_quantile, normal_tails};
pub use student::{student_beyond, student_quantile};

/// ln F and ln (1 − F) at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tails {
    /// Logarithm of the probability of at most this.
    pub below: f64,
    /// Logarithm of the probability of more than this.
    pub above: f64,
}

impl Tails {
    /// Everything is above.
    pub const START: Self = Self { below: f64::NEG_INFINITY, above: 0.0 };
    /// Everything is below.
    pub const END: Self = Self { below: 0.0, above: f64::NEG_INFINITY };

    /// From ln F.
    pub fn from_below(below: f64) -> Self {
        Self { below, above: ln_one_minus_exp(below) }
    }

    /// From ln (1 − F).
    pub fn from_above(above: f64) -> Self {
        Self { below: ln_one_minus_exp(above), above }
    }

    /// Logarithm of the probability between this point and a later one.
    pub fn ln_until(self, end: Self) -> f64 {
        const HALF: f64 = -std::f64::consts::LN_2;
        if self.below > HALF {
            ln_difference(self.above, end.above)
        } else if end.below < HALF {
            ln_difference(end.below, self.below)
        } else {
            (1.0 - self.below.exp() - end.above.exp()).ln()
        }
    }

    /// F.
    pub fn probability(self) -> f64 {
        self.below.exp()
    }
}

/// ln (1 − eˣ) of x ≤ 0.
pub fn ln_one_minus_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// ln (eᵃ − eᵇ) of a ≥ b.
fn ln_difference(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY { a } else { a + ln_one_minus_exp((b - a).min(0.0)) }
}

/// Probability that a chi-square variable of `freedom` degrees is above `value`.
pub fn chi_square_above(value: f64, freedom: f64) -> f64 {
    if value <= 0.0 { 1.0 } else { gamma_tails(freedom / 2.0, value / 2.0).above.exp() }
}
