//! What a trial of wake-ups saw beside its delays, as it is kept.

use crate::{Count, DelayLine, NegativeLine};
use dropline_stats::HistogramError;
use dropline_trial::wakeups::{Spike, WakeupSlice, WakeupThread};
use dropline_trial::{Delay, Wakeups};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Wake-ups by thread and by slice, and under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakeupsLine {
    /// The scheduling policy that the threads had, as `SCHED_FIFO 80`.
    pub policy: String,
    /// Whether all memory stayed in RAM.
    pub memory_locked: bool,
    /// Whether CPUs were kept out of deep sleep.
    pub cpus_kept_awake: bool,
    /// How much later the kernel might make a timer.
    pub timer_slack_ns: Option<u64>,
    /// Whether the kernel is preemptible everywhere.
    pub preempt_rt: Option<bool>,
    /// Real-time threads may run for so much of each `rt_period_us`; null without a limit.
    pub rt_runtime_us: Option<u64>,
    /// Length of that period.
    pub rt_period_us: Option<u64>,
    /// What this machine runs on, where that is another one.
    pub hypervisor: Option<String>,
    /// The wake-up that ended the trial.
    pub spike: Option<Spike>,
    /// One a thread.
    pub threads: Vec<WakeupThreadLine>,
    /// One a slice of the trial.
    pub slices: Vec<WakeupSliceLine>,
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakeupThreadLine {
    /// The CPU that it was pinned to; null where that was refused.
    pub cpu: Option<u32>,
    /// Periods that passed while it was late for an earlier one.
    pub missed: Count,
    /// How late it was.
    pub delay_ns: Option<DelayLine>,
    /// Wake-ups before their time.
    pub negative: NegativeLine,
}

/// One slice, all threads together; times of their CPUs, null where the kernel does not say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct WakeupSliceLine {
    pub woken: Count,
    pub missed: Count,
    pub latest_ns: Option<i64>,
    pub irq_s: Option<f64>,
    pub softirq_s: Option<f64>,
    pub steal_s: Option<f64>,
}

impl From<&Wakeups> for WakeupsLine {
    fn from(woken: &Wakeups) -> Self {
        let us = |time: Duration| time.as_micros() as u64;
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        Self {
            policy: woken.policy.clone(),
            memory_locked: woken.memory_locked,
            cpus_kept_awake: woken.cpus_kept_awake,
            timer_slack_ns: woken.timer_slack_ns,
            preempt_rt: woken.preempt_rt,
            rt_runtime_us: woken.throttling.map(|(runtime, _)| us(runtime)),
            rt_period_us: woken.throttling.map(|(_, period)| us(period)),
            hypervisor: woken.hypervisor.clone(),
            spike: woken.spike,
            threads: woken
                .threads
                .iter()
                .map(|thread| WakeupThreadLine {
                    cpu: thread.cpu,
                    missed: Count(thread.missed),
                    delay_ns: DelayLine::of(&thread.delay),
                    negative: NegativeLine {
                        count: Count(thread.delay.negative),
                        min: thread.delay.negative_min_ns,
                    },
                })
                .collect(),
            slices: woken
                .slices
                .iter()
                .map(|slice| WakeupSliceLine {
                    woken: Count(slice.woken),
                    missed: Count(slice.missed),
                    latest_ns: slice.latest_ns,
                    irq_s: seconds(slice.irq),
                    softirq_s: seconds(slice.softirq),
                    steal_s: seconds(slice.steal),
                })
                .collect(),
        }
    }
}

impl WakeupsLine {
    /// What was seen again.
    ///
    /// # Errors
    /// If a histogram in it is broken.
    pub fn woken(&self) -> Result<Wakeups, HistogramError> {
        let time = |seconds: Option<f64>| {
            seconds.map(|seconds| Duration::from_nanos((seconds.max(0.0) * 1e9).round() as u64))
        };
        let throttling = self.rt_runtime_us.zip(self.rt_period_us);
        let threads = self.threads.iter().map(|thread| {
            let histogram = thread.delay_ns.as_ref().map(DelayLine::values).transpose()?;
            Ok(WakeupThread {
                cpu: thread.cpu,
                missed: thread.missed.0,
                delay: Delay {
                    histogram,
                    negative: thread.negative.count.0,
                    negative_min_ns: thread.negative.min,
                },
            })
        });
        Ok(Wakeups {
            policy: self.policy.clone(),
            memory_locked: self.memory_locked,
            cpus_kept_awake: self.cpus_kept_awake,
            timer_slack_ns: self.timer_slack_ns,
            preempt_rt: self.preempt_rt,
            throttling: throttling
                .map(|(runtime, period)| (Duration::from_micros(runtime), Duration::from_micros(period))),
            hypervisor: self.hypervisor.clone(),
            spike: self.spike,
            threads: threads.collect::<Result<_, _>>()?,
            slices: self
                .slices
                .iter()
                .map(|slice| WakeupSlice {
                    woken: slice.woken.0,
                    missed: slice.missed.0,
                    latest_ns: slice.latest_ns,
                    irq: time(slice.irq_s),
                    softirq: time(slice.softirq_s),
                    steal: time(slice.steal_s),
                })
                .collect(),
        })
    }
}
