//! A line of the `exec:` protocol as named fields, and in words what is wrong with one.

use super::twice::twice;
use dropline_trial::Rate;
use serde_json::{Map, Value};
use std::time::Duration;

/// Why a line is not what it should be, in the words of the protocol.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FieldError {
    /// Something else was written to stdout.
    #[error("it is not one JSON object")]
    NoObject,
    /// It begins as an object, and is none.
    #[error("it is not one JSON object: {what} at byte {at}")]
    NoJson {
        /// What is wrong.
        what: String,
        /// From 1.
        at: usize,
    },
    /// A number that no computer reads.
    #[error("the number at byte {0} is beyond 1.8e308, the largest that is read")]
    Huge(usize),
    /// A list that is longer than it can say something.
    #[error("{name:?} has {count} entries, and at most {most} are taken")]
    Many {
        /// Which list.
        name: String,
        /// How long it is.
        count: usize,
        /// How long it may be.
        most: usize,
    },
    /// Words that go on.
    #[error("the {part} of {name:?} has {length} characters, and at most {most} are taken")]
    Long {
        /// Whose words.
        name: String,
        /// Which of them.
        part: &'static str,
        /// How long they are.
        length: usize,
        /// How long they may be.
        most: usize,
    },
    /// A field that stands there twice: nobody can tell which one is meant.
    #[error("it has {0:?} twice")]
    Twice(String),
    /// A field that is needed.
    #[error("it has no {0:?}")]
    Missing(String),
    /// A field that cannot be read as what it is.
    #[error("{name:?} is {value}: it must be {wanted}")]
    Wrong {
        /// Which field; of a list, with the number of its entry.
        name: String,
        /// As written, cut.
        value: String,
        /// What it must be.
        wanted: &'static str,
    },
}

impl FieldError {
    fn of(why: &serde_json::Error) -> Self {
        let said = why.to_string();
        let what = said.split(" at line ").next().unwrap_or_default();
        match what {
            "number out of range" => Self::Huge(why.column()),
            what => Self::NoJson { what: what.into(), at: why.column() },
        }
    }
}

/// One JSON object.
pub(super) struct Fields {
    /// What is put before a name: where in the line this object stands.
    within: String,
    map: Map<String, Value>,
}

impl Fields {
    pub(super) fn read(line: &str) -> Result<Self, FieldError> {
        let map = match serde_json::from_str(line) {
            Ok(Value::Object(map)) => map,
            Err(why) if line.trim_start().starts_with('{') => return Err(FieldError::of(&why)),
            _ => return Err(FieldError::NoObject),
        };
        match twice(line) {
            Some(name) => Err(FieldError::Twice(name)),
            None => Ok(Self { within: String::new(), map }),
        }
    }

    /// A whole number.
    pub(super) fn count(&self, name: &str) -> Result<u64, FieldError> {
        self.optional_count(name)?.ok_or_else(|| self.missing(name))
    }

    /// The same where it may be absent.
    pub(super) fn optional_count(&self, name: &str) -> Result<Option<u64>, FieldError> {
        self.get(name, COUNT, Value::as_u64)
    }

    /// A time in seconds.
    pub(super) fn seconds(&self, name: &str) -> Result<Duration, FieldError> {
        self.optional_seconds(name)?.ok_or_else(|| self.missing(name))
    }

    /// The same where it may be absent.
    pub(super) fn optional_seconds(&self, name: &str) -> Result<Option<Duration>, FieldError> {
        self.get(name, "a number of seconds above 0 and below 1.8e19", |value| {
            let time = Duration::try_from_secs_f64(value.as_f64()?).ok()?;
            (!time.is_zero()).then_some(time)
        })
    }

    /// Packets a second.
    pub(super) fn load(&self, name: &str) -> Result<Rate, FieldError> {
        let wanted = "packets a second, above 0 and at most 1e12";
        self.get(name, wanted, |value| Rate::pps(value.as_f64()?).ok())?.ok_or_else(|| self.missing(name))
    }

    /// Pairs of a value and how often it was met.
    pub(super) fn pairs(&self, name: &str) -> Result<Option<Vec<(u64, u64)>>, FieldError> {
        let Some(list) = self.list(name, "a list of [value_ns, count]", usize::MAX)? else { return Ok(None) };
        let pair = |(at, value): (usize, &Value)| match value.as_array().map(Vec::as_slice) {
            Some([value, count]) if value.is_u64() && count.is_u64() => {
                Ok((value.as_u64().unwrap_or_default(), count.as_u64().unwrap_or_default()))
            }
            _ => Err(self.wrong(&entry(name, at), value, "[value_ns, count], two whole numbers")),
        };
        list.iter().enumerate().map(pair).collect::<Result<_, _>>().map(Some)
    }

    /// A list of objects, each read by the same reader.
    pub(super) fn objects<T, E: From<FieldError>>(
        &self,
        name: &str,
        most: usize,
        read: impl Fn(&Self) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let list = self.list(name, "a list of objects", most)?.unwrap_or_default();
        let one = |(at, value): (usize, &Value)| match value {
            Value::Object(map) => {
                read(&Self { within: format!("{}{}.", self.within, entry(name, at)), map: map.clone() })
            }
            other => Err(self.wrong(&entry(name, at), other, "an object").into()),
        };
        list.iter().enumerate().map(one).collect()
    }

    /// A list of whatever `read` knows; `None` of it is an error that says what is `wanted`.
    pub(super) fn entries<T>(
        &self,
        name: &str,
        most: usize,
        wanted: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, FieldError> {
        let list = self.list(name, "a list", most)?.unwrap_or_default();
        let one = |(at, value)| read(value).ok_or_else(|| self.wrong(&entry(name, at), value, wanted));
        list.iter().enumerate().map(one).collect()
    }

    fn list(&self, name: &str, wanted: &'static str, most: usize) -> Result<Option<&[Value]>, FieldError> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(list)) if list.len() > most => {
                Err(FieldError::Many { name: format!("{}{name}", self.within), count: list.len(), most })
            }
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(self.wrong(name, other, wanted)),
        }
    }

    /// Words of an entry that are no longer than they may be.
    pub(super) fn short(
        &self,
        name: &str,
        at: usize,
        part: &'static str,
        words: &str,
        most: usize,
    ) -> Result<(), FieldError> {
        let length = words.chars().count();
        let long =
            || FieldError::Long { name: format!("{}{}", self.within, entry(name, at)), part, length, most };
        if length > most { Err(long()) } else { Ok(()) }
    }

    /// A field that is absent or null is `None`.
    fn get<T>(
        &self,
        name: &str,
        wanted: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| self.wrong(name, value, wanted)),
        }
    }

    fn missing(&self, name: &str) -> FieldError {
        FieldError::Missing(format!("{}{name}", self.within))
    }

    fn wrong(&self, name: &str, value: &Value, wanted: &'static str) -> FieldError {
        let mut shown = value.to_string();
        if let Some((at, _)) = shown.char_indices().nth(LONGEST_SHOWN) {
            shown.replace_range(at.., "…");
        }
        FieldError::Wrong { name: format!("{}{name}", self.within), value: shown, wanted }
    }
}

/// What a count is.
const COUNT: &str = "a whole number, 0 or more and below 2^64";
/// Of a value that is wrong, so much is shown.
const LONGEST_SHOWN: usize = 40;

/// `slices[2]`, from 0 as programs count.
fn entry(name: &str, at: usize) -> String {
    format!("{name}[{at}]")
}
