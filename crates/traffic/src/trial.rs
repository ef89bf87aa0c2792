//! A trial: the rooms below, put together.

pub mod cost;
mod exchange;
pub(crate) mod limit;
pub(crate) mod means;
pub(crate) mod measurer;
pub(crate) mod options;
pub(crate) mod probe;
pub mod round_trips;
mod streams;
