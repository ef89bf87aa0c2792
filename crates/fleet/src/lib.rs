//! A fleet: one trial from many machines, over NATS.
//!
//! Owns who takes part ([`agent`]), when all start ([`coordinator`]), and how the answer of all becomes one
//! ([`dropline_trial::Trial::merged`]). NATS carries every message; nothing listens on an agent but the measured traffic. It is the
//! only crate that knows NATS. Start reading at [`coordinator`], then [`agent`].

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod agent;
pub mod answers;
mod bus;
mod clock;
pub mod coordinator;
pub mod grant;
pub mod keys;
pub mod local;
mod name;
mod path;
mod refusal;
pub mod selection;
mod wire;

pub use bus::{Bus, Login};
pub use wire::{Revoked, Who};
