//! Distributions in and out: import, fit, export.
//!
//! Owns the readers of other programs' formats, the fit of a distribution with its modes, drift over slices, and
//! what a record is exported as. It measures nothing, and prints nothing.
//! Start reading at [`import`], then [`fit`].

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod csit;
pub mod drift;
pub mod export;
pub mod fit;
pub mod import;
pub mod openmetrics;
