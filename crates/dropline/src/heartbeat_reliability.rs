//! How far an eight-byte heartbeat can be trusted, from its definition.
//!
//! Owns the arithmetic of random packets, bit errors, bursts, swaps and polls. It sees no clock, file or
//! socket. Start reading at [`check`], then [`weight`], [`chance`].

pub mod chance;
pub mod check;
pub mod pattern;
pub mod payload;
pub mod swap;
pub mod weight;
