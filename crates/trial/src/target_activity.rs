//! What a target on this machine did while a trial ran.

use serde::Serialize;
use std::time::Duration;

/// A target's process and socket over time, looked at from outside.
///
/// Times of samples run from the trial's epoch, as those of packets do; a first sample before it has a time
/// below zero. Counters count from when they were first read by anyone, so only differences between samples
/// mean something. What could not be seen is `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetActivity {
    /// The process that owns the socket; `None` where that may not be seen.
    pub pid: Option<u32>,
    /// Its name, as the kernel has it.
    pub name: Option<String>,
    /// Memory that its socket may hold (the kernel's doubled SO_RCVBUF), in bytes.
    pub buffer_bytes: Option<u64>,
    /// Intended time between two looks.
    pub every: Duration,
    /// Median time that a look took, on the CPU of the one who looks.
    pub look_cost: Duration,
    /// Looks taken; more than `samples` keeps.
    pub looks: u64,
    /// Largest memory in use that a look saw at the socket, in bytes.
    pub largest_queued_bytes: Option<u64>,
    /// CPU time of the process from the first look to the last, all threads, in ns.
    pub cpu_ns: Option<u64>,
    /// Packets that its program took meanwhile, by its own count, or those forwarded.
    pub packets: u64,
    /// What its CPU quota stopped meanwhile; `None` if nothing was stopped, or that was not to be seen.
    pub throttled: Option<Throttled>,
    /// In order of time. Looks that say nothing their neighbours do not say are left out.
    pub samples: Vec<Look>,
}

impl TargetActivity {
    /// CPU time a packet, in ns: an upper bound of the service time, as the kernel's share, waking up and
    /// waiting awake are in it. `None` if no packet was taken, or the process was not to be seen.
    pub fn cpu_ns_a_packet(&self) -> Option<f64> {
        let cpu_ns = self.cpu_ns.filter(|_| self.packets > 0)?;
        Some(cpu_ns as f64 / self.packets as f64)
    }
}

/// A CPU quota that was used up: a control group's processes were stopped until its next period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Throttled {
    /// CPU time of each period.
    pub runtime_us: u64,
    /// The period.
    pub period_us: u64,
    /// Times that it was used up.
    pub times: u64,
    /// How long processes were stopped for that, in ns.
    pub stopped_ns: u64,
}

/// One look at a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// When, from the trial's epoch, in ns.
    pub at_ns: i64,
    /// Memory that packets waiting at the socket are charged for, in bytes.
    pub queued_bytes: Option<u64>,
    /// Packets that the socket had no room for, or its filter refused, so far.
    pub drops: Option<u64>,
    /// CPU time of the process so far, all threads.
    pub cpu_ns: Option<u64>,
    /// Time that it could have run and had no CPU, so far.
    pub waited_ns: Option<u64>,
    /// Context switches so far: it had nothing to do, or had its CPU taken.
    pub switches: Option<u64>,
}
