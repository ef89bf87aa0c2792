//! The embedded target.

mod rate_limits;
pub(crate) mod running;
mod sessions;
pub(crate) mod settings;
mod tally;
mod turns;
mod workers;
