//! A program that a target names, and its arguments.

use dropline_failure::Failure;

/// A program and its arguments, by POSIX rules.
pub(crate) fn command(text: &str) -> Result<Vec<String>, Failure> {
    shlex::split(text)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| Failure::usage(format!("{text:?} is not a command: a quote is open, or it is empty")))
}
