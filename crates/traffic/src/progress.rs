//! How far the trial is, for whoever shows it while it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters of the trial that runs. They may lag behind by a batch and are no result.
#[derive(Debug, Default)]
pub struct Progress {
    trial: AtomicU64,
    offered: AtomicU64,
    forwarded: AtomicU64,
    dropped: AtomicU64,
    waiting_bytes: AtomicU64,
    watched: AtomicBool,
    /// 0 before the first reply.
    delay_ns: AtomicU64,
}

impl Progress {
    /// Number of the trial; 0 before the first.
    pub fn trial(&self) -> u64 {
        self.trial.load(Ordering::Relaxed)
    }

    /// Packets that left.
    pub fn offered(&self) -> u64 {
        self.offered.load(Ordering::Relaxed)
    }

    /// Packets that came back.
    pub fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// How long the last reply took from when its packet was due; `None` before the first.
    pub fn delay_ns(&self) -> Option<u64> {
        Some(self.delay_ns.load(Ordering::Relaxed)).filter(|ns| *ns > 0)
    }

    /// Packets that the target's socket did not take, and the memory that those waiting there are charged for;
    /// `None` if the target is not watched.
    pub fn at_target(&self) -> Option<(u64, u64)> {
        self.watched
            .load(Ordering::Relaxed)
            .then(|| (self.dropped.load(Ordering::Relaxed), self.waiting_bytes.load(Ordering::Relaxed)))
    }

    pub(crate) fn begin(&self, trial: u64) {
        self.offered.store(0, Ordering::Relaxed);
        self.forwarded.store(0, Ordering::Relaxed);
        self.watched.store(false, Ordering::Relaxed);
        self.delay_ns.store(0, Ordering::Relaxed);
        self.trial.store(trial, Ordering::Relaxed);
    }

    pub(crate) fn set_offered(&self, packets: u64) {
        self.offered.store(packets, Ordering::Relaxed);
    }

    pub(crate) fn set_at_target(&self, dropped: u64, waiting_bytes: u64) {
        self.dropped.store(dropped, Ordering::Relaxed);
        self.waiting_bytes.store(waiting_bytes, Ordering::Relaxed);
        self.watched.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_delay(&self, ns: u64) {
        self.delay_ns.store(ns, Ordering::Relaxed);
    }

    pub(crate) fn set_forwarded(&self, packets: u64) {
        self.forwarded.store(packets, Ordering::Relaxed);
    }
}
