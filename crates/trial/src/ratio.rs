//! Ratios in [0, 1) that compare exactly with counts.

use std::fmt;

/// A share in [0, 1), kept as whole billionths: a goal's loss ratio, exceed ratio or width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(u32);

/// Why a number is no share.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
#[error("a ratio is at least 0 and below 1 (0.005 or 0.5%), not {0}")]
pub struct RatioError(pub f64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    const BILLION: u128 = 1_000_000_000;

    /// From billionths.
    ///
    /// # Errors
    /// If that is 1 or more.
    pub fn from_billionths(billionths: u64) -> Result<Self, RatioError> {
        match u32::try_from(billionths) {
            Ok(value) if u128::from(value) < Self::BILLION => Ok(Self(value)),
            _ => Err(RatioError(billionths as f64 / 1e9)),
        }
    }

    /// From a fraction, rounded to the nearest billionth.
    ///
    /// # Errors
    /// If it is not in [0, 1).
    pub fn new(fraction: f64) -> Result<Self, RatioError> {
        if !(0.0..1.0).contains(&fraction) {
            return Err(RatioError(fraction));
        }
        Self::from_billionths(libm::round(fraction * 1e9) as u64)
    }

    /// Whole billionths.
    pub const fn as_billionths(self) -> u64 {
        self.0 as u64
    }

    /// As a fraction of one.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e9
    }

    /// Whether `part` of `whole` is more than this share; exact, and equal is not more.
    ///
    /// Nothing of nothing exceeds no share.
    pub fn is_exceeded_by(self, part: u64, whole: u64) -> bool {
        u128::from(part) * Self::BILLION > u128::from(self.0) * u128::from(whole)
    }
}

impl fmt::Display for Ratio {
    /// In per cent, without needless zeros: `0.5 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(self.0) / 1e7)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_one_or_more_does_not_exist() {
        for bad in [-0.1, 1.0, 2.0, f64::NAN] {
            assert!(Ratio::new(bad).is_err(), "{bad}");
        }
        assert_eq!(Ratio::new(0.005).unwrap().as_billionths(), 5_000_000);
    }

    #[test]
    fn equal_is_not_exceeded() {
        let half_percent = Ratio::new(0.005).unwrap();
        assert!(!half_percent.is_exceeded_by(5, 1000));
        assert!(half_percent.is_exceeded_by(5_000_001, 1_000_000_000));
        assert!(Ratio::ZERO.is_exceeded_by(1, u64::MAX));
        assert!(!Ratio::ZERO.is_exceeded_by(0, 0));
    }
}
