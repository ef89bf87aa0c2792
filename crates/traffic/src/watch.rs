//! Other programs' traffic, overheard.

mod arrivals;
pub(crate) mod overheard;
pub mod tap;
