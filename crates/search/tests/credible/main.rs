//! What credible intervals promise: they end, stay in their range, repeat themselves, and hold the truth.

mod contract;
mod promises;
