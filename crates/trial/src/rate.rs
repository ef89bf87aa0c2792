//! Loads as integers, so that "the same load" is a fact and not a matter of rounding.

use std::fmt;
use std::time::Duration;

/// Packets a second, kept as whole millipackets a second (`load_unit` says what a packet is).
///
/// A load that a search comes back to is *equal* to the load it was, and its trials are pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// Why a number is no load.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
pub enum RateError {
    /// Zero, negative or not a number: a trial without packets says nothing.
    #[error("a load must be above 0, not {0}")]
    NotPositive(f64),
    /// Above [`Rate::HIGHEST`]: no packet service is that fast; look for a unit that slipped.
    #[error("{0} packets a second is beyond any packet service (at most 1 Tpps)")]
    Absurd(f64),
    /// The range is upside down.
    #[error("the lowest load {min} is above the highest {max}")]
    MinAboveMax {
        /// Lowest load asked for.
        min: Rate,
        /// Highest load asked for.
        max: Rate,
    },
}

impl Rate {
    /// One millipacket a second.
    pub const LOWEST: Self = Self(1);
    /// 10¹² packets a second.
    pub const HIGHEST: Self = Self(1_000_000_000_000_000);

    /// From whole millipackets a second; zero and absurd values are brought to the nearest legal load.
    pub const fn from_millipps(millipps: u64) -> Self {
        if millipps == 0 {
            Self::LOWEST
        } else if millipps > Self::HIGHEST.0 {
            Self::HIGHEST
        } else {
            Self(millipps)
        }
    }

    /// From packets a second, rounded to the nearest millipacket.
    ///
    /// # Errors
    /// If the number is not above 0, not finite, or above 10¹².
    pub fn pps(pps: f64) -> Result<Self, RateError> {
        if pps.is_nan() || pps <= 0.0 {
            return Err(RateError::NotPositive(pps));
        }
        if pps > Self::HIGHEST.as_pps() {
            return Err(RateError::Absurd(pps));
        }
        Ok(Self::from_millipps(libm::round(pps * 1000.0) as u64))
    }

    /// Whole millipackets a second.
    pub const fn as_millipps(self) -> u64 {
        self.0
    }

    /// Packets a second. Exact to print: three decimals at most.
    pub fn as_pps(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// ⌊load · duration⌋: the packets that a constant load intends.
    pub fn packets_in(self, duration: Duration) -> u64 {
        let packets = u128::from(self.0) * duration.as_nanos() / 1_000_000_000_000;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Rate {
    /// Three significant digits or more, with a unit: `100 kpps`, `9 604 pps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pps = self.as_pps();
        let (value, unit) = match pps {
            _ if pps >= 1e6 => (pps / 1e6, "Mpps"),
            _ if pps >= 1e3 => (pps / 1e3, "kpps"),
            _ => (pps, "pps"),
        };
        let text = format!("{value:.3}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text} {unit}")
    }
}

/// The loads a search may use: both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRange {
    min: Rate,
    max: Rate,
}

impl LoadRange {
    /// # Errors
    /// If `min` is above `max`.
    pub fn new(min: Rate, max: Rate) -> Result<Self, RateError> {
        if min > max {
            return Err(RateError::MinAboveMax { min, max });
        }
        Ok(Self { min, max })
    }

    /// Lowest load.
    pub fn min(self) -> Rate {
        self.min
    }

    /// Highest load.
    pub fn max(self) -> Rate {
        self.max
    }

    /// The load in the range that is nearest to `load`.
    pub fn clamp(self, load: Rate) -> Rate {
        load.clamp(self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loads_that_can_be_offered_exist() {
        assert_eq!(Rate::pps(0.0), Err(RateError::NotPositive(0.0)));
        assert_eq!(Rate::pps(-1.0), Err(RateError::NotPositive(-1.0)));
        assert!(matches!(Rate::pps(f64::NAN), Err(RateError::NotPositive(_))));
        assert!(matches!(Rate::pps(f64::INFINITY), Err(RateError::Absurd(_))));
        assert_eq!(Rate::pps(1e-9), Ok(Rate::LOWEST));
    }

    #[test]
    fn intended_packets_are_rounded_down_exactly() {
        let load = Rate::pps(9_090_587.4).unwrap();
        assert_eq!(load.packets_in(Duration::from_secs(30)), 272_717_622);
        assert_eq!(Rate::pps(3.0).unwrap().packets_in(Duration::from_millis(999)), 2);
    }

    #[test]
    fn a_range_is_built_in_one_step() {
        let (low, high) = (Rate::pps(1.0).unwrap(), Rate::pps(2.0).unwrap());
        assert!(LoadRange::new(high, low).is_err());
        assert_eq!(LoadRange::new(low, low).unwrap().clamp(high), low);
    }

    #[test]
    fn a_rate_prints_with_its_unit() {
        let print = |pps: f64| Rate::pps(pps).unwrap().to_string();
        assert_eq!(print(100_000.0), "100 kpps");
        assert_eq!(print(1_500_000.0), "1.5 Mpps");
        assert_eq!(print(12.5), "12.5 pps");
        assert_eq!(print(100.0), "100 pps");
    }
}
