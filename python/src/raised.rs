//! Failures as exceptions, a class for each exit code.

use dropline_failure::{Failure, FailureKind};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// The exception that a failure is.
pub(crate) fn raised(failure: &Failure) -> PyErr {
    let class = match failure.kind() {
        FailureKind::Usage => "UsageError",
        FailureKind::Environment => "RefusedError",
        FailureKind::NotValid => "NotValidError",
        FailureKind::Interrupted => return PyKeyboardInterrupt::new_err("interrupted"),
    };
    let words = failure.to_string();
    Python::attach(|py| {
        match py.import("dropline.errors").and_then(|errors| errors.getattr(class)?.call1((words,))) {
            Ok(exception) => PyErr::from_value(exception),
            Err(why) => why,
        }
    })
}

/// What was typed wrong.
pub(crate) fn wrong(what: impl std::fmt::Display) -> PyErr {
    raised(&Failure::usage(what))
}
