//! The embedded target.

mod manners;
pub(crate) mod running;
mod sessions;
pub(crate) mod settings;
mod tally;
mod turns;
mod workers;
