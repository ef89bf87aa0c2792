//! Quantities as people write them: `100kpps`, `80Mbit/s`, `250ms`, `64B`, `0.5%`.
//!
//! A bare number where a unit is needed is an error that names the units.

use crate::rate::RateError;
use crate::{Packet, Rate, Ratio};
use std::time::Duration;

/// Why a word is not the quantity that was expected.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum QuantityError {
    /// Does not start with a number.
    #[error("{word:?} does not start with a number; write {example}")]
    NoNumber {
        /// What was written.
        word: String,
        /// How it could be written.
        example: &'static str,
    },
    /// The unit is missing or not known.
    #[error("{word:?} needs a unit: {units}")]
    Unit {
        /// What was written.
        word: String,
        /// The units there are.
        units: &'static str,
    },
    /// Outside what the quantity may be.
    #[error("{word:?}: {why}")]
    Range {
        /// What was written.
        word: String,
        /// The rule it breaks.
        why: String,
    },
}

/// A load as written: packets, or bits of frames without preamble.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WrittenLoad {
    /// Packets (samples, cycles) a second.
    Packets(Rate),
    /// Bits a second of Ethernet frames.
    Bits(f64),
}

impl WrittenLoad {
    /// The load in packets a second for packets of this length.
    ///
    /// # Errors
    /// If that is less than a millipacket a second, or absurd.
    pub fn with(self, packet: Packet) -> Result<Rate, RateError> {
        match self {
            Self::Packets(rate) => Ok(rate),
            Self::Bits(bits) => Rate::pps(bits / (8.0 * packet.mean_frame_bytes())),
        }
    }
}

/// Reads `100kpps`, `1.5Mpps`, `80Mbit/s`, `2Msps`, `48kHz`.
///
/// # Errors
/// If the number or the unit is missing, or the load cannot be.
pub fn load(word: &str) -> Result<WrittenLoad, QuantityError> {
    const UNITS: &str = "pps, kpps, Mpps, Gpps, Tpps, bit/s, kbit/s, Mbit/s, Gbit/s (sps, rps and Hz too)";
    let (number, unit) = split(word, "100kpps")?;
    let no_unit = || QuantityError::Unit { word: word.into(), units: UNITS };
    let (scale, base) = match unit.chars().next() {
        Some('k') => (1e3, &unit[1..]),
        Some('M') => (1e6, &unit[1..]),
        Some('G') => (1e9, &unit[1..]),
        Some('T') => (1e12, &unit[1..]),
        _ => (1.0, unit),
    };
    let value = number * scale;
    match base {
        "pps" | "sps" | "rps" | "Hz" => Rate::pps(value)
            .map(WrittenLoad::Packets)
            .map_err(|why| QuantityError::Range { word: word.into(), why: why.to_string() }),
        "bit/s" | "bps" if value > 0.0 && value.is_finite() => Ok(WrittenLoad::Bits(value)),
        "bit/s" | "bps" => {
            Err(QuantityError::Range { word: word.into(), why: "a load must be above 0".into() })
        }
        _ => Err(no_unit()),
    }
}

/// Reads `20us`, `250ms`, `10s`, `5min`, `1h`; zero is legal, rounded to the nearest nanosecond.
///
/// # Errors
/// If the number or the unit is missing, or it is negative or longer than 30 days.
pub fn duration(word: &str) -> Result<Duration, QuantityError> {
    const UNITS: &str = "ns, us, ms, s, min, h";
    let (number, unit) = split(word, "10s")?;
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(QuantityError::Unit { word: word.into(), units: UNITS }),
    };
    let ns = number * scale;
    if !(0.0..=30.0 * 86_400e9).contains(&ns) {
        let why = "a duration is at least 0 and at most 30 days".into();
        return Err(QuantityError::Range { word: word.into(), why });
    }
    Ok(Duration::from_nanos(libm::round(ns) as u64))
}

/// Reads a duration above zero.
///
/// # Errors
/// As [`duration`], and for zero.
pub fn positive_duration(word: &str) -> Result<Duration, QuantityError> {
    match duration(word)? {
        Duration::ZERO => Err(QuantityError::Range { word: word.into(), why: "must be above 0".into() }),
        duration => Ok(duration),
    }
}

/// Reads `64B`, `4KiB`, `1MiB`, `1kB`.
///
/// # Errors
/// If the number or the unit is missing, or it is no whole number of bytes.
pub fn bytes(word: &str) -> Result<u64, QuantityError> {
    const UNITS: &str = "B, kB, KiB, MB, MiB, GiB";
    let (number, unit) = split(word, "64B")?;
    let scale = match unit {
        "B" => 1.0,
        "kB" => 1e3,
        "KiB" => 1024.0,
        "MB" => 1e6,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return Err(QuantityError::Unit { word: word.into(), units: UNITS }),
    };
    let value = number * scale;
    if !(0.0..1e15).contains(&value) || libm::trunc(value) != value {
        let why = "not a whole number of bytes".into();
        return Err(QuantityError::Range { word: word.into(), why });
    }
    Ok(value as u64)
}

/// Reads `0`, `0.005`, `0.5%`.
///
/// # Errors
/// If it is no number, or not in [0, 1).
pub fn ratio(word: &str) -> Result<Ratio, QuantityError> {
    let (number, unit) = split(word, "0.5%")?;
    let fraction = match unit {
        "" => number,
        "%" => number / 100.0,
        _ => return Err(QuantityError::Unit { word: word.into(), units: "none, or %" }),
    };
    Ratio::new(fraction).map_err(|why| QuantityError::Range { word: word.into(), why: why.to_string() })
}

fn split<'a>(word: &'a str, example: &'static str) -> Result<(f64, &'a str), QuantityError> {
    let word = word.trim();
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let mut end = word.find(|c| !numeric(c)).unwrap_or(word.len());
    // An exponent: digits behind an e that stands behind the number.
    if word[end..].starts_with(['e', 'E']) {
        let rest = &word[end + 1..];
        let digits = rest.find(|c| !numeric(c)).unwrap_or(rest.len());
        if digits > 0 {
            end += 1 + digits;
        }
    }
    let number = word[..end].parse().map_err(|_| QuantityError::NoNumber { word: word.into(), example })?;
    Ok((number, word[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_have_units() {
        assert_eq!(load("100kpps"), Ok(WrittenLoad::Packets(Rate::pps(1e5).unwrap())));
        assert_eq!(load("1.5 Mpps"), Ok(WrittenLoad::Packets(Rate::pps(1.5e6).unwrap())));
        assert_eq!(load("1Tpps"), Ok(WrittenLoad::Packets(Rate::HIGHEST)), "the limit is quoted as this");
        assert_eq!(load("1e3pps"), Ok(WrittenLoad::Packets(Rate::pps(1e3).unwrap())));
        let bits = load("88Mbit/s").unwrap();
        assert_eq!(bits.with(Packet::of_payload(64).unwrap()), Ok(Rate::pps(1e5).unwrap()));
        assert!(load("100").unwrap_err().to_string().contains("kpps"));
        for bad in ["", "fast", "0pps", "-1kpps", "nanpps", "infpps", "1e300Gpps", "10 kp"] {
            assert!(load(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn durations_sizes_and_ratios_have_units() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("0.1us"), Ok(Duration::from_nanos(100)));
        assert_eq!(duration("5min"), Ok(Duration::from_secs(300)));
        assert!(duration("10").unwrap_err().to_string().contains("min"));
        assert!(positive_duration("0s").is_err());
        assert_eq!(bytes("4KiB"), Ok(4096));
        assert!(bytes("0.5B").is_err());
        assert_eq!(ratio("0.5%"), Ratio::new(0.005).map_err(|_| unreachable!()));
        assert_eq!(ratio("0"), Ok(Ratio::ZERO));
        assert!(ratio("100%").is_err());
    }

    proptest! {
        #[test]
        fn no_word_makes_a_parser_panic(word in "\\PC{0,12}") {
            let _ = (load(&word), duration(&word), bytes(&word), ratio(&word));
        }
    }
}
