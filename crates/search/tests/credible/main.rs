//! What credible intervals promise: they end, stay in their range, repeat themselves, and hold the true value.

mod contract;
mod promises;
