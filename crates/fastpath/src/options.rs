//! What trials between two interfaces are told by whoever opens them.

use crate::engine::Engine;
use crate::frame::Aim;
use crate::next_hop::NextHop;
use dropline_account::{Snapshot, Way};
use dropline_trial::Caveat;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How trials are performed.
#[derive(Clone, Debug, Default)]
pub struct LinkOptions {
    /// What sends.
    pub engine: Engine,
    /// Between whom frames go.
    pub aim: Aim,
    /// Who forwards them, where that is not a bridge: what leaves by the first interface, and what by the second.
    pub next_hops: [Option<NextHop>; 2],
    /// Whether the interfaces may be ones that others use.
    pub though_used: bool,
    /// Slices of each trial.
    pub slices: Option<u32>,
    /// Frames whose times are kept one by one; 0 keeps none.
    pub keep_packets: usize,
    /// Number of the first trial.
    pub first_trial: u64,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
}

/// What is known of an interface beside what it is itself.
#[derive(Clone, Debug, Default)]
pub struct KnownUse {
    /// How others use it, in words that follow its name.
    pub used: Option<String>,
    /// What stands in front of it that frames made in the kernel would pass by.
    pub in_front: Option<String>,
}

/// What became of the way of frames between the interfaces.
#[derive(Clone, Debug, Default)]
pub struct Astray {
    /// A bridge does not know any more where one of the interfaces is.
    pub forgot: bool,
    /// What sends frames elsewhere than before the first trial, in words.
    pub astray: Option<String>,
}

/// What reads the kernel's counters of the namespaces that frames pass.
pub trait Counting {
    /// Everything that can be read, now.
    fn read(&mut self) -> Snapshot;

    /// Frames that wait in queues of the way, now.
    fn waiting(&mut self) -> u64;

    /// The interface from which frames arrive at the one where they come out: its namespace and number. What it drops found no room
    /// at our own end. `Back` is from the second interface to the first.
    fn last(&self, way: Way) -> Option<(u64, u32)>;

    /// What became of the way of frames since this was first asked.
    fn frame_path(&mut self) -> Astray;

    /// What could not be looked at.
    fn unseen(&self) -> Vec<Caveat>;
}
