//! Closed loops: clients that pace themselves, each a process of its own.

pub(crate) mod client;
pub(crate) mod client_processes;
pub(crate) mod outcome;
pub(crate) mod plan;
pub(crate) mod report;
