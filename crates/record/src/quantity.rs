//! What a history follows: the limit of a search, or a number of trials or of a comparison.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A number that each night has one of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// The limit that a search found for a goal.
    Limit,
    /// The share of what was offered that came back in time: 1 − loss ratio.
    Delivered,
    /// A percentile of the delays, in per cent: 99 is the 99th.
    Percentile(f64),
    /// Of a comparison, the median of B ÷ that of A.
    Core,
    /// Of a comparison, the high percentile of B ÷ that of A.
    HighPercentile,
}

/// Those that have a word of their own.
const WORDS: [(&str, Quantity); 4] = [
    ("limit", Quantity::Limit),
    ("delivered", Quantity::Delivered),
    ("core", Quantity::Core),
    ("high_percentile", Quantity::HighPercentile),
];

impl Quantity {
    /// From its word: `limit`, `delivered`, `core`, `high_percentile`, or a percentile as `p99.9`.
    pub fn parse(word: &str) -> Option<Self> {
        let named = WORDS.iter().find(|(name, _)| *name == word).map(|(_, quantity)| *quantity);
        let percentile = || word.strip_prefix('p')?.replace('_', ".").parse::<f64>().ok();
        let is_one = |value: &f64| *value > 0.0 && *value < 100.0;
        named.or_else(|| percentile().filter(is_one).map(Self::Percentile))
    }

    /// As it is typed.
    pub fn word(self) -> String {
        match self {
            Self::Percentile(percent) => format!("p{percent}"),
            named => WORDS.iter().find(|(_, known)| *known == named).expect("it has a word").0.into(),
        }
    }

    /// Whether a larger one is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Limit | Self::Delivered)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word())
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        Self::parse(&word).ok_or_else(|| serde::de::Error::custom(format!("{word:?} is not a quantity")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_read_as_what_it_is_written_of() {
        let percentiles = ["p50", "p99", "p99.9", "p7", "p99.999"];
        for word in WORDS.iter().map(|(word, _)| *word).chain(percentiles) {
            assert_eq!(Quantity::parse(word).unwrap().word(), word);
        }
        assert_eq!(Quantity::parse("p99_9"), Some(Quantity::Percentile(99.9)));
        for word in ["", "p", "p0", "p100", "p-1", "pNaN", "99", "limits"] {
            assert_eq!(Quantity::parse(word), None, "{word}");
        }
    }
}
