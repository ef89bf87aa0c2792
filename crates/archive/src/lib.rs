//! The record on disk: the only crate that writes one.
//!
//! Owns the record file with its lock, the history in which records lie by date, files that appear whole or not at all, reading within bounds, and the
//! capture of the environment. It decides nothing of what is measured, and prints nothing.
//! Start reading at [`record_file`].

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod clock;
pub mod environment;
pub mod history;
pub mod reading;
pub mod record_file;
pub mod temporary;
pub mod whole_file;
