//! What a target on this machine did while a trial ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// Of that, what its busiest thread ran, in ns; `None` where its threads were not told apart: `waited_ns` is then of all.
    pub busiest_cpu_ns: Option<u64>,
    /// Time that its busiest thread could have run and had no CPU, from the first look to the last, in ns.
    pub waited_ns: Option<u64>,
    /// CPU time that programs used meanwhile which are neither it nor the generator, in ns; `None` where that is not to be
    /// told.
    pub others_ns: Option<u64>,
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

    /// How long others may have kept it from running, in a trial of this length: it could have run and had no CPU, not by
    /// its own quota, while programs that are neither it nor the generator used as much CPU time. `None` of so little that
    /// a busy machine always has it, or that clock ticks, by which CPU time is counted, do not show.
    pub fn kept_from_running(&self, duration: Duration) -> Option<Duration> {
        let own_ns = self.throttled.map_or(0, |throttled| throttled.stopped_ns);
        let waited = Duration::from_nanos(self.waited_ns?.saturating_sub(own_ns));
        let others = Duration::from_nanos(self.others_ns?);
        let shown = (duration / 20).max(Duration::from_millis(50));
        (waited > duration / 50 && others > shown).then(|| waited.min(others))
    }
}

/// A CPU quota that was used up: a control group's processes were stopped until its next period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Time that its busiest thread could have run and had no CPU, so far.
    pub waited_ns: Option<u64>,
    /// Context switches so far: it had nothing to do, or had its CPU taken.
    pub switches: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(waited_ms: u64, others_ms: Option<u64>, stopped_ms: u64) -> Option<u64> {
        let ns = |ms: u64| ms * 1_000_000;
        let watched = TargetActivity {
            waited_ns: Some(ns(waited_ms)),
            others_ns: others_ms.map(ns),
            throttled: Some(Throttled { stopped_ns: ns(stopped_ms), ..Throttled::default() }),
            ..TargetActivity::default()
        };
        Some(watched.kept_from_running(Duration::from_secs(1))?.as_millis() as u64)
    }

    #[test]
    fn a_target_waits_for_others_at_most_as_long_as_they_ran() {
        assert_eq!(kept(900, Some(1800), 0), Some(900));
        assert_eq!(kept(900, Some(300), 0), Some(300), "else it waited for the generator");
        assert_eq!(kept(900, Some(0), 0), None, "a quiet machine: it waited for the generator alone");
        assert_eq!(kept(900, Some(50), 0), None, "what ticks do not show");
        assert_eq!(kept(20, Some(1800), 0), None, "others ran beside it");
        assert_eq!(kept(900, Some(1800), 890), None, "its own quota stopped it");
        assert_eq!(kept(900, None, 0), None, "nobody can tell");
        assert_eq!(TargetActivity::default().kept_from_running(Duration::from_secs(1)), None);
    }
}
