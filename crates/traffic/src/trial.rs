//! A trial: the rooms below, put together.

mod clients;
pub mod cost;
pub(crate) mod doubts;
mod exchange;
pub(crate) mod limit;
mod logs;
pub(crate) mod means;
pub(crate) mod measurer;
pub(crate) mod options;
pub(crate) mod probe;
#[cfg(all(test, not(feature = "portable")))]
mod programs;
mod reach;
mod replies;
pub mod round_trips;
mod setup;
mod streams;
mod threads;
