//! Other programs' traffic, overheard.

mod arrivals;
pub(crate) mod beside;
pub(crate) mod overheard;
mod presence;
pub mod tap;
