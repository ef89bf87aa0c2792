//! The embedded target.

mod manners;
pub(crate) mod running;
pub(crate) mod settings;
mod tally;
mod turns;
mod workers;
