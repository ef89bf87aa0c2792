//! The embedded target.

mod desk;
mod manners;
pub(crate) mod running;
pub(crate) mod settings;
mod tally;
