//! What a trial of wake-ups saw beside its delays: each thread, the machine, what took time from it.

use crate::Delay;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Wake-ups by thread and by slice, and under which conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wakeups {
    /// The scheduling policy that the threads had, as `SCHED_FIFO 80`.
    pub policy: String,
    /// Whether all memory stayed in RAM.
    pub memory_locked: bool,
    /// Whether CPUs were kept out of deep sleep.
    pub cpus_kept_awake: bool,
    /// How much later the kernel might make a timer; it does not for real-time threads.
    pub timer_slack_ns: Option<u64>,
    /// Whether the kernel is preemptible everywhere (PREEMPT_RT); `None` where it does not say.
    pub preempt_rt: Option<bool>,
    /// Real-time threads may run for so much of each period; `None` without a limit.
    pub throttling: Option<(Duration, Duration)>,
    /// What this machine runs on, where that is another one.
    pub hypervisor: Option<String>,
    /// The wake-up that ended the trial, where one did.
    pub spike: Option<Spike>,
    /// One a thread.
    pub threads: Vec<WakeupThread>,
    /// In order of time.
    pub slices: Vec<WakeupSlice>,
}

/// A wake-up that was too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spike {
    /// On which CPU.
    pub cpu: u32,
    /// From 0, within its thread.
    pub number: u64,
    /// How late, in ns.
    pub late_ns: i64,
}

/// One thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WakeupThread {
    /// The CPU that it was pinned to; `None` where that was refused.
    pub cpu: Option<u32>,
    /// Periods that passed while it was late for an earlier one.
    pub missed: u64,
    /// How late it was.
    pub delay: Delay,
}

/// One slice of the trial, all threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeupSlice {
    /// Wake-ups.
    pub woken: u64,
    /// Periods missed.
    pub missed: u64,
    /// The latest of them, in ns.
    pub latest_ns: Option<i64>,
    /// Time that the threads' CPUs spent on interrupts; `None` where the kernel does not say.
    pub irq: Option<Duration>,
    /// On their later halves.
    pub softirq: Option<Duration>,
    /// Taken by the hypervisor.
    pub steal: Option<Duration>,
}
