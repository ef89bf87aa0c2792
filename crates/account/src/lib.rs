//! Where each lost packet went: from counters of the kernel and of the programs to places.
//!
//! Owns the [`Place`] and [`Way`] that a packet can be lost at. It never reads a counter: `traffic` does,
//! and hands in what it read. Start reading at [`place`].

pub mod place;

pub use place::{Place, Site, Way};
