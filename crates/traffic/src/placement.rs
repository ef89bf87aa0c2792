//! Which CPU a thread or a process has, with which priority, and what that CPU does beside it.

pub(crate) mod cpus;
pub(crate) mod interruptions;
pub mod seat;
pub(crate) mod starved;
