//! What credible intervals promise: they end, stay in their range, repeat themselves, and hold the true value.

mod at_the_minimum;
mod contract;
mod not_of_the_model;
mod promises;
