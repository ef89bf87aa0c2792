//! How many samples are under way in each pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Counters of a pipe: its source writes one, its sink the other, each on cache lines of its own.
#[derive(Debug, Default)]
pub struct Flight {
    produced: Lines,
    consumed: Lines,
    lost: AtomicU64,
    longest_backlog: AtomicU64,
    waiting_at_end: AtomicU64,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Lines(AtomicU64);

impl Flight {
    /// The source has handed on `samples` in all.
    #[inline]
    pub fn produced(&self, samples: u64) {
        self.produced.0.store(samples, Ordering::Relaxed);
    }

    /// The sink has had `samples` in all.
    #[inline]
    pub fn consumed(&self, samples: u64) {
        self.consumed.0.store(samples, Ordering::Relaxed);
    }

    /// What became of the samples that the source was offered.
    pub fn backlog(&self, lost: u64, longest: u64) {
        self.lost.store(lost, Ordering::Relaxed);
        self.longest_backlog.store(longest, Ordering::Relaxed);
    }

    /// How many samples waited when the last one came due.
    pub fn waited_at_end(&self, samples: u64) {
        self.waiting_at_end.store(samples, Ordering::Relaxed);
    }

    /// Samples that reached the sink.
    pub fn arrived(&self) -> u64 {
        self.consumed.0.load(Ordering::Relaxed)
    }

    /// Samples that were lost before the graph; the longest queue there; the queue when the last came due.
    pub fn counted(&self) -> (u64, u64, u64) {
        let counters = [&self.lost, &self.longest_backlog, &self.waiting_at_end];
        let [lost, longest, at_end] = counters.map(|counter| counter.load(Ordering::Relaxed));
        (lost, longest, at_end)
    }

    fn under_way(&self) -> Option<u64> {
        // The sink's first: what it had, the source had handed on before.
        let consumed = self.consumed.0.load(Ordering::Acquire);
        let produced = self.produced.0.load(Ordering::Acquire);
        (consumed > 0).then(|| produced.saturating_sub(consumed))
    }
}

/// A thread that looks at every pipe again and again and records how much is under way, from the first sample at
/// its sink on.
#[derive(Debug)]
pub struct Sampler {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Looks each `period`, until it is dropped.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub fn start(pipes: Vec<Arc<Flight>>, period: Duration) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&over);
        let look = move || {
            while !end.load(Ordering::Acquire) {
                std::thread::sleep(period);
                for (number, pipe) in (0..).zip(&pipes) {
                    if let Some(samples) = pipe.under_way() {
                        dropline_trace::in_flight(number, samples);
                    }
                }
            }
        };
        Ok(Self { over, thread: Some(Builder::new().spawn(look)?) })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // It cannot panic, and if it did the graph was not disturbed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
