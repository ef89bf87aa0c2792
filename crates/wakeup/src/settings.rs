//! How threads sleep and are woken.

use std::time::Duration;

/// What wakes up, and how much the system shall care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeupSettings {
    /// Threads; the load is divided over them.
    pub threads: u32,
    /// The scheduler's policy asked for.
    pub policy: Policy,
    /// CPUs that the threads are pinned to in turn; all that are allowed, in order, where nobody says.
    pub cpus: Option<Vec<usize>>,
    /// How much later the kernel may make a timer to save power; matters without real-time policy.
    pub timer_slack: Duration,
    /// Stop at the first wake-up that is later than this.
    pub stop_above: Option<Duration>,
}

/// A scheduling policy of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_FIFO with this priority, where it is allowed.
    Fifo(u8),
    /// SCHED_OTHER.
    Other,
}

impl Default for WakeupSettings {
    /// One thread, SCHED_FIFO 80, timers as sharp as they come.
    fn default() -> Self {
        Self {
            threads: 1,
            policy: Policy::Fifo(80),
            cpus: None,
            timer_slack: Duration::from_nanos(1),
            stop_above: None,
        }
    }
}
