//! The part of an arrival process behind its colon.

use super::{KINDS, Kind};
use crate::quantities;
use std::fmt::Display;
use std::time::Duration;

/// Why a word is no arrival process.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ArrivalError(String);

impl ArrivalError {
    /// Says this.
    pub(crate) fn new(why: impl Display) -> Self {
        Self(why.to_string())
    }

    /// There is no process of this name.
    pub(super) fn unknown(name: &str) -> Self {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let near = nearest(name, &names);
        let (last, first) = names.split_last().expect("there are processes");
        Self(format!("there is no arrival process {name:?}{near}; there are {} and {last}", first.join(", ")))
    }
}

/// Names and values, each to be taken once.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    kind: &'a Kind,
    left: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    /// Splits `a=1,b=2`; names that the process does not have are errors.
    pub(super) fn of(kind: &'a Kind, text: &'a str) -> Result<Self, ArrivalError> {
        let mut left = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = || {
                ArrivalError(format!("{part:?} is not a parameter; write NAME=VALUE, as in {}", kind.written))
            };
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let names = names(kind);
            if !names.contains(&name) {
                let near = nearest(name, &names);
                let (kind, written) = (kind.name, kind.written);
                return Err(ArrivalError(format!(
                    "{kind} has no parameter {name:?}{near}; it is written {written}"
                )));
            }
            if left.iter().any(|(known, _)| *known == name) {
                return Err(ArrivalError(format!("{}: {name} is given twice", kind.name)));
            }
            left.push((name, value));
        }
        Ok(Self { kind, left })
    }

    /// A value that may be missing.
    pub(super) fn take<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ArrivalError> {
        let Some(at) = self.left.iter().position(|(known, _)| *known == name) else { return Ok(None) };
        let (_, value) = self.left.remove(at);
        read(value).map(Some).map_err(|why| ArrivalError(format!("{}: {name}: {why}", self.kind.name)))
    }

    /// A value that must be there.
    pub(super) fn need<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, ArrivalError> {
        let missing = format!("{} needs {name}: {}", self.kind.name, self.kind.written);
        self.take(name, read)?.ok_or(ArrivalError(missing))
    }
}

/// The names that stand before an `=` where it is said how the process is written.
fn names(kind: &Kind) -> Vec<&'static str> {
    let parts = kind.written.split([':', ',', '[', '|']);
    parts.filter_map(|part| part.split_once('=')).map(|(name, _)| name).collect()
}

/// A count from 1 to a million.
pub(super) fn count(word: &str) -> Result<u32, String> {
    let wrong = || format!("{word:?} is not a whole number from 1 to 1000000");
    word.parse().ok().filter(|count| (1..=1_000_000).contains(count)).ok_or_else(wrong)
}

/// A duration above zero.
pub(super) fn duration(word: &str) -> Result<Duration, quantities::QuantityError> {
    quantities::positive_duration(word)
}

/// A positive number.
pub(super) fn positive(word: &str) -> Result<f64, String> {
    let wrong = || format!("{word:?} is not a number above 0");
    word.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0).ok_or_else(wrong)
}

/// A share of the load: `0`, `0.5`, `50%`, `190%`.
pub(super) fn share(word: &str) -> Result<f64, String> {
    let wrong = || format!("{word:?} is not a share of the load; write 50%");
    let (text, scale) = word.strip_suffix('%').map_or((word, 1.0), |text| (text, 100.0));
    let value: f64 = text.parse().map_err(|_| wrong())?;
    if value.is_finite() && value >= 0.0 { Ok(value / scale) } else { Err(wrong()) }
}

/// One of these words.
pub(super) fn choice<T: Copy>(words: &[(&str, T)]) -> impl FnOnce(&str) -> Result<T, String> {
    move |word| {
        words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
            format!("{word:?}: there are {}", words.join(" and "))
        })
    }
}

/// A share as [`share`] reads it.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.9}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A duration as it would be written, exactly.
pub(super) fn written(ns: u64) -> String {
    let (unit, name) = match ns {
        _ if ns.is_multiple_of(1_000_000_000) => (1_000_000_000, "s"),
        _ if ns.is_multiple_of(1_000_000) => (1_000_000, "ms"),
        _ if ns.is_multiple_of(1_000) => (1_000, "us"),
        _ => (1, "ns"),
    };
    format!("{}{name}", ns / unit)
}

fn nearest(word: &str, known: &[&str]) -> String {
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(word, known), known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map_or_else(String::new, |(_, known)| format!("; did you mean {known:?}?"))
}
