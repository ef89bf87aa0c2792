//! Where each lost packet went, from counters of the kernel and of the programs, and the queue models that
//! predict a loss.
//!
//! Owns the [`Place`]s that a packet can be lost at, [`account()`], which splits a trial's loss into them, and
//! [`replay()`]. It never reads a counter: `traffic` does, and hands in what it read.
//! Start reading at [`place`], then [`counters`] and [`accounting`]; [`replay`](mod@replay) for the models and
//! [`explanation`] for what they say together.

pub mod accounting;
pub mod buffer;
mod claims;
pub mod counters;
pub mod explanation;
mod flow;
mod foreign_traffic;
pub mod frames;
pub mod hops;
pub mod ledger;
pub mod losses;
pub mod outcome;
pub mod place;
pub mod queue;
pub mod remedy;
pub mod replay;
pub mod service_time;
pub mod stalls;

pub use accounting::{account, account_path};
pub use buffer::{AddressFamily, Room, packets_held, truesize};
pub use counters::{Bars, Device, Flow, Role, Snapshot, Space, Stack, TargetSockets};
pub use explanation::{Evidence, Explanation, explain};
pub use frames::{Frames, account_frames};
pub use hops::HostPath;
pub use ledger::Ledger;
pub use outcome::{Account, Outcome, TargetCounts};
pub use place::{Place, Site, Way};
pub use queue::{md1k_loss, mm1k_loss};
pub use replay::{Arriving, Replayed, SeenArrival, Server, Service, replay};
pub use stalls::Stalls;
