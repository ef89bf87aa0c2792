//! What stands behind a target's question mark: `a=1&b=2`.

use dropline_failure::{Failure, nearest};
use dropline_trial::quantities;

/// A parameter of a closed set: help, errors and the tables of the documents are made from it.
#[derive(Debug)]
pub struct Parameter {
    /// As it stands in a target.
    pub name: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What it is where nobody says; empty where that is no value.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
}

impl Parameter {
    pub(crate) const fn new(
        name: &'static str,
        values: &'static str,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, values, default, about }
    }
}

/// The names of a set.
pub(crate) fn names(set: &[Parameter]) -> Vec<&'static str> {
    set.iter().map(|parameter| parameter.name).collect()
}

/// Names and values behind a target's question mark.
pub(crate) type Parameters<'a> = Vec<(&'a str, &'a str)>;

/// Splits `rest?a=1&b=2` into the rest and its parameters.
pub(crate) fn parameters(word: &str) -> Result<(&str, Parameters<'_>), Failure> {
    match word.split_once('?') {
        Some((rest, parameters)) => Ok((rest, query(parameters)?)),
        None => Ok((word, Vec::new())),
    }
}

/// Splits `a=1&b=2`.
pub(crate) fn query(query: &str) -> Result<Parameters<'_>, Failure> {
    let mut found: Parameters<'_> = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let no_value = || Failure::usage(format!("{part:?} is not a parameter; write NAME=VALUE"));
        let (name, value) = part.split_once('=').ok_or_else(no_value)?;
        if found.iter().any(|(other, _)| *other == name) {
            return Err(Failure::usage(format!("the target gives {name} twice; give it once")));
        }
        found.push((name, value));
    }
    Ok(found)
}

/// A parameter that the target does not take: it takes the known ones.
pub(crate) fn unknown(target: &str, name: &str, known: &[&str]) -> Failure {
    let it_has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Failure::usage(format!("{target} has no parameter {name:?}; it has {it_has}{}", nearest(name, known)))
}

/// A quantity in a target, with a usage error that names the parameter.
pub(crate) fn quantity<T>(name: &str, read: Result<T, quantities::QuantityError>) -> Result<T, Failure> {
    read.map_err(|why| Failure::usage(format!("{name} in the target: {why}")))
}
