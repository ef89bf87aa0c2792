//! Reading the clock of tracepoints, and whether the time-stamp counter can be trusted.

use crate::Clock;

impl Clock {
    /// The counter where the kernel itself keeps time by it and the processor says that its rate is constant
    /// and that it does not stop; else CLOCK_MONOTONIC.
    #[cfg(feature = "std")]
    pub fn best() -> Self {
        if counter_is_trusted() { Self::Counter } else { Self::Monotonic }
    }

    /// Ticks now.
    #[inline]
    pub fn ticks(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: RDTSC reads a counter; every x86-64 processor has it.
            Self::Counter => unsafe { core::arch::x86_64::_rdtsc() },
            #[cfg(not(target_arch = "x86_64"))]
            Self::Counter => monotonic_ns(MONOTONIC),
            Self::Monotonic => monotonic_ns(MONOTONIC),
        }
    }
}

#[cfg(all(feature = "std", target_arch = "x86_64", target_os = "linux"))]
fn counter_is_trusted() -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let flags = read("/proc/cpuinfo");
    let flags = flags.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag| flags.split_ascii_whitespace().any(|word| word == flag);
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    has("constant_tsc") && has("nonstop_tsc") && source.trim() == "tsc"
}

#[cfg(all(feature = "std", not(all(target_arch = "x86_64", target_os = "linux"))))]
fn counter_is_trusted() -> bool {
    false
}

/// A tick count and the nanoseconds of CLOCK_MONOTONIC at the same moment, to within `within` ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockPair {
    /// Ticks of the session's clock, half-way between the two reads around the other clock.
    pub ticks: u64,
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub ns: u64,
    /// Ticks between the two reads: what the pair cannot tell.
    pub within: u64,
}

impl ClockPair {
    /// Reads both clocks a hundred times and keeps the closest pair: a preempted one is off by milliseconds.
    pub fn read(clock: Clock) -> Self {
        let once = || {
            let before = clock.ticks();
            let ns = monotonic_ns(MONOTONIC);
            let within = clock.ticks().saturating_sub(before);
            Self { ticks: before + within / 2, ns, within }
        };
        (0..99).map(|_| once()).fold(once(), |best, pair| if pair.within < best.within { pair } else { best })
    }
}

const MONOTONIC: i32 = 1;

#[repr(C)]
struct TimeSpec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
}

fn monotonic_ns(clock: i32) -> u64 {
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is a timespec of a 64-bit Linux and lives through the call; CLOCK_MONOTONIC always exists.
    unsafe { clock_gettime(clock, &raw mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}
