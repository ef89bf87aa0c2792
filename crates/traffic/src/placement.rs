//! Which CPU a thread or a process has, with which priority, and what that CPU does beside it.

pub mod affinity;
pub(crate) mod cpus;
pub(crate) mod interruptions;
pub(crate) mod run_queue_wait;
