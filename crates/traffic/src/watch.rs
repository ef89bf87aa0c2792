//! Other programs' traffic, overheard.

pub(crate) mod overheard;
pub mod tap;
