//! What the machine says about itself that decides how late a thread wakes up.

use crate::sys;
use std::fs::{File, OpenOptions, read_to_string};
use std::io::Write as _;
use std::time::Duration;

/// Keeps CPUs out of deep sleep as long as it lives (PM QoS, `/dev/cpu_dma_latency`).
#[derive(Debug)]
pub struct AwakeCpus(
    #[expect(dead_code, reason = "held, never used: closing it lets CPUs sleep again")] File,
);

impl AwakeCpus {
    /// `None` where that is not allowed or not there.
    pub fn hold() -> Option<Self> {
        let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
        file.write_all(&0i32.to_ne_bytes()).ok()?;
        Some(Self(file))
    }
}

/// Whether the kernel is preemptible everywhere (PREEMPT_RT); `None` where it does not say.
pub fn preempt_rt() -> Option<bool> {
    if let Ok(text) = read_to_string("/sys/kernel/realtime") {
        return Some(text.trim() == "1");
    }
    let version = read_to_string("/proc/version").ok()?;
    Some(version.contains("PREEMPT_RT") || version.contains("PREEMPT RT"))
}

/// Real-time threads may use so much of each period, together; `None` without a limit.
pub fn throttling() -> Option<(Duration, Duration)> {
    let number = |path: &str| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let runtime = number("/proc/sys/kernel/sched_rt_runtime_us")?;
    let period = number("/proc/sys/kernel/sched_rt_period_us")?;
    (runtime < period).then(|| (Duration::from_micros(runtime), Duration::from_micros(period)))
}

/// What this machine runs on, where that is another one.
pub fn hypervisor() -> Option<String> {
    let flags = read_to_string("/proc/cpuinfo").ok()?;
    let flags = flags.lines().find(|line| line.starts_with("flags"))?;
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return None;
    }
    let name = |path: &str| {
        read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let known = name("/sys/hypervisor/type").or_else(|| name("/sys/class/dmi/id/sys_vendor"));
    Some(known.unwrap_or_else(|| "a hypervisor that does not say its name".into()))
}

/// Time that CPUs spent on interrupts, or that was taken from them, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// On interrupts.
    pub irq: Duration,
    /// On their later halves.
    pub softirq: Duration,
    /// Taken by the hypervisor.
    pub steal: Duration,
}

impl CpuTime {
    /// Of these CPUs together; `None` where the kernel does not say.
    pub fn of(cpus: &[usize]) -> Option<Self> {
        Self::parse(&read_to_string("/proc/stat").ok()?, cpus, sys::ticks_per_second()?)
    }

    /// The time since an earlier look.
    pub fn since(self, before: Self) -> Self {
        Self {
            irq: self.irq.saturating_sub(before.irq),
            softirq: self.softirq.saturating_sub(before.softirq),
            steal: self.steal.saturating_sub(before.steal),
        }
    }

    fn parse(text: &str, cpus: &[usize], ticks_per_second: u64) -> Option<Self> {
        let mut sum = [0u64; 3];
        for cpu in cpus {
            let name = format!("cpu{cpu}");
            let mut words = text.lines().find_map(|line| {
                let mut words = line.split_whitespace();
                (words.next() == Some(name.as_str())).then_some(words)
            })?;
            // user nice system idle iowait irq softirq steal
            for (place, value) in sum.iter_mut().zip(words.by_ref().skip(5)) {
                *place += value.parse::<u64>().ok()?;
            }
        }
        let time = |ticks: u64| Duration::from_nanos(ticks * (1_000_000_000 / ticks_per_second));
        Some(Self { irq: time(sum[0]), softirq: time(sum[1]), steal: time(sum[2]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_taken_from_cpus_is_summed_over_those_that_are_asked_about() {
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 0 1 5 0 2 3 4 0 0\ncpu1 1 0 1 5 0 10 20 30 0 0\nintr 5\n";
        let both = CpuTime::parse(text, &[0, 1], 100).unwrap();
        assert_eq!(
            (both.irq, both.softirq, both.steal),
            (Duration::from_millis(120), Duration::from_millis(230), Duration::from_millis(340))
        );
        let first = CpuTime::parse(text, &[0], 100).unwrap();
        assert_eq!(both.since(first).steal, Duration::from_millis(300));
        assert_eq!(CpuTime::parse(text, &[2], 100), None);
    }
}
