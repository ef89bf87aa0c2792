//! What the sender and the receiver of one trial share while packets are under way.

use crate::Progress;
use crate::stamps::Stamps;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One trial's packets under way.
pub(crate) struct Flight<'a> {
    /// When the trial starts; all times are ns after it.
    epoch: Instant,
    pub(crate) stamps: &'a Stamps,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: Option<&'a Progress>,
    /// Packets from this index on have not been handed to the system.
    next_index: AtomicU64,
    offered: AtomicU64,
    /// When the sending time was over; [`RUNNING`] until then.
    finished_ns: AtomicU64,
    halted: AtomicBool,
}

const RUNNING: u64 = u64::MAX;

impl<'a> Flight<'a> {
    pub(crate) fn new(
        epoch: Instant,
        stamps: &'a Stamps,
        stop: &'a AtomicBool,
        progress: Option<&'a Progress>,
    ) -> Self {
        Self {
            epoch,
            stamps,
            stop,
            progress,
            next_index: AtomicU64::new(0),
            offered: AtomicU64::new(0),
            finished_ns: AtomicU64::new(RUNNING),
            halted: AtomicBool::new(false),
        }
    }

    /// Now, in ns after the start; 0 before it.
    pub(crate) fn now_ns(&self) -> u64 {
        Instant::now().saturating_duration_since(self.epoch).as_nanos() as u64
    }

    /// How long it is until the start.
    pub(crate) fn until_start(&self) -> Duration {
        self.epoch.saturating_duration_since(Instant::now())
    }

    /// Whether one side met an error, or the user wants to stop.
    pub(crate) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
    }

    /// Packets below `index` are about to be handed to the system.
    pub(crate) fn publish(&self, index: u64) {
        self.next_index.store(index, Ordering::Release);
    }

    /// Whether a packet with this index can have come back.
    pub(crate) fn next_index(&self) -> u64 {
        self.next_index.load(Ordering::Acquire)
    }

    pub(crate) fn set_offered(&self, packets: u64) {
        self.offered.store(packets, Ordering::Release);
        if let Some(progress) = self.progress {
            progress.set_offered(packets);
        }
    }

    pub(crate) fn offered(&self) -> u64 {
        self.offered.load(Ordering::Acquire)
    }

    /// The last packet left, and the sending time is over.
    pub(crate) fn finish(&self) {
        self.finished_ns.store(self.now_ns(), Ordering::Release);
    }

    /// When the sending time was over, if it is; [`offered`](Self::offered) is final then.
    pub(crate) fn finished_ns(&self) -> Option<u64> {
        let finished = self.finished_ns.load(Ordering::Acquire);
        (finished != RUNNING).then_some(finished)
    }
}
