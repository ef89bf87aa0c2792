//! Where each lost packet went: from counters of the kernel and of the programs to places.
//!
//! Owns the [`Place`] and [`Way`] that a packet can be lost at, and the queue models that
//! predict a loss. It never reads a counter: `traffic` does, and hands in what it read. Start reading at [`place`], then [`replay`].

pub mod buffer;
pub mod place;
pub mod queue;
pub mod replay;
pub mod stalls;

pub use buffer::{Family, Room, packets_held, truesize};
pub use place::{Place, Site, Way};
pub use queue::{md1k_loss, mm1k_loss};
pub use replay::{Arriving, Replayed, Seen, Server, Service, replay};
pub use stalls::Stalls;
