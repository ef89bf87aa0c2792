//! Closed loops: clients that pace themselves, each a process of its own.

pub(crate) mod client;
pub(crate) mod crowd;
pub(crate) mod gathered;
pub(crate) mod plan;
pub(crate) mod report;
