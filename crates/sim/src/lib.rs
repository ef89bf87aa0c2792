//! Systems under test in virtual time: `sim:` targets with a known truth.
//!
//! Owns [`Simulated`], a measurer that answers a trial of any length at once, and the [`System`]s behind it.
//! It never waits, reads a clock or moves a packet; all chance comes from seeds, so every answer can be had
//! again.
//! Start reading at [`simulated`], then [`systems`]: a new system is a file there and a line in its table.

pub mod settings;
pub mod simulated;
pub mod systems;
mod tails;

pub use settings::Settings;
pub use simulated::{Simulated, default_range};
pub use systems::{Behaviour, Moment, Offer, System, UnknownSystem};
