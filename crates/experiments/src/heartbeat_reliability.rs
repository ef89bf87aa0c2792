//! How far an eight-byte heartbeat can be trusted, from its definition.
//!
//! Owns the arithmetic of random packets, bit errors, bursts, swaps and polls, the simulations that hold it
//! to account, and the verdict on each sentence of the original's notes. It sees no clock, file or socket.
//! Start reading at [`Question::answer`], then [`check`], [`weight`], [`chance`].

pub mod answer;
pub mod chance;
pub mod check;
pub mod found;
pub mod pattern;
pub mod payload;
pub mod simulation;
pub mod swap;
mod table;
pub mod verdict;
pub mod weight;

pub use answer::Question;
pub use found::Reliability;
