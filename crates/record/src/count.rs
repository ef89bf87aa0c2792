//! Counts that survive JSON.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Largest integer that every JSON reader keeps exactly: 2⁵³.
const EXACT: u64 = 1 << 53;

/// A number of packets: a JSON integer, beyond 2⁵³ a string of digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 > EXACT { serializer.collect_str(&self.0) } else { serializer.serialize_u64(self.0) }
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "A count: an integer, beyond 2^53 a string of digits.",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": "^[0-9]+$" }]
        })
    }
}

/// A sum that may pass 64 bits: a JSON integer, beyond 2⁵³ a string of digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(pub u128);

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(self.0) {
            Ok(sum) => Count(sum).serialize(serializer),
            Err(_) => serializer.collect_str(&self.0),
        }
    }
}

impl JsonSchema for Sum {
    fn schema_name() -> Cow<'static, str> {
        "Sum".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Count::json_schema(generator)
    }
}

/// Reads an integer, or a string of digits.
macro_rules! read_digits {
    ($name:ident, $expected:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Digits;
                impl Visitor<'_> for Digits {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($expected, ": an integer of at least 0, or a string of digits"))
                    }

                    fn visit_u64<E: Error>(self, value: u64) -> Result<$name, E> {
                        Ok($name(value.into()))
                    }

                    fn visit_i64<E: Error>(self, value: i64) -> Result<$name, E> {
                        let number = u64::try_from(value).map(|value| $name(value.into()));
                        number.map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map($name).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
                    }
                }
                deserializer.deserialize_any(Digits)
            }
        }
    };
}

read_digits!(Count, "a count");
read_digits!(Sum, "a sum");

/// Seconds of a line as a whole number of nanoseconds: exact for what was written from nanoseconds.
pub(crate) fn seconds(value: f64) -> Duration {
    const LONGEST: Duration = Duration::from_nanos(u64::MAX);
    Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(LONGEST).min(LONGEST)
}

/// Counts by name as plain numbers,
pub(crate) fn plain(counts: &BTreeMap<String, Count>) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| (name.clone(), count.0)).collect()
}

/// and the other way round.
pub(crate) fn counts(plain: &BTreeMap<String, u64>) -> BTreeMap<String, Count> {
    plain.iter().map(|(name, &count)| (name.clone(), Count(count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_2_to_the_53_are_strings_and_read_back_exactly() {
        for (value, text) in [(7, "7"), (EXACT, "9007199254740992"), (EXACT + 1, "\"9007199254740993\"")] {
            assert_eq!(serde_json::to_string(&Count(value)).unwrap(), text);
            assert_eq!(serde_json::from_str::<Count>(text).unwrap(), Count(value));
        }
        for sum in [7, u128::from(EXACT) + 1, u128::MAX] {
            let text = serde_json::to_string(&Sum(sum)).unwrap();
            assert_eq!(serde_json::from_str::<Sum>(&text).unwrap(), Sum(sum), "{text}");
        }
        for bad in ["-1", "1.5", "\"x\"", "null"] {
            assert!(serde_json::from_str::<Count>(bad).is_err(), "{bad}");
        }
    }
}
