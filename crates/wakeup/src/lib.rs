//! Scheduling latency: how late a thread wakes up that asked to be woken at a time.
//!
//! Owns the [`WakeupMeasurer`], its threads, and what the [`machine`] says that disturbs them. It never searches,
//! prints or keeps a record; its unsafe code is in `sys` alone.
//! Start reading at [`measurer`], then `sleeper`.

pub mod machine;
pub mod measurer;
pub mod settings;
mod sleeper;
mod sys;

pub use measurer::{WakeupError, WakeupMeasurer};
pub use settings::{Policy, WakeupSettings};
