//! Heartbeats: an aggregator that keeps the last one of 64 variables and answers "are you OK" with a report,
//! who sends them, and who watches.
//!
//! [`wire`] is what travels, [`table`] what the aggregator keeps, [`access`] who may have a report, [`server`]
//! all three at a socket; [`sender`], [`client`], [`report`] and [`watch`] are the other side. It knows no
//! search, no record and no target.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod address;
pub mod age;
pub mod client;
pub mod metrics;
pub mod report;
pub mod sender;
pub mod server;
pub mod table;
pub mod watch;
pub mod wire;
